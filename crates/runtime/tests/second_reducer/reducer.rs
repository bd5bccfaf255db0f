//! A second reducer, written to be obviously right: it keeps everything that ever happened in plain lists and adds it
//! up again for every question. It shares no code with the kernel, and nothing here is fast.

use crate::commands::{Command, Proposal, Who, Write};
use crate::contracts::{HOUR, SECOND, is_inside, rules};
use crate::inquiring::FlowHold;
use crate::leasing::Lease;
use std::collections::{BTreeMap, BTreeSet};

/// What a command is answered with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// Verdict and the codes that support it; an acceptance needs none.
    Verdict(&'static str, BTreeSet<String>),
    /// It was formed under a contract that no longer counts.
    Prepare,
}

impl Said {
    pub fn accept() -> Said {
        Said::Verdict("ACCEPT", BTreeSet::new())
    }

    pub fn reject(code: &str) -> Said {
        Said::Verdict("REJECT", BTreeSet::from([code.to_owned()]))
    }
}

#[derive(Clone, Debug)]
pub struct Agent {
    /// REGISTERED, ACTIVE or RETIRED.
    pub base: &'static str,
    /// State it demands, who placed it, the actions it revokes (none: all).
    pub restrictions: Vec<(String, String, Vec<String>)>,
    pub contract: Option<String>,
    pub canary: Option<Canary>,
    pub offered: String,
    /// Amounts that were watched since the last alarm was lifted; what an alarm holds takes none.
    pub watched: Vec<i64>,
}

/// A candidate, for so many hundredths of a percent of the flows; the word chooses them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Canary {
    pub contract: String,
    pub share: u64,
    pub word: String,
}

/// Who places what an alarm of the monitor places.
pub const WATCH: &str = "the monitor";

#[derive(Clone, Debug)]
pub struct Flow {
    pub agent: String,
    pub state: &'static str,
    pub parent: Option<String>,
    pub depth: usize,
    /// What its latest proposal came to.
    pub latest: String,
}

/// A proposal that was judged in a flow of its own agent.
#[derive(Clone, Debug)]
pub struct Step {
    pub flow: String,
    pub tokens: u64,
    /// Whether it counts as a failed attempt.
    pub failed: bool,
}

/// Something taken of a budget.
#[derive(Clone, Debug)]
pub struct Taking {
    pub at: i64,
    pub agent: String,
    pub budget: String,
    pub amount: i64,
    /// What it was taken for; reads have no intent and are never given back.
    pub intent: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Intent {
    pub name: String,
    pub agent: String,
    pub flow: String,
    pub effect: String,
    /// Resource, amount, whether it is stock.
    pub holds: Vec<(String, i64, bool)>,
    pub valid_until: i64,
    pub state: &'static str,
    pub action: &'static str,
    /// Whether someone owes a report: the runtime, or the agent's host.
    pub owed: bool,
    /// Whether a person said yes: then a passive agent does not stop it.
    pub approved: bool,
    pub by_host: bool,
    /// Whether an attempt may be repeated without a person.
    pub keyed: bool,
    pub timeout: i64,
    pub above: Vec<String>,
    pub quorum: usize,
    pub epoch: u64,
    pub lease: i64,
    pub doubts: u32,
    pub first_sent: Option<i64>,
    pub retry_at: Option<i64>,
    pub retry_until: Option<i64>,
    pub over_at: i64,
    pub undoes: Option<String>,
}

/// A question whether something happened.
#[derive(Clone, Debug)]
pub struct Doubt {
    pub intent: String,
    pub agent: String,
    pub quorum: usize,
    pub open: bool,
    pub votes: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Question {
    pub name: String,
    pub proposal: Proposal,
    pub flow: String,
    /// The contract it was asked under.
    pub contract: String,
    pub quorum: usize,
    pub signed: bool,
    pub asked_at: i64,
    pub intent: String,
    pub state: &'static str,
    /// What it is about: another question about the same is not asked meanwhile.
    pub subject: Option<String>,
    /// Whether the agent asked of its own accord, without a proposal.
    pub own: bool,
    /// The operator who asked in the name of the agent.
    pub asked_by: Option<String>,
    /// Whether a person said no.
    pub denied: bool,
    /// Who agreed, and under which contract.
    pub votes: BTreeMap<String, String>,
}

/// What someone saw: when, for which flow, the values, the session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    pub at: i64,
    pub flow: Option<String>,
    pub state: BTreeMap<String, i64>,
    pub session: Option<i64>,
    pub imported: bool,
}

/// What makes two proposals the same: everything but the key and the time of making.
#[derive(Clone, PartialEq, Debug)]
pub struct Print {
    pub proposal: Proposal,
    pub snapshot: Option<Snapshot>,
}

/// Everything that ever happened.
#[derive(Clone, Debug, Default)]
pub struct Reducer {
    pub halted: bool,
    /// Groups of agents that are stopped.
    pub halted_groups: BTreeSet<String>,
    pub agents: BTreeMap<String, Agent>,
    pub declared: BTreeMap<String, (bool, i64)>,
    pub flows: BTreeMap<String, Flow>,
    pub steps: Vec<Step>,
    pub takings: Vec<Taking>,
    pub intents: Vec<Intent>,
    pub questions: Vec<Question>,
    pub doubts: Vec<Doubt>,
    pub state: BTreeMap<String, (i64, u64)>,
    pub sessions: BTreeMap<String, i64>,
    /// Groups of people, and how often they were said.
    pub people: BTreeMap<String, (Vec<String>, u64)>,
    /// What flows hold outside of a proposal.
    pub holds: Vec<FlowHold>,
    /// Resources that some flow has held.
    pub ever_held: BTreeSet<String>,
    pub leases: Vec<Lease>,
    pub fence_last: u64,
    /// How often the leases changed.
    pub leases_said: u64,
    pub snapshots: BTreeMap<String, Snapshot>,
    /// What was said to a key, and when.
    pub answered: BTreeMap<(String, String), (Print, Said, i64)>,
    /// How long keys are kept, where somebody said so, and up to when they are forgotten.
    pub keys_kept: Option<i64>,
    pub keys_before: Option<i64>,
    /// What ids of agents were used for.
    pub ids: BTreeMap<(String, String), Print>,
    /// Proposals as they were sent, for a generator that repeats one.
    pub sent: Vec<Proposal>,
}

impl Reducer {
    /// Carries out the command with this number.
    pub fn apply(&mut self, number: usize, command: &Command, at: i64) -> Said {
        match command {
            Command::Register { who, contract, version } => self.register(who, contract, version.as_deref()),
            Command::Activate { who, contract } => self.activate(who, contract),
            Command::StartCanary { who, contract, share } => self.start_canary(number, who, contract, *share),
            Command::PromoteCanary { who, agent, right } => self.end_canary(who, agent, Some(*right)),
            Command::RollBackCanary { who, agent } => self.end_canary(who, agent, None),
            Command::Restrict { who, agent, status, actions } => self.restrict(who, agent, status, actions),
            Command::Lift { who, agent, status, because } => self.lift(who, agent, status, *because),
            Command::Retire { who, agent } => self.retire(who, agent),
            Command::OpenFlow { who, flow, agent, parent } => self.open(who, flow, agent, parent.as_ref()),
            Command::EndFlow { who, flow, abort } => self.end(who, flow, *abort, at),
            Command::Write { who, writes } => self.write(who, writes),
            Command::Enlist { who, person, groups } => {
                if !matches!(who, Who::Operator(_) | Who::Kernel) {
                    return Said::reject("NOT_AUTHORIZED");
                }
                let said = self.people.get(person).map_or(0, |(_, said)| *said);
                self.people.insert(person.clone(), (groups.clone(), said + 1));
                Said::accept()
            }
            Command::Remember { who, flow, value } => {
                if !self.speaks_for(who, flow) {
                    return Said::reject("FLOW_UNKNOWN");
                }
                self.sessions.insert(flow.clone(), *value);
                Said::accept()
            }
            Command::Freeze { who, slot, flow, keys } => self.freeze(who, slot, flow.as_ref(), keys, at),
            Command::Import { who, name, at, risk } => self.import(who, name, *at, *risk),
            Command::Lease { who, what } => self.lease(who, what, at),
            Command::Propose(proposal) => self.propose(number, proposal, at),
            Command::Answer(answer) => self.answer(answer, at),
            Command::ExpireQuestions { who, questions } => self.expire_questions(who, questions, at),
            Command::Settle { who, intent, event } => self.settle(who, intent, event, at),
            Command::Claim { who, intent, lease } => self.claim(who, intent, *lease, at),
            Command::Start { who, intent, epoch, right } => self.start(who, intent, *epoch, *right, at),
            Command::Outcome { who, intent, epoch, observed } => self.outcome(who, intent, *epoch, observed, at),
            Command::Resolve { who, intent, decision, right } => self.resolve(who, intent, decision, *right, at),
            Command::Undo { who, intent } => self.undo(number, who, intent, at),
            Command::ExpireIntents { who: Who::Operator(_) | Who::Kernel } => {
                self.call_off_expired(at);
                Said::accept()
            }
            Command::ExpireIntents { who: Who::Agent(_) | Who::Monitor } => Said::reject("NOT_AUTHORIZED"),
            Command::Ask { who, agent, flow, reason } => self.inquire(number, (who, agent, flow), reason, at),
            Command::Reserve { who, flow, wanted, available, until } => {
                self.reserve((who, flow), wanted, *available, *until, at)
            }
            Command::Release { who, flow, resources } => self.release(who, flow, resources),
            Command::Note { who, flow, name } => {
                if !self.speaks_for(who, flow) {
                    return Said::reject("FLOW_UNKNOWN");
                }
                if name.is_empty() { Said::reject("PARAM_INVALID") } else { Said::accept() }
            }
            Command::Halt { who: Who::Operator(_) | Who::Monitor, group } => {
                match group {
                    None => self.halted = true,
                    Some(group) => {
                        self.halted_groups.insert(group.clone());
                    }
                }
                Said::accept()
            }
            Command::Resume { who: Who::Operator(_), group: None } => {
                self.halted = false;
                Said::accept()
            }
            Command::Resume { who: Who::Operator(_), group: Some(group) } => {
                if self.halted_groups.remove(group) {
                    Said::accept()
                } else {
                    Said::reject("NOT_HALTED")
                }
            }
            Command::KeepKeys { who: Who::Operator(_), kept } => {
                if !(24 * HOUR..=3_660 * 24 * HOUR).contains(&(kept * SECOND)) {
                    return Said::reject("PARAM_INVALID");
                }
                self.keys_kept = Some(kept * SECOND);
                Said::accept()
            }
            Command::ForgetKeys { who: Who::Operator(_) | Who::Kernel } => {
                let before = at - self.keys_kept.unwrap_or(30 * 24 * HOUR);
                self.keys_before = self.keys_before.max(Some(before));
                Said::accept()
            }
            Command::KeepKeys { .. } | Command::ForgetKeys { .. } => Said::reject("NOT_AUTHORIZED"),
            Command::Halt { .. } | Command::Resume { .. } => Said::reject("NOT_AUTHORIZED"),
        }
    }

    /// The code of the switch that stops an agent: everything's, or that of the group its contract names.
    pub fn stopped(&self, agents: &[&str]) -> Option<&'static str> {
        if self.halted {
            return Some("HALTED");
        }
        let group = |name: &&str| rules(self.agents.get(*name)?.contract.as_deref()?).group;
        let stopped = agents.iter().filter_map(group).any(|group| self.halted_groups.contains(group));
        stopped.then_some("GROUP_HALTED")
    }

    pub fn is_in(&self, person: &str, group: &str) -> bool {
        self.people.get(&person.to_lowercase()).is_some_and(|(groups, _)| groups.iter().any(|known| known == group))
    }

    fn register(&mut self, who: &Who, contract: &str, version: Option<&str>) -> Said {
        let rules = rules(contract);
        let may = matches!(who, Who::Operator(_)) || *who == Who::Agent(rules.agent.to_owned());
        if !may {
            return Said::reject("NOT_AUTHORIZED");
        }
        // From 0.1.0 to before 2.0.0.
        if version.is_some_and(|version| !["0.1.0", "1.9.9"].contains(&version)) {
            return Said::reject("VERSION_MISMATCH");
        }
        if let Some(parent) = rules.parent {
            match self.agents.get(parent).and_then(|agent| agent.contract.as_deref()) {
                None => return Said::reject("CONTRACT_INACTIVE"),
                Some(above) if !is_inside(contract, above) => return Said::reject("CONTRACT_WIDENS_PARENT"),
                Some(_) => {}
            }
        }
        match self.agents.get_mut(rules.agent) {
            None => {
                let fresh = Agent {
                    base: "REGISTERED",
                    restrictions: Vec::new(),
                    contract: None,
                    canary: None,
                    offered: contract.to_owned(),
                    watched: Vec::new(),
                };
                self.agents.insert(rules.agent.to_owned(), fresh);
            }
            Some(agent) => match agent.status() {
                "SUSPENDED" => return Said::reject("AGENT_SUSPENDED"),
                "RETIRED" => return Said::reject("AGENT_RETIRED"),
                // The handshake changes nothing that counts.
                _ => agent.offered = contract.to_owned(),
            },
        }
        Said::accept()
    }

    fn activate(&mut self, who: &Who, contract: &str) -> Said {
        let rules = rules(contract);
        let Some(agent) = self.agents.get_mut(rules.agent) else { return Said::reject("AGENT_NOT_REGISTERED") };
        if agent.base == "RETIRED" {
            return Said::reject("AGENT_RETIRED");
        }
        if !matches!(who, Who::Operator(_)) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let group = agent.contract.as_deref().and_then(|before| self::rules(before).group);
        if group.is_some_and(|group| rules.group != Some(group) && self.halted_groups.contains(group)) {
            return Said::reject("GROUP_HALTED");
        }
        let differs = |(name, stock, capacity): &(&str, bool, i64)| {
            self.declared.get(*name).is_some_and(|known| *known != (*stock, *capacity))
        };
        if rules.resources.iter().any(differs) {
            return Said::reject("CONTRACT_INVALID");
        }
        agent.base = "ACTIVE";
        agent.contract = Some(contract.to_owned());
        agent.canary = None;
        for (name, stock, capacity) in &rules.resources {
            self.declared.insert((*name).to_owned(), (*stock, *capacity));
        }
        Said::accept()
    }

    fn restrict(&mut self, who: &Who, agent: &str, status: &str, actions: &[String]) -> Said {
        let Some(agent) = self.agents.get_mut(agent) else { return Said::reject("AGENT_NOT_REGISTERED") };
        if agent.base == "RETIRED" {
            return Said::reject("AGENT_RETIRED");
        }
        if status == "ACTIVE" {
            return Said::reject("STEP_REFUSED");
        }
        if matches!(who, Who::Agent(_)) {
            return Said::reject("NOT_AUTHORIZED");
        }
        agent.hold_against(status, &format!("{who:?}"), actions);
        Said::accept()
    }

    fn lift(&mut self, who: &Who, agent: &str, status: &str, because: bool) -> Said {
        let Some(agent) = self.agents.get_mut(agent) else { return Said::reject("AGENT_NOT_REGISTERED") };
        if agent.base == "RETIRED" {
            return Said::reject("AGENT_RETIRED");
        }
        if status == "ACTIVE" {
            return Said::reject("STEP_REFUSED");
        }
        if !matches!(who, Who::Operator(_)) {
            return Said::reject("NOT_AUTHORIZED");
        }
        if !agent.has(status) {
            return Said::reject("STATE_CONFLICT");
        }
        if agent.restrictions.iter().any(|(known, by, _)| known == status && by == WATCH) {
            // Whoever lets go what an alarm holds says why.
            if !because {
                return Said::reject("BECAUSE_MISSING");
            }
            agent.watched.clear();
        }
        agent.restrictions.retain(|(known, _, _)| known != status);
        Said::accept()
    }

    fn retire(&mut self, who: &Who, name: &str) -> Said {
        let Some(agent) = self.agents.get_mut(name) else { return Said::reject("AGENT_NOT_REGISTERED") };
        if agent.base == "RETIRED" {
            return Said::reject("AGENT_RETIRED");
        }
        if !matches!(who, Who::Operator(_)) && *who != Who::Agent(name.to_owned()) {
            return Said::reject("NOT_AUTHORIZED");
        }
        agent.base = "RETIRED";
        Said::accept()
    }

    /// Whether someone may speak for a flow: its agent, an operator, the kernel.
    pub fn speaks_for(&self, who: &Who, flow: &str) -> bool {
        self.flows.get(flow).is_some_and(|flow| speaks_for(who, &flow.agent))
    }

    fn open(&mut self, who: &Who, name: &str, agent: &str, parent: Option<&String>) -> Said {
        if !self.agents.contains_key(agent) {
            return Said::reject("AGENT_NOT_REGISTERED");
        }
        if self.flows.contains_key(name) {
            return Said::reject("STEP_REFUSED");
        }
        let mut depth = 0;
        if let Some(parent) = parent {
            if !self.speaks_for(who, parent) {
                return Said::reject("FLOW_UNKNOWN");
            }
            let above = &self.flows[parent];
            if above.state != "OPEN" || self.is_aborted(parent) {
                return Said::reject("FLOW_CLOSED");
            }
            depth = above.depth + 1;
            if depth > 8 {
                return Said::reject("STEP_REFUSED");
            }
        } else if !speaks_for(who, agent) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let (parent, latest) = (parent.cloned(), String::new());
        let flow = Flow { agent: agent.to_owned(), state: "OPEN", parent, depth, latest };
        self.flows.insert(name.to_owned(), flow);
        Said::accept()
    }

    /// Whether a flow or one above it was aborted.
    pub fn is_aborted(&self, name: &str) -> bool {
        let Some(flow) = self.flows.get(name) else { return false };
        flow.state == "ABORTED" || flow.parent.as_ref().is_some_and(|parent| self.is_aborted(parent))
    }

    fn end(&mut self, who: &Who, name: &str, abort: bool, at: i64) -> Said {
        if !self.speaks_for(who, name) {
            return Said::reject("FLOW_UNKNOWN");
        }
        match self.flows.get_mut(name) {
            Some(flow) if flow.state == "OPEN" => flow.state = if abort { "ABORTED" } else { "CLOSED" },
            Some(_) | None => return Said::reject("STEP_REFUSED"),
        }
        self.holds.retain(|hold| hold.flow != name);
        if abort {
            for place in 0..self.intents.len() {
                let intent = &self.intents[place];
                let waits = ["READY", "CLAIMED"].contains(&intent.state) && intent.undoes.is_none();
                if waits && intent.flow == name {
                    self.call_off(place, at);
                }
            }
            for question in self.questions.iter_mut().filter(|question| question.flow == name) {
                if question.state == "OPEN" {
                    question.state = "ABORTED";
                }
            }
        }
        Said::accept()
    }

    /// All values or none.
    fn write(&mut self, who: &Who, writes: &[Write]) -> Said {
        for write in writes {
            let may = match who {
                Who::Operator(_) | Who::Kernel => true,
                Who::Agent(name) => write.key.starts_with(&format!("agents/{name}/")),
                Who::Monitor => false,
            };
            if !may {
                return Said::reject("NOT_AUTHORIZED");
            }
            let version = self.state.get(&write.key).map_or(0, |(_, version)| *version);
            if write.expect.is_some_and(|expected| expected != version) {
                return Said::reject("STATE_CONFLICT");
            }
        }
        for write in writes {
            let version = self.state.get(&write.key).map_or(0, |(_, version)| *version);
            self.state.insert(write.key.clone(), (write.value, version + 1));
        }
        Said::accept()
    }

    fn freeze(&mut self, who: &Who, slot: &str, flow: Option<&String>, keys: &[String], at: i64) -> Said {
        if flow.is_some_and(|flow| !self.speaks_for(who, flow)) {
            return Said::reject("FLOW_UNKNOWN");
        }
        if flow.is_none() && !matches!(who, Who::Operator(_) | Who::Kernel) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let value = |key: &String| Some((key.clone(), self.state.get(key)?.0));
        let state = keys.iter().filter_map(value).collect();
        let session = flow.and_then(|flow| self.sessions.get(flow).copied());
        let snapshot = Snapshot { at, flow: flow.cloned(), state, session, imported: false };
        self.snapshots.insert(slot.to_owned(), snapshot);
        Said::accept()
    }

    fn import(&mut self, who: &Who, name: &str, at: i64, risk: Option<i64>) -> Said {
        if !matches!(who, Who::Operator(_)) {
            return Said::reject("NOT_AUTHORIZED");
        }
        let state = risk.map(|risk| ("risk".to_owned(), risk)).into_iter().collect();
        let snapshot = Snapshot { at, flow: None, state, session: None, imported: true };
        if self.snapshots.get(name).is_some_and(|known| *known != snapshot) {
            return Said::reject("STEP_REFUSED");
        }
        self.snapshots.insert(name.to_owned(), snapshot);
        Said::accept()
    }
}

fn speaks_for(who: &Who, agent: &str) -> bool {
    match who {
        Who::Operator(_) | Who::Kernel => true,
        Who::Agent(name) => name == agent,
        Who::Monitor => false,
    }
}

/// From harmless to hard.
const STATES: [&str; 7] = ["REGISTERED", "ACTIVE", "DEGRADED", "ESCALATION_ONLY", "PASSIVE", "SUSPENDED", "RETIRED"];

impl Agent {
    /// The hardest of what is held against it.
    pub fn status(&self) -> &'static str {
        let hard = |state: &str| state == self.base || self.restrictions.iter().any(|(held, _, _)| held == state);
        if self.base == "RETIRED" {
            return "RETIRED";
        }
        STATES.into_iter().rev().find(|state| hard(state)).unwrap_or(self.base)
    }

    pub fn has(&self, state: &str) -> bool {
        self.restrictions.iter().any(|(held, _, _)| held == state)
    }

    pub fn revokes(&self, action: &str) -> bool {
        let names = |actions: &Vec<String>| actions.is_empty() || actions.iter().any(|name| name == action);
        self.restrictions.iter().any(|(held, _, actions)| held == "DEGRADED" && names(actions))
    }

    /// The same restriction by the same actor is one restriction.
    pub fn hold_against(&mut self, status: &str, by: &str, actions: &[String]) {
        self.restrictions.retain(|(known, placed, _)| known != status || placed != by);
        self.restrictions.push((status.to_owned(), by.to_owned(), actions.to_vec()));
    }
}

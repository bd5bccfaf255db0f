//! How the second reducer judges proposals and answers.

use crate::commands::{Answer, Proposal, Signature, Who};
use crate::contracts::{
    AGE_MAX, ALL_MAX, ANSWER_WITHIN, APPROVERS, HOUR, MEAN_MAX, MEAN_OVER, NOTES_MAX, QUESTIONS_MAX, RETRIES, Rules,
    SECOND, STEPS_MAX, TOKENS_MAX, TTL, TTL_MAX, VALID_AFTER, rules,
};
use crate::performing::is_live;
use crate::reducer::{Flow, Intent, Print, Question, Reducer, Said, Snapshot, Step, Taking, WATCH};
use std::collections::{BTreeMap, BTreeSet};

/// Everything found: what rejects, what asks, and whether something was refused for want.
#[derive(Debug, Default)]
struct Found {
    reject: BTreeSet<String>,
    ask: BTreeSet<String>,
    want: bool,
}

impl Found {
    fn reject(&mut self, when: bool, code: &str) {
        if when {
            self.reject.insert(code.to_owned());
        }
    }

    fn want(&mut self, when: bool, code: &str) {
        self.reject(when, code);
        self.want |= when;
    }
}

/// What is judged, when and how.
struct Case<'a> {
    proposal: &'a Proposal,
    rules: Rules,
    /// The contracts above, nearest first.
    above: Vec<Rules>,
    flow: &'a str,
    named: bool,
    at: i64,
    /// Whether a person answered: then neither its own time nor its attempts count any more.
    answered: bool,
}

/// A budget of an agent: whose, its name, how much is taken, at most how much, in which window.
type Budget = (String, String, i64, i64, i64);

impl Reducer {
    /// The contract an agent's proposals are formed under.
    pub fn contract_of(&self, agent: &str, flow: &str) -> String {
        let offered = self.agents.get(agent).map_or("nobody", |agent| agent.offered.as_str());
        self.in_force(agent, flow).unwrap_or_else(|| offered.to_owned())
    }

    pub fn propose(&mut self, number: usize, proposal: &Proposal, at: i64) -> Said {
        let print = self.print(proposal);
        let name = proposal.key.clone().map(|key| (proposal.agent.clone(), key));
        let answered = name.as_ref().and_then(|name| self.answered.get(name));
        let is_kept = |when: &i64| self.keys_before.is_none_or(|before| *when >= before);
        if let Some((first, said, _)) = answered.filter(|(_, _, when)| is_kept(when)) {
            return if *first == print { said.clone() } else { Said::reject("IDEMPOTENCY_KEY_REUSED") };
        }
        let own = proposal.id.clone().map(|id| (proposal.agent.clone(), id));
        if own.as_ref().and_then(|own| self.ids.get(own)).is_some_and(|first| *first != print) {
            return Said::reject("PROPOSAL_ID_REUSED");
        }
        let minted = format!("f-{number}");
        let flow = proposal.flow.clone().unwrap_or(minted);
        let in_force = self.in_force(&proposal.agent, &flow);
        let contract = proposal.under.clone().unwrap_or_else(|| self.contract_of(&proposal.agent, &flow));
        if in_force.is_some_and(|in_force| in_force != contract) {
            return Said::Prepare;
        }
        self.sent.push(proposal.clone());
        let named = proposal.flow.is_some();
        let case = self.case(proposal, &contract, &flow, named, at, false);
        let mut found = self.judge(&case);
        if found.want && self.call_off_expired(at) {
            found = self.judge(&case);
        }
        let mut open = None;
        if found.reject.is_empty() && !found.ask.is_empty() {
            open = self.judge_asked_before(&case, &mut found);
        }
        let asked = self.questions.iter().filter(|question| {
            question.proposal.agent == proposal.agent && question.asked_at > at - HOUR && question.asked_at <= at
        });
        let is_asked = found.reject.is_empty() && !found.ask.is_empty() && open.is_none();
        let exhausted = is_asked && asked.count() >= QUESTIONS_MAX;
        found.reject(exhausted, "ESCALATION_BUDGET_EXHAUSTED");
        let latest = match (found.reject.is_empty(), found.ask.is_empty(), effect(&case)) {
            (false, _, _) => "rejected".to_owned(),
            (true, false, _) => open.clone().unwrap_or_else(|| format!("e-{number}")),
            (true, true, Some(_)) => format!("i-{number}"),
            (true, true, None) => "done".to_owned(),
        };
        self.count(&case, &found, latest);
        let said = if !found.reject.is_empty() {
            if exhausted && let Some(agent) = self.agents.get_mut(&proposal.agent) {
                agent.hold_against("PASSIVE", "Kernel", &[]);
            }
            Said::Verdict("REJECT", found.reject)
        } else if !found.ask.is_empty() {
            if open.is_none() {
                self.ask(number, &case);
            }
            Said::Verdict("ESCALATE", found.ask)
        } else {
            let valid_until = proposal.valid_until.unwrap_or(at + TTL);
            self.take(&case, format!("i-{number}"), valid_until, proposal.by_runtime);
            Said::accept()
        };
        if let Some(own) = own {
            self.ids.entry(own).or_insert_with(|| print.clone());
        }
        if let Some(name) = name {
            self.answered.insert(name, (print, said.clone(), at));
        }
        said
    }

    /// The last question of the agent about the same: while it is open no other is asked, and who said no is not asked
    /// again by a retry. The open question, if it is about exactly this.
    fn judge_asked_before(&self, case: &Case<'_>, found: &mut Found) -> Option<String> {
        let subject = subject(case)?;
        let own = |question: &&Question| question.proposal.agent == case.proposal.agent;
        let last = self.questions.iter().rev().filter(own).find(|asked| asked.subject.as_ref() == Some(&subject))?;
        let late = case.at > last.asked_at + ANSWER_WITHIN;
        if last.state == "OPEN" && !late {
            found.ask.insert("QUESTION_OPEN".to_owned());
            return Some(last.name.clone());
        }
        let again = if case.named { last.flow == case.flow } else { !late };
        found.reject(last.denied && again, "QUESTION_DENIED");
        None
    }

    /// The key and the time of making do not count; neither does what only the door says.
    fn print(&self, proposal: &Proposal) -> Print {
        let snapshot = proposal.snapshot.as_ref().and_then(|name| self.snapshots.get(name));
        let frozen = snapshot.filter(|snapshot| !snapshot.imported).cloned();
        let name = if frozen.is_some() { None } else { proposal.snapshot.clone() };
        let plain = Proposal {
            id: None,
            key: None,
            created_at: None,
            opens: false,
            by_runtime: false,
            under: None,
            snapshot: name,
            order: if proposal.action == "look" { String::new() } else { proposal.order.clone() },
            amount: if proposal.action == "pay" { proposal.amount } else { 0 },
            ..proposal.clone()
        };
        Print { proposal: plain, snapshot: frozen }
    }

    fn case<'a>(
        &self,
        proposal: &'a Proposal,
        contract: &str,
        flow: &'a str,
        named: bool,
        at: i64,
        answered: bool,
    ) -> Case<'a> {
        let rules_here = rules(contract);
        let mut above = Vec::new();
        let mut parent = rules_here.parent;
        while let Some(name) = parent {
            let Some(contract) = self.agents.get(name).and_then(|agent| agent.contract.as_deref()) else { break };
            parent = rules(contract).parent;
            above.push(rules(contract));
        }
        Case { proposal, rules: rules_here, above, flow, named, at, answered }
    }

    fn judge(&self, case: &Case<'_>) -> Found {
        let mut found = Found::default();
        let line: Vec<&str> =
            std::iter::once(case.rules.agent).chain(case.above.iter().map(|above| above.agent)).collect();
        if let Some(code) = self.stopped(&line) {
            found.reject(true, code);
        }
        self.judge_agent(case, &mut found);
        judge_time(case, &mut found);
        self.judge_flow(case, &mut found);
        for above in &case.above {
            let agent = self.agents.get(above.agent);
            let status = agent.map(|agent| agent.status());
            found.reject(agent.is_none(), "AGENT_UNKNOWN");
            found.reject(status == Some("SUSPENDED"), "AGENT_SUSPENDED");
            found.reject(status == Some("RETIRED"), "AGENT_RETIRED");
        }
        if !["pay", "note", "look"].contains(&case.proposal.action.as_str()) || !case.rules.has_actions {
            found.reject(true, "ACTION_NOT_ALLOWED");
            return found;
        }
        self.judge_snapshot(case, &mut found);
        for (agent, budget, amount, max, per) in budgets(case) {
            let used = self.used(&agent, &budget, per, case.at);
            found.want(used + amount > max, "BUDGET_EXCEEDED");
        }
        if case.proposal.action == "pay" {
            judge_amount(case, &mut found);
            for (resource, _, capacity) in &case.rules.resources {
                let wanted = wanted(case, resource);
                let elsewhere = self.held_by_flows(resource, case.flow, case.at);
                let free = capacity - self.held(resource) - elsewhere - self.consumed(resource);
                found.want(wanted > free, "RESOURCE_INSUFFICIENT");
            }
        }
        let effect = effect(case);
        let same = self.intents.iter().filter(|intent| Some(&intent.effect) == effect.as_ref());
        let states: Vec<&str> = same.map(|intent| intent.state).collect();
        found.want(states.iter().any(|state| is_live(state)), "IN_PROGRESS");
        found.reject(states.contains(&"SUCCEEDED"), "ALREADY_DONE");
        found
    }

    /// The hardest state counts; an agent whose contract nobody put in force does nothing at all.
    fn judge_agent(&self, case: &Case<'_>, found: &mut Found) {
        let action = case.proposal.action.as_str();
        let Some(agent) = self.agents.get(&case.proposal.agent).filter(|_| case.rules.agent == case.proposal.agent)
        else {
            found.reject(true, "AGENT_UNKNOWN");
            return;
        };
        let revoked = agent.revokes(action);
        let reads = action == "look" && case.rules.has_actions;
        if agent.base == "RETIRED" {
            found.reject(true, "AGENT_RETIRED");
        } else if agent.has("SUSPENDED") {
            found.reject(true, "AGENT_SUSPENDED");
        } else if agent.base == "REGISTERED" {
            found.reject(true, "CONTRACT_INACTIVE");
        } else if revoked {
            found.reject(true, "AGENT_DEGRADED");
        } else if agent.has("PASSIVE") {
            // A person who answers takes it upon themselves.
            found.reject(!reads && !case.answered, "AGENT_PASSIVE");
        } else if agent.has("ESCALATION_ONLY") {
            found.ask.insert("AGENT_ESCALATION_ONLY".to_owned());
        }
    }

    /// To an agent another's flow does not exist, whatever happened in it.
    fn judge_flow(&self, case: &Case<'_>, found: &mut Found) {
        let flow = self.flows.get(case.flow);
        let foreign = flow.is_some_and(|flow| flow.agent != case.proposal.agent);
        let unseen = flow.is_none() && case.named && !case.proposal.opens;
        found.reject(foreign || unseen, "FLOW_UNKNOWN");
        if foreign {
            return;
        }
        found.reject(self.is_aborted(case.flow), "FLOW_CLOSED");
        // What a person answers to was asked before the flow was closed, and was counted when it was asked.
        if case.answered {
            return;
        }
        found.reject(flow.is_some_and(|flow| flow.state == "CLOSED"), "FLOW_CLOSED");
        let (steps, failed, tokens) = self.spent(case.flow);
        found.reject(failed >= RETRIES, "REASONING_EXHAUSTION");
        let spends = steps + 1 > STEPS_MAX || tokens + case.proposal.tokens > TOKENS_MAX;
        found.reject(spends && case.rules.spends, "BUDGET_EXCEEDED");
    }

    fn judge_snapshot(&self, case: &Case<'_>, found: &mut Found) {
        let reads = case.proposal.action == "look";
        let Some(name) = &case.proposal.snapshot else {
            found.reject(case.rules.needs_snapshot && !reads, "SNAPSHOT_MISSING");
            return;
        };
        let live = self.state.get("risk").map(|(value, _)| *value);
        let state = live.map(|risk| ("risk".to_owned(), risk)).into_iter().collect();
        let current = Snapshot { at: case.at, flow: None, state, session: None, imported: true };
        let known = self.snapshots.get(name).or_else(|| (name == "current").then_some(&current));
        let Some(snapshot) = known else {
            found.reject(true, "SNAPSHOT_UNKNOWN");
            return;
        };
        let early = snapshot.at > case.at + 5 * SECOND;
        let old = case.rules.needs_snapshot && case.at - snapshot.at > AGE_MAX;
        // A question's deadline takes the place of the context's age.
        found.reject((early || old) && !case.answered, "SNAPSHOT_STALE");
        if case.rules.needs_snapshot && !reads {
            let seen = snapshot.state.get("risk").copied();
            found.reject(seen.is_none() || seen != live, "STATE_DRIFT");
        }
    }

    /// Steps, failed ones and tokens of a flow.
    pub fn spent(&self, flow: &str) -> (usize, usize, u64) {
        let steps: Vec<&Step> = self.steps.iter().filter(|step| step.flow == flow).collect();
        let failed = steps.iter().filter(|step| step.failed).count();
        (steps.len(), failed, steps.iter().map(|step| step.tokens).sum())
    }

    /// What is used of a budget in the window that ends now.
    pub fn used(&self, agent: &str, budget: &str, per: i64, at: i64) -> i64 {
        let kept = |taking: &&Taking| {
            let intent = self.intents.iter().find(|intent| Some(&intent.name) == taking.intent.as_ref());
            !intent.is_some_and(|intent| ["FAILED", "CANCELLED", "ABANDONED"].contains(&intent.state))
        };
        let ours = |taking: &&Taking| taking.agent == agent && taking.budget == budget;
        let takings = self.takings.iter().filter(ours).filter(kept);
        takings.filter(|taking| taking.at > at - per && taking.at <= at).map(|taking| taking.amount).sum()
    }

    pub fn held(&self, resource: &str) -> i64 {
        let live = self.intents.iter().filter(|intent| is_live(intent.state)).flat_map(|intent| &intent.holds);
        live.filter(|(name, _, _)| name == resource).map(|(_, amount, _)| amount).sum()
    }

    pub fn consumed(&self, resource: &str) -> i64 {
        let done = self.intents.iter().filter(|intent| intent.state == "SUCCEEDED").flat_map(|intent| &intent.holds);
        done.filter(|(name, _, stock)| name == resource && *stock).map(|(_, amount, _)| amount).sum()
    }

    /// A step counts in an open flow of the agent's own; duplicates and the kill switch are no failed attempts.
    fn count(&mut self, case: &Case<'_>, found: &Found, latest: String) {
        let known = self.agents.contains_key(&case.proposal.agent) && case.rules.agent == case.proposal.agent;
        let shut = found.reject.contains("FLOW_UNKNOWN") || found.reject.contains("FLOW_CLOSED");
        if !known || shut {
            return;
        }
        let (agent, fresh) = (case.proposal.agent.clone(), String::new());
        let fresh = Flow { agent, state: "OPEN", parent: None, depth: 0, latest: fresh };
        self.flows.entry(case.flow.to_owned()).or_insert(fresh).latest = latest;
        let excused = ["ALREADY_DONE", "IN_PROGRESS", "HALTED", "GROUP_HALTED"];
        let failed = found.reject.iter().any(|code| !excused.contains(&code.as_str()));
        self.steps.push(Step { flow: case.flow.to_owned(), tokens: case.proposal.tokens, failed });
    }

    /// Until when a question can be answered.
    pub fn deadline_of(&self, name: &str) -> Option<i64> {
        let question = self.questions.iter().find(|question| question.name == name)?;
        Some(question.asked_at + ANSWER_WITHIN)
    }

    fn ask(&mut self, number: usize, case: &Case<'_>) {
        self.questions.push(Question {
            name: format!("e-{number}"),
            proposal: case.proposal.clone(),
            flow: case.flow.to_owned(),
            contract: self.contract_of(&case.proposal.agent, case.flow),
            quorum: case.rules.quorum,
            signed: case.rules.signed,
            asked_at: case.at,
            intent: format!("i-{number}"),
            state: "OPEN",
            subject: subject(case),
            own: false,
            asked_by: None,
            denied: false,
            votes: BTreeMap::new(),
        });
    }

    fn take(&mut self, case: &Case<'_>, intent: String, valid_until: i64, by_runtime: bool) {
        let effect = effect(case);
        let taken_for = effect.is_some().then(|| intent.clone());
        for (agent, budget, amount, _, _) in budgets(case) {
            self.takings.push(Taking { at: case.at, agent, budget, amount, intent: taken_for.clone() });
        }
        self.watch(case);
        let Some(effect) = effect else { return };
        let pays = case.proposal.action == "pay";
        let resources = case.rules.resources.iter().filter(|(name, _, _)| pays && wanted(case, name) > 0);
        let holds = resources.map(|(name, stock, _)| ((*name).to_owned(), wanted(case, name), *stock)).collect();
        // Whoever tried before had lower fences.
        let before = self.intents.iter().filter(|other| by_runtime && other.effect == effect);
        let epoch = before.map(|other| other.epoch).max().unwrap_or_default();
        self.intents.push(Intent {
            name: intent,
            agent: case.proposal.agent.clone(),
            flow: case.flow.to_owned(),
            effect,
            holds,
            valid_until,
            // What names no executor is performed by the agent's host.
            state: if by_runtime && pays { "READY" } else { "HANDED_OUT" },
            action: if pays { "pay" } else { "note" },
            owed: by_runtime,
            approved: case.answered,
            by_host: by_runtime && !pays,
            keyed: pays && case.rules.keyed,
            timeout: if pays { 5 * SECOND } else { 600 * SECOND },
            above: case.above.iter().map(|above| above.agent.to_owned()).collect(),
            quorum: case.rules.quorum,
            epoch,
            lease: 0,
            doubts: 0,
            first_sent: None,
            retry_at: None,
            retry_until: None,
            over_at: 0,
            undoes: None,
        });
    }

    /// The mean of the last amounts, without a window that rolls: all of them are kept.
    fn watch(&mut self, case: &Case<'_>) {
        let Some(agent) = self.agents.get_mut(&case.proposal.agent) else { return };
        let held = agent.restrictions.iter().any(|(_, by, _)| by == WATCH);
        if !case.rules.watched || held || case.proposal.action != "pay" {
            return;
        }
        agent.watched.push(wanted(case, "pool"));
        let last: Vec<i64> = agent.watched.iter().rev().take(MEAN_OVER).copied().collect();
        if last.len() == MEAN_OVER && last.iter().sum::<i64>() > MEAN_MAX * MEAN_OVER as i64 {
            agent.hold_against("ESCALATION_ONLY", WATCH, &[]);
        }
    }

    pub fn expire_questions(&mut self, who: &Who, names: &[String], at: i64) -> Said {
        if !matches!(who, Who::Kernel | Who::Operator(_)) {
            return Said::reject("NOT_AUTHORIZED");
        }
        for question in self.questions.iter_mut().filter(|question| names.contains(&question.name)) {
            if question.state == "OPEN" && at > question.asked_at + ANSWER_WITHIN {
                question.state = "EXPIRED";
            }
        }
        Said::accept()
    }

    pub fn answer(&mut self, answer: &Answer, at: i64) -> Said {
        if matches!(&answer.who, Who::Operator(person) if person.trim() != person) {
            return Said::reject("PARAM_INVALID");
        }
        let found = self.questions.iter().position(|question| question.name == answer.question);
        let Some(index) = found else { return Said::reject("APPROVAL_UNKNOWN") };
        let question = self.questions[index].clone();
        if question.state != "OPEN" {
            return Said::reject("ALREADY_ANSWERED");
        }
        // Time has answered first.
        if at > question.asked_at + ANSWER_WITHIN {
            self.questions[index].state = "EXPIRED";
            return Said::reject("ALREADY_ANSWERED");
        }
        let Who::Operator(person) = &answer.who else { return Said::reject("NOT_AUTHORIZED") };
        if !["OVERRIDE", "ABORT"].contains(&answer.decision.as_str()) {
            return Said::reject("PARAM_INVALID");
        }
        let is_own = |name: &String| name.to_lowercase() == person.to_lowercase();
        let has_asked = is_own(&question.proposal.agent) || question.asked_by.as_ref().is_some_and(is_own);
        if has_asked || !self.is_in(person, APPROVERS) {
            return Said::reject("APPROVER_NOT_ENTITLED");
        }
        let contract = self.contract_of(&question.proposal.agent, &question.flow);
        // Who is wrong after a change of contract has looked before it, and still may say no.
        let as_asked = contract != question.contract && answer.decision == "ABORT" && !question.own;
        if !answer.right && !as_asked {
            return Said::reject("APPROVAL_MISMATCH");
        }
        match answer.signature {
            Signature::OfAnother => return Said::reject("ANSWER_SIGNATURE_WRONG"),
            Signature::None if question.signed || !question.own && rules(&contract).signed => {
                return Said::reject("ANSWER_UNSIGNED");
            }
            Signature::None | Signature::Right => {}
        }
        if answer.decision == "ABORT" {
            self.questions[index].state = "ABORTED";
            self.questions[index].denied = true;
            return Said::accept();
        }
        let mut votes = question.votes.clone();
        votes.retain(|voter, _| voter.to_lowercase() != person.to_lowercase());
        // Without a proposal nothing depends on the contract.
        let contract = if question.own { question.contract.clone() } else { contract };
        votes.insert(person.clone(), contract.clone());
        if votes.values().filter(|under| **under == contract).count() < question.quorum {
            self.questions[index].votes = votes;
            return Said::accept();
        }
        if question.own {
            self.questions[index].votes = votes;
            self.questions[index].state = "OVERRIDDEN";
            return Said::accept();
        }
        let case = self.case(&question.proposal, &contract, &question.flow, true, at, true);
        let mut found = self.judge(&case);
        if found.want && self.call_off_expired(at) {
            found = self.judge(&case);
        }
        // Whoever agreed has agreed, whatever comes of it.
        self.questions[index].votes = votes;
        if !found.reject.is_empty() {
            return Said::Verdict("REJECT", found.reject);
        }
        self.take(&case, question.intent.clone(), at + VALID_AFTER, answer.by_runtime);
        self.questions[index].state = "OVERRIDDEN";
        Said::accept()
    }
}

fn judge_time(case: &Case<'_>, found: &mut Found) {
    if case.answered {
        return;
    }
    let created_at = case.proposal.created_at.unwrap_or(case.at);
    found.reject(created_at > case.at + 5 * SECOND, "PARAM_INVALID");
    if let Some(valid_until) = case.proposal.valid_until {
        found.reject(valid_until <= case.at, "TTL_EXPIRED");
        found.reject(valid_until > created_at.min(case.at) + TTL_MAX, "TTL_TOO_LONG");
    }
}

fn judge_amount(case: &Case<'_>, found: &mut Found) {
    let amount = case.proposal.amount;
    let above = case.above.iter().any(|above| amount > above.limit);
    found.reject(amount > case.rules.limit || above, "LIMIT_EXCEEDED");
    // Every contract of the line has its say.
    for rules in std::iter::once(&case.rules).chain(&case.above) {
        if amount > rules.ask {
            found.reject(true, "NOT_ALLOWED");
        } else if amount > rules.allow {
            found.ask.insert("NEEDS_APPROVAL".to_owned());
        }
    }
}

/// The amount comes out of the pool, one place at the desk is taken.
fn wanted(case: &Case<'_>, resource: &str) -> i64 {
    match resource {
        "pool" => case.proposal.amount,
        "desk" => 1,
        _ => 0,
    }
}

/// What names the effect; reads have none.
fn effect(case: &Case<'_>) -> Option<String> {
    let Proposal { action, order, .. } = case.proposal;
    match action.as_str() {
        "pay" => Some(format!("pay {order}")),
        "note" => Some(format!("note {order} in {}", case.flow)),
        _ => None,
    }
}

/// What a question is about. What has neither a key nor a flow of the agent's choice is known by its id, if it has one.
fn subject(case: &Case<'_>) -> Option<String> {
    let Proposal { action, order, amount, id, .. } = case.proposal;
    match action.as_str() {
        "pay" => Some(format!("pay {order} {amount}")),
        "note" if case.named => Some(format!("note {order} in {}", case.flow)),
        "look" if case.named => Some(format!("look in {}", case.flow)),
        _ => id.as_ref().map(|id| format!("id {id}")),
    }
}

/// Every budget a proposal takes of, its own and those of every contract above.
fn budgets(case: &Case<'_>) -> Vec<Budget> {
    let mut budgets = Vec::new();
    for rules in std::iter::once(&case.rules).chain(&case.above) {
        let mut put = |name: &str, amount: i64, max: i64, per: i64| {
            budgets.push((rules.agent.to_owned(), name.to_owned(), amount, max, per));
        };
        put("count for all actions per 1h", 1, ALL_MAX, HOUR);
        match case.proposal.action.as_str() {
            "pay" => put("sum of amount for pay per 1h", case.proposal.amount, rules.pay_max, HOUR),
            "note" => put("count for note per 10m", 1, NOTES_MAX, 600 * SECOND),
            _ => {}
        }
    }
    budgets
}

//! What processes are asked to do, and how they carry it into the store: as the sequencer does, without its waits.

use super::checker::Broken;
use super::contracts::ACTIONS;
use super::faults::{CrashPoint, Fault};
use super::provider::SECOND;
use super::stage::{Call, Job, Origin, Stage, person};
use super::unsteady_store::Mishap;
use crate::ports::store::{BatchId, Reader, Store, StoreFault};
use kernel::agent::{Actor, AgentStatus};
use kernel::apply::{apply, touches};
use kernel::attention::{ATTENTION, Attention, Spent};
use kernel::canary::Share;
use kernel::change::{Act, Asking, DoubtAnswer, HumanAnswer, Inquiry, Reservation, Trial, Write};
use kernel::command::{Command, Door, MintedIds, Submission};
use kernel::contract::Impact;
use kernel::escalation::{AgentRequest, EscalationRow, EscalationState, HumanDecision, QuestionKind};
use kernel::evaluator::Compiled;
use kernel::flow::FlowEvent;
use kernel::intent::{IntentState, provider_key};
use kernel::outcome::{Done, Outcome};
use kernel::person::Identity;
use kernel::proposal::Proposal;
use kernel::request::Provenance;
use kernel::shadow::{SHADOWS, Shadow};
use kernel::stored::Kind;
use kernel::world::{Entity, KeySet, Row};
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Object;
use values::time::{Duration, Instant};

/// What flows hold some of, and how much of it there always is.
pub(super) const TILL: &str = "till";
pub(super) const TILL_AMOUNT: u64 = 100;

/// The people who are asked.
pub(super) const DESK: &str = "desk";

/// Bounds of the sequencer.
const ROUNDS_MAX: u32 = 3;
const CONFLICTS_MAX: u32 = 5;

/// Calls after which another flow is used.
const CALLS_OF_A_FLOW: usize = 12;

/// Times the store is asked whether a commit is durable.
const SETTLING_MAX: u32 = 2;

impl Stage {
    /// One thing a process does; `false` if it died of it.
    pub fn act(&mut self, place: usize, jobs: &mut Vec<Job>) -> bool {
        match self.random.below(100) {
            0..=15 => self.call(jobs),
            16..=20 => self.call_again(jobs),
            21..=25 => self.resolve(jobs),
            26..=28 => self.operate(jobs),
            29..=31 => self.undo(jobs),
            40..=42 => self.end_flow(jobs),
            43..=45 => self.propose_again(jobs),
            46 => self.deny(jobs),
            47..=50 => self.act_in_flow(jobs),
            32..=39 => self.recover(place, jobs),
            slot => return self.work(place, usize::from(slot % 2 == 0), jobs),
        }
        true
    }

    fn call(&mut self, jobs: &mut Vec<Job>) {
        let id = self.mint('p');
        let agent = self.random.below(self.options.agents as u64);
        let action = *self.random.pick(&ACTIONS).unwrap_or(&"keyed");
        let (order, amount) = (self.random.below(200), self.random.between(1, 11));
        let key = self.random.chance(600).then(|| format!("k-{id}"));
        let keyed = key.as_ref().map(|key| format!(r#","idempotency_key":"{key}""#)).unwrap_or_default();
        let flow = self.random.chance(500).then(|| self.flow_of(agent));
        let flow = flow.map(|flow| format!(r#","flow":"{flow}""#)).unwrap_or_default();
        let text = format!(
            r#"{{"agent":"a{agent}","action":"{action}","params":{{"order":"o{order}","amount":{amount}}},"id":"{id}"{keyed}{flow}}}"#
        );
        self.calls.push(Call { id, key, text, unknown: false });
        let number = self.calls.len() - 1;
        self.submit(number, jobs);
    }

    /// An agent that did not get what it wanted proposes the same under another id.
    fn propose_again(&mut self, jobs: &mut Vec<Job>) {
        let Some(Call { id: before, key, text, .. }) = self.random.pick(&self.calls).cloned() else { return };
        let id = self.mint('p');
        let keyed = key.map(|key| format!(r#","idempotency_key":"{key}""#)).unwrap_or_default();
        let text = text.replace(&format!(r#""id":"{before}"{keyed}"#), &format!(r#""id":"{id}""#));
        self.calls.push(Call { id, key: None, text, unknown: false });
        let number = self.calls.len() - 1;
        self.submit(number, jobs);
    }

    /// A person says no to one open question whether something may happen.
    fn deny(&mut self, jobs: &mut Vec<Job>) {
        let Some((question, row)) = self.open_question(QuestionKind::Proposal) else { return };
        let answer = HumanAnswer {
            escalation: question,
            decision: HumanDecision::Abort.word().to_owned(),
            digest: row.digest,
            reason: "no".to_owned(),
            original: None,
            modified: None,
            identity: Identity::default(),
        };
        let job = self.change(person(), Act::Answer(Box::new(answer)), Origin::Other);
        jobs.push(job);
    }

    fn open_question(&mut self, kind: QuestionKind) -> Option<(String, Box<EscalationRow>)> {
        let rows = self.store.durable().scan(Kind::Escalation, None, 1_000).unwrap_or_default();
        let open = rows.into_iter().filter_map(|(key, row)| {
            let Row::Escalation(row) = row else { return None };
            let asks = row.kind == kind && row.state == EscalationState::Open;
            asks.then(|| (key.entity.parts().0.to_owned(), row))
        });
        let open: Vec<_> = open.collect();
        self.random.pick(&open).cloned()
    }

    /// A flow that several calls share, or one below it; after some calls another one takes its place.
    fn flow_of(&mut self, agent: u64) -> String {
        let name = format!("w{agent}-{}", self.calls.len() / CALLS_OF_A_FLOW);
        if self.random.chance(300) { format!("{name}-below") } else { name }
    }

    /// One of the flows in use is opened below another, closed or aborted.
    fn end_flow(&mut self, jobs: &mut Vec<Job>) {
        let agent = self.random.below(self.options.agents as u64);
        let flow = self.flow_of(agent);
        let act = match (flow.strip_suffix("-below"), self.random.below(10)) {
            (Some(parent), 0..=4) => {
                let parent = Some(parent.to_owned());
                Act::OpenFlow { flow, agent: format!("a{agent}"), parent }
            }
            (_, 5) => Act::EndFlow { flow, event: FlowEvent::Close },
            (_, _) => Act::EndFlow { flow, event: FlowEvent::Abort },
        };
        let job = self.change(person(), act, Origin::Other);
        jobs.push(job);
    }

    /// An agent holds some of a till for a flow, gives it back, leaves a note, or asks a person of its own accord.
    fn act_in_flow(&mut self, jobs: &mut Vec<Job>) {
        let number = self.random.below(self.options.agents as u64);
        let (agent, flow) = (format!("a{number}"), self.flow_of(number));
        let act = match self.random.below(8) {
            0..=4 => {
                let amounts = |amount: u64| [(TILL.to_owned(), Decimal::from(amount))].into_iter().collect();
                let (wanted, available) = (amounts(self.random.below(60)), amounts(TILL_AMOUNT));
                let brief = self.random.chance(300);
                let until = brief.then(|| Instant::from_micros(self.now + 30 * SECOND));
                Act::Reserve(Reservation { flow, wanted, available, until })
            }
            5 => Act::Release { flow, resources: Vec::new() },
            6 => Act::Note { flow, name: "SEEN".to_owned(), details: Object::new() },
            _ => {
                let Some(contract) = self.contract_for(&agent, &flow) else { return };
                let request = AgentRequest { reason: "unsure".to_owned(), context: Object::new() };
                let inquiry = Inquiry { agent: agent.clone(), flow, request, proposal: None, impact: Impact::Low };
                let (question, proposal_id, intent) = (self.mint('e'), self.mint('p'), self.mint('i'));
                Act::Ask(Box::new(Asking { inquiry, question, proposal_id, intent, contract }))
            }
        };
        let job = self.change(Actor::Agent(agent), act, Origin::Other);
        jobs.push(job);
    }

    /// Whoever heard nothing asks again with the same key; some ask again anyway.
    fn call_again(&mut self, jobs: &mut Vec<Job>) {
        let any = self.random.chance(300);
        let again = self.calls.iter().enumerate().filter(|(_, call)| call.key.is_some() && (any || call.unknown));
        let again: Vec<usize> = again.map(|(number, _)| number).collect();
        let pending = |number: usize| jobs.iter().any(|job| job.origin == Origin::Call(number));
        if let Some(number) = self.random.pick(&again).copied().filter(|number| !pending(*number)) {
            self.submit(number, jobs);
        }
    }

    fn submit(&mut self, number: usize, jobs: &mut Vec<Job>) {
        let Some(call) = self.calls.get(number).cloned() else { return };
        let Ok(proposal) = Proposal::parse(call.text.as_bytes()) else { return };
        let ids =
            MintedIds { proposal: call.id, flow: self.mint('f'), intent: self.mint('i'), escalation: self.mint('e') };
        let flow = proposal.flow.as_ref().unwrap_or(&ids.flow);
        let Some(contract) = self.contract_for(&proposal.agent, flow) else { return };
        let formed = Submission::new(self.tenant.clone(), proposal, contract, Provenance::Unknown, ids);
        let command = Command::Submit(Arc::new(formed.through(Door::STORED)));
        jobs.push(Job { command, origin: Origin::Call(number) });
    }

    /// A person answers one open question whether something happened.
    fn resolve(&mut self, jobs: &mut Vec<Job>) {
        let Some((question, row)) = self.open_question(QuestionKind::Doubt) else { return };
        let effect_key = row.proposal.get("effect_key").and_then(|key| key.as_text()).unwrap_or_default();
        let there = self.provider.has(&provider_key(&self.tenant, effect_key));
        let decision = if self.options.careless {
            *self.random.pick(&["HAPPENED", "DID_NOT", "RETRY"]).unwrap_or(&"RETRY")
        } else if there {
            "HAPPENED"
        } else {
            *self.random.pick(&["DID_NOT", "RETRY"]).unwrap_or(&"RETRY")
        };
        let answer = DoubtAnswer {
            intent: row.intent.clone(),
            question,
            decision: decision.to_owned(),
            digest: row.digest,
            reason: "looked".to_owned(),
            identity: Identity::default(),
        };
        let job = self.change(person(), Act::Resolve(Box::new(answer)), Origin::Other);
        jobs.push(job);
    }

    /// The contract that counts for a flow of an agent, as a door finds it. Some doors have not heard of a candidate yet.
    fn contract_for(&mut self, agent: &str, flow: &str) -> Option<Arc<Compiled>> {
        let row = match self.store.durable().get(&Entity::Agent(agent.to_owned())) {
            Ok(Some(Row::Agent(row))) => row,
            Ok(_) | Err(_) => return None,
        };
        let is_late = row.canary.is_some() && self.random.chance(100);
        let digest = if is_late { row.contract } else { row.contract_for(flow) };
        self.known(digest?)
    }

    fn known(&self, digest: Digest) -> Option<Arc<Compiled>> {
        self.contracts.iter().chain(&self.candidates).find(|contract| contract.digest == digest).cloned()
    }

    /// Suspensions, switches, candidates and the patience of people come and go.
    fn operate(&mut self, jobs: &mut Vec<Job>) {
        let agent = format!("a{}", self.random.below(self.options.agents as u64));
        let because = "odd".to_owned();
        let status = AgentStatus::Suspended;
        let lifts = self.random.chance(750);
        let possible = [Fault::Suspension, Fault::Halt, Fault::GroupHalt, Fault::Canary, Fault::Attention];
        let possible: Vec<Fault> = possible.into_iter().filter(|fault| self.options.faults.has(*fault)).collect();
        let Some(fault) = self.random.pick(&possible).copied() else {
            // Whom a monitor suspended, somebody lets go on.
            if self.options.suspending {
                let job = self.change(person(), Act::Lift { agent, status, because }, Origin::Other);
                jobs.push(job);
            }
            return;
        };
        let group = Some(super::contracts::group_of(&agent).to_owned());
        let act = match (fault, lifts) {
            (Fault::Suspension, false) => Act::Restrict { agent, status, because, actions: Vec::new() },
            (Fault::Halt, false) => Act::Halt { group: None, because },
            (Fault::Halt, true) => Act::Resume { group: None, because },
            (Fault::GroupHalt, false) => Act::Halt { group, because },
            (Fault::GroupHalt, true) => Act::Resume { group, because },
            (Fault::Attention, is_more) => self.attention(is_more),
            (Fault::Canary, _) => match self.trial(agent, because) {
                Some(act) => act,
                None => return,
            },
            (_, _) => Act::Lift { agent, status, because },
        };
        let is_struck = matches!(act, Act::Restrict { .. } | Act::Halt { .. } | Act::Try(_) | Act::Merge(_));
        if is_struck {
            self.tally.strike(fault, self.step);
        }
        let watched = matches!(act, Act::Restrict { .. }) && self.random.chance(300);
        let actor = if watched { Actor::Monitor("watch".to_owned()) } else { person() };
        let job = self.change(actor, act, Origin::Other);
        jobs.push(job);
    }

    /// People take few questions an hour, or more of them.
    fn attention(&mut self, is_more: bool) -> Act {
        let questions = if is_more { self.random.between(10, 200) } else { self.random.between(0, 4) };
        let per = Duration::from_secs(self.random.between(20, 600));
        let questions = u64::try_from(questions).unwrap_or_default();
        let value = Attention { questions, per, spent: Spent::Refuse }.to_json();
        Act::Merge(vec![Write { key: format!("{ATTENTION}{DESK}"), value, expect: None }])
    }

    /// What becomes of the candidate of an agent: it starts, gets another share, is put in force or taken back. Some start
    /// it as a shadow, which is a note for whoever looks.
    fn trial(&mut self, agent: String, because: String) -> Option<Act> {
        let row = match self.store.durable().get(&Entity::Agent(agent.clone())) {
            Ok(Some(Row::Agent(row))) => row,
            Ok(_) | Err(_) => return None,
        };
        let beside = self.known(row.contract?)?;
        let own = self.contracts.iter().chain(&self.candidates).filter(|contract| contract.contract.agent == agent);
        let contract = own.into_iter().find(|contract| contract.digest != beside.digest)?.clone();
        let trial = match (row.canary, self.random.below(6)) {
            (_, 0) => {
                let shadow = Shadow { contract: contract.contract.to_json(), since: self.clock_of(0), because };
                let key = format!("{SHADOWS}{agent}");
                return Some(Act::Merge(vec![Write { key, value: shadow.to_json(), expect: None }]));
            }
            (Some(canary), 1) => Trial::Promote { agent, contract: canary.contract, because },
            (Some(_), 2) => Trial::RollBack { agent, because },
            (_, _) => {
                let share = Share::parse(self.random.pick(&["5%", "30%", "60%", "100%"]).copied().unwrap_or("50%"))?;
                Trial::Start { contract, beside, share, because }
            }
        };
        Some(Act::Try(Box::new(trial)))
    }

    fn undo(&mut self, jobs: &mut Vec<Job>) {
        let rows = self.store.durable().scan(Kind::Intent, None, 1_000).unwrap_or_default();
        let done = rows.into_iter().filter_map(|(key, row)| {
            let Row::Intent(row) = row else { return None };
            let running = row.running.filter(|_| row.state == IntentState::Succeeded)?;
            let free = running.undoes.is_none() && running.undone_by.is_none();
            free.then(|| key.entity.parts().0.to_owned())
        });
        let done: Vec<String> = done.collect();
        let Some(intent) = self.random.pick(&done).cloned() else { return };
        let undo = self.mint('u');
        let job = self.change(person(), Act::Undo { intent, undo, because: "wrong".to_owned() }, Origin::Other);
        jobs.push(job);
    }

    /// One batch into the store, with everything that can happen to it on the way.
    pub fn carry(&mut self, place: usize, jobs: Vec<Job>) -> Result<(), Broken> {
        if jobs.is_empty() {
            return self.look();
        }
        let has = |wanted: fn(&Origin) -> bool| jobs.iter().any(|job| wanted(&job.origin));
        let (calls, claims) =
            (has(|origin| matches!(origin, Origin::Call(_))), has(|of| matches!(of, Origin::Claim(_))));
        let records = has(|origin| matches!(origin, Origin::Record(_)));
        let dead = calls && self.dies(place, CrashPoint::BeforeDecision)
            || claims && self.dies(place, CrashPoint::BeforeClaim);
        if dead {
            self.unheard(&jobs);
            return self.look();
        }
        let mut keys: KeySet = jobs.iter().flat_map(|job| touches(&job.command)).collect();
        let mut waiting = jobs;
        for _ in 0..=ROUNDS_MAX {
            let outcomes = self.transact(place, &waiting, &keys);
            self.look()?;
            let Some(outcomes) = outcomes else { break };
            let dead = calls && self.dies(place, CrashPoint::AfterDecision)
                || records && self.dies(place, CrashPoint::AfterRecord);
            if dead {
                self.unheard(&waiting);
                return Ok(());
            }
            let mut again = Vec::new();
            for (job, outcome) in waiting.into_iter().zip(outcomes) {
                match outcome {
                    Outcome::Done(done) => self.hand_out(place, &job, &done)?,
                    Outcome::Need(more) => {
                        keys.extend(more);
                        again.push(job);
                    }
                    // Formed under another contract than the one that counts by now.
                    Outcome::Prepare => {
                        self.unheard(std::slice::from_ref(&job));
                        self.told(place, job.origin, None);
                    }
                }
            }
            waiting = again;
            if waiting.is_empty() {
                return Ok(());
            }
        }
        // No answer.
        self.unheard(&waiting);
        for job in &waiting {
            self.told(place, job.origin, None);
        }
        Ok(())
    }

    fn unheard(&mut self, jobs: &[Job]) {
        for job in jobs {
            if let Origin::Call(number) = job.origin
                && let Some(call) = self.calls.get_mut(number)
            {
                call.unknown = true;
            }
        }
    }

    fn hand_out(&mut self, place: usize, job: &Job, done: &Done) -> Result<(), Broken> {
        if let Origin::Call(number) = job.origin {
            let Some(call) = self.calls.get_mut(number) else { return Ok(()) };
            self.checker.acknowledged(call, &done.answer.to_line())?;
            call.unknown = false;
            return Ok(());
        }
        self.told(place, job.origin, Some(done));
        Ok(())
    }

    /// The transaction, again after a conflict; nothing where nobody knows or nothing was committed.
    fn transact(&mut self, place: usize, jobs: &[Job], keys: &KeySet) -> Option<Vec<Outcome>> {
        for _ in 0..=CONFLICTS_MAX {
            self.number += 1;
            let batch = BatchId(u128::from(self.number));
            self.store.mishap = self.mishap();
            self.clock.set(self.clock_of(place));
            let salt = u128::from(self.random.next()).to_be_bytes();
            let mut outcomes = Vec::new();
            let mut commands = 0;
            let mut next = jobs.iter();
            let result = self.store.transact(batch, keys.iter().cloned().collect(), &mut |world, at| {
                let outcome = apply(world, &next.next()?.command, at);
                let mut records = Vec::new();
                if let Outcome::Done(done) = &outcome {
                    commands += 1;
                    records.extend(done.records.iter().map(|record| record.seal(salt)));
                }
                outcomes.push(outcome);
                Some(records)
            });
            match result {
                Ok(_) => {
                    self.tally.commands += commands;
                    return Some(outcomes);
                }
                Err(StoreFault::Conflict(_)) => {}
                Err(StoreFault::Ambiguous(_)) => match self.settled(batch) {
                    Some(true) => {
                        self.tally.commands += commands;
                        return Some(outcomes);
                    }
                    Some(false) => {}
                    None => return None,
                },
                Err(StoreFault::Unavailable(_) | StoreFault::Refused(_) | StoreFault::Corrupt(_)) => return None,
            }
        }
        None
    }

    fn settled(&mut self, batch: BatchId) -> Option<bool> {
        self.store.silent = if self.hits(Fault::SettleDown) { SETTLING_MAX } else { 0 };
        (0..SETTLING_MAX).find_map(|_| self.store.has_settled(batch).ok())
    }

    fn mishap(&mut self) -> Option<Mishap> {
        let possible = [
            (Fault::StoreDown, Mishap::Down),
            (Fault::Conflict, Mishap::Conflict),
            (Fault::CommitUnheard, Mishap::Unheard),
            (Fault::CommitLost, Mishap::Lost),
        ];
        possible.into_iter().find_map(|(fault, mishap)| self.hits(fault).then_some(mishap))
    }
}

//! Carrying out a change: what it touches, who may, what it leaves behind.

mod context;
mod execution;
mod flows;
mod holding;
mod inquiring;
mod leasing;
mod own_process;
mod people;
mod registry;
mod resolving;
mod signing;
mod switching;
mod trying;
mod undoing;
mod upkeep;

use super::{expiry, standing, watching};
use crate::agent::Actor;
use crate::change::{Act, AttachedResult, Change};
use crate::event::Event;
use crate::finding::{Finding, Gate};
use crate::outcome::{Answer, AnsweredIntent, Done, Outcome, Verdict};
use crate::reasons::Reason;
use crate::record::{EventRecord, Record};
use crate::result::ResultRecord;
use crate::semantics::Semantics;
use crate::world::{Entity, Key, KeySet, World};
use std::sync::Arc;
use values::time::Instant;

/// What came of a change.
pub(super) enum ChangeOutcome {
    /// Something must be loaded first.
    Need { keys: KeySet },
    /// It was formed under a contract that no longer counts.
    Prepare,
    /// It was refused; the world is as it was, but for what the records tell.
    Refused { findings: Vec<Finding>, event: Option<Event>, records: Vec<Record> },
    /// It happened.
    Done { event: Event, intent: Option<AnsweredIntent>, records: Vec<Record> },
}

impl ChangeOutcome {
    fn done(event: Event) -> ChangeOutcome {
        ChangeOutcome::followed_by(event, Vec::new())
    }

    /// It happened, and something followed.
    fn followed_by(event: Event, records: Vec<Record>) -> ChangeOutcome {
        ChangeOutcome::Done { event, intent: None, records }
    }

    fn refused(finding: Finding) -> ChangeOutcome {
        ChangeOutcome::Refused { findings: vec![finding], event: None, records: Vec::new() }
    }
}

pub(super) fn apply(world: &mut World, change: &Arc<Change>, at: Instant) -> Outcome {
    let missing = world.missing(&keys(world, change));
    if !missing.is_empty() {
        return Outcome::Need(missing);
    }
    let (verdict, findings, event, intent, mut records) = match carry_out(world, change, at) {
        ChangeOutcome::Need { keys } => return Outcome::Need(keys),
        ChangeOutcome::Prepare => return Outcome::Prepare,
        ChangeOutcome::Refused { findings, event, records } => (Verdict::Reject, findings, event, None, records),
        ChangeOutcome::Done { event, intent, records } => (Verdict::Accept, Vec::new(), Some(event), intent, records),
    };
    records.extend(world.take_raised());
    let event = event.map(Arc::new);
    let result = (verdict == Verdict::Accept).then(|| keep_result(world, change, at)).flatten();
    let answer = Answer { id: change.id.clone(), verdict, findings: findings.into(), intent, question: None };
    records.push(Record::Event(Arc::new(EventRecord::of(change, &answer, event.clone(), at))));
    records.extend(result);
    Outcome::Done(Box::new(Done { answer, event, records }))
}

/// The record of what the other side answered, where a report brings it. The intent keeps when that was, so that it is found
/// again; a replay, which has only the report, does the same.
fn keep_result(world: &mut World, change: &Change, at: Instant) -> Option<Record> {
    let (intent, epoch, attached) = change.act.attached()?;
    execution::note_answered(world, change, intent, at);
    match attached {
        AttachedResult::Given(result) => {
            let (tenant, intent, result) = (change.tenant.clone(), intent.to_owned(), result.as_ref().clone());
            Some(Record::Result(Arc::new(ResultRecord {
                tenant,
                intent,
                epoch,
                result,
                at,
                semantics: Semantics::CURRENT,
            })))
        }
        AttachedResult::Recorded => None,
    }
}

fn key(change: &Change, entity: Entity) -> Key {
    Key { tenant: change.tenant.clone(), entity }
}

/// Everything it touches, as far as that is known before the first look.
pub(super) fn keys(world: &World, change: &Change) -> KeySet {
    let key = |entity| key(change, entity);
    let agent = |name: &String| key(Entity::Agent(name.clone()));
    let flow = |name: &String| key(Entity::Flow(name.clone()));
    let mut keys = KeySet::from([key(Entity::Tenant)]);
    match &change.act {
        Act::Register(registration) => {
            keys.extend(registry::keys_of_registration(registration, &key));
        }
        Act::Activate { contract, .. } => keys.extend(registry::keys_of_activation(world, change, contract)),
        Act::Try(trial) => keys.extend(trying::keys(trial, &key)),
        Act::Restrict { agent: name, .. } | Act::Retire { agent: name, .. } => {
            keys.insert(agent(name));
        }
        Act::Lift { agent: name, status, .. } => {
            keys.insert(agent(name));
            keys.extend(watching::holding(world, &change.tenant, name, *status));
        }
        Act::Amend { contract, .. } => {
            keys.insert(agent(&contract.contract.agent));
        }
        Act::OpenFlow { flow: name, agent: whose, parent } => {
            keys.extend(flows::keys_of_open(world, change, name, whose, parent.as_deref()));
        }
        Act::EndFlow { flow: name, event } => keys.extend(flows::keys_of_end(world, change, name, *event)),
        Act::Merge(writes) => keys.extend(writes.iter().map(|write| key(Entity::State(write.key.clone())))),
        Act::Remember { flow: name, .. } => keys.extend([flow(name), key(Entity::Session(name.clone()))]),
        Act::Freeze { flow: name, keys: names } => {
            keys.extend(names.iter().map(|name| key(Entity::State(name.clone()))));
            keys.extend(name.iter().flat_map(|name| [flow(name), key(Entity::Session(name.clone()))]));
        }
        Act::Import { name, .. } => {
            keys.insert(key(Entity::Snapshot(name.clone())));
        }
        Act::Answer(answer) => {
            keys.extend(people::keys_of_answer(&change.actor, answer, &key));
            keys.extend(people::keys_of_question(world, change, &answer.escalation));
        }
        Act::ExpireQuestions(names) => {
            keys.extend(names.iter().flat_map(|name| people::keys_of_question(world, change, name)));
        }
        Act::Settle { intent, .. }
        | Act::Claim { intent, .. }
        | Act::Start { intent, .. }
        | Act::Outcome { intent, .. }
        | Act::Undo { intent, .. } => keys.extend(execution::keys(world, change, intent)),
        Act::Resolve(answer) => {
            keys.extend(execution::keys(world, change, &answer.intent));
            keys.insert(key(Entity::Escalation(answer.question.clone())));
            if let Actor::Operator(name) = &change.actor {
                keys.insert(key(people::person(name)));
            }
        }
        Act::ExpireIntents => {
            keys.insert(key(Entity::DueIntents));
        }
        Act::Halt { .. } | Act::Resume { .. } => {}
        Act::Ask(asking) => keys.extend(inquiring::keys(world, change, asking)),
        Act::Reserve(wanted) => keys.extend(holding::keys(world, change, &wanted.flow, wanted.wanted.keys())),
        Act::Release { flow, resources } => keys.extend(holding::keys(world, change, flow, resources.iter())),
        Act::Note { flow: name, .. } => {
            keys.insert(flow(name));
        }
        Act::Lease(_) => {
            keys.insert(key(leasing::book()));
        }
        Act::Upkeep(upkeep) => keys.extend(upkeep::keys(upkeep, &key)),
    }
    keys
}

fn carry_out(world: &mut World, change: &Arc<Change>, at: Instant) -> ChangeOutcome {
    if let Some(finding) = misnamed(&change.actor) {
        return ChangeOutcome::refused(finding);
    }
    match &change.act {
        Act::Register(registration) => registry::register(world, change, registration, at),
        Act::Activate { contract, expected } => registry::activate(world, change, contract, *expected),
        Act::Try(trial) => trying::carry_out(world, change, trial, at),
        Act::Restrict { agent, status, because, actions } => {
            registry::restrict(world, change, agent, *status, because, actions, at)
        }
        Act::Lift { agent, status, because } => registry::lift(world, change, agent, *status, because),
        Act::Retire { agent, .. } => registry::retire(world, change, agent),
        Act::Amend { contract, amendment } => registry::amend(world, change, contract, amendment, at),
        Act::OpenFlow { flow, agent, parent } => flows::open(world, change, flow, agent, parent.as_ref(), at),
        Act::EndFlow { flow, event } => flows::end(world, change, flow, *event, at),
        Act::Merge(writes) => context::merge(world, change, writes),
        Act::Remember { flow, values } => context::remember(world, change, flow, values),
        Act::Freeze { flow, keys } => context::freeze(world, change, flow.as_deref(), keys, at),
        Act::Import { name, snapshot } => context::import(world, change, name, snapshot),
        Act::Answer(answer) => people::answer(world, change, answer, at),
        Act::ExpireQuestions(names) => people::expire(world, change, names, at),
        Act::Settle { intent, event, .. } => execution::settle(world, change, intent, *event, at),
        Act::Claim { intent, worker, lease } => execution::claim(world, change, intent, worker, *lease, at),
        Act::Start { intent, epoch, attempt } => execution::start(world, change, intent, *epoch, *attempt, at),
        Act::Outcome { intent, epoch, observed, .. } => {
            execution::outcome(world, change, intent, (*epoch, *observed), at)
        }
        Act::Resolve(answer) => resolving::resolve(world, change, answer, at),
        Act::Undo { intent, undo, .. } => undoing::undo(world, change, intent, undo, at),
        Act::ExpireIntents if !matches!(change.actor, Actor::Kernel | Actor::Operator(_)) => {
            ChangeOutcome::refused(not_authorized(change, "call off intents".to_owned()))
        }
        Act::ExpireIntents => match expiry::call_off_expired(world, &change.tenant, at) {
            Err(keys) => ChangeOutcome::Need { keys },
            Ok(records) => ChangeOutcome::followed_by(Event::intents_expired(&records), records),
        },
        Act::Ask(asking) => inquiring::ask(world, change, asking, at),
        Act::Reserve(wanted) => holding::reserve(world, change, wanted, at),
        Act::Release { flow, resources } => holding::release(world, change, flow, resources),
        Act::Note { flow, name, details } => context::note(world, change, flow, name, details),
        Act::Halt { group, because } => switching::pull(world, change, group.as_deref(), because, at),
        Act::Resume { group, .. } => switching::lift(world, change, group.as_deref()),
        Act::Lease(leasing) => leasing::carry_out(world, change, leasing, at),
        Act::Upkeep(upkeep) => upkeep::carry_out(world, change, upkeep, at),
    }
}

/// People and monitors are named as everything else is; a name that looks like another's is nobody's.
fn misnamed(actor: &Actor) -> Option<Finding> {
    let problem = match actor {
        Actor::Operator(name) | Actor::Monitor(name) => values::ids::identifier_problem(name)?,
        Actor::Agent(_) | Actor::Kernel => return None,
    };
    let finding = Finding::reject(Gate::Agent, Reason::ParamInvalid).field("actor");
    Some(finding.with("problem", format!("has a name that {problem}")))
}

fn not_authorized(change: &Change, what: String) -> Finding {
    Finding::reject(Gate::Agent, Reason::NotAuthorized).with("actor", change.actor.text()).with("what", what)
}

fn because_missing(what: String) -> Finding {
    Finding::reject(Gate::Shape, Reason::BecauseMissing).field("because").with("what", what)
}

fn step_refused(what: String, state: &str, problem: String) -> Finding {
    Finding::reject(Gate::Agent, Reason::StepRefused).with("what", what).with("state", state).with("problem", problem)
}

use standing::is_stale;

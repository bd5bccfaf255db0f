//! Looking after the ledger: who may erase, hold and change keys, and what a legal hold forbids.

use super::{ChangeOutcome, key, not_authorized, step_refused};
use crate::agent::{Actor, AgentStatus};
use crate::apply::mark_newer_rows;
use crate::change::Change;
use crate::change::upkeep::Upkeep;
use crate::escalation::EscalationState;
use crate::event::Event;
use crate::finding::{Finding, Gate};
use crate::intent::IntentState;
use crate::reasons::Reason;
use crate::world::{Entity, KEYS_KEPT_MAX, KEYS_KEPT_MIN, Key, LegalHold, Loaded, Row, TenantRow, World};
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// Legal holds at once.
const HOLDS_MAX: usize = 64;

pub(super) fn keys(upkeep: &Upkeep, key: &impl Fn(Entity) -> Key) -> Vec<Key> {
    match upkeep {
        Upkeep::EnrolKey { agent, .. } => vec![key(Entity::Agent(agent.clone()))],
        Upkeep::Erase { intents, questions, .. } => {
            let intents = intents.iter().map(|name| key(Entity::Intent(name.clone())));
            intents.chain(questions.iter().map(|name| key(Entity::Escalation(name.clone())))).collect()
        }
        Upkeep::Hold { .. }
        | Upkeep::Release { .. }
        | Upkeep::Rotate { .. }
        | Upkeep::KeepKeys { .. }
        | Upkeep::ForgetKeys { .. } => Vec::new(),
    }
}

pub(super) fn carry_out(world: &mut World, change: &Change, upkeep: &Upkeep, at: Instant) -> ChangeOutcome {
    // Time forgets keys by itself; everything else here is up to an operator.
    let by_itself = matches!((&change.actor, upkeep), (Actor::Kernel, Upkeep::ForgetKeys { .. }));
    if !matches!(change.actor, Actor::Operator(_)) && !by_itself {
        return ChangeOutcome::refused(not_authorized(change, change.act.kind().word().replace('_', " ")));
    }
    match upkeep {
        Upkeep::Erase { from, to, .. } => {
            erase(world, change, *from, *to, &keys(upkeep, &|entity| key(change, entity)))
        }
        Upkeep::Hold { hold, from, to, because } => {
            let held = LegalHold {
                id: hold.clone(),
                from: *from,
                to: *to,
                by: change.actor.text(),
                because: because.clone(),
                at,
            };
            place(world, change, held)
        }
        Upkeep::Release { hold, .. } => release(world, change, hold),
        Upkeep::Rotate { keyring, .. } => {
            let row = TenantRow { log: Some(keyring.to_string()), ..tenant(world, change) };
            world.put(key(change, Entity::Tenant), Row::Tenant(row));
            ChangeOutcome::done(Event::KeysRotated { keys: keyring.periods().len() as u64 })
        }
        Upkeep::EnrolKey { agent, key: public } => {
            let agent_key = key(change, Entity::Agent(agent.clone()));
            let Some(row) = world.agent(&agent_key) else {
                let finding = Finding::reject(Gate::Agent, Reason::AgentUnknown);
                return ChangeOutcome::refused(finding.with("agent", agent.as_str()).with("expected", agent.as_str()));
            };
            let mut row = row.clone();
            if row.status() == AgentStatus::Retired {
                return ChangeOutcome::refused(
                    Finding::reject(Gate::Agent, Reason::AgentRetired).with("agent", agent.as_str()),
                );
            }
            row.key = Some(public.clone());
            world.put(agent_key, Row::Agent(Box::new(row)));
            ChangeOutcome::done(Event::KeyEnrolled { agent: agent.clone(), key: public.clone() })
        }
        Upkeep::KeepKeys { kept, .. } => keep_keys(world, change, *kept),
        Upkeep::ForgetKeys { .. } => {
            let row = tenant(world, change);
            let before = row.forgettable(at);
            let row = TenantRow { keys_before: Some(before), ..row };
            world.put(key(change, Entity::Tenant), Row::Tenant(row));
            mark_newer_rows(world, key(change, Entity::Tenant));
            ChangeOutcome::done(Event::KeysForgotten { before })
        }
    }
}

/// What is forgotten already stays forgotten, whatever is kept from now on.
fn keep_keys(world: &mut World, change: &Change, kept: Duration) -> ChangeOutcome {
    if kept < KEYS_KEPT_MIN || kept > KEYS_KEPT_MAX {
        let problem = format!("is {kept}, and keys are kept from {KEYS_KEPT_MIN} to {KEYS_KEPT_MAX}");
        let finding = Finding::reject(Gate::Agent, Reason::ParamInvalid).field("kept");
        return ChangeOutcome::refused(finding.with("problem", problem));
    }
    let row = TenantRow { keys_kept: Some(kept), ..tenant(world, change) };
    world.put(key(change, Entity::Tenant), Row::Tenant(row));
    mark_newer_rows(world, key(change, Entity::Tenant));
    ChangeOutcome::done(Event::KeysKept { kept })
}

fn tenant(world: &World, change: &Change) -> TenantRow {
    world.tenant(&key(change, Entity::Tenant)).cloned().unwrap_or_default()
}

/// The bodies themselves are removed after this is committed: the record must be there first.
fn erase(world: &mut World, change: &Change, from: u64, to: u64, told_of: &[Key]) -> ChangeOutcome {
    if from >= to {
        let what = format!("the range from {from} to {to}");
        return ChangeOutcome::refused(step_refused(what, "empty", "there is nothing to erase".to_owned()));
    }
    let holds = tenant(world, change).holds;
    if let Some(hold) = holds.iter().find(|hold| hold.covers(from, to)) {
        let finding = Finding::reject(Gate::Agent, Reason::LegalHold).with("hold", hold.id.as_str());
        return ChangeOutcome::refused(finding.with("by", hold.by.as_str()).with("because", hold.because.as_str()));
    }
    let mut forgotten = Vec::new();
    for key in told_of {
        match without_params(world, key) {
            Ok(None) => {}
            Ok(Some(row)) => forgotten.push((key.clone(), row)),
            Err((what, state)) => {
                let problem = "what is still to happen cannot be erased".to_owned();
                return ChangeOutcome::refused(step_refused(
                    format!("{what} `{}`", key.entity.parts().0),
                    state,
                    problem,
                ));
            }
        }
    }
    for (key, row) in forgotten {
        world.put(key, row);
    }
    ChangeOutcome::done(Event::Erased { from, to })
}

/// A row without the params it kept; an error says what is not over yet.
fn without_params(world: &World, key: &Key) -> Result<Option<Row>, (&'static str, &'static str)> {
    let erased = |json: &mut Json| {
        if let Json::Object(members) = json
            && members.contains_key("params")
        {
            members.insert("params".to_owned(), Json::object([("erased", Json::Bool(true))]));
        }
    };
    match world.get(key) {
        Loaded::Present(Row::Intent(row)) => {
            let mut row = row.clone();
            let is_open = match row.state {
                IntentState::Ready | IntentState::Claimed | IntentState::InFlight | IntentState::InDoubt => true,
                IntentState::HandedOut
                | IntentState::Unreported
                | IntentState::Succeeded
                | IntentState::Failed
                | IntentState::Cancelled
                | IntentState::Abandoned => false,
            };
            if is_open {
                return Err(("intent", row.state.word()));
            }
            let Some(running) = &mut row.running else { return Ok(None) };
            running.order.erase_params();
            running.secrets = Object::new();
            Ok(Some(Row::Intent(row)))
        }
        Loaded::Present(Row::Escalation(row)) => {
            let mut row = row.clone();
            if row.state == EscalationState::Open {
                return Err(("question", row.state.word()));
            }
            erased(&mut row.proposal);
            Ok(Some(Row::Escalation(row)))
        }
        Loaded::Present(_) | Loaded::Absent | Loaded::NotLoaded => Ok(None),
    }
}

fn place(world: &mut World, change: &Change, held: LegalHold) -> ChangeOutcome {
    let mut row = tenant(world, change);
    if row.holds.iter().any(|hold| hold.id == held.id) {
        return ChangeOutcome::refused(step_refused(
            format!("hold `{}`", held.id),
            "there",
            "it cannot be placed twice".to_owned(),
        ));
    }
    if row.holds.len() >= HOLDS_MAX {
        let problem = format!("there are {HOLDS_MAX} already");
        return ChangeOutcome::refused(step_refused(format!("hold `{}`", held.id), "not there", problem));
    }
    let event = Event::HoldPlaced { hold: held.id.clone() };
    row.holds.push(held);
    world.put(key(change, Entity::Tenant), Row::Tenant(row));
    ChangeOutcome::done(event)
}

fn release(world: &mut World, change: &Change, name: &str) -> ChangeOutcome {
    let mut row = tenant(world, change);
    let before = row.holds.len();
    row.holds.retain(|hold| hold.id != name);
    if row.holds.len() == before {
        return ChangeOutcome::refused(step_refused(
            format!("hold `{name}`"),
            "not there",
            "nothing can be released".to_owned(),
        ));
    }
    world.put(key(change, Entity::Tenant), Row::Tenant(row));
    ChangeOutcome::done(Event::HoldReleased { hold: name.to_owned() })
}

//! Canaries: a candidate is put beside the contract in force, takes its place, or is taken back.

use super::registry::{conflict, contract_row, declare_resources, refused, unknown};
use super::{ChangeOutcome, because_missing, key, step_refused};
use crate::agent::{AgentEvent, transition};
use crate::apply::mark_newer_rows;
use crate::canary::{Canary, Share, apart, cannot_share, own_monitor, wordings};
use crate::change::{Change, Trial};
use crate::contract::Mode;
use crate::evaluator::Compiled;
use crate::event::{AgentStanding, Event};
use crate::finding::{Finding, Gate};
use crate::reasons::Reason;
use crate::watched::MonitorRow;
use crate::world::{Entity, Key, Row, World};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::ids::Digest;
use values::time::Instant;

/// Everything it touches.
pub(super) fn keys(trial: &Trial, key: &impl Fn(Entity) -> Key) -> Vec<Key> {
    let agent = key(Entity::Agent(trial.agent().to_owned()));
    let Trial::Start { contract, beside, .. } = trial else { return vec![agent] };
    let own = super::registry::keys_of_contract(contract, key);
    let monitors = apart(&contract.contract, &beside.contract);
    let monitor = |name: String| key(Entity::Monitor(trial.agent().to_owned(), own_monitor(&name)));
    own.into_iter().chain(monitors.into_iter().map(monitor)).collect()
}

pub(super) fn carry_out(world: &mut World, change: &Change, trial: &Trial, at: Instant) -> ChangeOutcome {
    let (name, what) = (trial.agent(), change.act.kind().word());
    let Some(row) = world.agent(&key(change, Entity::Agent(name.to_owned()))) else { return unknown(name) };
    // Whoever may put a contract in force may try one, and take it back.
    if let Err(refusal) = transition(row.base, &AgentEvent::Activate, &change.actor, name) {
        return refused(change, name, &row.clone(), refusal, what);
    }
    if trial.because().trim().is_empty() {
        return ChangeOutcome::refused(because_missing(format!("a canary of agent `{name}`")));
    }
    match trial {
        Trial::Start { contract, beside, share, because } => {
            start(world, change, (contract, beside), (*share, because), at)
        }
        Trial::Promote { agent, contract, .. } => end(world, change, agent, Some(*contract)),
        Trial::RollBack { agent, .. } => end(world, change, agent, None),
    }
}

fn start(
    world: &mut World,
    change: &Change,
    (contract, beside): (&Arc<Compiled>, &Arc<Compiled>),
    (share, because): (Share, &str),
    at: Instant,
) -> ChangeOutcome {
    let name = &contract.contract.agent;
    let agent_key = key(change, Entity::Agent(name.clone()));
    let Some(row) = world.agent(&agent_key) else { return unknown(name) };
    let mut row = row.clone();
    let Some(in_force) = row.contract else {
        return ChangeOutcome::refused(
            Finding::reject(Gate::Agent, Reason::ContractInactive).with("agent", name.as_str()),
        );
    };
    if in_force != beside.digest {
        return ChangeOutcome::Prepare;
    }
    if in_force == contract.digest {
        let problem = "the candidate is the contract in force".to_owned();
        return ChangeOutcome::refused(step_refused(format!("agent `{name}`"), row.status().word(), problem));
    }
    if let Some(problem) = cannot_share(contract, beside) {
        let problem = format!("the candidate {problem}");
        return ChangeOutcome::refused(Finding::reject(Gate::Agent, Reason::ContractInvalid).with("problem", problem));
    }
    if let Err(finding) = declare_resources(world, change, contract) {
        return ChangeOutcome::refused(finding);
    }
    // Another share of the same candidate keeps the flows that it has already.
    let before = row.canary.take().filter(|canary| canary.contract == contract.digest);
    let apart = apart(&contract.contract, &beside.contract);
    if before.is_none() {
        start_monitors(world, change, contract, &apart);
    }
    let salt = before.as_ref().map_or_else(|| change.id.clone(), |before| before.salt.clone());
    let since = before.map_or(at, |before| before.since);
    let (by, because) = (change.actor.text(), because.to_owned());
    let own = |name: String| if apart.contains(&name) { own_monitor(&name) } else { name };
    let watched = wordings(&contract.contract).into_iter().map(|(name, wording)| (own(name), wording)).collect();
    row.canary = Some(Canary { contract: contract.digest, share, salt, since, by, because, apart, watched });
    mark_newer_rows(world, key(change, Entity::Tenant));
    let standing = AgentStanding::of(name, &row);
    world.put(key(change, Entity::Contract(contract.digest.to_string())), contract_row(contract));
    world.put(agent_key, Row::Agent(Box::new(row)));
    ChangeOutcome::done(Event::AgentChanged(standing))
}

/// The candidate's own monitors have seen nothing.
fn start_monitors(world: &mut World, change: &Change, contract: &Compiled, names: &BTreeSet<String>) {
    let observes = contract.contract.mode == Mode::Observe;
    for name in names {
        let watch = contract.contract.watch.get(name);
        if let Some(fresh) = watch.and_then(|watch| MonitorRow::new(watch, observes)) {
            let entity = Entity::Monitor(contract.contract.agent.clone(), own_monitor(name));
            world.put(key(change, entity), Row::Monitor(Box::new(fresh)));
        }
    }
}

/// The candidate takes the place of the contract in force, if it is the one that the operator has looked at; or nothing of
/// it is left.
fn end(world: &mut World, change: &Change, name: &str, promoted: Option<Digest>) -> ChangeOutcome {
    let agent_key = key(change, Entity::Agent(name.to_owned()));
    let Some(row) = world.agent(&agent_key) else { return unknown(name) };
    let mut row = row.clone();
    let Some(canary) = row.canary.take() else {
        let problem = "no candidate is tried beside its contract".to_owned();
        return ChangeOutcome::refused(step_refused(format!("agent `{name}`"), row.status().word(), problem));
    };
    if let Some(expected) = promoted {
        if expected != canary.contract {
            let (now, expected) = (canary.contract.to_string(), expected.to_string());
            return ChangeOutcome::refused(conflict(format!("canary of {name}"), &now, &expected));
        }
        row.contract = Some(canary.contract);
        row.watched = canary.watched_in_force();
        // An amendment was made to the contract that was in force.
        row.amendments.clear();
    }
    let standing = AgentStanding::of(name, &row);
    world.put(agent_key, Row::Agent(Box::new(row)));
    ChangeOutcome::done(Event::AgentChanged(standing))
}

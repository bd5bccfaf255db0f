//! The registry: agents come, are put in force, restricted, let go.

use super::{ChangeOutcome, because_missing, key, not_authorized, step_refused};
use crate::agent::{Actor, AgentEvent, AgentRefusal, AgentRow, AgentStatus, Restriction, transition};
use crate::apply::known::resource_row;
use crate::apply::mark_newer_rows;
use crate::apply::watching;
use crate::canary::wordings;
use crate::change::{Change, Registration};
use crate::contract::Resource;
use crate::contract::amend::{self, Amendment};
use crate::contract::attenuate::attenuate;
use crate::evaluator::Compiled;
use crate::event::{AgentStanding, AmendedLimit, Event, LimitBounds};
use crate::finding::{Finding, Gate};
use crate::flow::DEPTH_MAX;
use crate::reasons::Reason;
use crate::version::supports;
use crate::world::{Entity, Key, Row, World};
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::ids::Digest;
use values::time::Instant;

/// Versions of agents this runtime speaks with.
pub const SUPPORTED_VERSIONS: &str = ">=0.1.0, <2.0.0";

/// Amendments kept for an agent; those that are over make room.
const AMENDMENTS_MAX: usize = 64;

pub(super) fn keys_of_registration(registration: &Registration, key: &impl Fn(Entity) -> Key) -> Vec<Key> {
    let mut keys = keys_of_contract(&registration.contract, key);
    keys.extend(registration.contract.contract.parent.iter().map(|parent| key(Entity::Agent(parent.clone()))));
    keys
}

pub(super) fn keys_of_contract(contract: &Compiled, key: &impl Fn(Entity) -> Key) -> Vec<Key> {
    let own = [Entity::Agent(contract.contract.agent.clone()), Entity::Contract(contract.digest.to_string())];
    let resources = contract.contract.resources.keys().map(|name| Entity::Resource(name.clone()));
    own.into_iter().chain(resources).map(key).collect()
}

/// An agent comes with a contract. What the registry holds of it already stays as it is.
pub(super) fn register(world: &mut World, change: &Change, registration: &Registration, _at: Instant) -> ChangeOutcome {
    let contract = &registration.contract;
    let name = &contract.contract.agent;
    let agent_key = key(change, Entity::Agent(name.clone()));
    let itself = matches!(&change.actor, Actor::Agent(actor) if actor == name);
    if !itself && !matches!(change.actor, Actor::Operator(_)) {
        return ChangeOutcome::refused(not_authorized(change, format!("register agent `{name}`")));
    }
    if let Some(version) = registration.version.as_ref().filter(|version| !supports(SUPPORTED_VERSIONS, version)) {
        let finding = Finding::reject(Gate::Agent, Reason::VersionMismatch);
        return ChangeOutcome::refused(finding.with("version", version.as_str()).with("range", SUPPORTED_VERSIONS));
    }
    if let Some(finding) = outside_its_parent(world, change, registration) {
        return ChangeOutcome::refused(finding);
    }
    let known = world.agent(&agent_key).cloned();
    let mut row = match known {
        Some(_) if bugs::on(Bug::W04HandshakeResets) => {
            AgentRow { contract: Some(contract.digest), ..AgentRow::active() }
        }
        Some(row) => row,
        None => AgentRow { base: AgentStatus::Registered, ..AgentRow::active() },
    };
    let refusal = match row.status() {
        AgentStatus::Suspended => Some(Reason::AgentSuspended),
        AgentStatus::Retired => Some(Reason::AgentRetired),
        AgentStatus::Registered
        | AgentStatus::Active
        | AgentStatus::Degraded
        | AgentStatus::EscalationOnly
        | AgentStatus::Passive => None,
    };
    if let Some(reason) = refusal {
        let because = row.because().map(|because| format!(": {because}")).unwrap_or_default();
        return ChangeOutcome::refused(
            Finding::reject(Gate::Agent, reason).with("agent", name.as_str()).with("because", because),
        );
    }
    row.offered = Some(contract.digest);
    row.version = registration.version.clone().or(row.version);
    row.session = registration.session.clone().or(row.session);
    let standing = AgentStanding::of(name, &row);
    world.put(key(change, Entity::Contract(contract.digest.to_string())), contract_row(contract));
    world.put(agent_key, Row::Agent(Box::new(row)));
    ChangeOutcome::done(Event::AgentChanged(standing))
}

pub(super) fn contract_row(contract: &Compiled) -> Row {
    Row::Contract(Arc::new(contract.contract.to_json()))
}

/// The early error; the parent's limits and budgets apply again at every decision.
fn outside_its_parent(world: &World, change: &Change, registration: &Registration) -> Option<Finding> {
    let contract = &registration.contract.contract;
    let parent = contract.parent.as_ref()?;
    let widens =
        |problem: String| Some(Finding::reject(Gate::Agent, Reason::ContractWidensParent).with("problem", problem));
    let in_force = world.agent(&key(change, Entity::Agent(parent.clone()))).and_then(|row| row.contract);
    match &registration.parent {
        Some(bound) if Some(bound.digest) == in_force => match attenuate(contract, &bound.contract) {
            Ok(()) => None,
            Err(diagnostic) => widens(diagnostic.message),
        },
        Some(_) | None => Some(Finding::reject(Gate::Agent, Reason::ContractInactive).with("agent", parent.as_str())),
    }
}

/// An operator puts a contract in force. All contracts that name a resource must declare it alike.
pub(super) fn activate(
    world: &mut World,
    change: &Change,
    contract: &Arc<Compiled>,
    expected: Option<Digest>,
) -> ChangeOutcome {
    let name = &contract.contract.agent;
    let agent_key = key(change, Entity::Agent(name.clone()));
    let mut row = match world.agent(&agent_key) {
        Some(row) => row.clone(),
        None => return unknown(name),
    };
    match transition(row.base, &AgentEvent::Activate, &change.actor, name) {
        Ok(base) => row.base = base,
        Err(refusal) => return refused(change, name, &row, refusal, "activate"),
    }
    if let Some(expected) = expected.filter(|expected| row.contract != Some(*expected)) {
        let now = row.contract.map_or_else(|| "no contract".to_owned(), |digest| digest.to_string());
        return ChangeOutcome::refused(conflict(format!("contract of {name}"), &now, &expected.to_string()));
    }
    if let Some(finding) = leaving_a_halted_group(world, change, &row, contract) {
        return ChangeOutcome::refused(finding);
    }
    if let Err(finding) = declare_resources(world, change, contract) {
        return ChangeOutcome::refused(finding);
    }
    // Whoever puts a contract in force has looked at it, and not at what ran beside the one before.
    row.canary = None;
    row.contract = Some(contract.digest);
    row.parent = contract.contract.parent.clone();
    row.group = contract.contract.group.clone();
    row.watched = wordings(&contract.contract);
    // An amendment was made to the contract that was in force.
    row.amendments.clear();
    if !row.watched.is_empty() {
        mark_newer_rows(world, key(change, Entity::Tenant));
    }
    let standing = AgentStanding::of(name, &row);
    world.put(key(change, Entity::Contract(contract.digest.to_string())), contract_row(contract));
    world.put(agent_key, Row::Agent(Box::new(row)));
    ChangeOutcome::done(Event::AgentChanged(standing))
}

/// A switch that is pulled is lifted by `resume`, with a reason, and not by a contract that names another group or none, or
/// another parent than one that is stopped.
fn leaving_a_halted_group(world: &World, change: &Change, row: &AgentRow, contract: &Compiled) -> Option<Finding> {
    let tenant = world.tenant(&key(change, Entity::Tenant))?;
    let own = row.group.as_ref().filter(|group| contract.contract.group.as_ref() != Some(*group));
    if let Some(stopped) = own.and_then(|group| tenant.stopped_group(group)) {
        return Some(stopped);
    }
    if row.parent == contract.contract.parent {
        return None;
    }
    let above = above(world, change, row).filter_map(|(_, above)| above);
    above.filter_map(|above| tenant.stopped_group(above.group.as_deref()?)).next()
}

/// The agents above one, as far as they are loaded, from its parent up.
fn above<'w>(
    world: &'w World,
    change: &'w Change,
    row: &AgentRow,
) -> impl Iterator<Item = (Key, Option<&'w AgentRow>)> + use<'w> {
    let found = |parent: String| {
        let agent = key(change, Entity::Agent(parent));
        let row = world.agent(&agent);
        (agent, row)
    };
    let first = row.parent.clone().map(found);
    std::iter::successors(first, move |(_, row)| row.and_then(|row| row.parent.clone()).map(found)).take(DEPTH_MAX)
}

/// Everything that an activation touches: also the agents that stand above it now.
pub(super) fn keys_of_activation(world: &World, change: &Change, contract: &Compiled) -> Vec<Key> {
    let key = |entity| key(change, entity);
    let mut keys = keys_of_contract(contract, &key);
    if let Some(row) = world.agent(&key(Entity::Agent(contract.contract.agent.clone()))) {
        keys.extend(above(world, change, row).map(|(agent, _)| agent));
    }
    keys
}

/// Declares the resources of a contract; nothing is changed where one is declared otherwise elsewhere.
pub(super) fn declare_resources(world: &mut World, change: &Change, contract: &Compiled) -> Result<(), Finding> {
    let mut fresh = Vec::new();
    for (resource, declared) in &contract.contract.resources {
        let resource_key = key(change, Entity::Resource(resource.clone()));
        let text = declared_text(declared);
        let mut known = resource_row(world, &resource_key);
        match &known.declared {
            Some(other) if *other != text => {
                let problem = format!("resource `{resource}` is {text} here and {other} elsewhere");
                return Err(Finding::reject(Gate::Agent, Reason::ContractInvalid).with("problem", problem));
            }
            Some(_) => {}
            None => {
                known.declared = Some(text);
                fresh.push((resource_key, known));
            }
        }
    }
    // Only now can nothing refuse it any more.
    for (resource_key, known) in fresh {
        world.put(resource_key, Row::Resource(known));
    }
    Ok(())
}

fn declared_text(resource: &Resource) -> String {
    let unit = resource.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
    format!("{} of {}{unit}", resource.kind.word(), resource.capacity)
}

pub(super) fn restrict(
    world: &mut World,
    change: &Change,
    name: &str,
    status: AgentStatus,
    because: &str,
    actions: &[String],
    at: Instant,
) -> ChangeOutcome {
    changed(world, change, name, &AgentEvent::Restrict(status), |row| {
        // The same restriction by the same actor is one restriction.
        let by = change.actor.text();
        row.restrictions.retain(|known| known.status != status || known.by != by);
        row.restrictions.push(Restriction {
            status,
            by,
            because: because.to_owned(),
            at,
            actions: actions.iter().cloned().collect(),
        });
    })
}

pub(super) fn lift(
    world: &mut World,
    change: &Change,
    name: &str,
    status: AgentStatus,
    because: &str,
) -> ChangeOutcome {
    let row = world.agent(&key(change, Entity::Agent(name.to_owned())));
    let may = |row: &&AgentRow| transition(row.base, &AgentEvent::Lift(status), &change.actor, name).is_ok();
    let holding = watching::holding(world, &change.tenant, name, status);
    if let Some(row) = row.filter(may) {
        if !row.restrictions.iter().any(|known| known.status == status) {
            return ChangeOutcome::refused(conflict(format!("agent {name}"), row.status().word(), status.word()));
        }
        // Old records lift without a reason; no monitor held anyone back then.
        if because.trim().is_empty() && holding.iter().any(|key| world.monitor(key).is_some()) {
            return ChangeOutcome::refused(because_missing(format!("lifting what a monitor placed on agent `{name}`")));
        }
    }
    let outcome = changed(world, change, name, &AgentEvent::Lift(status), |row| {
        row.restrictions.retain(|known| known.status != status);
    });
    match outcome {
        ChangeOutcome::Done { event: Event::AgentChanged(standing), intent, records } => {
            let restarted = watching::restart(world, holding);
            ChangeOutcome::Done { event: Event::AgentChanged(AgentStanding { restarted, ..standing }), intent, records }
        }
        other @ (ChangeOutcome::Need { .. }
        | ChangeOutcome::Prepare
        | ChangeOutcome::Refused { .. }
        | ChangeOutcome::Done { .. }) => other,
    }
}

pub(super) fn retire(world: &mut World, change: &Change, name: &str) -> ChangeOutcome {
    changed(world, change, name, &AgentEvent::Retire, |_| {})
}

fn changed(
    world: &mut World,
    change: &Change,
    name: &str,
    event: &AgentEvent,
    edit: impl FnOnce(&mut AgentRow),
) -> ChangeOutcome {
    let agent_key = key(change, Entity::Agent(name.to_owned()));
    let Some(row) = world.agent(&agent_key) else { return unknown(name) };
    let mut row = row.clone();
    match transition(row.base, event, &change.actor, name) {
        Ok(base) => row.base = base,
        Err(refusal) => return refused(change, name, &row, refusal, change.act.kind().word()),
    }
    edit(&mut row);
    let standing = AgentStanding::of(name, &row);
    world.put(agent_key, Row::Agent(Box::new(row)));
    ChangeOutcome::done(Event::AgentChanged(standing))
}

pub(super) fn amend(
    world: &mut World,
    change: &Change,
    contract: &Arc<Compiled>,
    amendment: &Amendment,
    at: Instant,
) -> ChangeOutcome {
    let name = &contract.contract.agent;
    let agent_key = key(change, Entity::Agent(name.clone()));
    let Some(row) = world.agent(&agent_key) else { return unknown(name) };
    if row.contract != Some(contract.digest) {
        return ChangeOutcome::Prepare;
    }
    if !matches!(change.actor, Actor::Operator(_)) {
        return ChangeOutcome::refused(not_authorized(change, format!("amend the contract of `{name}`")));
    }
    let mut row = row.clone();
    let amendment = Amendment { at, actor: change.actor.text(), ..amendment.clone() };
    let refused = |problem: &str| {
        ChangeOutcome::refused(Finding::reject(Gate::Agent, Reason::AmendmentRefused).with("problem", problem))
    };
    let expires = match amend::check(&contract.contract, &amendment) {
        Ok(expires) => expires,
        Err(_) if bugs::on(Bug::AmendmentUnbounded) => at,
        Err(refusal) => return refused(&amend::explain(&contract.contract, &amendment, refusal)),
    };
    row.amendments.retain(|known| amend::check(&contract.contract, known).is_ok_and(|expires| at < expires));
    if row.amendments.len() >= AMENDMENTS_MAX {
        return refused("TOO_MANY");
    }
    let before = in_force(contract, &row, &amendment, at);
    row.amendments.push(amendment.clone());
    let after = in_force(contract, &row, &amendment, at);
    world.put(agent_key, Row::Agent(Box::new(row)));
    let Amendment { action, param, because, .. } = amendment;
    let agent = name.clone();
    ChangeOutcome::done(Event::Amended(AmendedLimit { agent, action, param, before, after, because, expires }))
}

/// The bounds that hold for the param of an amendment.
fn in_force(contract: &Compiled, row: &AgentRow, amendment: &Amendment, at: Instant) -> LimitBounds {
    let limits = amend::effective_limits(&contract.contract, &row.amendments, at);
    let limit = limits.get(&amendment.action).and_then(|limits| limits.get(&amendment.param));
    LimitBounds { min: limit.and_then(|limit| limit.min), max: limit.and_then(|limit| limit.max) }
}

/// Someone compared before changing, and what was to be there is not.
pub(super) fn conflict(what: String, now: &str, expected: &str) -> Finding {
    let finding = Finding::reject(Gate::Agent, Reason::StateConflict);
    finding.with("key", what).with("version", now).with("expected", expected)
}

pub(super) fn unknown(name: &str) -> ChangeOutcome {
    ChangeOutcome::refused(Finding::reject(Gate::Agent, Reason::AgentNotRegistered).with("agent", name))
}

pub(super) fn refused(change: &Change, name: &str, row: &AgentRow, refusal: AgentRefusal, what: &str) -> ChangeOutcome {
    let finding = match refusal {
        AgentRefusal::Retired => Finding::reject(Gate::Agent, Reason::AgentRetired).with("agent", name),
        AgentRefusal::NotAuthorized => not_authorized(change, format!("{what} agent `{name}`")),
        AgentRefusal::NoSuchRestriction => {
            step_refused(format!("agent `{name}`"), row.status().word(), format!("it cannot {what} like this"))
        }
    };
    ChangeOutcome::refused(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Act;
    use crate::testing::{Case, case};

    /// What an activation comes to once the agent's group, and then another one, is stopped.
    fn activated(case: Case, halted: &str) -> String {
        let mut case = case.group("payments");
        case.judge();
        let mut case = case.halted_group(halted);
        let act = Act::Activate { contract: case.compiled(), expected: None };
        let done = case.change(Actor::Operator("ann".to_owned()), act);
        done.answer.findings.iter().map(Finding::message).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_contract_does_not_lead_out_of_a_group_that_is_stopped() {
        let named = |group: &'static str| case().contract(|contract| contract.group = Some(group.to_owned()));
        let refused = "group `payments` is stopped by operator:ann: fire";
        assert_eq!(activated(case(), "payments"), refused);
        assert_eq!(activated(named("office"), "payments"), refused);
        assert_eq!(activated(named("payments"), "payments"), "");
        // The switch of a group that the agent is not in is no reason, also where the contract leads into that group.
        assert_eq!(activated(case(), "office"), "");
        assert_eq!(activated(named("office"), "office"), "");
    }
}

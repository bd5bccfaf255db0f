//! Context: state with versions, sessions of flows, and snapshots of both.

use super::flows::{flow_row, may, unknown};
use super::{ChangeOutcome, inquiring, key, not_authorized, step_refused};
use crate::agent::{Actor, owns_state};
use crate::api_key::{ApiKey, KEYS, TENANTS, TenantState, is_reserved, is_tenant_name};
use crate::attention::{ATTENTION, Attention};
use crate::change::inquiry::note_problem;
use crate::change::{Change, Write};
use crate::escalation::PEOPLE;
use crate::event::Event;
use crate::finding::{Finding, Gate};
use crate::lease::kept::LEASES;
use crate::person::Person;
use crate::reasons::Reason;
use crate::shadow::{SHADOWS, Shadow};
use crate::snapshot::Snapshot;
use crate::world::{Entity, Row, StateRow, World};
use std::collections::BTreeMap;
use values::bugs::{self, Bug};
use values::ids::{TENANT_DEFAULT, identifier_problem};
use values::json::{Json, Object};
use values::time::Instant;

/// Values one session keeps.
const SESSION_VALUES_MAX: usize = 1_024;

/// Writes every value, or none: a version that moved refuses all of them.
pub(super) fn merge(world: &mut World, change: &Change, writes: &[Write]) -> ChangeOutcome {
    for write in writes {
        let may = match &change.actor {
            Actor::Operator(_) | Actor::Kernel => true,
            Actor::Agent(name) => owns_state(name, &write.key),
            Actor::Monitor(_) => false,
        };
        // Leases are given by what is held, never by writing that it is so.
        if !may || write.key.starts_with(LEASES) {
            return ChangeOutcome::refused(not_authorized(change, format!("write state `{}`", write.key)));
        }
        if let Some(finding) = wrong_groups(write)
            .or_else(|| wrong_attention(write))
            .or_else(|| wrong_shadow(write))
            .or_else(|| wrong_reserved(change, write))
        {
            return ChangeOutcome::refused(finding);
        }
        let version = version(world, change, &write.key);
        if let Some(expected) = write.expect.filter(|expected| *expected != version && !bugs::on(Bug::W06MergeBlind)) {
            let finding = Finding::reject(Gate::Shape, Reason::StateConflict).field("expect");
            return ChangeOutcome::refused(
                finding.with("key", write.key.as_str()).with("version", version).with("expected", expected),
            );
        }
    }
    let mut versions = BTreeMap::new();
    for write in writes {
        let version = version(world, change, &write.key).saturating_add(1);
        versions.insert(write.key.clone(), version);
        let row = StateRow { value: write.value.clone(), version };
        world.put(key(change, Entity::State(write.key.clone())), Row::State(row));
    }
    ChangeOutcome::done(Event::StateMerged { versions })
}

/// Under `people/` state says who is in which groups; something else there would let nobody answer.
fn wrong_groups(write: &Write) -> Option<Finding> {
    let name = write.key.strip_prefix(PEOPLE)?;
    if Person::from_json(&write.value).is_some() && identifier_problem(name).is_none() {
        return None;
    }
    let problem = "is not a person with a list of groups, such as [\"refund-desk\"], and perhaps a key";
    Some(Finding::reject(Gate::Shape, Reason::ParamInvalid).field(write.key.as_str()).with("problem", problem))
}

/// Under `attention/` state says how many questions a group takes; null takes the bound away.
fn wrong_attention(write: &Write) -> Option<Finding> {
    let group = write.key.strip_prefix(ATTENTION)?;
    let known = write.value == Json::Null || Attention::from_json(&write.value).is_some();
    if known && identifier_problem(group).is_none() {
        return None;
    }
    let problem = "is not the attention of a group, such as {\"questions\": 40, \"per\": \"8h\"}";
    Some(Finding::reject(Gate::Shape, Reason::ParamInvalid).field(write.key.as_str()).with("problem", problem))
}

/// Under `shadows/` state names a candidate of exactly that agent, or why there is none any more.
fn wrong_shadow(write: &Write) -> Option<Finding> {
    let agent = write.key.strip_prefix(SHADOWS)?;
    if Shadow::is_stated(agent, &write.value) {
        return None;
    }
    let problem = "is no candidate of this agent with an instant and a reason";
    Some(Finding::reject(Gate::Shape, Reason::ParamInvalid).field(write.key.as_str()).with("problem", problem))
}

/// Under `keys/` and `tenants/` state says who may come in; something else there would let nobody in, or anybody.
fn wrong_reserved(change: &Change, write: &Write) -> Option<Finding> {
    let problem = if let Some(id) = write.key.strip_prefix(KEYS) {
        let is_key = ApiKey::from_json(&write.value).is_some() && ApiKey::is_id(id);
        (!is_key).then_some("is not a key with a role, a name, groups, a hash and who made it")?
    } else if let Some(name) = write.key.strip_prefix(TENANTS) {
        if *change.tenant != *TENANT_DEFAULT {
            "is written in the tenant `default` only"
        } else {
            let is_tenant = TenantState::from_json(&write.value).is_some() && is_tenant_name(name);
            (!is_tenant).then_some("is not a tenant: a name of a-z, 0-9 and -, and {\"state\":\"OPEN\"|\"CLOSED\"}")?
        }
    } else {
        return None;
    };
    Some(Finding::reject(Gate::Shape, Reason::ParamInvalid).field(write.key.as_str()).with("problem", problem))
}

fn version(world: &World, change: &Change, name: &str) -> u64 {
    world.state(&key(change, Entity::State(name.to_owned()))).map_or(0, |row| row.version)
}

pub(super) fn remember(world: &mut World, change: &Change, flow: &str, values: &Object) -> ChangeOutcome {
    if flow_row(world, change, flow).is_none_or(|row| !may(change, row)) {
        return unknown(flow);
    }
    let blind = bugs::on(Bug::W06SessionBlind);
    let mut session = if blind { Object::new() } else { session(world, change, flow) };
    session.extend(values.iter().map(|(name, value)| (name.clone(), value.clone())));
    if session.len() > SESSION_VALUES_MAX {
        let problem = format!("a session keeps at most {SESSION_VALUES_MAX} values");
        return ChangeOutcome::refused(step_refused(format!("session of flow `{flow}`"), "full", problem));
    }
    let values = session.len() as u64;
    world.put(key(change, Entity::Session(flow.to_owned())), Row::Session(session));
    ChangeOutcome::done(Event::SessionKept { flow: flow.to_owned(), values })
}

/// Writes something down in a flow, open or over; the record is all there is of it.
pub(super) fn note(world: &World, change: &Change, flow: &str, name: &str, details: &Object) -> ChangeOutcome {
    if flow_row(world, change, flow).is_none_or(|row| !may(change, row)) {
        return unknown(flow);
    }
    if let Some((field, problem)) = note_problem(name, details) {
        return inquiring::invalid(field, problem);
    }
    ChangeOutcome::done(Event::Noted { flow: flow.to_owned(), name: name.to_owned() })
}

fn session(world: &World, change: &Change, flow: &str) -> Object {
    world.session(&key(change, Entity::Session(flow.to_owned()))).cloned().unwrap_or_default()
}

/// Freezes state and session as they are; the snapshot is named by its full digest.
pub(super) fn freeze(
    world: &mut World,
    change: &Change,
    flow: Option<&str>,
    names: &[String],
    at: Instant,
) -> ChangeOutcome {
    if let Some(flow) = flow
        && flow_row(world, change, flow).is_none_or(|row| !may(change, row))
    {
        return unknown(flow);
    }
    if flow.is_none() && !matches!(change.actor, Actor::Operator(_) | Actor::Kernel) {
        return ChangeOutcome::refused(not_authorized(change, "freeze state outside of a flow".to_owned()));
    }
    let reserved = names.iter().find(|name| is_reserved(name) && matches!(change.actor, Actor::Agent(_)));
    if let Some(name) = reserved {
        return ChangeOutcome::refused(not_authorized(change, format!("freeze state `{name}`")));
    }
    let mut state = Object::new();
    for name in names {
        if let Some(row) = world.state(&key(change, Entity::State(name.clone()))) {
            state.insert(name.clone(), row.value.clone());
        }
    }
    let session = flow.map(|flow| session(world, change, flow)).unwrap_or_default();
    let snapshot = Snapshot { at, source: "context".to_owned(), flow: flow.map(str::to_owned), state, session };
    let id = snapshot.id();
    let event = Event::SnapshotFrozen { snapshot: id.clone(), at, state: snapshot.state.clone() };
    world.put(key(change, Entity::Snapshot(id)), Row::Snapshot(snapshot));
    ChangeOutcome::done(event)
}

pub(super) fn import(world: &mut World, change: &Change, name: &str, snapshot: &Snapshot) -> ChangeOutcome {
    if !matches!(change.actor, Actor::Operator(_)) {
        return ChangeOutcome::refused(not_authorized(change, "import snapshots".to_owned()));
    }
    let entity = key(change, Entity::Snapshot(name.to_owned()));
    if world.snapshot(&entity).is_some_and(|known| known != snapshot) {
        let problem = "another snapshot has this name".to_owned();
        return ChangeOutcome::refused(step_refused(format!("snapshot `{name}`"), "there", problem));
    }
    world.put(entity, Row::Snapshot(snapshot.clone()));
    ChangeOutcome::done(Event::SnapshotImported { name: name.to_owned(), snapshot: snapshot.id() })
}

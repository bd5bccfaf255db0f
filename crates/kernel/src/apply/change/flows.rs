//! Flows: opened for an agent, perhaps out of another, and ended once.

use super::{Came, key, not_authorized, step_refused};
use crate::agent::Actor;
use crate::apply::known::agent_row;
use crate::change::Change;
use crate::finding::{Finding, Gate};
use crate::flow::{DEPTH_MAX, FlowEvent, FlowState, transition};
use crate::reasons::Reason;
use crate::world::{Entity, FlowRow, Loaded, Row, World};
use values::json::Json;
use values::time::Instant;

pub(super) fn flow_row<'a>(world: &'a World, change: &Change, name: &str) -> Option<&'a FlowRow> {
    let Loaded::Present(Row::Flow(row)) = world.get(&key(change, Entity::Flow(name.to_owned()))) else { return None };
    Some(row)
}

/// Whether the actor may speak for the flow: its agent, or an operator.
pub(super) fn may(change: &Change, row: &FlowRow) -> bool {
    match &change.actor {
        Actor::Operator(_) | Actor::Kernel => true,
        Actor::Agent(name) => *name == row.agent,
        Actor::Monitor(_) => false,
    }
}

pub(super) fn unknown(name: &str) -> Came {
    Came::refused(Finding::reject(Gate::Retry, Reason::FlowUnknown).field("flow").with("flow", name))
}

pub(super) fn open(
    world: &mut World,
    change: &Change,
    name: &str,
    agent: &str,
    parent: Option<&String>,
    at: Instant,
) -> Came {
    if agent_row(world, &key(change, Entity::Agent(agent.to_owned()))).is_none() {
        return Came::refused(Finding::reject(Gate::Agent, Reason::AgentNotRegistered).with("agent", agent));
    }
    let mut row = FlowRow { agent: agent.to_owned(), opened_at: Some(at), ..FlowRow::default() };
    if flow_row(world, change, name).is_some() {
        return Came::refused(step_refused(format!("flow `{name}`"), "there", "it cannot be opened again".to_owned()));
    }
    if let Some(parent) = parent {
        let Some(above) = flow_row(world, change, parent) else { return unknown(parent) };
        if !may(change, above) {
            return unknown(parent);
        }
        if above.state != FlowState::Open {
            return Came::refused(Finding::reject(Gate::Retry, Reason::FlowClosed).with("flow", parent.as_str()));
        }
        row.depth = above.depth.saturating_add(1);
        row.root = above.root.clone().or_else(|| Some(parent.clone()));
        row.parent = Some(parent.clone());
        if row.depth > DEPTH_MAX {
            let problem = format!("{DEPTH_MAX} flows stand above it already");
            return Came::refused(step_refused(format!("flow `{parent}`"), "too deep", problem));
        }
    } else if !may(change, &row) {
        return Came::refused(not_authorized(change, format!("open a flow for `{agent}`")));
    }
    let body = Json::object([
        ("flow", Json::text(name)),
        ("agent", Json::text(agent)),
        ("parent", Json::from(row.parent.clone())),
        ("root", Json::from(row.root.clone())),
    ]);
    world.put(key(change, Entity::Flow(name.to_owned())), Row::Flow(row));
    Came::done(body)
}

pub(super) fn end(world: &mut World, change: &Change, name: &str, event: FlowEvent) -> Came {
    let Some(row) = flow_row(world, change, name).filter(|row| may(change, row)) else { return unknown(name) };
    let mut row = row.clone();
    let next = if event == FlowEvent::Propose { None } else { transition(row.state, event) };
    let Some(state) = next else {
        let problem = format!("it cannot {}", event.word());
        return Came::refused(step_refused(format!("flow `{name}`"), row.state.word(), problem));
    };
    row.state = state;
    world.put(key(change, Entity::Flow(name.to_owned())), Row::Flow(row));
    Came::done(Json::object([("flow", Json::text(name)), ("state", Json::text(state.word()))]))
}

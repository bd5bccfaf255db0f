//! Flows: opened for an agent, perhaps out of another, and ended once.

use super::{ChangeOutcome, holding, key, not_authorized, people, step_refused};
use crate::agent::Actor;
use crate::apply::flow_work;
use crate::apply::settling::{self, intent_row};
use crate::change::Change;
use crate::consequence::Consequence;
use crate::event::{AbortedFlow, ClosedFlow, Event, OpenedFlow};
use crate::finding::{Finding, Gate};
use crate::flow::{DEPTH_MAX, FlowEvent, FlowState, transition};
use crate::intent::Step;
use crate::reasons::Reason;
use crate::record::{EventRecord, Record};
use crate::world::{Entity, FlowRow, KeySet, Row, World};
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::time::Instant;

#[cfg(test)]
mod tests;

pub(super) fn flow_row<'a>(world: &'a World, change: &Change, name: &str) -> Option<&'a FlowRow> {
    world.flow(&key(change, Entity::Flow(name.to_owned())))
}

/// Whether the actor may speak for the flow: its agent, or an operator.
pub(super) fn may(change: &Change, row: &FlowRow) -> bool {
    match &change.actor {
        Actor::Operator(_) | Actor::Kernel => true,
        Actor::Agent(name) => *name == row.agent,
        Actor::Monitor(_) => false,
    }
}

pub(super) fn unknown(name: &str) -> ChangeOutcome {
    ChangeOutcome::refused(Finding::reject(Gate::Retry, Reason::FlowUnknown).field("flow").with("flow", name))
}

/// What ending a flow touches, as far as the flow is known: closing leaves its work alone, aborting calls it off.
pub(super) fn keys_of_end(world: &World, change: &Change, name: &str, event: FlowEvent) -> KeySet {
    let mut keys = holding::keys(world, change, name, std::iter::empty());
    let Some(row) = flow_row(world, change, name).filter(|row| event == FlowEvent::Abort && row.state.is_open()) else {
        return keys;
    };
    keys.extend(row.questions.iter().map(|name| key(change, Entity::Escalation(name.clone()))));
    for intent in &row.intents {
        keys.insert(key(change, Entity::Intent(intent.clone())));
        let known = intent_row(world, &change.tenant, intent);
        keys.extend(known.map(|row| settling::keys(&change.tenant, row)).unwrap_or_default());
    }
    keys
}

/// What opening a flow touches.
pub(super) fn keys_of_open(world: &World, change: &Change, name: &str, agent: &str, parent: Option<&str>) -> KeySet {
    let mut keys =
        KeySet::from([key(change, Entity::Agent(agent.to_owned())), key(change, Entity::Flow(name.to_owned()))]);
    if let Some(parent) = parent {
        let parent = key(change, Entity::Flow(parent.to_owned()));
        keys.extend(flow_work::above(world, &parent));
        keys.insert(parent);
    }
    keys
}

pub(super) fn open(
    world: &mut World,
    change: &Change,
    name: &str,
    agent: &str,
    parent: Option<&String>,
    at: Instant,
) -> ChangeOutcome {
    if world.agent(&key(change, Entity::Agent(agent.to_owned()))).is_none() {
        return ChangeOutcome::refused(Finding::reject(Gate::Agent, Reason::AgentNotRegistered).with("agent", agent));
    }
    let mut row = FlowRow { agent: agent.to_owned(), opened_at: Some(at), ..FlowRow::default() };
    if flow_row(world, change, name).is_some() {
        return ChangeOutcome::refused(step_refused(
            format!("flow `{name}`"),
            "there",
            "it cannot be opened again".to_owned(),
        ));
    }
    if let Some(parent) = parent {
        let Some(above) = flow_row(world, change, parent) else { return unknown(parent) };
        if !may(change, above) {
            return unknown(parent);
        }
        let aborted = flow_work::aborted(world, &key(change, Entity::Flow(parent.clone())));
        if let Some(aborted) = aborted.filter(|_| above.state.is_open()) {
            return closed(&aborted, FlowState::Aborted);
        }
        if !above.state.is_open() {
            return closed(parent, above.state);
        }
        row.above = std::iter::once(parent).chain(&above.above).cloned().collect();
        if row.above.len() > DEPTH_MAX {
            let problem = format!("{DEPTH_MAX} flows stand above it already");
            return ChangeOutcome::refused(step_refused(format!("flow `{parent}`"), "too deep", problem));
        }
    } else if !may(change, &row) {
        return ChangeOutcome::refused(not_authorized(change, format!("open a flow for `{agent}`")));
    }
    let opened = OpenedFlow {
        flow: name.to_owned(),
        agent: agent.to_owned(),
        parent: row.parent().map(str::to_owned),
        root: row.root().map(str::to_owned),
    };
    world.put(key(change, Entity::Flow(name.to_owned())), Row::Flow(row));
    ChangeOutcome::done(Event::FlowOpened(opened))
}

pub(super) fn closed(flow: &str, state: FlowState) -> ChangeOutcome {
    let finding = Finding::reject(Gate::Retry, Reason::FlowClosed).with("flow", flow);
    ChangeOutcome::refused(finding.with("state", state.word()))
}

/// Closing takes no more proposals and lets what was accepted, and what people are asked, come to its end. Aborting
/// calls off what was not started and ends the questions; what may have been sent stays, and must be settled.
pub(super) fn end(world: &mut World, change: &Change, name: &str, event: FlowEvent, at: Instant) -> ChangeOutcome {
    let Some(row) = flow_row(world, change, name).filter(|row| may(change, row)) else { return unknown(name) };
    let mut row = row.clone();
    let next = if event == FlowEvent::Propose { None } else { transition(row.state, event) };
    let Some(state) = next else {
        let problem = format!("it cannot {}", event.word());
        return ChangeOutcome::refused(step_refused(format!("flow `{name}`"), row.state.word(), problem));
    };
    let (intents, questions, unlisted) = (row.intents.clone(), row.questions.clone(), row.unlisted);
    row.state = state;
    holding::release_all(world, change, name, &mut row);
    world.put(key(change, Entity::Flow(name.to_owned())), Row::Flow(row));
    let flow = name.to_owned();
    if state != FlowState::Aborted {
        let closed = ClosedFlow { flow, going_on: intents, questions, unlisted };
        return ChangeOutcome::done(Event::FlowClosed(closed));
    }
    let mut records = Vec::new();
    let mut aborted =
        AbortedFlow { flow, called_off: Vec::new(), to_settle: Vec::new(), questions: Vec::new(), unlisted };
    if !bugs::on(Bug::AbortedFlowStarts) {
        (aborted.called_off, aborted.to_settle) = call_off(world, change, &intents, &mut records, at);
        let ended = questions.into_iter().filter(|question| people::abort(world, change, question, &mut records, at));
        aborted.questions = ended.collect();
    }
    ChangeOutcome::followed_by(Event::FlowAborted(aborted), records)
}

/// Calls off what was not started; the rest may have happened.
fn call_off(
    world: &mut World,
    change: &Change,
    intents: &[String],
    records: &mut Vec<Record>,
    at: Instant,
) -> (Vec<String>, Vec<String>) {
    let (mut called_off, mut to_settle) = (Vec::new(), Vec::new());
    for name in intents {
        let Some(kept) = intent_row(world, &change.tenant, name).map(|row| row.facts.to_kept()) else { continue };
        let Ok(step) = settling::step(world, &change.tenant, name, Step::CallOff, at, |_| {}) else {
            to_settle.push(name.clone());
            continue;
        };
        let is_over = step.to.over().is_some();
        let consequence = Consequence::IntentMoved { step, flow: kept.flow, agent: kept.agent };
        records.push(Record::Event(Arc::new(EventRecord::following(&change.tenant, consequence, at))));
        if is_over { &mut called_off } else { &mut to_settle }.push(name.clone());
    }
    (called_off, to_settle)
}

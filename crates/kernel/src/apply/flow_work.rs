//! What is open in a flow: its own list of intents and questions, and whether it may still start anything.

use crate::flow::{FlowState, OPEN_WORK_MAX};
use crate::world::{Entity, FlowRow, Key, Row, World};
use std::sync::Arc;
use values::bugs::{self, Bug};

pub(super) fn key(tenant: &Arc<str>, flow: &str) -> Key {
    Key { tenant: tenant.clone(), entity: Entity::Flow(flow.to_owned()) }
}

/// The flows above a flow, as far as it is known.
pub(super) fn above(world: &World, flow: &Key) -> Vec<Key> {
    let names = world.flow(flow).map(|row| row.above.as_slice()).unwrap_or_default();
    names.iter().map(|name| key(&flow.tenant, name)).collect()
}

/// The nearest flow that was aborted: this one, or one above it. Nothing in it may start any more.
pub(super) fn aborted(world: &World, flow: &Key) -> Option<String> {
    if bugs::on(Bug::AbortedFlowStarts) {
        return None;
    }
    let line = std::iter::once(flow.clone()).chain(above(world, flow));
    let is_aborted = |key: &Key| world.flow(key).is_some_and(|row| row.state == FlowState::Aborted);
    line.into_iter().find(is_aborted).map(|key| key.entity.parts().0.to_owned())
}

/// An intent is open in its flow from now on.
pub(super) fn open_intent(world: &mut World, flow: &Key, intent: &str) {
    edit(world, flow, |row| {
        let fits = row.intents.len() < OPEN_WORK_MAX;
        row.intents.extend(fits.then(|| intent.to_owned()));
        row.unlisted |= !fits;
    });
}

/// An intent is over, or nobody is expected to report on it any more.
pub(super) fn end_intent(world: &mut World, flow: &Key, intent: &str) {
    if world.flow(flow).is_some_and(|row| row.intents.iter().any(|listed| listed == intent)) {
        edit(world, flow, |row| row.intents.retain(|listed| listed != intent));
    }
}

/// A question is open in its flow from now on.
pub(super) fn open_question(world: &mut World, flow: &Key, question: &str) {
    edit(world, flow, |row| {
        let fits = row.questions.len() < OPEN_WORK_MAX;
        row.questions.extend(fits.then(|| question.to_owned()));
        row.unlisted |= !fits;
    });
}

/// A question was answered, by a person or by time.
pub(super) fn end_question(world: &mut World, flow: &Key, question: &str) {
    if world.flow(flow).is_some_and(|row| row.questions.iter().any(|listed| listed == question)) {
        edit(world, flow, |row| row.questions.retain(|listed| listed != question));
    }
}

fn edit(world: &mut World, flow: &Key, change: impl FnOnce(&mut FlowRow)) {
    let Some(row) = world.flow(flow) else { return };
    let mut row = row.clone();
    change(&mut row);
    world.put(flow.clone(), Row::Flow(row));
}

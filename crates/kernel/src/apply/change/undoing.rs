//! Undoing: an intent of its own, with its own key, until a deadline.

use super::execution::{performed, refused_in};
use super::{ChangeOutcome, key};
use crate::apply::doubt;
use crate::apply::settling::intent_row;
use crate::change::Change;
use crate::contract::{Executor, Run, Undo, UndoKind};
use crate::event::{AcceptedUndo, Event};
use crate::finding::{Finding, Gate};
use crate::intent::{IntentFacts, IntentRow, IntentState, KeptIntent, Order, Running};
use crate::reasons::Reason;
use crate::world::{EffectRow, Entity, Row, World};
use values::time::{Duration, Instant};

/// How long undoing may wait where the contract names no deadline.
const WITHIN_DEFAULT: Duration = Duration::from_secs(86_400);

/// The business key of undoing an effect.
pub(super) fn effect_key(row: &IntentRow) -> String {
    format!("undo:{}", row.facts.effect_key())
}

pub(super) fn undo(world: &mut World, change: &Change, name: &str, undo: &str, at: Instant) -> ChangeOutcome {
    let row = match performed(world, change, name, "undo") {
        Ok(row) => row.clone(),
        Err(outcome) => return *outcome,
    };
    let not_undoable = |problem: &str| {
        let finding = Finding::reject(Gate::EffectKey, Reason::NotUndoable);
        ChangeOutcome::refused(finding.with("intent", name).with("problem", problem))
    };
    if row.state != IntentState::Succeeded {
        return refused_in(name, row.state, "only what happened can be undone");
    }
    let Some(running) = &row.running else { return not_undoable("the runtime did not perform it") };
    let rules = running.order.undo.clone().filter(|rules| rules.kind != UndoKind::Noop);
    let Some(Undo { kind, http, within }) = rules else {
        return not_undoable("its contract has no way to");
    };
    if let Some(finding) = taken(world, change, &row) {
        return ChangeOutcome::refused(finding);
    }
    let deadline = running.over_at.unwrap_or(row.accepted_at).plus(within.unwrap_or(WITHIN_DEFAULT));
    if at > deadline {
        let finding = Finding::reject(Gate::Validity, Reason::UndoTooLate).with("intent", name);
        return ChangeOutcome::refused(finding.with("deadline", deadline.to_string()).with("now", at.to_string()));
    }
    if intent_row(world, &change.tenant, undo).is_some() {
        return refused_in(undo, IntentState::Ready, "another intent has this id");
    }
    let undoing = made(name, undo, &row, running, (http, deadline), at);
    let accepted = AcceptedUndo {
        intent: name.to_owned(),
        undo: undo.to_owned(),
        kind,
        state: undoing.state,
        until: deadline,
        question: undoing.running.as_ref().and_then(|running| running.question.clone()),
    };
    put(world, change, (name, undo), row, undoing, at);
    ChangeOutcome::done(Event::UndoAccepted(accepted))
}

/// The intent that undoes: exactly the contract's request with exactly the params of what happened.
fn made(
    name: &str,
    undo: &str,
    row: &IntentRow,
    done: &Running,
    (request, deadline): (Option<String>, Instant),
    at: Instant,
) -> IntentRow {
    let by_hand = request.is_none();
    let known = done.order.run.clone();
    let run = Run {
        executor: request.map_or(Executor::Host, Executor::Http),
        class: done.order.class,
        timeout: done.order.timeout(),
        headers: known.map(|run| run.headers).unwrap_or_default(),
    };
    let order = Order {
        id: undo.to_owned(),
        effect_key: effect_key(row),
        run: Some(run),
        undo: None,
        holds: Vec::new(),
        valid_until: deadline,
        undoes: Some(name.to_owned()),
        ..done.order.clone()
    };
    let mut running = Running::new(order);
    running.by_host = by_hand;
    running.approvers = done.approvers.clone();
    running.quorum = done.quorum;
    running.undoes = Some(name.to_owned());
    if by_hand {
        running.question = Some(doubt::name(undo, &running));
    }
    let kept = row.facts.to_kept();
    let facts =
        KeptIntent { effect_key: effect_key(row), valid_until: deadline, holds: Vec::new(), taken: Vec::new(), ..kept };
    let state = if by_hand { IntentState::HandedOut } else { IntentState::Ready };
    let running = Some(Box::new(running));
    IntentRow { state, accepted_at: at, facts: IntentFacts::Kept(Box::new(facts)), running }
}

/// Keeps both, the key of undoing, and the question where people undo by hand.
fn put(
    world: &mut World,
    change: &Change,
    (name, undo): (&str, &str),
    mut row: IntentRow,
    undoing: IntentRow,
    at: Instant,
) {
    if let Some(running) = &mut row.running {
        running.undone_by = Some(undo.to_owned());
    }
    if let Some(running) = &undoing.running
        && let Some(question) = &running.question
    {
        doubt::ask(world, &change.tenant, (undo, question), &undoing.facts.to_kept(), running, at);
    }
    let effect = EffectRow::by(undo);
    world.put(key(change, Entity::Effect(effect_key(&row))), Row::Effect(effect));
    world.put(key(change, Entity::Intent(name.to_owned())), Row::Intent(Box::new(row)));
    world.put(key(change, Entity::Intent(undo.to_owned())), Row::Intent(Box::new(undoing)));
}

/// Whether undoing is on its way, done, or was tried and ended: what was broken off is for a person.
fn taken(world: &World, change: &Change, row: &IntentRow) -> Option<Finding> {
    let name = effect_key(row);
    let effect = world.effect(&key(change, Entity::Effect(name.clone())))?;
    if effect.intent.is_empty() {
        return None;
    }
    let reason = if effect.done { Reason::AlreadyDone } else { Reason::InProgress };
    let finding = Finding::reject(Gate::EffectKey, reason).with("effect_key", name);
    Some(finding.with("intent", effect.intent.as_str()))
}

//! The fold: one command over the world. Total; it never fails and never panics.

mod asking;
mod attending;
mod change;
mod doubt;
mod expiry;
mod flow_work;
mod known;
mod settling;
mod standing;
mod submit;
mod taking;
pub(crate) mod touched;
mod watching;

use crate::command::{Command, RefusedInput};
use crate::finding::{Finding, Gate};
use crate::intent::IntentRow;
use crate::outcome::{Answer, Done, Outcome, Verdict};
use crate::reasons::Reason;
use crate::record::{Record, RefusalRecord};
use crate::semantics::Semantics;
use crate::world::{Entity, Key, KeySet, Loaded, Row, TenantRow, World};
use std::sync::Arc;
use values::time::Instant;

/// What a command touches, as far as that is known before anything is loaded; [`Outcome::Need`] names the rest.
pub fn touches(command: &Command) -> KeySet {
    match command {
        Command::Submit(submission) => submission.touched().keys(),
        Command::Refuse(_) => KeySet::new(),
        Command::Change(change) => change::keys(&World::slice(), change),
    }
}

/// What calling off an intent touches besides the intent.
///
/// A store loads it with [`Entity::DueIntents`](crate::world::Entity): asked for afterwards, it would be asked for
/// again and again while others call off what was due and more becomes due.
pub fn touched_by_calling_off(tenant: &Arc<str>, intent: &IntentRow) -> KeySet {
    settling::keys(tenant, intent)
}

/// Applies a command at an instant, under the rules of this program.
///
/// If the world lacks something the command touches, nothing is changed and [`Outcome::Need`] names it.
pub fn apply(world: &mut World, command: &Command, at: Instant) -> Outcome {
    apply_under(world, command, at, Semantics::CURRENT)
}

/// Applies a command under a version of the rules: a record is replayed under its own.
///
/// A world that a newer version has judged in takes nothing from an older one.
pub fn apply_under(world: &mut World, command: &Command, at: Instant, semantics: Semantics) -> Outcome {
    if let Some(outcome) = newer(world, command, semantics) {
        return outcome;
    }
    world.judge_under(semantics);
    let mut outcome = match command {
        Command::Submit(submission) => submit::apply(world, submission, at),
        Command::Refuse(refused) => refuse(refused, at),
        Command::Change(change) => change::apply(world, change, at),
    };
    if let Outcome::Done(done) = &mut outcome {
        done.records.iter_mut().for_each(|record| record.judged_under(semantics));
        if !done.records.is_empty() {
            mark(world, command, semantics);
        }
    }
    outcome
}

fn tenant(command: &Command) -> Key {
    Key { tenant: command.tenant().clone(), entity: Entity::Tenant }
}

/// The refusal of a program that is older than what was judged here already.
fn newer(world: &World, command: &Command, semantics: Semantics) -> Option<Outcome> {
    let row = world.tenant(&tenant(command))?;
    let known = semantics.max(Semantics::NEWER_ROWS);
    if row.semantics <= known.number() {
        return None;
    }
    let id = match command {
        Command::Submit(submission) => submission.proposal_id(),
        Command::Refuse(refused) => refused.id.as_str(),
        Command::Change(change) => change.id.as_str(),
    };
    let finding = Finding::reject(Gate::Shape, Reason::StoreNewer);
    let finding = finding.with("found", row.semantics).with("known", known.number());
    let answer = Answer {
        id: id.to_owned(),
        verdict: Verdict::Reject,
        findings: Arc::from([finding]),
        intent: None,
        question: None,
    };
    Some(Outcome::Done(Box::new(Done { answer, event: None, records: Vec::new() })))
}

/// From now on older programs take nothing here.
fn mark(world: &mut World, command: &Command, semantics: Semantics) {
    if semantics == Semantics::FIRST {
        return;
    }
    let key = tenant(command);
    let mut row = match world.get(&key) {
        Loaded::Present(Row::Tenant(row)) if row.semantics >= semantics.number() => return,
        Loaded::Present(Row::Tenant(row)) => row.clone(),
        Loaded::Present(_) | Loaded::Absent => TenantRow::default(),
        // Whoever did not look at the tenant does not speak for it.
        Loaded::NotLoaded => return,
    };
    row.semantics = semantics.number();
    world.put(key, Row::Tenant(row));
}

/// The same for what programs of the first version would drop from rows.
fn mark_newer_rows(world: &mut World, tenant: Key) {
    let mut row = world.tenant(&tenant).cloned().unwrap_or_default();
    if row.semantics < Semantics::NEWER_ROWS.number() {
        row.semantics = Semantics::NEWER_ROWS.number();
        world.put(tenant, Row::Tenant(row));
    }
}

fn refuse(refused: &RefusedInput, at: Instant) -> Outcome {
    let answer = Answer {
        id: refused.malformed.id.clone().unwrap_or_else(|| refused.id.clone()),
        verdict: Verdict::Reject,
        findings: refused.malformed.findings.clone().into(),
        intent: None,
        question: None,
    };
    let record = Record::Refusal(Arc::new(RefusalRecord::new(refused.clone(), answer.id.clone(), at)));
    Outcome::Done(Box::new(Done { answer, event: None, records: vec![record] }))
}

//! The fold: one command over the world. Total; it never fails and never panics.

mod change;
mod doubt;
mod expiry;
mod known;
mod settling;
mod standing;
mod submit;
mod taking;
pub(crate) mod touched;

use crate::command::{Command, RefusedInput};
use crate::intent::IntentRow;
use crate::outcome::{Answer, Done, Outcome, Verdict};
use crate::record::{Record, RefusalRecord};
use crate::world::{KeySet, World};
use std::sync::Arc;
use values::json::Json;
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

/// Applies a command at an instant.
///
/// If the world lacks something the command touches, nothing is changed and [`Outcome::Need`] names it.
pub fn apply(world: &mut World, command: &Command, at: Instant) -> Outcome {
    match command {
        Command::Submit(submission) => submit::apply(world, submission, at),
        Command::Refuse(refused) => refuse(refused, at),
        Command::Change(change) => change::apply(world, change, at),
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
    let record = Record::Refusal(Arc::new(RefusalRecord { refused: refused.clone(), id: answer.id.clone(), at }));
    Outcome::Done(Box::new(Done { answer, body: Json::Null, records: vec![record] }))
}

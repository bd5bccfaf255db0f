//! The fold: one command over the world. Total; it never fails and never panics.

mod submit;
mod touched;

use crate::command::{Command, RefusedInput};
use crate::outcome::{Answer, Done, Outcome, Verdict};
use crate::record::{Record, RefusalRecord};
use crate::time::Instant;
use crate::world::World;

/// Applies a command at an instant.
///
/// If the world lacks something the command touches, nothing is changed and [`Outcome::Need`] names it.
pub fn apply(world: &mut World, command: &Command, at: Instant) -> Outcome {
    match command {
        Command::Submit(submission) => submit::apply(world, submission, at),
        Command::Refuse(refused) => refuse(refused, at),
    }
}

fn refuse(refused: &RefusedInput, at: Instant) -> Outcome {
    let answer = Answer {
        id: refused.malformed.id.clone().unwrap_or_else(|| refused.id.clone()),
        verdict: Verdict::Reject,
        findings: refused.malformed.findings.clone().into(),
        intent: None,
    };
    let record = Record::Refusal(Box::new(RefusalRecord { refused: refused.clone(), id: answer.id.clone(), at }));
    Outcome::Done(Box::new(Done { answer, records: vec![record] }))
}

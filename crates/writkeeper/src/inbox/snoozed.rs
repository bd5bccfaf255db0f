//! What one person put off, as far as it is off their list now.

use super::handed;
use super::pages::urgency;
use crate::error::Error;
use kernel::escalation::{EscalationRow, EscalationState};
use kernel::snooze::{Snooze, Snoozed};
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::cmp::Reverse;
use values::time::Instant;

/// An open question that is off a person's list.
#[derive(Clone, PartialEq, Debug)]
pub struct PutOff {
    pub id: String,
    pub row: Box<EscalationRow>,
    pub snooze: Snooze,
}

/// What state keeps of a person's, over or not, and its version.
pub fn snoozed_by(runtime: &Runtime, person: &str) -> Result<(Snoozed, u64), Error> {
    Ok(match runtime.read(Entity::State(Snoozed::key(person)))? {
        Some(Row::State(row)) => (Snoozed::from_json(&row.value).unwrap_or_default(), row.version),
        Some(_) | None => (Snoozed::default(), 0),
    })
}

/// For how long a question is off a person's list, if it is.
pub fn snooze_of(runtime: &Runtime, question: &str, person: &str, now: Instant) -> Result<Option<Snooze>, Error> {
    let (snoozed, _) = snoozed_by(runtime, person)?;
    let Some(snooze) = snoozed.0.get(question).copied().filter(|snooze| now < snooze.until) else { return Ok(None) };
    let handed = handed(runtime, question)?;
    Ok(Some(snooze).filter(|snooze| snooze.hides(person, handed.as_ref(), now)))
}

/// Every open question that is off a person's list, most urgent first. There are few: state bounds how many.
pub fn put_off(runtime: &Runtime, person: &str, now: Instant) -> Result<Vec<PutOff>, Error> {
    let (mut snoozed, _) = snoozed_by(runtime, person)?;
    snoozed.forget_over(now);
    let mut found = Vec::with_capacity(snoozed.0.len());
    for (id, snooze) in snoozed.0 {
        let Some(Row::Escalation(row)) = runtime.read(Entity::Escalation(id.clone()))? else { continue };
        let is_open = row.state == EscalationState::Open;
        if is_open && snooze.hides(person, handed(runtime, &id)?.as_ref(), now) {
            found.push(PutOff { id, row, snooze });
        }
    }
    found.sort_by_key(|one| Reverse(urgency(one.row.impact, one.row.asked_at, now)));
    Ok(found)
}

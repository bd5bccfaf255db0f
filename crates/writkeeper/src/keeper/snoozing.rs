//! Putting a question off: it leaves one person's list for a while, and nothing else changes.

use super::Keeper;
use crate::error::Error;
use crate::inbox::snoozed_by;
use crate::lookup;
use kernel::agent::Actor;
use kernel::change::Write;
use kernel::escalation::EscalationState;
use kernel::finding::{Finding, Gate};
use kernel::reasons::Reason;
use kernel::snooze::{LONGEST, SHORTEST, SNOOZED_MAX, Snooze, Snoozed};
use values::time::Duration;

impl Keeper {
    /// Puts an open question off for a person who may answer it; afterwards until when. It is recorded and hides the
    /// question from their own list alone.
    pub fn snooze(&self, question: &str, person: &str, length: Duration) -> Result<(String, Snooze), Error> {
        let (question, _) = lookup::question(self.runtime(), question)?;
        let write = self.snooze_write(&question, person, length)?;
        self.merge(&Actor::Operator(person.to_owned()), vec![write])?;
        // A server says itself when it happened.
        let (kept, _) = snoozed_by(self.runtime(), person)?;
        let snooze = kept.0.get(&question).copied();
        let gone = || Error::Usage("somebody put another question off in the same moment; say it again".to_owned());
        Ok((question, snooze.ok_or_else(gone)?))
    }

    /// What is written so; refused where the question is over, the person may not answer it, or the time does not fit.
    pub fn snooze_write(&self, question: &str, person: &str, length: Duration) -> Result<Write, Error> {
        let (question, row) = lookup::question(self.runtime(), &format!("={question}"))?;
        if row.state != EscalationState::Open {
            let over = Finding::reject(Gate::Escalation, Reason::AlreadyAnswered).with("question", question);
            return Err(Error::Refused(vec![over.with("answer", row.state.word())]));
        }
        self.demand_entitled(&row, person)?;
        if length < SHORTEST || length > LONGEST {
            let problem = format!("a question is put off for {SHORTEST} to {LONGEST}, not for {length}");
            return Err(Error::Usage(problem));
        }
        let now = self.now();
        let until = now.plus(length);
        if let Some(deadline) = row.deadline.filter(|deadline| *deadline <= until) {
            let problem = match deadline > now.plus(SHORTEST) {
                true => format!("the question ends at {deadline}, before {length} are over; put it off for less"),
                false => format!("the question ends at {deadline}, too soon to put it off; answer it or hand it over"),
            };
            return Err(Error::Usage(problem));
        }
        let (mut snoozed, version) = snoozed_by(self.runtime(), person)?;
        snoozed.forget_over(now);
        snoozed.0.insert(question, Snooze { since: now, until });
        if snoozed.0.len() > SNOOZED_MAX {
            let problem = format!("you have put off {SNOOZED_MAX} questions already; answer or hand over some of them");
            return Err(Error::Usage(problem));
        }
        Ok(Write { key: Snoozed::key(person), value: snoozed.to_json(), expect: Some(version) })
    }
}

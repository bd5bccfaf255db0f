//! Handing a question to somebody else who may answer it.

use super::Keeper;
use crate::error::Error;
use crate::lookup;
use kernel::agent::Actor;
use kernel::change::Write;
use kernel::escalation::{EscalationRow, EscalationState, hindrance};
use kernel::finding::{Finding, Gate};
use kernel::handed::{Handed, REASON_MAX};
use kernel::reasons::Reason;
use values::ids::{identifier_problem, is_same_person};

impl Keeper {
    /// Hands an open question from one person who may answer it to another who may. It is recorded and changes nothing
    /// about who may: both still can.
    pub fn hand_over(&self, question: &str, by: &str, to: &str, because: &str) -> Result<(String, Handed), Error> {
        let (question, _) = lookup::question(self.runtime(), question)?;
        let (key, at) = (Handed::key(&question), self.now());
        let handed = Handed { by: by.to_owned(), to: to.to_owned(), at, because: because.to_owned() };
        self.demand_hand_over(&question, &handed)?;
        let version = self.state(&key)?.map_or(0, |(_, version)| version);
        let write = Write { key, value: handed.to_json(), expect: Some(version) };
        self.merge(&Actor::Operator(by.to_owned()), vec![write])?;
        Ok((question, handed))
    }

    /// Refuses what is no handing over: of a question that is over, or from or to somebody who may not answer it.
    pub fn demand_hand_over(&self, question: &str, handed: &Handed) -> Result<(), Error> {
        let (question, row) = lookup::question(self.runtime(), &format!("={question}"))?;
        if row.state != EscalationState::Open {
            let over = Finding::reject(Gate::Escalation, Reason::AlreadyAnswered).with("question", question);
            return Err(Error::Refused(vec![over.with("answer", row.state.word())]));
        }
        if identifier_problem(&handed.to).is_some() {
            return Err(Error::Usage(format!("`{}` is no person's name", kernel::finding::visible(&handed.to))));
        }
        if is_same_person(&handed.by, &handed.to) {
            return Err(Error::Usage(format!("`{}` has it already", kernel::finding::visible(&handed.to))));
        }
        if handed.because.chars().count() > REASON_MAX {
            return Err(Error::Usage(format!("the reason is longer than {REASON_MAX} letters")));
        }
        [&handed.by, &handed.to].into_iter().try_for_each(|person| self.demand_entitled(&row, person))
    }

    pub(super) fn demand_entitled(&self, row: &EscalationRow, person: &str) -> Result<(), Error> {
        let (groups, now) = (self.person(person)?.unwrap_or_default().groups, self.now());
        let Some(problem) = hindrance(row, person, &groups, now) else { return Ok(()) };
        let finding = Finding::reject(Gate::Escalation, Reason::ApproverNotEntitled).with("person", person);
        let approvers = row.entitled(now).join(", ");
        Err(Error::Refused(vec![finding.with("problem", problem).with("approvers", approvers)]))
    }
}

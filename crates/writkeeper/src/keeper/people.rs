//! People: who belongs to which group, what waits for them, and their answers.

use super::{Keeper, carried_out};
use crate::error::Error;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::escalation::{EscalationRow, HumanDecision};
use kernel::person::Identity;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::{Answered, PersonAnswer};

/// Questions read at once.
const PAGE: usize = 256;

impl Keeper {
    /// Says which groups a person belongs to.
    pub fn set_groups(&self, operator: &Actor, person: &str, groups: &[&str]) -> Result<(), Error> {
        let write = Write::groups(person, groups.iter().copied());
        carried_out(self.runtime().change(operator.clone(), Act::Merge(vec![write]))).map(|_| ())
    }

    /// Every question that waits for an answer, by its id.
    pub fn questions(&self) -> Result<Vec<(String, EscalationRow)>, Error> {
        let (mut open, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = self.runtime().scan(Kind::Escalation, after.as_deref(), PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(open) };
            after = Some(last.entity.parts().0.to_owned());
            for (key, row) in page {
                if let Row::Escalation(row) = row
                    && row.answer.is_none()
                {
                    open.push((key.entity.parts().0.to_owned(), *row));
                }
            }
        }
    }

    /// Answers a question about exactly what it shows now. The embedding program vouches for the person.
    pub fn respond(
        &self,
        (question, shown): &(String, EscalationRow),
        person: &str,
        decision: HumanDecision,
        because: &str,
    ) -> Result<Answered, Error> {
        self.answer(PersonAnswer {
            person: person.to_owned(),
            question: question.clone(),
            decision: decision.word().to_owned(),
            digest: shown.digest,
            reason: because.to_owned(),
            instead: None,
            door: Door::STORED,
            identity: Identity::default(),
        })
    }
}

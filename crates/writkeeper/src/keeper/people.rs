//! People: who belongs to which group, and their answers.

use super::{Keeper, carried_out};
use crate::error::Error;
use crate::inbox::Question;
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::escalation::HumanDecision;
use kernel::person::Identity;
use runtime::{Answered, PersonAnswer};

impl Keeper {
    /// Says which groups a person belongs to.
    pub fn set_groups(&self, operator: &Actor, person: &str, groups: &[&str]) -> Result<(), Error> {
        let write = Write::groups(person, groups.iter().copied());
        carried_out(self.runtime().change(operator.clone(), Act::Merge(vec![write]))).map(|_| ())
    }

    /// Answers a question about exactly what it shows. The embedding program vouches for the person.
    pub fn respond(
        &self,
        question: &Question,
        person: &str,
        decision: HumanDecision,
        because: &str,
    ) -> Result<Answered, Error> {
        self.answer(PersonAnswer {
            person: person.to_owned(),
            question: question.id.clone(),
            decision: decision.word().to_owned(),
            digest: question.digest,
            reason: because.to_owned(),
            instead: None,
            door: Door::STORED,
            identity: Identity::default(),
        })
    }
}

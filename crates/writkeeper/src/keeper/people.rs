//! People: who belongs to which group, and their answers.

use super::{Keeper, carried_out};
use crate::error::Error;
use crate::inbox::Question;
use crate::lookup;
use kernel::agent::Actor;
use kernel::change::{Act, DoubtAnswer, Write};
use kernel::command::Door;
use kernel::escalation::{EscalationRow, HumanDecision, PEOPLE, QuestionKind};
use kernel::intent::DoubtDecision;
use kernel::person::{Identity, Person};
use kernel::proposal::Proposal;
use runtime::{Answered, PersonAnswer};
use std::collections::{BTreeMap, BTreeSet};
use values::ids::Digest;

/// What a person said, in the words that people use.
#[derive(Clone, PartialEq, Debug)]
pub struct GivenWords {
    pub person: String,
    /// `approve`, `deny` or `modify`; `happened`, `did_not` or `retry` where the question is whether something happened.
    pub decision: String,
    /// Digest of what was shown; without one, of what the question holds.
    pub digest: Option<Digest>,
    pub because: String,
    /// What is to happen instead, with `modify`.
    pub instead: Option<Proposal>,
}

impl GivenWords {
    /// What the record calls it.
    fn about_a_proposal(&self) -> Result<HumanDecision, Error> {
        let decision = match self.decision.to_ascii_lowercase().as_str() {
            "approve" | "override" => HumanDecision::Override,
            "deny" | "abort" => HumanDecision::Abort,
            "modify" => HumanDecision::Modify,
            _ => {
                let problem = "is no answer to a proposal; say approve, deny or modify";
                return Err(Error::Usage(format!("`{}` {problem}", self.decision)));
            }
        };
        match (decision, &self.instead) {
            (HumanDecision::Modify, None) => {
                Err(Error::Usage("`modify` needs the proposal that is to happen instead".to_owned()))
            }
            (HumanDecision::Override | HumanDecision::Abort, Some(_)) => {
                Err(Error::Usage("only `modify` puts another proposal in the place of the first".to_owned()))
            }
            (HumanDecision::Modify, Some(_)) | (HumanDecision::Override | HumanDecision::Abort, None) => Ok(decision),
        }
    }

    fn about_a_doubt(&self) -> Result<DoubtDecision, Error> {
        match self.decision.to_ascii_lowercase().replace('-', "_").as_str() {
            "happened" => Ok(DoubtDecision::Happened),
            "did_not" => Ok(DoubtDecision::DidNot),
            "retry" => Ok(DoubtDecision::Retry),
            _ => {
                let problem = "does not say whether it happened; say happened, did_not or retry";
                Err(Error::Usage(format!("`{}` {problem}", self.decision)))
            }
        }
    }
}

impl Keeper {
    /// Gives a person's answer to a question of either kind. The embedding program vouches for the person.
    pub fn answer_words(&self, question: &str, words: &GivenWords) -> Result<Answered, Error> {
        let (id, row) = lookup::question(self.runtime(), question)?;
        match row.kind {
            QuestionKind::Proposal | QuestionKind::Request => {
                let answer = PersonAnswer {
                    person: words.person.clone(),
                    question: id,
                    decision: words.about_a_proposal()?.word().to_owned(),
                    digest: words.digest.unwrap_or(row.digest),
                    reason: words.because.clone(),
                    instead: words.instead.clone(),
                    door: Door::STORED,
                    identity: Identity::default(),
                };
                self.answer(answer)
            }
            QuestionKind::Doubt => self.resolve_doubt(id, &row, words),
        }
    }

    fn resolve_doubt(&self, question: String, row: &EscalationRow, words: &GivenWords) -> Result<Answered, Error> {
        let answer = DoubtAnswer {
            intent: row.intent.clone(),
            question,
            decision: words.about_a_doubt()?.word().to_owned(),
            digest: words.digest.unwrap_or(row.digest),
            reason: words.because.clone(),
            identity: Identity::default(),
        };
        carried_out(self.runtime().change(Actor::Operator(words.person.clone()), Act::Resolve(Box::new(answer))))
    }

    /// Says who is in some groups, and nobody else is; other groups and everyone's keys stay as they are.
    pub fn set_members(&self, operator: &Actor, groups: &BTreeMap<String, BTreeSet<String>>) -> Result<usize, Error> {
        let mut people = self.people()?;
        for person in groups.values().flatten() {
            people.entry(values::ids::folded(person)).or_default();
        }
        let mut writes = Vec::new();
        for (name, before) in &people {
            let mut after = before.clone();
            for (group, members) in groups {
                if members.iter().any(|member| values::ids::folded(member) == *name) {
                    after.groups.insert(group.clone());
                } else {
                    after.groups.remove(group);
                }
            }
            if after != *before {
                writes.push(Write::person(name, &after));
            }
        }
        let changed = writes.len();
        if changed > 0 {
            self.merge(operator, writes)?;
        }
        Ok(changed)
    }

    /// Everyone by name.
    pub fn people(&self) -> Result<BTreeMap<String, Person>, Error> {
        let rows = self.states_under(PEOPLE)?;
        Ok(rows.into_iter().map(|(name, json)| (name, Person::from_json(&json).unwrap_or_default())).collect())
    }

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

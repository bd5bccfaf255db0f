//! Signatures of people under their answers: demanded where the contract says so, and right wherever there is one.

use super::{key, people};
use crate::change::Change;
use crate::finding::{Finding, Gate};
use crate::person::Identity;
use crate::reasons::Reason;
use crate::signed_answer::{AnswerStatement, SignatureProblem};
use crate::world::{Entity, World};
use ledger::ed25519::PublicKey;
use values::bugs::{self, Bug};
use values::ids::Digest;

/// An answer as someone gave it.
pub(super) struct AnswerToCheck<'a> {
    pub question: &'a str,
    pub person: &'a str,
    pub digest: Digest,
    pub decision: &'a str,
    pub instead: Option<Digest>,
    pub reason: &'a str,
    pub identity: &'a Identity,
}

/// The key under which an answer is signed; `None` where it is not signed and need not be.
pub(super) fn signer(
    world: &World,
    change: &Change,
    given: &AnswerToCheck<'_>,
    demanded: bool,
) -> Result<Option<PublicKey>, Box<Finding>> {
    let refused = |reason| Finding::reject(Gate::Escalation, reason).with("person", given.person);
    let Some(envelope) = &given.identity.signature else {
        if demanded && !bugs::on(Bug::AnswerUnsigned) {
            return Err(Box::new(refused(Reason::AnswerUnsigned).with("question", given.question)));
        }
        return Ok(None);
    };
    let Some(key) = people::person_row(world, change, given.person).and_then(|person| person.key) else {
        return Err(Box::new(refused(Reason::AnswerKeyWrong).with("problem", "no key is known of them")));
    };
    let statement = AnswerStatement {
        tenant: change.tenant.to_string(),
        origin: origin(world, change),
        question: given.question.to_owned(),
        person: given.person.to_owned(),
        digest: given.digest,
        decision: given.decision.to_owned(),
        instead: given.instead,
        reason: given.reason.to_owned(),
    };
    match statement.check(envelope, &key) {
        Ok(()) => Ok(Some(key)),
        Err(SignatureProblem::OtherKey) => {
            Err(Box::new(refused(Reason::AnswerKeyWrong).with("problem", "it is of another key than theirs")))
        }
        Err(SignatureProblem::OtherAnswer) if bugs::on(Bug::AnswerSignatureUnbound) => Ok(Some(key)),
        Err(SignatureProblem::OtherAnswer) => {
            Err(Box::new(refused(Reason::AnswerSignatureWrong).with("question", given.question)))
        }
    }
}

/// The name of the log that signs for this ledger, once one was recorded.
fn origin(world: &World, change: &Change) -> Option<String> {
    let row = world.tenant(&key(change, Entity::Tenant))?;
    row.origin().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Actor;
    use crate::change::Act;
    use crate::person::Person;
    use crate::world::{Row, StateRow};
    use ledger::ed25519::SecretKey;
    use std::sync::Arc;

    /// What the kernel says about an answer of ann to the question `q`, who signed another one with this seed.
    fn said(seed: Option<u8>, changed: impl Fn(&mut AnswerStatement)) -> &'static str {
        let actor = Actor::Operator("ann".to_owned());
        let act = Act::Halt { group: None, because: String::new() };
        let change = Change { tenant: Arc::from("default"), id: String::new(), actor, act };
        let person = Person { groups: Default::default(), key: Some(SecretKey::from_seed(&[1; 32]).public()) };
        let mut world = World::complete();
        let row = StateRow { value: person.to_json(), version: 1 };
        world.put(key(&change, people::person("ann")), Row::State(row));
        let mut statement = AnswerStatement {
            tenant: "default".to_owned(),
            origin: None,
            question: "q".to_owned(),
            person: "ann".to_owned(),
            digest: Digest::of("shown"),
            decision: "OVERRIDE".to_owned(),
            instead: None,
            reason: "why".to_owned(),
        };
        changed(&mut statement);
        let signature = seed.map(|seed| statement.sign(&SecretKey::from_seed(&[seed; 32])));
        let given = AnswerToCheck {
            question: "q",
            person: "ann",
            digest: Digest::of("shown"),
            decision: "OVERRIDE",
            instead: None,
            reason: "why",
            identity: &Identity { signature, ..Identity::default() },
        };
        match signer(&world, &change, &given, true) {
            Ok(Some(_)) => "signed",
            Ok(None) => "unsigned",
            Err(finding) => match finding.code {
                crate::finding::Code::Known(reason) => reason.code(),
                crate::finding::Code::Custom { .. } => "",
            },
        }
    }

    #[test]
    fn an_answer_needs_the_persons_signature() {
        assert_eq!(said(Some(1), |_| {}), "signed");
        assert_eq!(said(Some(2), |_| {}), "ANSWER_KEY_WRONG");
        assert_eq!(said(None, |_| {}), "ANSWER_UNSIGNED");
    }

    #[test]
    fn a_signature_counts_for_its_own_answer_only() {
        assert_eq!(said(Some(1), |said| said.question = "q2".to_owned()), "ANSWER_SIGNATURE_WRONG");
        assert_eq!(said(Some(1), |said| said.reason = "why not".to_owned()), "ANSWER_SIGNATURE_WRONG");
        assert_eq!(said(Some(1), |said| said.origin = Some("log".to_owned())), "ANSWER_SIGNATURE_WRONG");
    }

    #[cfg(feature = "bugs")]
    #[test]
    fn faults_are_noticed() {
        let red = |bug, row: fn()| bugs::with(bug, || std::panic::catch_unwind(row).is_err());
        assert!(red(Bug::AnswerUnsigned, an_answer_needs_the_persons_signature));
        assert!(red(Bug::AnswerSignatureUnbound, a_signature_counts_for_its_own_answer_only));
    }
}

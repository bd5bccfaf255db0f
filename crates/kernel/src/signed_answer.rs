//! What a person signs who answers a question: where, which question, what was shown, what they say and why.

use crate::proposal::Proposal;
use ledger::ed25519::{PublicKey, SecretKey};
use ledger::envelope::Envelope;
use values::ids::Digest;
use values::json::Json;

/// A person's answer to a question, signed by the person.
pub const ANSWER_TYPE: &str = "application/vnd.writkeeper.answer+json";

/// Everything that a signature under an answer covers. A signature for one of these fits no other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerStatement {
    /// Whose ledger.
    pub tenant: String,
    /// The name of the log, once the store has one.
    pub origin: Option<String>,
    /// Which question.
    pub question: String,
    /// Who answers.
    pub person: String,
    /// Digest of what the person was shown.
    pub digest: Digest,
    /// What is said, in the word that the record holds.
    pub decision: String,
    /// Digest of the proposal that is to happen instead, see [`instead_digest`].
    pub instead: Option<Digest>,
    /// Why.
    pub reason: String,
}

/// Why a signature does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignatureProblem {
    /// It is not of the person's key.
    OtherKey,
    /// It is of the person's key, over something else than this answer.
    OtherAnswer,
}

impl AnswerStatement {
    /// Signs it, on the person's side.
    ///
    /// ```
    /// use kernel::signed_answer::{AnswerStatement, SignatureProblem};
    /// use values::ids::Digest;
    /// use ledger::ed25519::SecretKey;
    /// let said = AnswerStatement {
    ///     tenant: "default".to_owned(),
    ///     origin: None,
    ///     question: "q-1".to_owned(),
    ///     person: "ann".to_owned(),
    ///     digest: Digest::of("what ann saw"),
    ///     decision: "OVERRIDE".to_owned(),
    ///     instead: None,
    ///     reason: "a good customer".to_owned(),
    /// };
    /// let key = SecretKey::from_seed(&[7; 32]);
    /// let signed = said.sign(&key);
    /// assert_eq!(said.check(&signed, &key.public()), Ok(()));
    /// let other = AnswerStatement { question: "q-2".to_owned(), ..said };
    /// assert_eq!(other.check(&signed, &key.public()), Err(SignatureProblem::OtherAnswer));
    /// ```
    pub fn sign(&self, key: &SecretKey) -> Envelope {
        Envelope::sign(ANSWER_TYPE, self.to_bytes(), &[key])
    }

    /// Whether an envelope holds a signature of this key over exactly this answer.
    pub fn check(&self, envelope: &Envelope, key: &PublicKey) -> Result<(), SignatureProblem> {
        if !envelope.named_keys().any(|named| named == key) {
            return Err(SignatureProblem::OtherKey);
        }
        let exact = envelope.payload_type() == ANSWER_TYPE && envelope.payload() == self.to_bytes();
        if exact && envelope.signers().contains(&key) { Ok(()) } else { Err(SignatureProblem::OtherAnswer) }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let json = Json::object([
            ("tenant", Json::text(self.tenant.as_str())),
            ("origin", Json::from(self.origin.clone())),
            ("question", Json::text(self.question.as_str())),
            ("person", Json::text(self.person.as_str())),
            ("digest", Json::text(self.digest.to_string())),
            ("decision", Json::text(self.decision.as_str())),
            ("instead", Json::from(self.instead.map(|digest| digest.to_string()))),
            ("reason", Json::text(self.reason.as_str())),
        ]);
        json.to_canonical().into_bytes()
    }
}

/// The digest of a proposal that takes the place of another: its action, its params and everything else in it.
pub fn instead_digest(proposal: &Proposal) -> Digest {
    let text = proposal.to_json(proposal.params.clone()).to_canonical();
    Digest::of_parts(&[b"writkeeper/instead/v1", text.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> AnswerStatement {
        AnswerStatement {
            tenant: "default".to_owned(),
            origin: Some("log.example".to_owned()),
            question: "q".to_owned(),
            person: "ann".to_owned(),
            digest: Digest::of("shown"),
            decision: "MODIFY".to_owned(),
            instead: Some(Digest::of("instead")),
            reason: "why".to_owned(),
        }
    }

    #[test]
    fn a_signature_covers_every_part_of_an_answer() {
        let key = SecretKey::from_seed(&[7; 32]);
        let signed = said().sign(&key);
        assert_eq!(said().check(&signed, &key.public()), Ok(()));
        let others = [
            AnswerStatement { tenant: "other".to_owned(), ..said() },
            AnswerStatement { origin: None, ..said() },
            AnswerStatement { origin: Some("log.example/2".to_owned()), ..said() },
            AnswerStatement { question: "q2".to_owned(), ..said() },
            AnswerStatement { person: "bob".to_owned(), ..said() },
            AnswerStatement { digest: Digest::of("other"), ..said() },
            AnswerStatement { decision: "OVERRIDE".to_owned(), ..said() },
            AnswerStatement { instead: None, ..said() },
            AnswerStatement { instead: Some(Digest::of("other")), ..said() },
            AnswerStatement { reason: "why not".to_owned(), ..said() },
        ];
        for other in others {
            assert_eq!(other.check(&signed, &key.public()), Err(SignatureProblem::OtherAnswer), "{other:?}");
        }
        let stranger = SecretKey::from_seed(&[8; 32]).public();
        assert_eq!(said().check(&signed, &stranger), Err(SignatureProblem::OtherKey));
    }

    #[test]
    fn the_same_bytes_of_another_type_are_no_answer() {
        let key = SecretKey::from_seed(&[7; 32]);
        let proof = Envelope::sign(crate::statement::PROOF_TYPE, said().to_bytes(), &[&key]);
        assert_eq!(said().check(&proof, &key.public()), Err(SignatureProblem::OtherAnswer));
    }
}

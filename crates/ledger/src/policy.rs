//! Whom to believe: a log, its keys, and how many witnesses must have seen a checkpoint.

use super::checkpoint::{Checkpoint, CheckpointProblem};
use super::keys::{KeyKind, KeyName, VerifierKey};
use super::note::{Note, NoteProblem};
use std::fmt;

/// Why a policy cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PolicyProblem {
    /// No key of the log.
    NoLogKey,
    /// A log signs notes, a witness cosigns them; this key does the other thing.
    WrongKind(KeyName),
    /// Two witnesses with one key would be one voice counted twice.
    SharedKey(KeyName),
    /// More cosignatures are demanded than there are witnesses.
    TooFewWitnesses,
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyProblem::NoLogKey => formatter.write_str("a policy needs a key of the log"),
            PolicyProblem::WrongKind(name) => write!(formatter, "the key of `{name}` is of the wrong kind"),
            PolicyProblem::SharedKey(name) => write!(formatter, "the key of `{name}` is there twice"),
            PolicyProblem::TooFewWitnesses => {
                formatter.write_str("more cosignatures are demanded than there are witnesses")
            }
        }
    }
}

impl std::error::Error for PolicyProblem {}

/// Why a checkpoint is not to be believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TrustProblem {
    /// The note is malformed or its signatures do not hold.
    Note(NoteProblem),
    /// The signed text is no checkpoint.
    Checkpoint(CheckpointProblem),
    /// It is a checkpoint of another log.
    OtherLog {
        /// The log it is of.
        origin: String,
    },
    /// No key of the log signed it that is valid at its size.
    NotSignedByLog,
    /// Fewer witnesses than demanded cosigned it.
    TooFewWitnesses {
        /// What the policy demands.
        demanded: usize,
        /// What there is.
        found: usize,
    },
}

impl fmt::Display for TrustProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrustProblem::Note(problem) => problem.fmt(formatter),
            TrustProblem::Checkpoint(problem) => problem.fmt(formatter),
            TrustProblem::OtherLog { origin } => write!(formatter, "the checkpoint is of another log, `{origin}`"),
            TrustProblem::NotSignedByLog => {
                formatter.write_str("the checkpoint is not signed by a valid key of the log")
            }
            TrustProblem::TooFewWitnesses { demanded, found } => {
                write!(formatter, "{found} of {demanded} demanded witnesses cosigned the checkpoint")
            }
        }
    }
}

impl std::error::Error for TrustProblem {}

/// The log that is believed, by which keys, seen by how many of which witnesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    origin: String,
    /// INVARIANT: the keys of the log first, then those of witnesses, each of its kind.
    keys: Vec<VerifierKey>,
    witnesses_min: usize,
}

/// A checkpoint that was verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trusted {
    /// What was signed.
    pub checkpoint: Checkpoint,
    /// The keys of the log that signed it.
    pub log_keys: Vec<VerifierKey>,
    /// The witnesses that cosigned it, and when. There is no clock here: whether that is too old or lies in the future
    /// is the caller's question.
    pub witnesses: Vec<(VerifierKey, u64)>,
}

impl Policy {
    /// One key of one log, no witnesses: the origin is the name of the key.
    pub fn of_log(key: VerifierKey) -> Result<Policy, PolicyProblem> {
        let origin = key.name().to_string();
        Policy::new(&origin, vec![key], Vec::new(), 0)
    }

    /// Any key of the log suffices; so many witnesses have to have cosigned.
    pub fn new(
        origin: &str,
        log_keys: Vec<VerifierKey>,
        witnesses: Vec<VerifierKey>,
        witnesses_min: usize,
    ) -> Result<Policy, PolicyProblem> {
        if log_keys.is_empty() {
            return Err(PolicyProblem::NoLogKey);
        }
        if witnesses_min > witnesses.len() {
            return Err(PolicyProblem::TooFewWitnesses);
        }
        demand_kind(&log_keys, KeyKind::Ed25519)?;
        demand_kind(&witnesses, KeyKind::CosignatureV1)?;
        let keys: Vec<VerifierKey> = log_keys.into_iter().chain(witnesses).collect();
        for (at, key) in keys.iter().enumerate() {
            // Cosignatures do not name the witness, and a log must not witness itself: every key is somebody else's.
            if keys.iter().take(at).any(|other| other.key() == key.key()) {
                return Err(PolicyProblem::SharedKey(key.name().clone()));
            }
        }
        Ok(Policy { origin: origin.to_owned(), keys, witnesses_min })
    }

    /// The log that is believed.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Reads and verifies a checkpoint.
    ///
    /// ```
    /// use ledger::checkpoint::Checkpoint;
    /// use ledger::keys::NoteSigner;
    /// use ledger::merkle::TreeHash;
    /// use ledger::note::Note;
    /// use ledger::policy::Policy;
    /// let signer = NoteSigner::new("log.example/default/0", &[7; 32]).unwrap();
    /// let checkpoint = Checkpoint::new("log.example/default/0", 0, TreeHash::of_nothing()).unwrap();
    /// let note = Note::sign(&checkpoint.to_string(), &[&signer]).unwrap();
    /// let policy = Policy::of_log(signer.verifier()).unwrap();
    /// assert_eq!(policy.verify(note.to_string().as_bytes()).unwrap().checkpoint, checkpoint);
    /// ```
    pub fn verify(&self, note: &[u8]) -> Result<Trusted, TrustProblem> {
        self.verify_note(&Note::parse(note).map_err(TrustProblem::Note)?)
    }

    /// Verifies a checkpoint that was read.
    pub fn verify_note(&self, note: &Note) -> Result<Trusted, TrustProblem> {
        let endorsements = note.verify(&self.keys).map_err(TrustProblem::Note)?;
        let checkpoint = Checkpoint::parse(note.text()).map_err(TrustProblem::Checkpoint)?;
        if checkpoint.origin() != self.origin {
            return Err(TrustProblem::OtherLog { origin: checkpoint.origin().to_owned() });
        }
        let mut trusted = Trusted { checkpoint, log_keys: Vec::new(), witnesses: Vec::new() };
        for endorsement in endorsements {
            match endorsement.seconds {
                Some(seconds) => trusted.witnesses.push((endorsement.key.clone(), seconds)),
                None => trusted.log_keys.push(endorsement.key.clone()),
            }
        }
        if trusted.log_keys.is_empty() {
            return Err(TrustProblem::NotSignedByLog);
        }
        let (demanded, found) = (self.witnesses_min, trusted.witnesses.len());
        if found < demanded { Err(TrustProblem::TooFewWitnesses { demanded, found }) } else { Ok(trusted) }
    }
}

fn demand_kind(keys: &[VerifierKey], kind: KeyKind) -> Result<(), PolicyProblem> {
    match keys.iter().find(|key| key.kind() != kind) {
        Some(key) => Err(PolicyProblem::WrongKind(key.name().clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::{Cosigner, NoteSigner};
    use super::super::merkle::TreeHash;
    use super::*;

    fn log(seed: u8) -> NoteSigner {
        NoteSigner::new("log.example", &[seed; 32]).unwrap()
    }

    fn witness(seed: u8) -> Cosigner {
        Cosigner::new(&format!("witness.example/{seed}"), &[seed; 32]).unwrap()
    }

    fn checkpoint() -> Checkpoint {
        Checkpoint::new("log.example", 1, TreeHash::of_leaf(b"entry")).unwrap()
    }

    #[test]
    fn policies_that_prove_less_than_they_say_are_refused() {
        let check = |log_keys, witnesses, min, expected| {
            assert_eq!(Policy::new("log.example", log_keys, witnesses, min), Err(expected));
        };
        let (log_key, one, two) = (log(1).verifier(), witness(2).verifier(), witness(3).verifier());
        check(vec![], vec![], 0, PolicyProblem::NoLogKey);
        assert_eq!(Policy::of_log(log_key.clone()).unwrap().origin(), "log.example");
        check(vec![one.clone()], vec![], 0, PolicyProblem::WrongKind(one.name().clone()));
        check(vec![log_key.clone()], vec![log_key.clone()], 0, PolicyProblem::WrongKind(log_key.name().clone()));
        check(vec![log_key.clone()], vec![one.clone()], 2, PolicyProblem::TooFewWitnesses);
        let renamed = Cosigner::new("other.example", &[2; 32]).unwrap().verifier();
        check(
            vec![log_key.clone()],
            vec![one.clone(), renamed.clone()],
            2,
            PolicyProblem::SharedKey(renamed.name().clone()),
        );
        let own = witness(1).verifier();
        check(vec![log_key.clone()], vec![own.clone()], 1, PolicyProblem::SharedKey(own.name().clone()));
        assert!(Policy::new("log.example", vec![log_key], vec![one, two], 2).is_ok());
    }

    #[test]
    fn one_witness_cosigning_twice_is_one() {
        let witnesses = vec![witness(2).verifier(), witness(3).verifier()];
        let policy = Policy::new("log.example", vec![log(1).verifier()], witnesses, 2).unwrap();
        let mut note = Note::sign(&checkpoint().to_string(), &[&log(1)]).unwrap();
        let too_few = |found| Err(TrustProblem::TooFewWitnesses { demanded: 2, found });
        assert_eq!(policy.verify_note(&note), too_few(0));
        note.add(witness(2).cosign(&note, 10).unwrap()).unwrap();
        note.add(witness(2).cosign(&note, 11).unwrap()).unwrap();
        assert_eq!(policy.verify_note(&note), too_few(1));
        note.add(witness(3).cosign(&note, 12).unwrap()).unwrap();
        let trusted = policy.verify_note(&note).unwrap();
        assert_eq!(trusted.witnesses, [(witness(2).verifier(), 10), (witness(3).verifier(), 12)]);
    }

    #[test]
    fn witnesses_alone_do_not_make_a_checkpoint() {
        let policy = Policy::new("log.example", vec![log(1).verifier()], vec![witness(2).verifier()], 1).unwrap();
        let mut note = Note::sign(&checkpoint().to_string(), &[&log(9)]).unwrap();
        note.add(witness(2).cosign(&note, 10).unwrap()).unwrap();
        assert_eq!(policy.verify_note(&note), Err(TrustProblem::NotSignedByLog));
    }

    #[test]
    fn a_key_speaks_for_its_own_log_only() {
        let policy = Policy::of_log(log(1).verifier()).unwrap();
        let other = Checkpoint::new("log.example/other", 1, TreeHash::of_leaf(b"entry")).unwrap();
        let note = Note::sign(&other.to_string(), &[&log(1)]).unwrap();
        let expected = TrustProblem::OtherLog { origin: "log.example/other".to_owned() };
        assert_eq!(policy.verify_note(&note), Err(expected));
        let note = Note::sign("hello\n", &[&log(1)]).unwrap();
        assert_eq!(policy.verify_note(&note), Err(TrustProblem::Checkpoint(CheckpointProblem::Lines)));
    }
}

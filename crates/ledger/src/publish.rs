//! Whether a checkpoint may be signed. A log that signs two histories has proved that it lies.

use super::checkpoint::Checkpoint;
use super::discontinuity::Discontinuity;
use super::keyring::Keyring;
use super::keys::{KeyId, KeyName, NoteSigner, VerifierKey};
use super::merkle::TreeHash;
use super::note::{Note, NoteProblem};
use super::proof::{ProofProblem, verify_consistency, verify_inclusion};
use std::fmt;
use values::count::{counted, is, was};

/// Why a checkpoint must not be signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignRefusal {
    /// It is of another log than the history.
    OtherLog {
        /// The log that the history is of.
        expected: String,
    },
    /// The tree is smaller than what was published: entries were lost.
    Below {
        /// Size that was published.
        published: u64,
        /// Size that would be signed.
        next: u64,
    },
    /// Same size, other root: history was changed.
    Beside {
        /// The size.
        size: u64,
    },
    /// The tree is larger and does not continue what was published.
    NotContinued(ProofProblem),
    /// The new log does not start with the declaration of the discontinuity.
    NotDeclared(ProofProblem),
    /// It has extension lines, which no auditor can check.
    Extensions,
    /// The signer's key is not valid for this log at this size.
    InvalidKey {
        /// The name of the key.
        name: KeyName,
    },
    /// A key that is valid at this size does not sign.
    MissingKey {
        /// The name of the key.
        name: KeyName,
    },
    /// The ledger says that others sign for it.
    OtherSigner {
        /// The log that it names.
        log: String,
        /// Its newest key.
        key: KeyId,
    },
    /// The note cannot be made.
    Note(NoteProblem),
}

impl SignRefusal {
    /// Whether the tree is another one than was published: a store with it would do again what it forgot.
    pub fn is_another_history(&self) -> bool {
        match self {
            SignRefusal::Below { .. }
            | SignRefusal::Beside { .. }
            | SignRefusal::NotContinued(_)
            | SignRefusal::NotDeclared(_) => true,
            SignRefusal::OtherLog { .. }
            | SignRefusal::Note(_)
            | SignRefusal::Extensions
            | SignRefusal::InvalidKey { .. }
            | SignRefusal::MissingKey { .. }
            | SignRefusal::OtherSigner { .. } => false,
        }
    }
}

impl fmt::Display for SignRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignRefusal::OtherLog { expected } => write!(formatter, "the checkpoint is not of the log `{expected}`"),
            SignRefusal::Below { published, next } => {
                let published = format!("{} {} published", counted(*published, "entry"), was(*published));
                write!(formatter, "{published} and only {next} {} left", is(*next))
            }
            SignRefusal::Beside { size } => {
                write!(formatter, "another root was published for {}", counted(*size, "entry"))
            }
            SignRefusal::NotContinued(problem) => write!(formatter, "the published tree is not continued: {problem}"),
            SignRefusal::NotDeclared(problem) => {
                write!(formatter, "the log does not start with the declared discontinuity: {problem}")
            }
            SignRefusal::Extensions => formatter.write_str("the checkpoint has extension lines"),
            SignRefusal::InvalidKey { name } => write!(formatter, "the key of `{name}` may not sign at this size"),
            SignRefusal::MissingKey { name } => write!(formatter, "a key of `{name}` that has to sign is missing"),
            SignRefusal::OtherSigner { log, key } => {
                write!(formatter, "log `{log}` signs for this ledger, and its key {key} is not among these")
            }
            SignRefusal::Note(problem) => problem.fmt(formatter),
        }
    }
}

impl std::error::Error for SignRefusal {}

/// What a log has stated so far.
#[derive(Clone, Copy, Debug)]
pub enum History<'a> {
    /// Nothing: the log was created just now. Lost files are no reason to say this; they are a reason to stop.
    Fresh,
    /// A checkpoint.
    Published {
        /// The largest one that anybody may hold: see [`latest`].
        last: &'a Checkpoint,
        /// Proof that the next one continues it; empty where sizes are equal or nothing was in it.
        growth: &'a [TreeHash],
    },
    /// Nothing yet, and its first entry declares which broken log it follows.
    Discontinued {
        /// What is declared.
        declared: &'a Discontinuity,
        /// Proof that the declaration is entry 0.
        inclusion: &'a [TreeHash],
    },
}

/// The right to sign one checkpoint. There is no other way to get one than [`may_sign`].
#[derive(PartialEq, Eq, Debug)]
pub struct Permit {
    checkpoint: Checkpoint,
}

/// Whether the next checkpoint may be signed after what was stated so far.
///
/// ```
/// use ledger::checkpoint::Checkpoint;
/// use ledger::merkle::TreeHash;
/// use ledger::publish::{History, SignRefusal, may_sign};
/// let (one, other) = (TreeHash::of_leaf(b"one"), TreeHash::of_leaf(b"other"));
/// let last = Checkpoint::new("log", 1, one).unwrap();
/// let after = |next| may_sign(History::Published { last: &last, growth: &[] }, next);
/// assert!(after(last.clone()).is_ok());
/// assert_eq!(after(Checkpoint::new("log", 1, other).unwrap()), Err(SignRefusal::Beside { size: 1 }));
/// let nothing = Checkpoint::new("log", 0, TreeHash::of_nothing()).unwrap();
/// assert_eq!(after(nothing), Err(SignRefusal::Below { published: 1, next: 0 }));
/// ```
pub fn may_sign(history: History<'_>, next: Checkpoint) -> Result<Permit, SignRefusal> {
    if !next.extensions().is_empty() {
        return Err(SignRefusal::Extensions);
    }
    match history {
        History::Fresh => {}
        History::Published { last, growth } => demand_growth(last, growth, &next)?,
        History::Discontinued { declared, inclusion } => {
            demand_origin(declared.origin(), &next)?;
            let entry = TreeHash::of_leaf(&declared.entry());
            verify_inclusion(0, next.size(), next.root(), entry, inclusion).map_err(SignRefusal::NotDeclared)?;
        }
    }
    Ok(Permit { checkpoint: next })
}

/// Whether a signer is the one that the ledger names: it knows every key that was recorded, of its own log or of one
/// that it ended by declaring so. Whoever starts under a new name instead would go around everything that was stated.
pub fn may_speak_for(recorded: &Keyring, ring: &Keyring, ended: &[Keyring]) -> Result<(), SignRefusal> {
    let knows = |ring: &Keyring| {
        let has = |key: &VerifierKey| ring.periods().iter().any(|period| period.key == *key);
        ring.origin() == recorded.origin() && recorded.periods().iter().all(|period| has(&period.key))
    };
    match recorded.periods().last() {
        Some(newest) if !std::iter::once(ring).chain(ended).any(knows) => {
            Err(SignRefusal::OtherSigner { log: recorded.origin().to_owned(), key: newest.key.id() })
        }
        Some(_) | None => Ok(()),
    }
}

/// The largest of all checkpoints that are remembered: the signer's own, the published one, what witnesses saw.
///
/// Two of one size with different roots are a fork that has happened already; nothing may be signed then.
pub fn latest<'a>(seen: &[&'a Checkpoint]) -> Result<Option<&'a Checkpoint>, SignRefusal> {
    let Some(latest) = seen.iter().copied().max_by_key(|checkpoint| checkpoint.size()) else { return Ok(None) };
    for (at, one) in seen.iter().enumerate() {
        demand_origin(latest.origin(), one)?;
        let forks = |other: &&&Checkpoint| other.size() == one.size() && other.root() != one.root();
        if seen.iter().take(at).find(forks).is_some() {
            return Err(SignRefusal::Beside { size: one.size() });
        }
    }
    Ok(Some(latest))
}

impl Permit {
    /// What may be signed.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Signs with every key that is valid at the size, and no other: an overlap that one key skips is none.
    pub fn sign(&self, ring: &Keyring, signers: &[&NoteSigner]) -> Result<Note, SignRefusal> {
        demand_origin(ring.origin(), &self.checkpoint)?;
        let valid: Vec<_> = ring.valid_at(self.checkpoint.size()).collect();
        if let Some(signer) = signers.iter().find(|signer| !valid.contains(&&signer.verifier())) {
            return Err(SignRefusal::InvalidKey { name: signer.name().clone() });
        }
        if let Some(key) = valid.iter().find(|key| !signers.iter().any(|signer| signer.verifier() == ***key)) {
            return Err(SignRefusal::MissingKey { name: key.name().clone() });
        }
        Note::sign(&self.checkpoint.to_string(), signers).map_err(SignRefusal::Note)
    }
}

fn demand_growth(last: &Checkpoint, growth: &[TreeHash], next: &Checkpoint) -> Result<(), SignRefusal> {
    demand_origin(last.origin(), next)?;
    if next.size() < last.size() {
        return Err(SignRefusal::Below { published: last.size(), next: next.size() });
    }
    if next.size() == last.size() && next.root() != last.root() {
        return Err(SignRefusal::Beside { size: next.size() });
    }
    // Every tree continues the one without entries.
    if last.size() == 0 {
        return Ok(());
    }
    verify_consistency(last.size(), next.size(), last.root(), next.root(), growth).map_err(SignRefusal::NotContinued)
}

fn demand_origin(expected: &str, checkpoint: &Checkpoint) -> Result<(), SignRefusal> {
    if checkpoint.origin() == expected {
        return Ok(());
    }
    Err(SignRefusal::OtherLog { expected: expected.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::merkle::{Frontier, Node};
    use super::super::proof::{prove_consistency, prove_inclusion};
    use super::*;
    use std::collections::BTreeMap;

    const ORIGIN: &str = "log.example/default/0";

    /// A tree whose entries are its indices, or something else from one index on.
    fn tree(size: u64, forged_from: u64) -> (Checkpoint, BTreeMap<Node, TreeHash>) {
        let mut frontier = Frontier::default();
        let mut hashes = BTreeMap::new();
        for index in 0..size {
            let entry = if index < forged_from { index } else { index + 1_000 };
            let leaf = TreeHash::of_leaf(&entry.to_be_bytes());
            frontier.append_watched(leaf, |node, hash| hashes.extend([(node, hash)])).unwrap();
        }
        (Checkpoint::new(ORIGIN, size, frontier.root()).unwrap(), hashes)
    }

    fn growth(hashes: &BTreeMap<Node, TreeHash>, old: u64, new: u64) -> Vec<TreeHash> {
        prove_consistency(&|node| hashes.get(&node).copied(), old, new).unwrap_or_default()
    }

    fn after(last: &Checkpoint, growth: &[TreeHash], next: &Checkpoint) -> Result<Permit, SignRefusal> {
        may_sign(History::Published { last, growth }, next.clone())
    }

    #[test]
    fn only_who_knows_every_recorded_key_speaks_for_a_ledger() {
        let key = |origin: &str, seed: u8| NoteSigner::new(origin, &[seed; 32]).unwrap().verifier();
        let ring = |origin: &str, seed: u8| Keyring::new(key(origin, seed)).unwrap();
        let (first, other_key, other_log) = (ring(ORIGIN, 1), ring(ORIGIN, 2), ring("log.example/default/1", 1));
        let mut rotated = first.clone();
        rotated.introduce(key(ORIGIN, 3), &Checkpoint::new(ORIGIN, 4, TreeHash::of_nothing()).unwrap()).unwrap();
        let check = |recorded: &Keyring, ring: &Keyring, ended: &[Keyring], may: bool| {
            let newest = recorded.periods().last().unwrap().key.id();
            let refusal = SignRefusal::OtherSigner { log: recorded.origin().to_owned(), key: newest };
            let expected = if may { Ok(()) } else { Err(refusal) };
            assert_eq!(may_speak_for(recorded, ring, ended), expected);
        };
        check(&first, &first, &[], true);
        check(&first, &rotated, &[], true);
        check(&rotated, &first, &[], false);
        check(&first, &other_key, &[], false);
        check(&first, &other_log, &[], false);
        check(&first, &other_log, std::slice::from_ref(&first), true);
        check(&first, &other_log, &[other_key], false);
        check(&rotated, &other_log, std::slice::from_ref(&first), false);
        let refused = may_speak_for(&first, &other_log, &[]).unwrap_err().to_string();
        assert!(refused.contains(ORIGIN) && refused.contains(&key(ORIGIN, 1).id().to_string()), "{refused}");
    }

    #[test]
    fn a_log_signs_what_continues_it_and_nothing_else() {
        for old in 0..20 {
            for new in 0..20 {
                let ((last, _), (next, hashes)) = (tree(old, old), tree(new, new));
                assert_eq!(after(&last, &growth(&hashes, old, new), &next).is_ok(), new >= old, "{old} {new}");
            }
            for forged in 0..old {
                let ((last, _), (next, hashes)) = (tree(old, old), tree(25, forged));
                let problem = after(&last, &growth(&hashes, old, 25), &next);
                assert!(matches!(problem, Err(SignRefusal::NotContinued(_))), "{old} {forged}");
            }
        }
    }

    #[test]
    fn below_beside_and_elsewhere() {
        let ((seven, _), (nine, _), (forged, _)) = (tree(7, 7), tree(9, 9), tree(9, 3));
        assert_eq!(after(&nine, &[], &seven), Err(SignRefusal::Below { published: 9, next: 7 }));
        assert_eq!(after(&nine, &[], &forged), Err(SignRefusal::Beside { size: 9 }));
        let elsewhere = Checkpoint::new("log.example/other", 9, nine.root()).unwrap();
        assert_eq!(after(&nine, &[], &elsewhere), Err(SignRefusal::OtherLog { expected: ORIGIN.to_owned() }));
        let extended = Checkpoint::parse(&format!("{nine}more\n")).unwrap();
        assert_eq!(after(&nine, &[], &extended), Err(SignRefusal::Extensions));
        assert_eq!(may_sign(History::Fresh, extended), Err(SignRefusal::Extensions));
    }

    #[test]
    fn the_largest_of_what_is_remembered_counts() {
        let ((seven, _), (nine, _), (forged, _)) = (tree(7, 7), tree(9, 9), tree(9, 3));
        assert_eq!(latest(&[]), Ok(None));
        assert_eq!(latest(&[&seven, &nine, &seven]), Ok(Some(&nine)));
        assert_eq!(latest(&[&seven, &nine, &forged]), Err(SignRefusal::Beside { size: 9 }));
        let elsewhere = Checkpoint::new("log.example/other", 1, seven.root()).unwrap();
        assert!(matches!(latest(&[&elsewhere, &nine]), Err(SignRefusal::OtherLog { .. })));
    }

    #[test]
    fn a_new_log_after_a_loss_starts_with_its_declaration() {
        let ((seven, _), (nine, _)) = (tree(7, 7), tree(9, 9));
        let origin = "log.example/default/1";
        let declared = Discontinuity::declare("default", origin, &nine, &seven, "restored from a backup").unwrap();
        let leaf = TreeHash::of_leaf(&declared.entry());
        let other = TreeHash::of_leaf(b"other");
        let hashes = |node: Node| if node.index == 0 { Some(leaf) } else { Some(other) };
        let next = Checkpoint::new(origin, 2, TreeHash::of_children(leaf, other)).unwrap();
        let inclusion = prove_inclusion(&hashes, 0, 2).unwrap();
        let sign = |inclusion: &[TreeHash], next: &Checkpoint| {
            may_sign(History::Discontinued { declared: &declared, inclusion }, next.clone())
        };
        assert!(sign(&inclusion, &next).is_ok());
        let swapped = Checkpoint::new(origin, 2, TreeHash::of_children(other, leaf)).unwrap();
        assert_eq!(sign(&inclusion, &swapped), Err(SignRefusal::NotDeclared(ProofProblem::WrongRoot)));
        assert!(matches!(sign(&inclusion, &seven), Err(SignRefusal::OtherLog { .. })), "the old log stays closed");
    }

    #[test]
    fn all_valid_keys_sign_and_no_others() {
        let signer = |seed: u8| NoteSigner::new(ORIGIN, &[seed; 32]).unwrap();
        let (one, two, three) = (signer(1), signer(2), signer(3));
        let ((five, _), (nine, _)) = (tree(5, 5), tree(9, 9));
        let mut ring = Keyring::new(one.verifier()).unwrap();
        ring.introduce(two.verifier(), &five).unwrap();
        let permit = |checkpoint: &Checkpoint| may_sign(History::Fresh, checkpoint.clone()).unwrap();
        let invalid = Err(SignRefusal::InvalidKey { name: one.name().clone() });
        let missing = Err(SignRefusal::MissingKey { name: one.name().clone() });
        assert!(permit(&five).sign(&ring, &[&one]).is_ok());
        assert_eq!(permit(&five).sign(&ring, &[&one, &two]), invalid);
        assert_eq!(permit(&nine).sign(&ring, &[&one]), missing);
        assert_eq!(permit(&nine).sign(&ring, &[]), missing);
        assert_eq!(permit(&nine).sign(&ring, &[&one, &two, &three]), invalid);
        let note = permit(&nine).sign(&ring, &[&one, &two]).unwrap();
        assert_eq!(ring.verify(&note).unwrap().log_keys.len(), 2);
        assert_eq!(note, permit(&nine).sign(&ring, &[&one, &two]).unwrap(), "signing is deterministic");
        let elsewhere = Checkpoint::new("log.example/other", 9, nine.root()).unwrap();
        let expected = Err(SignRefusal::OtherLog { expected: ORIGIN.to_owned() });
        assert_eq!(permit(&elsewhere).sign(&ring, &[&one, &two]), expected, "keys sign for their own log");
    }
}

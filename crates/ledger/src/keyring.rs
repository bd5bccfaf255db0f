//! The keys of one log over its life: which one may sign checkpoints from which size to which.
//!
//! A change of keys overlaps: for a while both sign, so that a verifier who knows either of them loses nothing. An old
//! key ends at a size; if it is stolen later, what it signs beyond that size is worth nothing.

use super::checkpoint::Checkpoint;
use super::keys::{KeyId, KeyKind, KeyName, VerifierKey};
use super::note::Note;
use super::policy::{Policy, PolicyProblem, TrustProblem, Trusted};
use super::text::decimal;
use std::fmt;

/// Most keys of one log; a log that needs more has outlived its shard.
pub const KEYS_MAX: usize = 64;

/// From which to which size of the tree a key may sign, both included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyPeriod {
    /// The key.
    pub key: VerifierKey,
    /// Smallest size.
    pub from: u64,
    /// Largest size; `None` while the key is in use.
    pub last: Option<u64>,
}

impl KeyPeriod {
    fn covers(&self, size: u64) -> bool {
        self.from <= size && self.last.is_none_or(|last| size <= last)
    }
}

/// Why keys cannot be changed like that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyringProblem {
    /// The text is not that of a keyring.
    Malformed,
    /// The key has another name than the log, or is not of the kind that signs checkpoints.
    NotOfThisLog(KeyName),
    /// The key is or was in use already.
    KnownKey(KeyId),
    /// The key is not there, or retired already.
    NotInUse(KeyId),
    /// More keys than one log may have.
    TooManyKeys,
    /// There would be sizes for which no key may sign, or two keys without a size at which both may.
    Gap,
    /// The checkpoint is not to be believed.
    Published(TrustProblem),
    /// The checkpoint is not signed by the key that shall retire and by one that stays.
    NoOverlap,
    /// The tree cannot grow any more.
    TreeFull,
}

impl fmt::Display for KeyringProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyringProblem::Malformed => formatter.write_str("the text is not that of a keyring"),
            KeyringProblem::NotOfThisLog(name) => write!(formatter, "the key of `{name}` does not sign for this log"),
            KeyringProblem::KnownKey(id) => write!(formatter, "the key `{id}` is or was in use already"),
            KeyringProblem::NotInUse(id) => write!(formatter, "the key `{id}` is not in use"),
            KeyringProblem::TooManyKeys => write!(formatter, "a log has at most {KEYS_MAX} keys"),
            KeyringProblem::Gap => formatter.write_str("the keys do not overlap"),
            KeyringProblem::Published(problem) => problem.fmt(formatter),
            KeyringProblem::NoOverlap => {
                formatter.write_str("the checkpoint is not signed by both the old key and one that stays")
            }
            KeyringProblem::TreeFull => formatter.write_str("the tree cannot grow, so no key can follow"),
        }
    }
}

impl std::error::Error for KeyringProblem {}

/// The keys of a log.
///
/// INVARIANT: the first key starts at size 0, each next one starts where an earlier one is still valid, and at least
/// one is in use.
///
/// ```
/// use ledger::keyring::Keyring;
/// use ledger::keys::NoteSigner;
/// let first = NoteSigner::new("log.example/default/0", &[1; 32]).unwrap();
/// let ring = Keyring::new(first.verifier()).unwrap();
/// assert_eq!(ring.valid_at(1_000).count(), 1);
/// assert_eq!(Keyring::parse(&ring.to_string()), Ok(ring));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyring {
    origin: String,
    periods: Vec<KeyPeriod>,
}

impl Keyring {
    /// A new log and its first key; the log has the name of the key.
    pub fn new(key: VerifierKey) -> Result<Keyring, KeyringProblem> {
        let origin = key.name().to_string();
        Keyring::checked(origin, vec![KeyPeriod { key, from: 0, last: None }])
    }

    /// Reads what printing wrote.
    pub fn parse(text: &str) -> Result<Keyring, KeyringProblem> {
        let mut lines = text.strip_suffix('\n').ok_or(KeyringProblem::Malformed)?.split('\n');
        let origin = lines.next().ok_or(KeyringProblem::Malformed)?.to_owned();
        let mut periods = Vec::new();
        for line in lines {
            if periods.len() == KEYS_MAX {
                return Err(KeyringProblem::TooManyKeys);
            }
            periods.push(period(line).ok_or(KeyringProblem::Malformed)?);
        }
        Keyring::checked(origin, periods)
    }

    /// Lets a new key sign beside those in use, from the first checkpoint larger than the last published one.
    pub fn introduce(&mut self, key: VerifierKey, published: &Checkpoint) -> Result<(), KeyringProblem> {
        let from = published.size().checked_add(1).ok_or(KeyringProblem::TreeFull)?;
        let mut periods = self.periods.clone();
        periods.push(KeyPeriod { key, from, last: None });
        *self = Keyring::checked(self.origin.clone(), periods)?;
        Ok(())
    }

    /// Ends a key at a published checkpoint that it signed together with one that stays.
    ///
    /// Demanding the checkpoint itself, not a promise: an overlap that nobody published is none.
    pub fn retire(&mut self, id: KeyId, published: &Note) -> Result<(), KeyringProblem> {
        let trusted = self.verify(published).map_err(KeyringProblem::Published)?;
        let signed = |key: &VerifierKey| trusted.log_keys.contains(key);
        let stays = |period: &KeyPeriod| period.last.is_none() && period.key.id() != id && signed(&period.key);
        let has_successor = self.periods.iter().any(stays);
        let retiring = self.periods.iter_mut().find(|period| period.key.id() == id && period.last.is_none());
        let retiring = retiring.ok_or(KeyringProblem::NotInUse(id))?;
        if !signed(&retiring.key) || !has_successor {
            return Err(KeyringProblem::NoOverlap);
        }
        retiring.last = Some(trusted.checkpoint.size());
        Ok(())
    }

    /// The log.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Every key there ever was, the oldest first.
    pub fn periods(&self) -> &[KeyPeriod] {
        &self.periods
    }

    /// The keys that may sign a checkpoint of this size; all of them have to.
    pub fn valid_at(&self, size: u64) -> impl Iterator<Item = &VerifierKey> {
        self.periods.iter().filter(move |period| period.covers(size)).map(|period| &period.key)
    }

    /// Verifies a checkpoint by the keys that are valid at its size; one of them suffices.
    pub fn verify(&self, note: &Note) -> Result<Trusted, TrustProblem> {
        let size = Checkpoint::parse(note.text()).map_err(TrustProblem::Checkpoint)?.size();
        // The size is not verified yet; if it is a lie, the keys of that size have not signed it.
        let policy = self.policy_at(size, Vec::new(), 0).map_err(|_| TrustProblem::NotSignedByLog)?;
        policy.verify_note(note)
    }

    /// The keys valid at a size and these witnesses, as a policy for receipts and checkpoints of that size.
    pub fn policy_at(
        &self,
        size: u64,
        witnesses: Vec<VerifierKey>,
        witnesses_min: usize,
    ) -> Result<Policy, PolicyProblem> {
        Policy::new(&self.origin, self.valid_at(size).cloned().collect(), witnesses, witnesses_min)
    }

    /// The keys that should have signed a verified checkpoint and did not.
    pub fn missing<'a>(&'a self, trusted: &'a Trusted) -> impl Iterator<Item = &'a VerifierKey> {
        self.valid_at(trusted.checkpoint.size()).filter(|key| !trusted.log_keys.contains(key))
    }

    fn checked(origin: String, periods: Vec<KeyPeriod>) -> Result<Keyring, KeyringProblem> {
        if periods.len() > KEYS_MAX {
            return Err(KeyringProblem::TooManyKeys);
        }
        for (at, KeyPeriod { key, .. }) in periods.iter().enumerate() {
            if key.name().as_str() != origin || key.kind() != KeyKind::Ed25519 {
                return Err(KeyringProblem::NotOfThisLog(key.name().clone()));
            }
            // The id is how a key is named on a note, so two keys must not share it even by chance.
            if periods.iter().take(at).any(|other| other.key.id() == key.id()) {
                return Err(KeyringProblem::KnownKey(key.id()));
            }
        }
        if overlap(&periods) { Ok(Keyring { origin, periods }) } else { Err(KeyringProblem::Gap) }
    }
}

/// Whether the keys follow each other without a gap, each new one beside one that is still valid.
fn overlap(periods: &[KeyPeriod]) -> bool {
    let Some((first, rest)) = periods.split_first() else { return false };
    let is_forwards = |period: &KeyPeriod| period.last.is_none_or(|last| period.from <= last);
    let is_sorted = periods.is_sorted_by_key(|period| period.from);
    if first.from != 0 || !is_sorted || !periods.iter().all(is_forwards) {
        return false;
    }
    let mut covered = first.last;
    for period in rest {
        if covered.is_some_and(|last| last < period.from) {
            return false;
        }
        covered = covered.zip(period.last).map(|(one, other)| one.max(other));
    }
    covered.is_none()
}

/// Reads `from last key`, where `-` stands for a key in use.
fn period(line: &str) -> Option<KeyPeriod> {
    let (from, rest) = line.split_once(' ')?;
    let (last, key) = rest.split_once(' ')?;
    let last = if last == "-" { None } else { Some(decimal(last)?) };
    Some(KeyPeriod { key: VerifierKey::parse(key).ok()?, from: decimal(from)?, last })
}

impl fmt::Display for Keyring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.origin)?;
        for KeyPeriod { key, from, last } in &self.periods {
            match last {
                Some(last) => writeln!(formatter, "{from} {last} {key}")?,
                None => writeln!(formatter, "{from} - {key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::{Cosigner, NoteSigner};
    use super::super::merkle::TreeHash;
    use super::super::note::NoteProblem;
    use super::*;

    const ORIGIN: &str = "log.example/default/0";

    fn signer(seed: u8) -> NoteSigner {
        NoteSigner::new(ORIGIN, &[seed; 32]).unwrap()
    }

    fn id(seed: u8) -> KeyId {
        signer(seed).verifier().id()
    }

    fn head(size: u64) -> Checkpoint {
        Checkpoint::new(ORIGIN, size, TreeHash::of_leaf(&size.to_be_bytes())).unwrap()
    }

    fn note(size: u64, seeds: &[u8]) -> Note {
        let signers: Vec<NoteSigner> = seeds.iter().copied().map(signer).collect();
        Note::sign(&head(size).to_string(), &signers.iter().collect::<Vec<_>>()).unwrap()
    }

    fn valid(ring: &Keyring, size: u64) -> Vec<KeyId> {
        ring.valid_at(size).map(VerifierKey::id).collect()
    }

    /// Key 1 up to size 20, key 2 from size 11.
    fn rotated() -> Keyring {
        let mut ring = Keyring::new(signer(1).verifier()).unwrap();
        ring.introduce(signer(2).verifier(), &head(10)).unwrap();
        ring.retire(id(1), &note(20, &[1, 2])).unwrap();
        ring
    }

    #[test]
    fn rotation_overlaps() {
        let ring = rotated();
        for (size, expected) in [
            (0, vec![id(1)]),
            (10, vec![id(1)]),
            (11, vec![id(1), id(2)]),
            (20, vec![id(1), id(2)]),
            (21, vec![id(2)]),
            (u64::MAX, vec![id(2)]),
        ] {
            assert_eq!(valid(&ring, size), expected, "{size}");
        }
        assert_eq!(Keyring::parse(&ring.to_string()), Ok(ring));
    }

    #[test]
    fn checkpoints_count_only_under_keys_of_their_size() {
        let ring = rotated();
        let check = |size, seeds: &[u8], expected: Result<usize, TrustProblem>| {
            let found = ring.verify(&note(size, seeds)).map(|trusted| ring.missing(&trusted).count());
            assert_eq!(found, expected, "{size} {seeds:?}");
        };
        let unknown = || Err(TrustProblem::Note(NoteProblem::UnknownSigners));
        check(10, &[1], Ok(0));
        check(10, &[2], unknown());
        check(15, &[1, 2], Ok(0));
        check(15, &[1], Ok(1));
        check(15, &[2], Ok(1));
        check(21, &[2], Ok(0));
        check(21, &[1], unknown());
        check(21, &[1, 2], Ok(0));
        check(21, &[3], unknown());
    }

    #[test]
    fn a_key_is_not_retired_before_its_successor_signed_beside_it() {
        let mut ring = Keyring::new(signer(1).verifier()).unwrap();
        assert_eq!(ring.retire(id(1), &note(5, &[1])), Err(KeyringProblem::NoOverlap), "the only key");
        ring.introduce(signer(2).verifier(), &head(10)).unwrap();
        assert_eq!(
            ring.retire(id(1), &note(10, &[1, 2])),
            Err(KeyringProblem::NoOverlap),
            "before the new key is valid"
        );
        assert_eq!(ring.retire(id(1), &note(20, &[1])), Err(KeyringProblem::NoOverlap));
        assert_eq!(ring.retire(id(1), &note(20, &[2])), Err(KeyringProblem::NoOverlap));
        assert_eq!(ring.retire(id(3), &note(20, &[1, 2])), Err(KeyringProblem::NotInUse(id(3))));
        let unknown = KeyringProblem::Published(TrustProblem::Note(NoteProblem::UnknownSigners));
        assert_eq!(ring.retire(id(1), &note(20, &[4])), Err(unknown));
        ring.retire(id(1), &note(20, &[1, 2])).unwrap();
        assert_eq!(ring.retire(id(1), &note(20, &[1, 2])), Err(KeyringProblem::NotInUse(id(1))));
        assert_eq!(ring.retire(id(2), &note(20, &[1, 2])), Err(KeyringProblem::NoOverlap), "nobody would be left");
    }

    #[test]
    fn keys_of_others_and_keys_that_were_there_are_refused() {
        let mut ring = rotated();
        let known = |seed| Err(KeyringProblem::KnownKey(id(seed)));
        assert_eq!(ring.introduce(signer(1).verifier(), &head(30)), known(1), "a retired key does not come back");
        assert_eq!(ring.introduce(signer(2).verifier(), &head(30)), known(2));
        let other = NoteSigner::new("log.example/other", &[5; 32]).unwrap().verifier();
        assert_eq!(ring.introduce(other.clone(), &head(30)), Err(KeyringProblem::NotOfThisLog(other.name().clone())));
        let witness = Cosigner::new(ORIGIN, &[5; 32]).unwrap().verifier();
        assert_eq!(
            ring.introduce(witness.clone(), &head(30)),
            Err(KeyringProblem::NotOfThisLog(witness.name().clone()))
        );
        assert_eq!(ring.introduce(signer(5).verifier(), &head(u64::MAX)), Err(KeyringProblem::TreeFull));
        assert_eq!(ring, rotated(), "a refusal changes nothing");
        for seed in 3..=KEYS_MAX as u8 {
            ring.introduce(signer(seed).verifier(), &head(30)).unwrap();
        }
        assert_eq!(ring.introduce(signer(99).verifier(), &head(30)), Err(KeyringProblem::TooManyKeys));
        assert_eq!(ring.periods().len(), KEYS_MAX);
    }

    #[test]
    fn texts_with_gaps_are_refused() {
        let (one, two) = (signer(1).verifier(), signer(2).verifier());
        let check = |lines: &str, expected| {
            assert_eq!(Keyring::parse(&format!("{ORIGIN}\n{lines}")), Err(expected), "{lines}");
        };
        check("", KeyringProblem::Gap);
        check(&format!("1 - {one}\n"), KeyringProblem::Gap);
        check(&format!("0 5 {one}\n"), KeyringProblem::Gap);
        check(&format!("0 5 {one}\n6 - {two}\n"), KeyringProblem::Gap);
        check(&format!("0 5 {one}\n5 9 {two}\n"), KeyringProblem::Gap);
        check(&format!("0 - {one}\n6 5 {two}\n"), KeyringProblem::Gap);
        check(&format!("0 - {one}\n5 - {one}\n"), KeyringProblem::KnownKey(id(1)));
        for line in ["0 {}", "0 -  {}", "00 - {}", "- - {}", "0 x {}", "0 - {} "] {
            check(&format!("{}\n", line.replace("{}", &one.to_string())), KeyringProblem::Malformed);
        }
        check(&format!("0 - {one}"), KeyringProblem::Malformed);
        check(&format!("0 - {one}\n").repeat(65), KeyringProblem::TooManyKeys);
        assert!(Keyring::parse(&format!("{ORIGIN}\n0 5 {one}\n5 - {two}\n")).is_ok());
        let misnamed = Keyring::parse(&format!("log.example\n0 - {one}\n"));
        assert_eq!(misnamed, Err(KeyringProblem::NotOfThisLog(one.name().clone())));
    }
}

//! The signer: holds the keys of a log and remembers, apart from the store, what it has stated.

use ledger::checkpoint::Checkpoint;
use ledger::discontinuity::Discontinuity;
use ledger::keyring::Keyring;
use ledger::merkle::TreeHash;
use ledger::note::Note;
use ledger::publish::SignRefusal;
use std::fmt;

/// Signs checkpoints of one log.
///
/// What was stated is durable, outside of the store, before a signature leaves [`Signer::sign`]: a store that comes
/// back from a backup must not get a second history signed.
pub trait Signer: Send {
    /// The keys of the log.
    fn keyring(&self) -> &Keyring;

    /// Index of the log's first entry in the ledger: 0, unless it follows a declared discontinuity.
    fn from(&self) -> u64;

    /// What was stated so far.
    fn stated(&self) -> &Stated;

    /// Signs the next checkpoint, if it continues what was stated.
    ///
    /// `proof` says that it does: of growth after a checkpoint, of the first entry after a discontinuity.
    fn sign(&mut self, next: Checkpoint, proof: &[TreeHash]) -> Result<Note, SignerFault>;
}

/// What a signer has stated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stated {
    /// Nothing yet: the log is new.
    Nothing,
    /// A checkpoint.
    Signed(Note),
    /// That this log follows a broken one.
    Declared(Discontinuity),
}

impl Stated {
    /// Size of what was signed last.
    pub fn size(&self) -> u64 {
        match self {
            Stated::Signed(note) => Checkpoint::parse(note.text()).map_or(0, |checkpoint| checkpoint.size()),
            Stated::Nothing | Stated::Declared(_) => 0,
        }
    }
}

/// Why nothing was signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignerFault {
    /// It must not be signed: history was lost or changed. Decisions stop being sealed until a person looks.
    Refused(SignRefusal),
    /// Not now.
    Unavailable(String),
    /// There is no room on the disk for what has to be remembered.
    NoRoom(String),
}

impl fmt::Display for SignerFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignerFault::Refused(refusal) => write!(formatter, "the checkpoint must not be signed: {refusal}"),
            SignerFault::Unavailable(problem) | SignerFault::NoRoom(problem) => {
                write!(formatter, "nothing can be signed now: {problem}")
            }
        }
    }
}

impl std::error::Error for SignerFault {}

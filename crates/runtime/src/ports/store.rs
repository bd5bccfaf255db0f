//! The store: lock and load, save what changed, append records, in one transaction for a whole batch.

use crate::mint::Minted;
use kernel::record::Record;
use kernel::stored::Kind;
use kernel::world::{Key, KeySet, Row, World};
use std::fmt;
use values::sealed::Sealed;
use values::time::Instant;

/// Names a batch, so that a commit whose answer was lost can be looked up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BatchId(pub u128);

/// What a fold hands back: one sealed record after another, in the order of the ledger.
pub type Fold<'a> = dyn FnMut(&mut World, Instant) -> Vec<Sealed> + 'a;

/// A batch of a chain: what to load for it, in no order, and how to fold it.
pub struct Batch {
    /// Its name.
    pub id: BatchId,
    /// The entities it may touch; some may come twice.
    pub keys: Vec<Key>,
    /// Folds it at an instant and hands over what it leaves behind, perhaps on a thread of its own.
    pub fold: BatchFold,
}

/// Folds a batch.
pub type BatchFold = Box<dyn FnOnce(&mut World, Instant, &mut dyn Pieces) + Send>;

/// Batches one after the other, and who is told when they are durable.
pub trait Batches {
    /// The next batch, if there is one by now.
    fn next(&mut self) -> Option<Batch>;

    /// The oldest batch that was taken and not told of yet is durable, and its fold is dropped.
    fn committed(&mut self, committed: Committed);
}

/// Takes what folds leave behind as they go along.
pub trait Pieces {
    /// Records that were handed over so far, by this batch and those before it in a chain.
    fn count(&self) -> usize;

    /// Records in the order of the ledger, and with them all that was changed since the last piece.
    fn hand_over(&mut self, world: &mut World, records: Vec<Record>);
}

/// Keeps all records; what was changed stays in the world.
impl Pieces for Vec<Record> {
    fn count(&self) -> usize {
        self.len()
    }

    fn hand_over(&mut self, _world: &mut World, mut records: Vec<Record>) {
        self.append(&mut records);
    }
}

/// Writes a record out under a fresh salt.
pub fn seal(record: &Record) -> Sealed {
    record.seal(Minted::salt())
}

/// A transactional store. One writer uses it; several processes may have one store open.
///
/// [`Store::transact`] does, in this order: lock the named entities in key order, load them into a slice of the world
/// (an entity that does not exist is loaded as absent), read the decision instant *after* the locks
/// ([`decision_instant`](super::clock::decision_instant)), call `fold` exactly once, save
/// [`World::take_changes`], append the records at the end of the ledger without a gap, remember the batch id, commit.
/// Either all of it is durable when it returns `Ok`, or none of it ever is.
///
/// Stored answers ([`Kind::Idempotency`]) keep the fingerprint and point at the record that
/// [`Changed::record`](kernel::world::Changed) names; loading one reads that record's body
/// ([`Answer::from_record`](kernel::outcome::Answer::from_record)). [`Entity::DueIntents`](kernel::world::Entity)
/// loads the at most 64 intents of the tenant with the smallest [`Row::due`], their rows with them, and what calling
/// them off touches ([`touched_by_calling_off`](kernel::apply::touched_by_calling_off)).
pub trait Store: Send {
    /// One transaction for a batch.
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault>;

    /// A chain of batches, each a transaction of its own: while a store makes one durable, the next may be folded.
    ///
    /// A store takes batches one by one, commits them in that order and tells of each as soon as it is durable. It ends the
    /// chain where there is none to take, or where others wait for their turn. Each batch sees what the ones before it
    /// changed, and is judged at an instant that is read after it was taken and never before theirs.
    ///
    /// A fault or a panic belongs to the oldest batch that was not told of. Nothing of it is durable, unless the fault is
    /// [`StoreFault::Ambiguous`], and nothing of those behind it, which were folded over what is lost. Folds are dropped
    /// before this returns.
    fn transact_chain(&mut self, batches: &mut dyn Batches) -> Result<(), StoreFault> {
        while let Some(Batch { id, keys, fold }) = batches.next() {
            let mut fold = Some(fold);
            let keys = keys.into_iter().collect();
            let committed = self.transact(id, &keys, &mut |world, at| {
                let mut records = Vec::new();
                if let Some(fold) = fold.take() {
                    fold(world, at, &mut records);
                }
                records.iter().map(seal).collect()
            })?;
            drop(fold);
            batches.committed(committed);
        }
        Ok(())
    }

    /// Whether a batch whose commit was ambiguous is durable. Afterwards it can no longer become durable.
    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault>;

    /// Removes the bodies and salts of entries, from one up to, not including, another; how many there were.
    ///
    /// Whoever calls this has recorded that it happens. Leaves stay for ever.
    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        Err(StoreFault::Refused(format!("this store cannot erase entries {from} to {to}")))
    }

    /// One entity, for whoever has not begun to decide: over the connection there is, where a second one costs more.
    fn look(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        self.reader()?.get(key)
    }

    /// A second connection that only reads.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault>;
}

/// Reads what is committed; takes no part in decisions.
pub trait Reader: Send {
    /// One entity.
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault>;

    /// Entities of a kind in the order of their names, after a name; for [`Kind::Idempotency`] nothing.
    fn scan(
        &mut self,
        tenant: &str,
        kind: Kind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault>;

    /// Entities of a kind whose [`Row::due`] is not after an instant, soonest first.
    fn due(&mut self, tenant: &str, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault>;

    /// Records from an index on.
    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault>;

    /// How many records there are.
    fn size(&mut self) -> Result<u64, StoreFault>;
}

/// A batch that is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// The decision instant.
    pub at: Instant,
    /// Index of its first record.
    pub first: u64,
    /// The clock ran backwards; the instant was taken from the ledger instead.
    pub clock_ran_backwards: bool,
}

/// A record as the ledger holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredRecord {
    /// Its place.
    pub index: u64,
    /// Header and salted digest.
    pub leaf: String,
    /// The body with its salt, unless it was erased.
    pub body: Option<(String, [u8; 16])>,
}

/// What went wrong, sorted by what the caller does next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreFault {
    /// Another transaction was in the way: do the whole batch again.
    Conflict(String),
    /// Not now: nothing was committed.
    Unavailable(String),
    /// The connection was lost while committing: ask [`Store::has_settled`].
    Ambiguous(String),
    /// The store will never take this: nothing was committed.
    Refused(String),
    /// What was read cannot be right: stop.
    Corrupt(String),
}

impl fmt::Display for StoreFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreFault::Conflict(problem) => write!(formatter, "the store is contended: {problem}"),
            StoreFault::Unavailable(problem) => write!(formatter, "the store is unavailable: {problem}"),
            StoreFault::Ambiguous(problem) => write!(formatter, "the store lost the answer to a commit: {problem}"),
            StoreFault::Refused(problem) => write!(formatter, "the store refused: {problem}"),
            StoreFault::Corrupt(problem) => write!(formatter, "the store is damaged: {problem}"),
        }
    }
}

impl std::error::Error for StoreFault {}

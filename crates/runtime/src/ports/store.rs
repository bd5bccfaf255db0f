//! The store: lock and load, save what changed, append records, in one transaction for a whole batch of one tenant.

use crate::mint::Minted;
use kernel::contract::Impact;
use kernel::record::Record;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row, TenantRow, World};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use values::json::Json;
use values::sealed::Sealed;
use values::time::Instant;

/// Names a batch, so that a commit whose answer was lost can be looked up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BatchId(pub u128);

/// Folds the next command of a batch and hands out its records, in the order of the ledger; what it changed is in the
/// world. `None`: every command was folded.
pub type Fold<'a> = dyn FnMut(&mut World, Instant) -> Option<Vec<Sealed>> + 'a;

/// A fold of one step.
pub fn one_step<'a>(
    step: impl FnOnce(&mut World, Instant) -> Vec<Sealed> + 'a,
) -> impl FnMut(&mut World, Instant) -> Option<Vec<Sealed>> + 'a {
    let mut step = Some(step);
    move |world, at| step.take().map(|step| step(world, at))
}

/// Steps through a fold, for stores: it numbers the records, so that what is changed points at them.
pub struct Steps<'a, 'f> {
    fold: &'a mut Fold<'f>,
    at: Instant,
    records: usize,
}

impl<'a, 'f> Steps<'a, 'f> {
    /// Of a batch that is judged at an instant.
    pub fn new(fold: &'a mut Fold<'f>, at: Instant) -> Steps<'a, 'f> {
        Steps { fold, at, records: 0 }
    }

    /// Takes at most so many steps; `None` once there are no more.
    pub fn take(&mut self, world: &mut World, most: usize) -> Option<Vec<Sealed>> {
        let mut taken = None;
        for _ in 0..most {
            world.begin_record(self.records);
            let Some(mut records) = (self.fold)(world, self.at) else { break };
            self.records += records.len();
            taken.get_or_insert_with(Vec::new).append(&mut records);
        }
        taken
    }

    /// Takes all steps that are left.
    pub fn rest(&mut self, world: &mut World) -> Vec<Sealed> {
        self.take(world, usize::MAX).unwrap_or_default()
    }
}

/// Writes a record out under a fresh salt.
pub fn seal(record: &Record) -> Sealed {
    record.seal(Minted::salt())
}

/// A handle on the part of a transactional store that belongs to one tenant. One writer uses a handle; any number of
/// handles, in any number of processes, may be open for the same tenant and for others.
///
/// A tenant has its own ledger: its records are numbered from 0 without a gap, and nothing a handle shows depends on what
/// other tenants do.
///
/// [`Store::transact`] does, in this order: lock what it needs so that no other handle of the tenant decides meanwhile, load
/// the named entities into a slice of the world (an entity that does not exist is loaded as absent), read the decision
/// instant *after* the locks ([`decision_instant`](super::clock::decision_instant)), step through `fold` once from its
/// first step to its last ([`Steps`]), save what was changed, append the records at the end of the tenant's ledger
/// without a gap, remember the batch id, commit. Either all of it is durable when it returns `Ok`, or none of it ever is.
/// A store may save the first steps while later ones are folded. A panic of `fold` is passed on, and nothing is left.
///
/// Stored answers ([`Kind::Idempotency`]) keep the fingerprint and point at the record that
/// [`RowChange::record`](kernel::world::RowChange) names; loading one reads that record's body
/// ([`Answer::from_record`](kernel::outcome::Answer::from_record)). [`Entity::DueIntents`]
/// is a range: it loads the at most 64 intents of the tenant with the smallest [`Row::due`], what calling them off touches
/// ([`touched_by_calling_off`](kernel::apply::touched_by_calling_off)), and their names
/// ([`World::load_due_intents`]).
pub trait Store: Send {
    /// Whose handle it is. Keys of other tenants are refused.
    fn tenant(&self) -> &Arc<str>;

    /// One transaction for a batch. Keys come in no order, some perhaps twice.
    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault>;

    /// Whether a batch whose commit was ambiguous is durable. Afterwards it can no longer become durable.
    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault>;

    /// Removes the bodies and salts of entries, from one up to, not including, another; how many there were.
    ///
    /// The caller has recorded that it happens. Leaves stay for ever.
    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault>;

    /// Removes rows of idempotency keys ([`Entity::is_chosen_key`]) whose answers stand before an index of the ledger: the
    /// next [`FORGET_AT_ONCE`] rows after a place. They were forgotten by a recorded command and read as absent already, so
    /// a store that keeps them is larger and not wrong.
    fn forget(&mut self, before: u64, after: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        let (_, _) = (before, after);
        Ok(Forgotten::default())
    }

    /// A reader beside the writer. A store connects it when it is first used, so asking for several costs nothing.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault>;

    /// Who signs for the tenant, where processes on several machines may have copies of the keys; `None` where the lock of
    /// the folder of keys decides it.
    fn sealer_lease(&mut self) -> Option<&mut dyn SealerLease> {
        None
    }
}

/// Rows of keys that are looked at together. Other batches go in between.
pub const FORGET_AT_ONCE: usize = if cfg!(feature = "bugs") { 3 } else { 4_096 };

/// What came of one look for rows to remove.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Forgotten {
    /// How many are gone.
    pub removed: u64,
    /// Where to go on; nothing if there are no more rows.
    pub next: Option<Vec<u8>>,
}

/// What an idempotency key reads as whose answer was erased: as absent where it is forgotten too. Otherwise whoever asks
/// again can have no answer, and everyone else can. Ids and proofs that were used are never forgotten.
pub fn erased_answer(entity: &Entity, leaf: &str, tenant: Option<&TenantRow>) -> Result<Option<Row>, StoreFault> {
    let leaf = Json::parse(leaf.as_bytes()).ok();
    let at = leaf.as_ref().and_then(|leaf| leaf.get("at")).and_then(Json::as_text).and_then(Instant::parse);
    if entity.is_chosen_key() && at.zip(tenant).is_some_and(|(at, tenant)| tenant.forgets(at)) {
        return Ok(None);
    }
    Err(StoreFault::Refused("the answer to this idempotency key was erased".to_owned()))
}

/// Decides under the lock of the ledger head which process signs for a tenant.
///
/// A claim has an epoch, which only grows. A checkpoint counts once it is kept under the latest epoch: a process that stood
/// still while another took over signs for nobody. The time is the store's own, so clocks of machines do not matter.
pub trait SealerLease {
    /// Claims for an owner, or renews its claim, for so long. `by_force` takes it from whoever has it.
    fn claim(&mut self, owner: &str, length: Duration, by_force: bool) -> Result<Claimed, StoreFault>;

    /// Keeps a signed checkpoint over so many entries of the ledger, if the epoch is still the latest; whether it is.
    fn keep(&mut self, epoch: u64, entries: u64, note: &str) -> Result<bool, StoreFault>;

    /// Ends a claim, if the epoch is still the latest.
    fn release(&mut self, epoch: u64) -> Result<(), StoreFault>;
}

/// What came of a claim to sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claimed {
    /// It is ours under this epoch.
    Own(u64),
    /// Another process has it.
    Others {
        /// For at most so long, unless it renews it.
        left: Duration,
        /// How many entries of the ledger the last checkpoint that was kept is over.
        signed: u64,
    },
}

/// Refuses keys of another tenant than a handle's.
pub fn demand_own<'k>(tenant: &Arc<str>, keys: impl IntoIterator<Item = &'k Key>) -> Result<(), StoreFault> {
    let is_own = |key: &&Key| Arc::ptr_eq(&key.tenant, tenant) || key.tenant == *tenant;
    match keys.into_iter().find(|key| !is_own(key)) {
        None => Ok(()),
        Some(foreign) => Err(StoreFault::Refused(format!(
            "a handle of tenant `{tenant}` was asked for a row of tenant `{}`",
            foreign.tenant
        ))),
    }
}

/// Reads what is committed of one tenant; takes no part in decisions.
pub trait Reader: Send {
    /// One entity.
    fn get(&mut self, entity: &Entity) -> Result<Option<Row>, StoreFault>;

    /// Entities of a kind in the order of their names, after a name; for [`Kind::Idempotency`] nothing.
    fn scan(&mut self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault>;

    /// Entities of a kind whose [`Row::due`] is not after an instant, soonest first.
    fn due(&mut self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault>;

    /// Open questions of an impact, oldest first and by name where they are equally old, behind one of them or behind all
    /// that were asked before an instant (an empty name). What is kept of an open question does not move it.
    fn open_questions(
        &mut self,
        impact: Impact,
        behind: Place<'_>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault>;

    /// Questions of an agent in the order of their names, after a name.
    fn questions_of(&mut self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault>;

    /// Questions of an agent whose [`Row::due`] is not after an instant, soonest first.
    fn due_questions_of(&mut self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault>;

    /// Records from an index on.
    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault>;

    /// How many records there are.
    fn size(&mut self) -> Result<u64, StoreFault>;
}

/// A place among open questions: when one was asked, and its name.
pub type Place<'p> = (Instant, &'p str);

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

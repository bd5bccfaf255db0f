//! Stores with known faults, each of which the conformance suite must find: a suite that was never red proves nothing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use kernel::stored::Kind;
use kernel::world::{Changed, Key, KeySet, Loaded, Row, World};
use runtime::conformance::{Opened, check};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::clock::Clock;
use runtime::ports::store::{Batch, BatchId, Batches, Committed, Fold, Reader, Store, StoreFault, StoredRecord, seal};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::sleep;
use std::time::Duration;
use values::sealed::Sealed;
use values::time::Instant;

/// What is wrong with a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    /// None: the wrapper itself must not be what is found.
    None,
    /// Every seventh batch keeps its records and loses its rows.
    LostUpdate,
    /// Loads and folds first, locks afterwards.
    FoldBeforeLock,
    /// Saves row by row, each visible at once.
    UncommittedVisible,
    /// Says of every batch that it did not happen.
    NothingSettled,
    /// Says of every batch that it happened.
    EverythingSettled,
    /// The last batch is gone after a crash.
    LostAfterCrash,
    /// Every second handle takes its locks backwards.
    WrongLockOrder,
    /// Remembers agents and contracts, and never asks again.
    StaleCache,
    /// Remembers what a fold did before it was committed.
    CacheBeforeCommit,
    /// Reads the clock before it waits for the locks.
    InstantBeforeLock,
    /// The ledger skips an index.
    GapInLedger,
    /// The second of a batch's records comes first.
    OutOfOrder,
    /// Shows a fold what earlier folds asked for.
    ShowsMore,
    /// A scan finds other tenants' rows.
    TenantsLeak,
    /// Answers point at the first record of their batch.
    WrongRecord,
    /// Calls what was erased damage.
    ErasedIsDamage,
    /// Says that a batch of a chain is durable before it is.
    ToldTooEarly,
    /// Loads what was there before a chain over what earlier batches changed.
    ChainLoadedOver,
    /// Judges later batches of a chain at an instant before the first one's.
    ChainBackInTime,
    /// Takes the batches before it along when one of a chain panics.
    ChainUndone,
}

thread_local! {
    static FROZEN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A clock that can stand still for one thread.
struct Freezable(Arc<ManualClock>);

impl Clock for Freezable {
    fn now(&self) -> Instant {
        FROZEN.get().unwrap_or_else(|| self.0.now())
    }
}

type Logged = (BatchId, Vec<Changed>, Vec<Sealed>, Instant);

/// What all handles of one store share.
struct Shared {
    flaw: Flaw,
    clock: Arc<ManualClock>,
    inner: Mutex<MemoryStore>,
    handles: AtomicUsize,
    opened: AtomicUsize,
    log: Mutex<Vec<Logged>>,
    whole_store: Mutex<()>,
    locked: (Mutex<BTreeSet<Key>>, Condvar),
}

struct Place(Arc<Shared>);

struct Handle {
    shared: Arc<Shared>,
    inner: MemoryStore,
    number: usize,
    batches: u64,
    cache: BTreeMap<Key, Option<Row>>,
}

impl Shared {
    fn new(flaw: Flaw, clock: Arc<ManualClock>) -> Shared {
        let inner = MemoryStore::new(Arc::new(Freezable(clock.clone())));
        Shared {
            flaw,
            clock,
            inner: Mutex::new(inner),
            handles: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            log: Mutex::default(),
            whole_store: Mutex::default(),
            locked: (Mutex::default(), Condvar::new()),
        }
    }

    /// Makes the store again from all batches but the last.
    fn crash(&self) {
        let mut log = self.log.lock().unwrap();
        log.pop();
        let mut again = MemoryStore::new(Arc::new(Freezable(self.clock.clone())));
        for (batch, changes, records, at) in log.iter() {
            FROZEN.set(Some(*at));
            apply(&mut again, *batch, changes, records).unwrap();
        }
        FROZEN.set(None);
        *self.inner.lock().unwrap() = again;
    }

    fn lock(&self, key: &Key) {
        let (keys, freed) = &self.locked;
        let mut keys = freed.wait_while(keys.lock().unwrap(), |keys| keys.contains(key)).unwrap();
        keys.insert(key.clone());
    }

    fn unlock(&self, keys: &KeySet) {
        self.locked.0.lock().unwrap().retain(|key| !keys.contains(key));
        self.locked.1.notify_all();
    }
}

/// Puts changes that were made elsewhere.
fn apply(
    store: &mut MemoryStore,
    batch: BatchId,
    changes: &[Changed],
    records: &[Sealed],
) -> Result<Committed, StoreFault> {
    store.transact(batch, &KeySet::new(), &mut |world, _| {
        for changed in changes {
            world.begin_record(changed.record);
            world.put(changed.key.clone(), changed.row.clone());
        }
        records.to_vec()
    })
}

impl Opened for Place {
    fn open(&self) -> Result<Box<dyn Store>, StoreFault> {
        if self.0.flaw == Flaw::LostAfterCrash && self.0.handles.load(Ordering::SeqCst) == 0 {
            self.0.crash();
        }
        self.0.handles.fetch_add(1, Ordering::SeqCst);
        let number = self.0.opened.fetch_add(1, Ordering::SeqCst);
        let inner = self.0.inner.lock().unwrap().clone();
        Ok(Box::new(Handle { shared: self.0.clone(), inner, number, batches: 0, cache: BTreeMap::new() }))
    }

    fn erase(&self, index: u64) -> Result<(), StoreFault> {
        self.0.inner.lock().unwrap().erase_body(index);
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.handles.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Handle {
    /// Folds over a copy, and keeps what came of it to itself.
    fn aside(&mut self, keys: &KeySet, fold: &mut Fold<'_>) -> Result<(Vec<Changed>, Vec<Sealed>), StoreFault> {
        let mut copy = None;
        self.inner.transact(BatchId(0), keys, &mut |world, at| {
            copy = Some((world.clone(), at));
            Vec::new()
        })?;
        let (mut world, at) = copy.unwrap();
        let records = fold(&mut world, at);
        Ok((world.take_changes(), records))
    }

    fn row_by_row(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let shared = self.shared.clone();
        let _guard = shared.whole_store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (changes, records) = self.aside(keys, fold)?;
        for changed in changes {
            apply(&mut self.inner, batch, &[changed], &[])?;
            sleep(Duration::from_millis(1));
        }
        apply(&mut self.inner, batch, &[], &records)
    }

    fn backwards(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let mut order: Vec<&Key> = keys.iter().collect();
        if self.number % 2 == 1 {
            order.reverse();
        }
        for key in order {
            self.shared.lock(key);
            sleep(Duration::from_micros(200));
        }
        let committed = catch_unwind(AssertUnwindSafe(|| self.inner.transact(batch, keys, fold)));
        self.shared.unlock(keys);
        committed.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn remembering(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let (flaw, cache) = (self.shared.flaw, &mut self.cache);
        self.inner.transact(batch, keys, &mut |world, at| {
            for key in keys {
                let is_hot = matches!(key.entity.kind(), Kind::Agent | Kind::Contract);
                match (world.get(key), cache.get(key)) {
                    (_, Some(remembered)) if is_hot => world.load(key.clone(), remembered.clone()),
                    (Loaded::Present(row), _) => drop(cache.insert(key.clone(), Some(row.clone()))),
                    (Loaded::Absent | Loaded::NotLoaded, _) => drop(cache.insert(key.clone(), None)),
                }
            }
            let mut watched = world.clone();
            let after = |cache: &mut BTreeMap<Key, Option<Row>>, world: &mut World| {
                for changed in world.take_changes() {
                    cache.insert(changed.key, Some(changed.row));
                }
            };
            if flaw == Flaw::CacheBeforeCommit {
                // Whatever becomes of the batch, its rows are remembered.
                let _panics_below_too = catch_unwind(AssertUnwindSafe(|| {
                    let _unused = fold(&mut watched, at);
                }));
                after(cache, &mut watched);
            }
            let records = fold(world, at);
            after(cache, &mut world.clone());
            records
        })
    }
}

/// All batches of a chain in one transaction, told of at the end.
fn together(store: &mut Handle, chain: &mut dyn Batches) -> Result<(), StoreFault> {
    let all: Vec<Batch> = std::iter::from_fn(|| chain.next()).collect();
    let count = all.len();
    let keys: KeySet = all.iter().flat_map(|batch| batch.keys.iter().cloned()).collect();
    let mut all = Some(all);
    let committed = store.transact(BatchId(0), &keys, &mut |world, at| {
        let mut records = Vec::new();
        all.take().into_iter().flatten().for_each(|batch| (batch.fold)(world, at, &mut records));
        records.iter().map(seal).collect()
    })?;
    (0..count).for_each(|_| chain.committed(committed));
    Ok(())
}

/// A chain batch by batch, with something wrong.
fn one_by_one(store: &mut Handle, chain: &mut dyn Batches, flaw: Flaw) -> Result<(), StoreFault> {
    let mut before: BTreeMap<Key, Option<Row>> = BTreeMap::new();
    let mut number = 0;
    while let Some(Batch { id, keys, fold }) = chain.next() {
        let mut fold = Some(fold);
        let mut transact = |store: &mut Handle| {
            store.transact(id, &keys.iter().cloned().collect(), &mut |world, at| {
                for key in &keys {
                    let found = match world.get(key) {
                        Loaded::Present(row) => Some(row.clone()),
                        Loaded::Absent | Loaded::NotLoaded => None,
                    };
                    let first_seen = before.entry(key.clone()).or_insert(found);
                    if flaw == Flaw::ChainLoadedOver {
                        world.load(key.clone(), first_seen.clone());
                    }
                }
                let early = flaw == Flaw::ChainBackInTime && number > 0;
                let at = if early { Instant::from_micros(at.micros() - 1) } else { at };
                let mut records = Vec::new();
                fold.take().into_iter().for_each(|fold| fold(world, at, &mut records));
                records.iter().map(seal).collect()
            })
        };
        if flaw == Flaw::ToldTooEarly {
            let first = store.inner.size()?;
            chain.committed(Committed { at: store.shared.clock.now(), first, clock_ran_backwards: false });
            transact(store)?;
        } else {
            let committed = transact(store)?;
            chain.committed(committed);
        }
        number += 1;
    }
    Ok(())
}

impl Store for Handle {
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.batches += 1;
        let seventh = self.batches.is_multiple_of(7);
        match self.shared.flaw {
            Flaw::None
            | Flaw::NothingSettled
            | Flaw::EverythingSettled
            | Flaw::GapInLedger
            | Flaw::TenantsLeak
            | Flaw::ToldTooEarly
            | Flaw::ChainLoadedOver
            | Flaw::ChainBackInTime
            | Flaw::ChainUndone => self.inner.transact(batch, keys, fold),
            Flaw::ErasedIsDamage => self.inner.transact(batch, keys, fold).map_err(|fault| match fault {
                StoreFault::Refused(problem) => StoreFault::Corrupt(problem),
                other @ (StoreFault::Conflict(_)
                | StoreFault::Unavailable(_)
                | StoreFault::Ambiguous(_)
                | StoreFault::Corrupt(_)) => other,
            }),
            Flaw::LostUpdate => self.inner.transact(batch, keys, &mut |world, at| {
                let records = fold(world, at);
                if seventh {
                    world.take_changes();
                }
                records
            }),
            Flaw::FoldBeforeLock => {
                let (changes, records) = self.aside(keys, fold)?;
                sleep(Duration::from_micros(100));
                apply(&mut self.inner, batch, &changes, &records)
            }
            Flaw::UncommittedVisible => self.row_by_row(batch, keys, fold),
            Flaw::LostAfterCrash => {
                let mut logged = None;
                let committed = self.inner.transact(batch, keys, &mut |world, at| {
                    let records = fold(world, at);
                    logged = Some((batch, world.clone().take_changes(), records.clone(), at));
                    records
                });
                self.shared.log.lock().unwrap().extend(logged);
                committed
            }
            Flaw::WrongLockOrder => self.backwards(batch, keys, fold),
            Flaw::StaleCache | Flaw::CacheBeforeCommit => self.remembering(batch, keys, fold),
            Flaw::InstantBeforeLock => {
                FROZEN.set(Some(self.shared.clock.now()));
                let committed = self.inner.transact(batch, keys, fold);
                FROZEN.set(None);
                committed
            }
            Flaw::OutOfOrder => self.inner.transact(batch, keys, &mut |world, at| {
                let mut records = fold(world, at);
                records.reverse();
                records
            }),
            Flaw::ShowsMore => {
                self.cache.extend(keys.iter().map(|key| (key.clone(), None)));
                let all: KeySet = self.cache.keys().cloned().collect();
                self.inner.transact(batch, &all, fold)
            }
            Flaw::WrongRecord => self.inner.transact(batch, keys, &mut |world, at| {
                let records = fold(world, at);
                let changes = world.take_changes();
                world.begin_record(0);
                changes.into_iter().for_each(|changed| world.put(changed.key, changed.row));
                records
            }),
        }
    }

    fn transact_chain(&mut self, batches: &mut dyn Batches) -> Result<(), StoreFault> {
        let flaw = self.shared.flaw;
        if flaw == Flaw::ChainUndone { together(self, batches) } else { one_by_one(self, batches, flaw) }
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        match self.shared.flaw {
            Flaw::NothingSettled => Ok(false),
            Flaw::EverythingSettled => Ok(true),
            Flaw::None
            | Flaw::LostUpdate
            | Flaw::FoldBeforeLock
            | Flaw::UncommittedVisible
            | Flaw::LostAfterCrash
            | Flaw::WrongLockOrder
            | Flaw::StaleCache
            | Flaw::CacheBeforeCommit
            | Flaw::InstantBeforeLock
            | Flaw::GapInLedger
            | Flaw::OutOfOrder
            | Flaw::ShowsMore
            | Flaw::TenantsLeak
            | Flaw::WrongRecord
            | Flaw::ErasedIsDamage
            | Flaw::ToldTooEarly
            | Flaw::ChainLoadedOver
            | Flaw::ChainBackInTime
            | Flaw::ChainUndone => self.inner.has_settled(batch),
        }
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(BrokenReader { inner: self.inner.clone(), flaw: self.shared.flaw }))
    }
}

struct BrokenReader {
    inner: MemoryStore,
    flaw: Flaw,
}

impl Reader for BrokenReader {
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        self.inner.get(key)
    }

    fn scan(
        &mut self,
        tenant: &str,
        kind: Kind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let mut found = self.inner.scan(tenant, kind, after, limit)?;
        if self.flaw == Flaw::TenantsLeak && after.is_none() {
            found.extend(self.inner.scan("ta", kind, after, 1)?);
        }
        Ok(found)
    }

    fn due(&mut self, tenant: &str, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.due(tenant, kind, until, limit)
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        let mut records = self.inner.records(from, limit)?;
        if self.flaw == Flaw::GapInLedger {
            records.iter_mut().filter(|record| record.index > 2).for_each(|record| record.index += 1);
        }
        Ok(records)
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        self.inner.size()
    }
}

/// The checks that find a flaw.
fn found(flaw: Flaw) -> Vec<String> {
    let failures = check(&mut |clock: Arc<ManualClock>| Box::new(Place(Arc::new(Shared::new(flaw, clock)))));
    failures.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn caught(flaw: Flaw, by: &str) {
    let found = found(flaw);
    println!("{flaw:?} was caught by {}:", found.len());
    found.iter().for_each(|failure| println!("  {failure}"));
    assert!(found.iter().any(|failure| failure.starts_with(by)), "{flaw:?} was not caught by `{by}`: {found:?}");
}

#[test]
fn the_wrapper_itself_is_no_fault() {
    assert_eq!(found(Flaw::None), [] as [String; 0]);
}

#[test]
fn a_lost_update_is_found() {
    caught(Flaw::LostUpdate, "no update is lost");
}

#[test]
fn folding_before_the_lock_is_found() {
    caught(Flaw::FoldBeforeLock, "no update is lost");
}

#[test]
fn uncommitted_rows_are_found() {
    caught(Flaw::UncommittedVisible, "a batch becomes visible at once");
}

#[test]
fn applying_twice_after_a_lost_answer_is_found() {
    caught(Flaw::NothingSettled, "a batch whose answer was lost is applied once");
}

#[test]
fn a_batch_that_never_happened_and_is_said_to_have_is_found() {
    caught(Flaw::EverythingSettled, "a settled batch is known and no other");
}

#[test]
fn a_write_lost_in_a_crash_is_found() {
    caught(Flaw::LostAfterCrash, "what is committed survives");
}

#[test]
fn locks_taken_backwards_are_found() {
    caught(Flaw::WrongLockOrder, "no update is lost");
}

#[test]
fn a_stale_contract_is_found() {
    caught(Flaw::StaleCache, "one handle sees at once what another changed");
}

#[test]
fn rows_remembered_before_their_commit_are_found() {
    caught(Flaw::CacheBeforeCommit, "a fold that panics leaves nothing");
}

#[test]
fn an_instant_read_too_early_is_found() {
    caught(Flaw::InstantBeforeLock, "the instant is read after the locks");
}

#[test]
fn a_gap_in_the_ledger_is_found() {
    caught(Flaw::GapInLedger, "records are appended in order");
}

#[test]
fn records_out_of_order_are_found() {
    caught(Flaw::OutOfOrder, "records are appended in order");
}

#[test]
fn rows_nobody_asked_for_are_found() {
    caught(Flaw::ShowsMore, "a fold sees exactly the keys asked for");
}

#[test]
fn tenants_that_see_each_other_are_found() {
    caught(Flaw::TenantsLeak, "tenants do not see each other");
}

#[test]
fn answers_that_point_at_another_record_are_found() {
    caught(Flaw::WrongRecord, "a stored answer has the bytes of the first");
}

#[test]
fn damage_seen_where_something_was_erased_is_found() {
    caught(Flaw::ErasedIsDamage, "an erased answer is refused");
}

#[test]
fn a_batch_that_is_told_of_before_it_is_durable_is_found() {
    caught(Flaw::ToldTooEarly, "a chain is one batch after the other");
}

#[test]
fn batches_that_forget_what_earlier_ones_changed_are_found() {
    caught(Flaw::ChainLoadedOver, "a chain is one batch after the other");
}

#[test]
fn batches_that_are_judged_before_earlier_ones_are_found() {
    caught(Flaw::ChainBackInTime, "a chain is one batch after the other");
}

#[test]
fn batches_that_are_undone_with_a_later_one_are_found() {
    caught(Flaw::ChainUndone, "a chain loses only what panicked");
}

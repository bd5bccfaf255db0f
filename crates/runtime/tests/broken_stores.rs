//! Stores with known faults, each of which the conformance suite must find: a suite that was never red proves nothing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use kernel::contract::Impact;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Loaded, Row, RowChange, World};
use runtime::conformance::{Opened, check};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::clock::Clock;
use runtime::ports::store::{
    BatchId, Committed, Fold, Forgotten, Reader, Steps, Store, StoreFault, StoredRecord, one_step,
};
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
    /// Takes questions that ended for open ones.
    EndedStayOpen,
    /// Hands an agent the questions of all.
    QuestionsLeak,
    /// Answers point at the first record of their batch.
    WrongRecord,
    /// Calls what was erased damage.
    ErasedIsDamage,
    /// Removes the rows of all keys where those of old ones are to go.
    ForgetsAll,
    /// Every step is a transaction of its own.
    StepsApart,
    /// Later steps see what was loaded, not what earlier ones changed.
    StepsForget,
    /// Later steps are judged at a later instant.
    StepsLater,
    /// Stops before the last step.
    LastStepLost,
    /// All tenants share one ledger.
    OneLedger,
    /// All tenants share one last instant.
    OneClock,
    /// A tenant hears of the batches of others.
    BatchesLeak,
    /// Takes rows of any tenant.
    ForeignRows,
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

type Logged = (Arc<str>, BatchId, Vec<RowChange>, Vec<Sealed>, Instant);

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
        let again = MemoryStore::new(Arc::new(Freezable(self.clock.clone())));
        for (tenant, batch, changes, records, at) in log.iter() {
            FROZEN.set(Some(*at));
            apply(&mut again.tenant_named(tenant), *batch, changes, records).unwrap();
        }
        FROZEN.set(None);
        *self.inner.lock().unwrap() = again;
    }

    fn lock(&self, key: &Key) {
        let (keys, freed) = &self.locked;
        let mut keys = freed.wait_while(keys.lock().unwrap(), |keys| keys.contains(key)).unwrap();
        keys.insert(key.clone());
    }

    fn unlock(&self, keys: &[Key]) {
        self.locked.0.lock().unwrap().retain(|key| !keys.contains(key));
        self.locked.1.notify_all();
    }
}

/// Puts changes that were made elsewhere.
fn apply(
    store: &mut MemoryStore,
    batch: BatchId,
    changes: &[RowChange],
    records: &[Sealed],
) -> Result<Committed, StoreFault> {
    let mut fold = one_step(|world, _| {
        for changed in changes {
            world.begin_record(changed.record);
            world.put(changed.key.clone(), changed.row.clone());
        }
        records.to_vec()
    });
    store.transact(batch, Vec::new(), &mut fold)
}

impl Opened for Place {
    fn open(&self, tenant: &str) -> Result<Box<dyn Store>, StoreFault> {
        if self.0.flaw == Flaw::LostAfterCrash && self.0.handles.load(Ordering::SeqCst) == 0 {
            self.0.crash();
        }
        self.0.handles.fetch_add(1, Ordering::SeqCst);
        let number = self.0.opened.fetch_add(1, Ordering::SeqCst);
        let inner = self.0.inner.lock().unwrap().tenant_named(tenant);
        Ok(Box::new(Handle { shared: self.0.clone(), inner, number, batches: 0, cache: BTreeMap::new() }))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.handles.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Handle {
    /// Folds over a copy, and keeps what came of it to itself.
    fn aside(&mut self, keys: &[Key], fold: &mut Fold<'_>) -> Result<(Vec<RowChange>, Vec<Sealed>), StoreFault> {
        let mut copy = None;
        let mut look = one_step(|world, at| {
            copy = Some((world.clone(), at));
            Vec::new()
        });
        self.inner.transact(BatchId(0), keys.to_vec(), &mut look)?;
        drop(look);
        let (mut world, at) = copy.unwrap();
        let records = Steps::new(fold, at).rest(&mut world);
        Ok((world.take_changes(), records))
    }

    /// One transaction whose fold is looked at as a whole.
    fn whole(
        &mut self,
        batch: BatchId,
        keys: Vec<Key>,
        fold: &mut Fold<'_>,
        change: impl FnOnce(&mut World, Instant, Vec<Sealed>) -> Vec<Sealed>,
    ) -> Result<Committed, StoreFault> {
        let mut fold = one_step(|world, at| {
            let records = Steps::new(fold, at).rest(world);
            change(world, at, records)
        });
        self.inner.transact(batch, keys, &mut fold)
    }

    fn row_by_row(&mut self, batch: BatchId, keys: &[Key], fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let shared = self.shared.clone();
        let _guard = shared.whole_store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (changes, records) = self.aside(keys, fold)?;
        for changed in changes {
            apply(&mut self.inner, batch, &[changed], &[])?;
            sleep(Duration::from_millis(1));
        }
        apply(&mut self.inner, batch, &[], &records)
    }

    fn backwards(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let mut order: Vec<&Key> = keys.iter().collect();
        order.sort();
        if self.number % 2 == 1 {
            order.reverse();
        }
        for key in order {
            self.shared.lock(key);
            sleep(Duration::from_micros(200));
        }
        let committed = catch_unwind(AssertUnwindSafe(|| self.inner.transact(batch, keys.clone(), fold)));
        self.shared.unlock(&keys);
        committed.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn remembering(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let (flaw, cache) = (self.shared.flaw, &mut self.cache);
        let mut remembering = one_step(|world, at| {
            for key in &keys {
                let is_hot = matches!(key.entity.kind(), Kind::Agent | Kind::Contract);
                match (world.get(key), cache.get(key)) {
                    (_, Some(remembered)) if is_hot => world.load(key.clone(), remembered.clone()),
                    (Loaded::Present(row), _) => drop(cache.insert(key.clone(), Some(row.clone()))),
                    (Loaded::Absent | Loaded::NotLoaded, _) => drop(cache.insert(key.clone(), None)),
                }
            }
            let after = |cache: &mut BTreeMap<Key, Option<Row>>, world: &mut World| {
                for changed in world.take_changes() {
                    cache.insert(changed.key, Some(changed.row));
                }
            };
            let folded = catch_unwind(AssertUnwindSafe(|| Steps::new(fold, at).rest(world)));
            if folded.is_ok() || flaw == Flaw::CacheBeforeCommit {
                // Whatever becomes of the batch, its rows are remembered.
                after(cache, &mut world.clone());
            }
            folded.unwrap_or_else(|panic| resume_unwind(panic))
        });
        self.inner.transact(batch, keys.clone(), &mut remembering)
    }

    /// Each step in a transaction of its own.
    fn steps_apart(&mut self, batch: BatchId, keys: &[Key], fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let mut first = None;
        loop {
            let mut is_over = false;
            let mut step = one_step(|world, at| {
                let records = Steps::new(fold, at).take(world, 1);
                is_over = records.is_none();
                records.unwrap_or_default()
            });
            let committed = self.inner.transact(batch, keys.to_vec(), &mut step)?;
            drop(step);
            let first = *first.get_or_insert(committed);
            if is_over {
                return Ok(first);
            }
        }
    }

    /// Steps that are not what the steps before them left.
    fn odd_steps(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let (flaw, asked) = (self.shared.flaw, keys.clone());
        let mut before: BTreeMap<Key, Option<Row>> = BTreeMap::new();
        let (mut number, mut held): (i64, Option<Vec<Sealed>>) = (0, None);
        self.inner.transact(batch, keys, &mut |world, at| {
            for key in &asked {
                let found = match world.get(key) {
                    Loaded::Present(row) => Some(row.clone()),
                    Loaded::Absent | Loaded::NotLoaded => None,
                };
                let first_seen = before.entry(key.clone()).or_insert(found);
                if flaw == Flaw::StepsForget {
                    world.load(key.clone(), first_seen.clone());
                }
            }
            let later = if flaw == Flaw::StepsLater { number } else { 0 };
            number += 1;
            let next = fold(world, Instant::from_micros(at.micros() + later));
            if flaw != Flaw::LastStepLost {
                return next;
            }
            // The records of a step are given out with the next one, and nothing comes behind the last.
            let is_over = next.is_none();
            let given = std::mem::replace(&mut held, next);
            if is_over { None } else { Some(given.unwrap_or_default()) }
        })
    }

    /// The same rows and batches for everybody.
    fn everybody(&self) -> MemoryStore {
        self.shared.inner.lock().unwrap().tenant_named("everybody")
    }
}

impl Store for Handle {
    fn tenant(&self) -> &Arc<str> {
        self.inner.tenant()
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.batches += 1;
        let seventh = self.batches.is_multiple_of(7);
        match self.shared.flaw {
            Flaw::None
            | Flaw::NothingSettled
            | Flaw::EverythingSettled
            | Flaw::GapInLedger
            | Flaw::TenantsLeak
            | Flaw::EndedStayOpen
            | Flaw::QuestionsLeak
            | Flaw::ForgetsAll => self.inner.transact(batch, keys, fold),
            Flaw::ErasedIsDamage => self.inner.transact(batch, keys, fold).map_err(|fault| match fault {
                StoreFault::Refused(problem) => StoreFault::Corrupt(problem),
                other @ (StoreFault::Conflict(_)
                | StoreFault::Unavailable(_)
                | StoreFault::Ambiguous(_)
                | StoreFault::Corrupt(_)) => other,
            }),
            Flaw::LostUpdate => self.whole(batch, keys, fold, |world, _, records| {
                if seventh {
                    world.take_changes();
                }
                records
            }),
            Flaw::FoldBeforeLock => {
                let (changes, records) = self.aside(&keys, fold)?;
                sleep(Duration::from_micros(100));
                apply(&mut self.inner, batch, &changes, &records)
            }
            Flaw::UncommittedVisible => self.row_by_row(batch, &keys, fold),
            Flaw::LostAfterCrash => {
                let (mut logged, tenant) = (None, self.inner.tenant().clone());
                let committed = self.whole(batch, keys, fold, |world, at, records| {
                    logged = Some((tenant, batch, world.clone().take_changes(), records.clone(), at));
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
            Flaw::OutOfOrder => self.whole(batch, keys, fold, |_, _, mut records| {
                records.reverse();
                records
            }),
            Flaw::ShowsMore => {
                self.cache.extend(keys.iter().map(|key| (key.clone(), None)));
                let all = self.cache.keys().cloned().collect();
                self.inner.transact(batch, all, fold)
            }
            Flaw::WrongRecord => self.whole(batch, keys, fold, |world, _, records| {
                let changes = world.take_changes();
                world.begin_record(0);
                changes.into_iter().for_each(|changed| world.put(changed.key, changed.row));
                records
            }),
            Flaw::StepsApart => self.steps_apart(batch, &keys, fold),
            Flaw::StepsForget | Flaw::StepsLater | Flaw::LastStepLost => self.odd_steps(batch, keys, fold),
            Flaw::OneLedger => {
                let mut kept = Vec::new();
                self.whole(batch, keys, fold, |_, _, records| {
                    kept.clone_from(&records);
                    records
                })?;
                apply(&mut self.everybody(), batch, &[], &kept)
            }
            Flaw::OneClock => {
                let seen = apply(&mut self.everybody(), batch, &[], &[])?;
                FROZEN.set(Some(seen.at));
                let committed = self.inner.transact(batch, keys, fold);
                FROZEN.set(None);
                committed
            }
            Flaw::BatchesLeak => {
                apply(&mut self.everybody(), batch, &[], &[])?;
                self.inner.transact(batch, keys, fold)
            }
            Flaw::ForeignRows => {
                let own: Vec<Key> = keys.into_iter().filter(|key| key.tenant == *self.inner.tenant()).collect();
                self.inner.transact(batch, own, fold)
            }
        }
    }

    fn forget(&mut self, before: u64, after: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        let before = if self.shared.flaw == Flaw::ForgetsAll { u64::MAX } else { before };
        self.inner.forget(before, after)
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        let flaw = self.shared.flaw;
        if matches!(flaw, Flaw::NothingSettled | Flaw::EverythingSettled) {
            return Ok(flaw == Flaw::EverythingSettled);
        }
        if flaw == Flaw::BatchesLeak { self.everybody().has_settled(batch) } else { self.inner.has_settled(batch) }
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        self.inner.erase(from, to)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        let flaw = self.shared.flaw;
        let ledger = if flaw == Flaw::OneLedger { self.everybody() } else { self.inner.clone() };
        let leaked = self.inner.tenant_named("ta");
        Ok(Box::new(BrokenReader { inner: self.inner.clone(), ledger, leaked, flaw }))
    }
}

struct BrokenReader {
    inner: MemoryStore,
    ledger: MemoryStore,
    leaked: MemoryStore,
    flaw: Flaw,
}

impl Reader for BrokenReader {
    fn get(&mut self, entity: &Entity) -> Result<Option<Row>, StoreFault> {
        self.inner.get(entity)
    }

    fn scan(&mut self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let mut found = self.inner.scan(kind, after, limit)?;
        if self.flaw == Flaw::TenantsLeak && after.is_none() {
            found.extend(self.leaked.scan(kind, after, 1)?);
        }
        Ok(found)
    }

    fn due(&mut self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.due(kind, until, limit)
    }

    fn open_questions(
        &mut self,
        impact: Impact,
        behind: (Instant, &str),
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let found = self.inner.open_questions(impact, behind, limit)?;
        if self.flaw != Flaw::EndedStayOpen {
            return Ok(found);
        }
        let is_of_impact = |row: &Row| matches!(row, Row::Escalation(question) if question.impact == impact);
        let all = self.inner.scan(Kind::Escalation, None, usize::MAX)?;
        Ok(all.into_iter().filter(|(_, row)| is_of_impact(row)).collect())
    }

    fn questions_of(&mut self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        match self.flaw == Flaw::QuestionsLeak {
            true => self.inner.scan(Kind::Escalation, after, limit),
            false => self.inner.questions_of(agent, after, limit),
        }
    }

    fn due_questions_of(&mut self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.inner.due_questions_of(agent, until, limit)
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        let mut records = self.ledger.records(from, limit)?;
        if self.flaw == Flaw::GapInLedger {
            records.iter_mut().filter(|record| record.index > 2).for_each(|record| record.index += 1);
        }
        Ok(records)
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        self.ledger.size()
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
    caught(Flaw::TenantsLeak, "tenants do not see each other's rows");
}

#[test]
fn questions_that_ended_among_open_ones_are_found() {
    caught(Flaw::EndedStayOpen, "questions are read by age and by agent");
}

#[test]
fn questions_of_others_among_an_agents_are_found() {
    caught(Flaw::QuestionsLeak, "questions are read by age and by agent");
}

#[test]
fn answers_that_point_at_another_record_are_found() {
    caught(Flaw::WrongRecord, "a stored answer has the bytes of the first");
}

#[test]
fn keys_that_are_forgotten_too_early_are_found() {
    caught(Flaw::ForgetsAll, "a forgotten key reads as absent");
}

#[test]
fn damage_seen_where_something_was_erased_is_found() {
    caught(Flaw::ErasedIsDamage, "an erased answer is refused");
}

#[test]
fn steps_that_are_transactions_of_their_own_are_found() {
    caught(Flaw::StepsApart, "a step that panics leaves nothing of its batch");
}

#[test]
fn steps_that_forget_what_earlier_ones_changed_are_found() {
    caught(Flaw::StepsForget, "steps of a batch are one transaction in order");
}

#[test]
fn steps_that_are_judged_at_several_instants_are_found() {
    caught(Flaw::StepsLater, "steps of a batch are one transaction in order");
}

#[test]
fn a_lost_last_step_is_found() {
    caught(Flaw::LastStepLost, "steps of a batch are one transaction in order");
}

#[test]
fn a_ledger_that_tenants_share_is_found() {
    caught(Flaw::OneLedger, "every tenant has a ledger of its own");
}

#[test]
fn instants_that_tenants_share_are_found() {
    caught(Flaw::OneClock, "tenants have instants and batches of their own");
}

#[test]
fn batches_that_other_tenants_hear_of_are_found() {
    caught(Flaw::BatchesLeak, "tenants have instants and batches of their own");
}

#[test]
fn rows_of_other_tenants_are_found() {
    caught(Flaw::ForeignRows, "a handle refuses rows of another tenant");
}

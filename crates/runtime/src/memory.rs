//! A store in memory: the whole contract of the port without a disk. For tests, rehearsals and simulation.

use crate::ports::clock::{Clock, decision_instant};
use crate::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault, StoredRecord};
use kernel::apply::touched_by_calling_off;
use kernel::outcome::Answer;
use kernel::stored::Kind;
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;

/// What a row is kept as: as a store with a disk would read it, when it is due, and the record that wrote it.
#[derive(Clone, Debug)]
struct Kept {
    row: Read,
    due: Option<Instant>,
    record: u64,
}

/// A row after it went through its text. That is done once, when it is written: rows are read far more often.
#[derive(Clone, Debug)]
enum Read {
    Whole(Row),
    /// The answer to a key stands in the record; the row has what it was asked for.
    Answered(Option<Digest>),
    Damaged,
}

impl Read {
    fn of(kind: Kind, text: &str) -> Read {
        if kind == Kind::Idempotency {
            return Read::Answered(Digest::parse(text));
        }
        Row::from_stored(kind, text).map_or(Read::Damaged, Read::Whole)
    }
}

#[derive(Debug, Default)]
struct State {
    rows: BTreeMap<Key, Kept>,
    /// What of them is due, soonest first.
    due: BTreeSet<(Arc<str>, Kind, Instant, Key)>,
    ledger: Vec<StoredRecord>,
    last: Option<Instant>,
    batches: BTreeSet<BatchId>,
}

/// A store in memory. Clones share what they hold, as several processes share a file.
#[derive(Clone)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>) -> MemoryStore {
        MemoryStore { state: Arc::default(), clock }
    }

    /// Erases the body of a record, and its salt; the leaf stays.
    pub fn erase_body(&self, index: u64) {
        let mut state = self.lock();
        let record = usize::try_from(index).ok().and_then(|index| state.ledger.get_mut(index));
        if let Some(record) = record {
            record.body = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while folding leaves the state as it was: changes are taken over only afterwards.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(&self, key: &Key) -> Result<Option<Row>, StoreFault> {
        let Some(kept) = self.rows.get(key) else { return Ok(None) };
        let damaged = || StoreFault::Corrupt(format!("{:?} cannot be read", key.entity));
        let fingerprint = match &kept.row {
            Read::Whole(row) => return Ok(Some(row.clone())),
            Read::Damaged => return Err(damaged()),
            Read::Answered(fingerprint) => fingerprint.ok_or_else(damaged)?,
        };
        let record = usize::try_from(kept.record).ok().and_then(|index| self.ledger.get(index)).ok_or_else(damaged)?;
        // Erased on purpose: whoever asks again can have no answer, everyone else can.
        let Some(body) = &record.body else {
            return Err(StoreFault::Refused("the answer to this idempotency key was erased".to_owned()));
        };
        let json = Some(body).and_then(|(body, _)| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok());
        let answer = json.as_ref().and_then(Answer::from_record).ok_or_else(damaged)?;
        Ok(Some(Row::Idempotency(Box::new(StoredAnswer { fingerprint, answer }))))
    }

    fn due(&self, tenant: &Arc<str>, kind: Kind, until: Option<Instant>, limit: usize) -> Vec<Key> {
        let first = Key { tenant: tenant.clone(), entity: Entity::Tenant };
        let from = (tenant.clone(), kind, Instant::from_micros(i64::MIN), first);
        let of_kind = self.due.range(from..).take_while(|(of, what, ..)| of == tenant && *what == kind);
        let in_time = of_kind.take_while(|(_, _, at, _)| until.is_none_or(|until| *at <= until));
        in_time.take(limit).map(|(.., key)| key.clone()).collect()
    }

    fn write(&mut self, key: Key, row: &Row, record: u64) {
        let kind = key.entity.kind();
        let (read, due) = (Read::of(kind, &row.to_stored()), row.due());
        let entry = |at, key: &Key| (key.tenant.clone(), kind, at, key.clone());
        if let Some(at) = due {
            self.due.insert(entry(at, &key));
        }
        let before = self.rows.insert(key.clone(), Kept { row: read, due, record });
        if let Some(at) = before.and_then(|before| before.due).filter(|at| due != Some(*at)) {
            self.due.remove(&entry(at, &key));
        }
    }

    fn load(&self, keys: &KeySet) -> Result<World, StoreFault> {
        let mut world = World::slice();
        let mut touched = KeySet::new();
        for key in keys {
            if key.entity != Entity::DueIntents {
                world.load(key.clone(), self.read(key)?);
                continue;
            }
            let due = self.due(&key.tenant, Kind::Intent, None, DUE_INTENTS_MAX);
            let mut names = Vec::new();
            for intent in due {
                names.push(intent.entity.parts().0.to_owned());
                let row = self.read(&intent)?;
                if let Some(Row::Intent(row)) = &row {
                    touched.extend(touched_by_calling_off(&key.tenant, row));
                }
                world.load(intent, row);
            }
            world.load(key.clone(), Some(Row::DueIntents(names)));
        }
        for key in world.missing(&touched) {
            let row = self.read(&key)?;
            world.load(key, row);
        }
        Ok(world)
    }
}

impl Store for MemoryStore {
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let mut state = self.lock();
        let mut world = state.load(keys)?;
        let (at, clock_ran_backwards) = decision_instant(self.clock.now(), state.last)?;
        let records = fold(&mut world, at);
        let first = state.ledger.len() as u64;
        for changed in world.take_changes() {
            let record = first.saturating_add(changed.record as u64);
            state.write(changed.key, &changed.row, record);
        }
        for (index, sealed) in (first..).zip(records) {
            state.ledger.push(StoredRecord { index, leaf: sealed.leaf, body: Some((sealed.body, sealed.salt)) });
        }
        state.last = Some(at);
        state.batches.insert(batch);
        Ok(Committed { at, first, clock_ran_backwards })
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        Ok(self.lock().batches.contains(&batch))
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        let mut state = self.lock();
        let within = |record: &&mut StoredRecord| (from..to).contains(&record.index) && record.body.is_some();
        let erased = state.ledger.iter_mut().filter(within).map(|record| record.body = None).count();
        Ok(erased as u64)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(self.clone()))
    }
}

impl Reader for MemoryStore {
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        self.lock().read(key)
    }

    fn scan(
        &mut self,
        tenant: &str,
        kind: Kind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let state = self.lock();
        let fits = |key: &&Key| {
            let behind = after.is_none_or(|after| key.entity.parts().0 > after);
            *key.tenant == *tenant && key.entity.kind() == kind && kind != Kind::Idempotency && behind
        };
        let mut found = Vec::new();
        for key in state.rows.keys().filter(fits).take(limit) {
            if let Some(row) = state.read(key)? {
                found.push((key.clone(), row));
            }
        }
        Ok(found)
    }

    fn due(&mut self, tenant: &str, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let state = self.lock();
        let mut found = Vec::new();
        for key in state.due(&Arc::from(tenant), kind, Some(until), limit) {
            if let Some(row) = state.read(&key)? {
                found.push((key, row));
            }
        }
        Ok(found)
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(self.lock().ledger.iter().skip(from).take(limit).cloned().collect())
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        Ok(self.lock().ledger.len() as u64)
    }
}

/// A clock that stands where it is put.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Stands at an instant.
    pub fn at(instant: Instant) -> ManualClock {
        ManualClock(AtomicI64::new(instant.micros()))
    }

    /// Moves it, also backwards.
    pub fn set(&self, instant: Instant) {
        self.0.store(instant.micros(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.load(Ordering::SeqCst))
    }
}

//! A store in memory: the whole contract of the port without a disk. For tests, rehearsals and simulation.

use crate::ports::clock::{Clock, decision_instant};
use crate::ports::store::{
    BatchId, Committed, Fold, Forgotten, Place, Reader, Steps, Store, StoreFault, StoredRecord, demand_own,
    erased_answer,
};
use kernel::apply::touched_by_calling_off;
use kernel::contract::Impact;
use kernel::stored::Kind;
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer, World};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use values::ids::{Digest, TENANT_DEFAULT};
use values::json::{Bounds, Json};
use values::time::Instant;

/// What a row is kept as: as a store with a disk would read it, when it is due, and the record that wrote it.
#[derive(Clone, Debug)]
struct KeptRow {
    row: ParsedRow,
    due: Option<Instant>,
    record: u64,
}

/// A row after it went through its text. That is done once, when it is written: rows are read far more often.
#[derive(Clone, Debug)]
enum ParsedRow {
    Whole(Row),
    /// The answer to a key stands in the record; the row has what it was asked for.
    Answered(Option<Digest>),
    Damaged,
}

impl ParsedRow {
    fn of(kind: Kind, text: &str) -> ParsedRow {
        if kind == Kind::Idempotency {
            return ParsedRow::Answered(Digest::parse(text));
        }
        Row::from_stored(kind, text).map_or(ParsedRow::Damaged, ParsedRow::Whole)
    }
}

/// What is kept of one tenant.
#[derive(Debug, Default)]
struct State {
    rows: BTreeMap<Key, KeptRow>,
    /// What of them is due, soonest first.
    due: BTreeSet<(Kind, Instant, Key)>,
    /// Open questions by impact and age.
    open: BTreeSet<(Impact, Instant, Key)>,
    /// Questions by agent.
    asked: BTreeSet<(String, Key)>,
    ledger: Vec<StoredRecord>,
    last: Option<Instant>,
    batches: BTreeSet<BatchId>,
}

type Tenants = BTreeMap<Arc<str>, Arc<Mutex<State>>>;

/// A handle on a tenant of a store in memory. Clones share what they hold, as several processes share a file.
#[derive(Clone)]
pub struct MemoryStore {
    tenant: Arc<str>,
    state: Arc<Mutex<State>>,
    tenants: Arc<Mutex<Tenants>>,
    clock: Arc<dyn Clock>,
}

impl MemoryStore {
    /// An empty store, and in it the default tenant.
    pub fn new(clock: Arc<dyn Clock>) -> MemoryStore {
        MemoryStore::of(Arc::default(), TENANT_DEFAULT, clock)
    }

    /// A tenant of the same store.
    pub fn tenant_named(&self, tenant: &str) -> MemoryStore {
        MemoryStore::of(self.tenants.clone(), tenant, self.clock.clone())
    }

    fn of(tenants: Arc<Mutex<Tenants>>, tenant: &str, clock: Arc<dyn Clock>) -> MemoryStore {
        let tenant: Arc<str> = Arc::from(tenant);
        let mut known = tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let state = known.entry(tenant.clone()).or_default().clone();
        drop(known);
        MemoryStore { tenant, state, tenants, clock }
    }

    /// Erases the body of a record, and its salt; the leaf stays.
    pub fn erase_body(&self, index: u64) {
        let mut state = self.lock();
        let record = usize::try_from(index).ok().and_then(|index| state.ledger.get_mut(index));
        if let Some(record) = record {
            record.body = None;
        }
    }

    fn question(&self, name: &str) -> Key {
        Key { tenant: self.tenant.clone(), entity: Entity::Escalation(name.to_owned()) }
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
            ParsedRow::Whole(row) => return Ok(Some(row.clone())),
            ParsedRow::Damaged => return Err(damaged()),
            ParsedRow::Answered(fingerprint) => fingerprint.ok_or_else(damaged)?,
        };
        let record = usize::try_from(kept.record).ok().and_then(|index| self.ledger.get(index)).ok_or_else(damaged)?;
        let Some((body, _)) = &record.body else {
            let tenant = self.read(&Key { tenant: key.tenant.clone(), entity: Entity::Tenant })?;
            return erased_answer(&key.entity, &record.leaf, tenant.as_ref().and_then(Row::as_tenant));
        };
        let json = Json::parse_within(body.as_bytes(), &Bounds::OWN).ok();
        let stored = json.as_ref().and_then(|body| StoredAnswer::from_record(fingerprint, body));
        Ok(Some(Row::Idempotency(Box::new(stored.ok_or_else(damaged)?))))
    }

    fn due(&self, kind: Kind, until: Option<Instant>, limit: usize) -> Vec<Key> {
        let first = Key { tenant: Arc::from(""), entity: Entity::Tenant };
        let from = (kind, Instant::from_micros(i64::MIN), first);
        let of_kind = self.due.range(from..).take_while(|(what, ..)| *what == kind);
        let in_time = of_kind.take_while(|(_, at, _)| until.is_none_or(|until| *at <= until));
        in_time.take(limit).map(|(.., key)| key.clone()).collect()
    }

    fn write(&mut self, key: Key, row: &Row, record: u64) {
        let kind = key.entity.kind();
        let (read, due) = (ParsedRow::of(kind, &row.to_stored()), row.due());
        let entry = |at, key: &Key| (kind, at, key.clone());
        if let Some(at) = due {
            self.due.insert(entry(at, &key));
        }
        if let Row::Escalation(question) = row {
            let place = (question.impact, question.asked_at, key.clone());
            if due.is_some() {
                self.open.insert(place)
            } else {
                self.open.remove(&place)
            };
            self.asked.insert((question.agent.clone(), key.clone()));
        }
        let before = self.rows.insert(key.clone(), KeptRow { row: read, due, record });
        if let Some(at) = before.and_then(|before| before.due).filter(|at| due != Some(*at)) {
            self.due.remove(&entry(at, &key));
        }
    }

    /// The rows of some keys.
    fn rows(&self, keys: impl IntoIterator<Item = Key>) -> Result<Vec<(Key, Row)>, StoreFault> {
        let mut found = Vec::new();
        for key in keys {
            if let Some(row) = self.read(&key)? {
                found.push((key, row));
            }
        }
        Ok(found)
    }

    /// The questions of an agent from a name on.
    fn questions_of(&self, agent: &str, from: &Key) -> impl Iterator<Item = Key> {
        let of_agent = self.asked.range((agent.to_owned(), from.clone())..);
        of_agent.take_while(move |(asker, _)| asker == agent).map(|(_, key)| key.clone())
    }

    fn load(&self, keys: &[Key]) -> Result<World, StoreFault> {
        let mut world = World::slice();
        let mut touched = KeySet::new();
        for key in keys {
            if key.entity != Entity::DueIntents {
                world.load(key.clone(), self.read(key)?);
                continue;
            }
            let due = self.due(Kind::Intent, None, DUE_INTENTS_MAX);
            let mut names = Vec::new();
            for intent in due {
                names.push(intent.entity.parts().0.to_owned());
                let row = self.read(&intent)?;
                if let Some(Row::Intent(row)) = &row {
                    touched.extend(touched_by_calling_off(&key.tenant, row));
                }
                world.load(intent, row);
            }
            world.load_due_intents(names);
        }
        for key in world.missing(&touched) {
            let row = self.read(&key)?;
            world.load(key, row);
        }
        Ok(world)
    }
}

impl Store for MemoryStore {
    fn tenant(&self) -> &Arc<str> {
        &self.tenant
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        demand_own(&self.tenant, &keys)?;
        let mut state = self.lock();
        let mut world = state.load(&keys)?;
        let (at, clock_ran_backwards) = decision_instant(self.clock.now(), state.last)?;
        let records = Steps::new(fold, at).rest(&mut world);
        let changes = world.take_changes();
        demand_own(&self.tenant, changes.iter().map(|changed| &changed.key))?;
        let first = state.ledger.len() as u64;
        for changed in changes {
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

    fn forget(&mut self, before: u64, _: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        let mut state = self.lock();
        let rows = state.rows.len();
        state.rows.retain(|key, kept| !(key.entity.is_chosen_key() && kept.record < before));
        Ok(Forgotten { removed: (rows - state.rows.len()) as u64, next: None })
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(self.clone()))
    }
}

impl Reader for MemoryStore {
    fn get(&mut self, entity: &Entity) -> Result<Option<Row>, StoreFault> {
        self.lock().read(&Key { tenant: self.tenant.clone(), entity: entity.clone() })
    }

    fn scan(&mut self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let state = self.lock();
        let fits = |key: &&Key| {
            let behind = after.is_none_or(|after| key.entity.parts().0 > after);
            key.entity.kind() == kind && kind != Kind::Idempotency && behind
        };
        let mut found = Vec::new();
        for key in state.rows.keys().filter(fits).take(limit) {
            if let Some(row) = state.read(key)? {
                found.push((key.clone(), row));
            }
        }
        Ok(found)
    }

    fn due(&mut self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let state = self.lock();
        state.rows(state.due(kind, Some(until), limit))
    }

    fn open_questions(
        &mut self,
        impact: Impact,
        behind: Place<'_>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let state = self.lock();
        let place = (impact, behind.0, self.question(behind.1));
        let open = state.open.range((Bound::Excluded(place), Bound::Unbounded));
        let of_impact = open.take_while(|(other, ..)| *other == impact);
        state.rows(of_impact.take(limit).map(|(.., key)| key.clone()))
    }

    fn questions_of(&mut self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let state = self.lock();
        let from = self.question(after.unwrap_or_default());
        let behind = state.questions_of(agent, &from).filter(|key| Some(key.entity.parts().0) != after);
        state.rows(behind.take(limit).collect::<Vec<_>>())
    }

    fn due_questions_of(&mut self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let state = self.lock();
        let first = self.question("");
        let own = state.questions_of(agent, &first);
        let due = |key: Key| Some((state.rows.get(&key)?.due.filter(|due| *due <= until)?, key));
        let due: BTreeSet<(Instant, Key)> = own.filter_map(due).collect();
        state.rows(due.into_iter().take(limit).map(|(_, key)| key))
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

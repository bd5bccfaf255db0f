//! What a replay remembers of the world, row by row.

use crate::ports::store::StoreFault;
use kernel::apply::touched_by_calling_off;
use kernel::intent::{IntentFacts, IntentRow};
use kernel::outcome::{Answer, Verdict};
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::time::Instant;

/// Rows by key. A replay needs as many as there are flows and effects, so where they are kept is a choice.
pub trait Rows {
    /// One row.
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault>;

    /// Keeps a row.
    fn put(&mut self, key: Key, row: Row) -> Result<(), StoreFault>;

    /// Shows every intent.
    fn intents(&mut self, show: &mut dyn FnMut(&str, &IntentRow)) -> Result<(), StoreFault>;
}

/// Rows in memory.
#[derive(Default)]
pub struct MemoryRows(BTreeMap<Key, Row>);

impl Rows for MemoryRows {
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        Ok(self.0.get(key).cloned())
    }

    fn put(&mut self, key: Key, row: Row) -> Result<(), StoreFault> {
        self.0.insert(key, row);
        Ok(())
    }

    fn intents(&mut self, show: &mut dyn FnMut(&str, &IntentRow)) -> Result<(), StoreFault> {
        for (key, row) in &self.0 {
            if let Row::Intent(intent) = row {
                show(key.entity.parts().0, intent);
            }
        }
        Ok(())
    }
}

/// Rows and what of them is due.
pub(super) struct ReplayRows {
    rows: Box<dyn Rows>,
    /// Waiting intents by when their time ends.
    due: BTreeSet<(Instant, Key)>,
}

impl ReplayRows {
    pub(super) fn new(rows: Box<dyn Rows>) -> ReplayRows {
        ReplayRows { rows, due: BTreeSet::new() }
    }

    pub(super) fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        self.rows.get(key)
    }

    pub(super) fn rows(&mut self) -> &mut dyn Rows {
        self.rows.as_mut()
    }

    /// A slice of the world, loaded as a store would.
    pub(super) fn slice(&mut self, keys: &KeySet) -> Result<World, StoreFault> {
        let mut world = World::slice();
        self.load(&mut world, keys)?;
        Ok(world)
    }

    /// Adds rows to a slice, where a command needs more than it seemed.
    pub(super) fn load(&mut self, world: &mut World, keys: &KeySet) -> Result<(), StoreFault> {
        let mut touched = KeySet::new();
        for key in keys {
            if key.entity != Entity::DueIntents {
                world.load(key.clone(), self.rows.get(key)?);
                continue;
            }
            let own = self.due.iter().filter(|(_, due)| due.tenant == key.tenant);
            let due: Vec<Key> = own.take(DUE_INTENTS_MAX).map(|(_, due)| due.clone()).collect();
            let names = due.iter().map(|intent| intent.entity.parts().0.to_owned()).collect();
            for intent in due {
                let row = self.rows.get(&intent)?;
                if let Some(Row::Intent(row)) = &row {
                    touched.extend(touched_by_calling_off(&key.tenant, row));
                }
                world.load(intent, row);
            }
            world.load_due_intents(names);
        }
        for key in world.missing(&touched) {
            let row = self.rows.get(&key)?;
            world.load(key, row);
        }
        Ok(())
    }

    /// Keeps what a command changed, and shows each row's key.
    pub(super) fn save(&mut self, mut world: World, show: &mut dyn FnMut(&Key)) -> Result<(), StoreFault> {
        for changed in world.take_changes() {
            show(&changed.key);
            if matches!(changed.row, Row::Intent(_)) {
                // A lease or a retry was due at another time than the intent's own end.
                if let Some(at) = self.rows.get(&changed.key)?.and_then(|row| row.due()) {
                    self.due.remove(&(at, changed.key.clone()));
                }
                if let Some(at) = changed.row.due() {
                    self.due.insert((at, changed.key.clone()));
                }
            }
            self.rows.put(changed.key, lean(changed.row))?;
        }
        Ok(())
    }
}

/// The row without what it shares with a judgement that is over.
fn lean(row: Row) -> Row {
    if let Row::Intent(intent) = row {
        let facts = IntentFacts::Kept(Box::new(intent.facts.to_kept()));
        return Row::Intent(Box::new(IntentRow { facts, ..*intent }));
    }
    if let Row::Idempotency(stored) = row {
        return stored_answer(stored.fingerprint, stored.at);
    }
    row
}

/// What a replay keeps of an answered key. An answer that is given again leaves no record, so only whether the same was
/// asked can matter, and when.
pub fn stored_answer(fingerprint: values::ids::Digest, at: Instant) -> Row {
    let (id, verdict) = (String::new(), Verdict::Reject);
    let answer = Answer { id, verdict, findings: Arc::from([]), intent: None, question: None };
    Row::Idempotency(Box::new(StoredAnswer { fingerprint, answer, at }))
}

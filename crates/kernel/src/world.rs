//! The slice of state a command may touch, loaded by key. Absent is not the same as not loaded.

use crate::agent::AgentRow;
use crate::budget::Window;
use crate::decimal::Decimal;
use crate::ids::Digest;
use crate::json::Json;
use crate::outcome::Answer;
use crate::snapshot::Snapshot;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names one entity. The order of the variants is the global lock order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Entity {
    /// A stored answer: agent and key.
    Idempotency(String, String),
    /// An agent.
    Agent(String),
    /// A flow.
    Flow(String),
    /// A business effect.
    Effect(String),
    /// A resource.
    Resource(String),
    /// A windowed budget: agent and budget.
    Budget(String, String),
    /// A key of state.
    State(String),
    /// A snapshot by name.
    Snapshot(String),
}

/// An entity of a tenant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// Every key starts with the tenant.
    pub tenant: Arc<str>,
    /// Which entity.
    pub entity: Entity,
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        // Mostly both name the same tenant in the same memory, and its letters need not be compared.
        let tenants =
            if Arc::ptr_eq(&self.tenant, &other.tenant) { Ordering::Equal } else { self.tenant.cmp(&other.tenant) };
        tenants.then_with(|| self.entity.cmp(&other.entity))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A set of keys, in lock order.
pub type KeySet = BTreeSet<Key>;

/// What is known of one entity.
#[derive(Clone, PartialEq, Debug)]
pub enum Row {
    /// A stored answer.
    Idempotency(Box<StoredAnswer>),
    /// An agent.
    Agent(AgentRow),
    /// A flow.
    Flow(FlowRow),
    /// A business effect.
    Effect(EffectRow),
    /// A resource.
    Resource(ResourceRow),
    /// A windowed budget.
    Budget(Window),
    /// A value of state.
    State(Json),
    /// A snapshot.
    Snapshot(Snapshot),
}

/// The answer given for an idempotency key.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredAnswer {
    /// Of the proposal it was given for.
    pub fingerprint: Digest,
    /// Exactly what was answered.
    pub answer: Answer,
}

/// What a flow has used up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlowRow {
    /// Proposals judged in it.
    pub steps: u64,
    /// Of those, rejected ones that count as retries.
    pub rejected: u64,
    /// Tokens its proposals reported.
    pub tokens: u64,
}

/// Who performs or performed a business effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectRow {
    /// The intent.
    pub intent: String,
    /// Whether it is over.
    pub done: bool,
}

/// What is left of a resource.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceRow {
    /// Held by intents that are not over.
    pub held: Decimal,
    /// Used up for good.
    pub consumed: Decimal,
}

impl ResourceRow {
    /// A resource nobody has touched.
    pub const UNTOUCHED: ResourceRow = ResourceRow { held: Decimal::ZERO, consumed: Decimal::ZERO };

    /// What is left of a capacity; `None` on overflow, which the caller must treat as nothing.
    pub fn free(&self, capacity: Decimal) -> Option<Decimal> {
        capacity.checked_sub(self.held)?.checked_sub(self.consumed)
    }
}

/// A lookup that tells absence from ignorance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loaded<'a> {
    /// Nobody looked: no conclusion may be drawn.
    NotLoaded,
    /// It does not exist.
    Absent,
    /// It is this.
    Present(&'a Row),
}

/// The state a command may touch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct World {
    rows: BTreeMap<Key, Option<Row>>,
    complete: bool,
}

impl World {
    /// A world that holds everything there is: what it does not have does not exist.
    pub fn complete() -> World {
        World { rows: BTreeMap::new(), complete: true }
    }

    /// A slice: what was not put in is not loaded.
    pub fn slice() -> World {
        World { rows: BTreeMap::new(), complete: false }
    }

    /// Looks an entity up.
    pub fn get(&self, key: &Key) -> Loaded<'_> {
        match self.rows.get(key) {
            Some(Some(row)) => Loaded::Present(row),
            Some(None) => Loaded::Absent,
            None if self.complete => Loaded::Absent,
            None => Loaded::NotLoaded,
        }
    }

    /// Whether it holds everything there is.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Changes an entity in place, making it first where it does not exist.
    pub fn update(&mut self, key: &Key, make: impl FnOnce() -> Row, change: impl FnOnce(&mut Row)) {
        match self.rows.get_mut(key) {
            Some(Some(row)) => change(row),
            Some(None) | None => {
                let mut row = make();
                change(&mut row);
                self.put(key.clone(), row);
            }
        }
    }

    /// Loads or changes an entity.
    pub fn put(&mut self, key: Key, row: Row) {
        self.rows.insert(key, Some(row));
    }

    /// Says that an entity does not exist.
    pub fn put_absent(&mut self, key: Key) {
        self.rows.insert(key, None);
    }

    /// The keys that are not loaded.
    pub fn missing(&self, keys: &KeySet) -> KeySet {
        keys.iter().filter(|key| self.get(key) == Loaded::NotLoaded).cloned().collect()
    }
}

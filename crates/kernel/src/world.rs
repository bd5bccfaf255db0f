//! The slice of state a command may touch, loaded by key. Absent is not the same as not loaded.

pub(crate) mod entities;

pub use entities::{Entity, Row};

use crate::agent::AgentRow;
use crate::finding::{Finding, Gate};
use crate::flow::{FlowState, Latest};
use crate::outcome::Answer;
use crate::reasons::Reason;
use crate::record::Record;
use crate::semantics::Semantics;
use entities::Kind;
use indexmap::IndexMap;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Json;
use values::time::{Duration, Instant};

/// Intents one look at [`Entity::DueIntents`] loads.
pub const DUE_INTENTS_MAX: usize = 64;

/// An entity of a tenant.
#[derive(Clone, Eq, Debug)]
pub struct Key {
    /// Every key starts with the tenant.
    pub tenant: Arc<str>,
    /// Which entity.
    pub entity: Entity,
}

impl Key {
    /// Mostly two keys name the same tenant in the same memory, and its letters need not be compared.
    fn is_of_tenant_of(&self, other: &Key) -> bool {
        Arc::ptr_eq(&self.tenant, &other.tenant) || self.tenant == other.tenant
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.entity == other.entity && self.is_of_tenant_of(other)
    }
}

impl Hash for Key {
    /// Without the tenant: a command has one, and comparing tells keys of two apart.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entity.hash(state);
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        let tenants = if self.is_of_tenant_of(other) { Ordering::Equal } else { self.tenant.cmp(&other.tenant) };
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

/// The tenant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TenantRow {
    /// Who pulled the kill switch and why; while it is pulled nothing is accepted.
    pub halted: Option<Halt>,
    /// The same for groups of agents, by name.
    pub halted_groups: BTreeMap<String, Halt>,
    /// Entries whose bodies may not be erased.
    pub holds: Vec<LegalHold>,
    /// The log that signs for this ledger: its keyring as text, once one was recorded. Read only by those who sign.
    pub log: Option<String>,
    /// The latest version of the judging rules that judged here; 0 where only the first did.
    pub semantics: u64,
    /// How long idempotency keys are kept, where an operator said so.
    pub keys_kept: Option<Duration>,
    /// Answers that were given before this are forgotten: their keys read as never used.
    pub keys_before: Option<Instant>,
}

/// How long an idempotency key gets its answer again, unless an operator says otherwise.
pub const KEYS_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// The shortest that keys may be kept: no client that retries waits longer.
pub const KEYS_KEPT_MIN: Duration = Duration::from_secs(86_400);

/// The longest.
pub const KEYS_KEPT_MAX: Duration = Duration::from_secs(3_660 * 86_400);

impl TenantRow {
    /// The refusal while a switch is pulled that stops one of these agents: an agent and those above it.
    pub fn stopping<'a>(&self, line: impl Iterator<Item = &'a AgentRow>) -> Option<Finding> {
        if let Some(halt) = &self.halted {
            let finding = Finding::reject(Gate::Agent, Reason::Halted);
            return Some(finding.with("by", halt.by.as_str()).with("because", halt.because.as_str()));
        }
        if self.halted_groups.is_empty() {
            return None;
        }
        line.filter_map(|agent| self.stopped_group(agent.group.as_deref()?)).next()
    }

    /// The refusal while the switch of a group is pulled.
    pub fn stopped_group(&self, group: &str) -> Option<Finding> {
        let halt = self.halted_groups.get(group)?;
        let finding = Finding::reject(Gate::Agent, Reason::GroupHalted).with("group", group);
        Some(finding.with("by", halt.by.as_str()).with("because", halt.because.as_str()))
    }

    /// How long idempotency keys are kept.
    pub fn keys_kept(&self) -> Duration {
        self.keys_kept.unwrap_or(KEYS_KEPT)
    }

    /// Up to when answers are forgotten if that is asked for at an instant. It never moves back.
    pub fn forgettable(&self, at: Instant) -> Instant {
        let before = at.minus(self.keys_kept());
        self.keys_before.map_or(before, |earlier| earlier.max(before))
    }

    /// Whether an answer that was given at an instant is forgotten.
    pub fn forgets(&self, at: Instant) -> bool {
        self.keys_before.is_some_and(|before| at < before)
    }

    /// The name of the log that signs for this ledger: the first line of its keyring.
    pub fn origin(&self) -> Option<&str> {
        self.log.as_deref().and_then(|ring| ring.lines().next())
    }
}

/// Bodies that may not be erased.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LegalHold {
    /// Its name.
    pub id: String,
    /// The first entry.
    pub from: u64,
    /// The entry behind the last; also what is yet to come if there is none.
    pub to: Option<u64>,
    /// Who placed it.
    pub by: String,
    /// Why.
    pub because: String,
    /// When.
    pub at: Instant,
}

impl LegalHold {
    /// Whether it forbids to erase any of these entries.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        self.from < to && self.to.is_none_or(|end| from < end)
    }
}

/// A pulled kill switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Halt {
    /// Who.
    pub by: String,
    /// Why.
    pub because: String,
    /// When.
    pub at: Instant,
}

/// A value of state. The version grows with every write and is what compare-and-set compares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateRow {
    /// The value.
    pub value: Json,
    /// From 1.
    pub version: u64,
}

/// The answer given for an idempotency key.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredAnswer {
    /// Of the proposal it was given for.
    pub fingerprint: Digest,
    /// Exactly what was answered.
    pub answer: Answer,
    /// When.
    pub at: Instant,
}

impl StoredAnswer {
    /// The answer that the record of a decision holds; `None` if that is no such record.
    pub fn from_record(fingerprint: Digest, body: &Json) -> Option<StoredAnswer> {
        let at = Instant::parse(body.get("at")?.as_text()?)?;
        Some(StoredAnswer { fingerprint, answer: Answer::from_record(body)?, at })
    }
}

/// A flow: where it comes from, whether it is open, and what it has used up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlowRow {
    /// Whether proposals are taken.
    pub state: FlowState,
    /// The agent it was opened for.
    pub agent: String,
    /// When.
    pub opened_at: Option<Instant>,
    /// The flows it came out of, nearest first.
    pub above: Vec<String>,
    /// Proposals judged in it.
    pub steps: u64,
    /// Of those, rejected ones that count as retries.
    pub rejected: u64,
    /// Tokens its proposals reported.
    pub tokens: u64,
    /// Intents that are not over, oldest first: those the runtime performs and those a host owes a report of.
    pub intents: Vec<String>,
    /// Questions about its proposals that nobody answered yet, oldest first.
    pub questions: Vec<String>,
    /// Resources it holds outside of a proposal, by name.
    pub held: Vec<String>,
    /// Whether something did not fit into these lists.
    pub unlisted: bool,
    /// What its latest proposal came to.
    pub latest: Option<Latest>,
}

impl FlowRow {
    /// The flow it came out of.
    pub fn parent(&self) -> Option<&str> {
        self.above.first().map(String::as_str)
    }

    /// The first of its line; nothing if that is itself.
    pub fn root(&self) -> Option<&str> {
        self.above.last().map(String::as_str)
    }
}

/// What an agent asked last about an effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedRow {
    /// The question.
    pub question: String,
}

/// Who performs or performed a business effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectRow {
    /// The intent.
    pub intent: String,
    /// Whether it is over.
    pub done: bool,
    /// The highest epoch anyone was sent with for this effect: who tries next must come with a higher one, or the other
    /// side takes it for a straggler.
    pub fence: u64,
}

impl EffectRow {
    /// Somebody is about to perform it for the first time.
    pub fn by(intent: impl Into<String>) -> EffectRow {
        EffectRow { intent: intent.into(), done: false, fence: 0 }
    }
}

/// What is left of a resource.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceRow {
    /// Held by intents that are not over.
    pub held: Decimal,
    /// Used up for good.
    pub consumed: Decimal,
    /// How contracts declare it; all must declare it alike.
    pub declared: Option<String>,
    /// What flows hold outside of a proposal.
    pub flows: BTreeMap<String, FlowHold>,
}

/// What a flow holds of a resource.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowHold {
    pub amount: Decimal,
    /// Until when; without it until it is given back or the flow ends.
    pub until: Option<Instant>,
}

impl FlowHold {
    /// Whether it counts at an instant.
    pub fn counts(&self, at: Instant) -> bool {
        self.until.is_none_or(|until| at < until)
    }
}

impl ResourceRow {
    /// A resource nobody has touched.
    pub const UNTOUCHED: ResourceRow =
        ResourceRow { held: Decimal::ZERO, consumed: Decimal::ZERO, declared: None, flows: BTreeMap::new() };

    /// What a flow holds outside of a proposal.
    pub fn held_by(&self, flow: &str) -> Decimal {
        self.flows.get(flow).map_or(Decimal::ZERO, |hold| hold.amount)
    }

    /// What intents and other flows hold at an instant; `None` on overflow, which the caller must treat as all.
    pub fn held_by_others(&self, flow: &str, at: Instant) -> Option<Decimal> {
        let others = self.flows.iter().filter(|(holder, hold)| *holder != flow && hold.counts(at));
        others.map(|(_, hold)| hold.amount).try_fold(self.held, Decimal::checked_add)
    }

    /// What is left of a capacity for a proposal in a flow, which may use what its flow holds.
    pub fn free_for(&self, flow: &str, capacity: Decimal, at: Instant) -> Option<Decimal> {
        capacity.checked_sub(self.held_by_others(flow, at)?)?.checked_sub(self.consumed)
    }

    /// Drops holds whose time is over.
    pub fn forget_expired(&mut self, at: Instant) {
        self.flows.retain(|_, hold| hold.counts(at));
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

impl Entity {
    /// Where it is kept which proposal of an agent has an id: agents choose their ids, so each has names of its own.
    pub fn proposal_id(agent: &str, id: &str) -> Entity {
        Entity::Idempotency(agent.to_owned(), format!(" id:{id}"))
    }
}

/// The state a command may touch.
///
/// Rows are found by a hash of their key and kept in the order they came in, so that no order depends on the hash.
#[derive(Clone, Debug, Default)]
pub struct World {
    rows: IndexMap<Key, Slot, Hashing>,
    /// Places of the rows that were changed and not handed over since, each once.
    changed: Vec<usize>,
    complete: bool,
    /// The rules the command at hand is judged under.
    semantics: Option<Semantics>,
    record: usize,
    /// Alarms of the command at hand, each with its record.
    raised: Vec<Record>,
    /// When the waiting intents of a complete world are due; a slice is told by its store.
    due: BTreeSet<(Instant, Key)>,
    /// How far the store of a slice looked for what is due soonest.
    due_range: Option<DueRange>,
}

/// How far a slice knows which intents are due. Within that it knows all of them: those that its store named, and those
/// that were changed since.
#[derive(Clone, Debug)]
enum DueRange {
    /// The store has no others.
    All,
    /// Up to the last one that the store named.
    UpTo(Instant, Key),
}

/// How keys are hashed. Agents choose names, so whoever serves many of them brings a seed they cannot know.
#[derive(Clone, Debug)]
struct Hashing(ahash::RandomState);

impl Hashing {
    fn seeded(seed: u64) -> Hashing {
        Hashing(ahash::RandomState::with_seeds(seed, !seed, seed.rotate_left(32), 1))
    }
}

impl Default for Hashing {
    fn default() -> Hashing {
        Hashing::seeded(0)
    }
}

impl BuildHasher for Hashing {
    type Hasher = ahash::AHasher;

    fn build_hasher(&self) -> ahash::AHasher {
        self.0.build_hasher()
    }
}

/// What is known of an entity, and whether that is new.
#[derive(Clone, PartialEq, Debug)]
struct Slot {
    row: Option<Row>,
    /// Which record changed it since it was loaded or handed over; a complete world has nobody to tell.
    changed: Option<usize>,
}

/// An entity that was changed, for a store to save.
#[derive(Clone, PartialEq, Debug)]
pub struct RowChange {
    /// Which.
    pub key: Key,
    /// What it is now.
    pub row: Row,
    /// Which record of the batch, from 0, says so; stored answers point at it.
    pub record: usize,
}

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        (self.complete, self.record) == (other.complete, other.record)
            && self.rows == other.rows
            && self.due == other.due
    }
}

impl World {
    /// A world that holds everything there is: what it does not have does not exist.
    pub fn complete() -> World {
        World { complete: true, ..World::default() }
    }

    /// A slice: what was not put in is not loaded.
    pub fn slice() -> World {
        World::default()
    }

    /// A slice for so many rows, whose keys are hashed under a seed.
    pub fn seeded_slice(seed: u64, room: usize) -> World {
        World { rows: IndexMap::with_capacity_and_hasher(room, Hashing::seeded(seed)), ..World::default() }
    }

    /// Looks an entity up.
    pub fn get(&self, key: &Key) -> Loaded<'_> {
        match self.rows.get(key) {
            Some(Slot { row: Some(row), .. }) => Loaded::Present(row),
            Some(Slot { row: None, .. }) => Loaded::Absent,
            None if self.complete => Loaded::Absent,
            // A range has no row of its own.
            None if key.entity == Entity::DueIntents && self.due_intents(&key.tenant).is_some() => Loaded::Absent,
            None => Loaded::NotLoaded,
        }
    }

    /// The rules the command at hand is judged under.
    pub fn semantics(&self) -> Semantics {
        self.semantics.unwrap_or(Semantics::CURRENT)
    }

    /// The next command is judged under these rules.
    pub(crate) fn judge_under(&mut self, semantics: Semantics) {
        self.semantics = Some(semantics);
    }

    /// A monitor raised an alarm; its record comes before that of the command.
    pub(crate) fn raise(&mut self, alarm: Record) {
        self.raised.push(alarm);
    }

    /// The alarms of the command at hand.
    pub(crate) fn take_raised(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.raised)
    }

    /// Whether it holds everything there is.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Changes an entity in place, making it first where it does not exist.
    pub fn update(&mut self, key: &Key, make: impl FnOnce() -> Row, change: impl FnOnce(&mut Row)) {
        match self.rows.get_full_mut(key) {
            Some((place, _, Slot { row: Some(row), changed })) => {
                change(row);
                note(&mut self.changed, changed, (!self.complete).then_some(self.record), place);
            }
            Some((_, _, Slot { row: None, .. })) | None => {
                let mut row = make();
                change(&mut row);
                self.put(key.clone(), row);
            }
        }
    }

    /// Changes an entity.
    pub fn put(&mut self, key: Key, row: Row) {
        if self.complete && matches!(row, Row::Intent(_)) {
            // Mostly nothing waits, and then there is nothing to look for.
            if !self.due.is_empty()
                && let Some(Slot { row: Some(Row::Intent(before)), .. }) = self.rows.get(&key)
                && let Some(at) = before.due()
            {
                self.due.remove(&(at, key.clone()));
            }
            self.due.extend(row.due().map(|at| (at, key.clone())));
        }
        self.put_for_record(key, row, 0);
    }

    /// Changes an entity that will point at the record this far behind the current one.
    pub fn put_for_record(&mut self, key: Key, row: Row, behind: usize) {
        let record = (!self.complete).then(|| self.record.saturating_add(behind));
        let entry = self.rows.entry(key);
        let place = entry.index();
        let slot = entry.or_insert(Slot { row: None, changed: None });
        slot.row = Some(row);
        note(&mut self.changed, &mut slot.changed, record, place);
    }

    /// Names of the waiting intents whose time ends soonest; `None` if nobody looked, or not far enough: then the store
    /// has to be asked again, once it holds what was changed.
    pub fn due_intents(&self, tenant: &Arc<str>) -> Option<Vec<String>> {
        let name = |key: &Key| key.entity.parts().0.to_owned();
        if self.complete {
            let own = self.due.iter().filter(|(_, key)| key.tenant == *tenant);
            return Some(own.take(DUE_INTENTS_MAX).map(|(_, key)| name(key)).collect());
        }
        let range = self.due_range.as_ref()?;
        let due = |(key, slot): (&Key, &Slot)| match &slot.row {
            Some(Row::Intent(row)) if key.tenant == *tenant => Some((row.due()?, key.clone())),
            Some(_) | None => None,
        };
        let mut due: Vec<(Instant, Key)> = self.rows.iter().filter_map(due).collect();
        due.sort();
        if let DueRange::UpTo(at, last) = range {
            due.retain(|(due, key)| (due, key) <= (at, last));
            if due.len() < DUE_INTENTS_MAX {
                return None;
            }
        }
        Some(due.iter().take(DUE_INTENTS_MAX).map(|(_, key)| name(key)).collect())
    }

    /// Says what a store holds, or that it holds nothing. This is no change.
    pub fn load(&mut self, key: Key, row: Option<Row>) {
        self.rows.insert(key, Slot { row, changed: None });
    }

    /// Says which waiting intents of its tenant a store holds whose time ends soonest, soonest first and at most
    /// [`DUE_INTENTS_MAX`]. Their rows were loaded before with [`World::load`].
    pub fn load_due_intents(&mut self, names: Vec<String>) {
        let is_last = |key: &Key| matches!(&key.entity, Entity::Intent(name) if Some(name) == names.last());
        let last = self.rows.iter().find(|(key, _)| is_last(key));
        let last = last.and_then(|(key, slot)| Some((slot.row.as_ref()?.due()?, key.clone())));
        self.due_range = Some(match last.filter(|_| names.len() >= DUE_INTENTS_MAX) {
            Some((at, key)) => DueRange::UpTo(at, key),
            None => DueRange::All,
        });
    }

    /// The keys that are not loaded.
    pub fn missing<'a>(&self, keys: impl IntoIterator<Item = &'a Key>) -> KeySet {
        let is_missing = |key: &&Key| matches!(self.get(key), Loaded::NotLoaded);
        keys.into_iter().filter(is_missing).cloned().collect()
    }

    /// From now on changes belong to this record of the batch.
    pub fn begin_record(&mut self, record: usize) {
        self.record = record;
    }

    /// Shows what was changed since it was last shown, in the order of the first change, and counts it as handed over:
    /// a store can save it while the fold goes on. What is of a kind to `keep` is shown in the end, where it is saved once.
    pub fn hand_over(&mut self, keep: impl Fn(Kind) -> bool, mut show: impl FnMut(&Key, &Row, usize)) {
        let rows = &mut self.rows;
        self.changed.retain(|place| {
            let Some((key, slot)) = rows.get_index_mut(*place) else { return false };
            if keep(key.entity.kind()) {
                return true;
            }
            if let (Some(row), Some(record)) = (&slot.row, slot.changed.take()) {
                show(key, row, record);
            }
            false
        });
    }

    /// What was changed and not handed over, in lock order. A slice is over then; nothing looks at its rows again.
    pub fn take_changes(&mut self) -> Vec<RowChange> {
        self.changed.clear();
        let rows = std::mem::take(&mut self.rows).into_iter();
        let changed = |(key, slot): (Key, Slot)| Some(RowChange { key, row: slot.row?, record: slot.changed? });
        let mut changes: Vec<RowChange> = rows.filter_map(changed).collect();
        changes.sort_by(|one, other| one.key.cmp(&other.key));
        changes
    }

    /// Everything it holds, in lock order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Row)> {
        let mut rows: Vec<_> = self.rows.iter().filter_map(|(key, slot)| Some((key, slot.row.as_ref()?))).collect();
        rows.sort_by_key(|(key, _)| *key);
        rows.into_iter()
    }
}

/// Notes that a record changed the row at a place.
fn note(changed: &mut Vec<usize>, slot: &mut Option<usize>, record: Option<usize>, place: usize) {
    if slot.is_none() && record.is_some() {
        changed.push(place);
    }
    *slot = record;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{IntentFacts, IntentRow, IntentState, KeptIntent};

    fn key(tenant: &str, entity: Entity) -> Key {
        Key { tenant: Arc::from(tenant), entity }
    }

    fn state(version: u64) -> Row {
        Row::State(StateRow { value: Json::Null, version })
    }

    #[test]
    fn a_hold_covers_what_it_touches() {
        let hold = |from: u64, to: Option<u64>| {
            let (id, by, because) = (String::new(), String::new(), String::new());
            LegalHold { id, from, to, by, because, at: Instant::PURE_DEFAULT }
        };
        for (held, erased, covers) in [
            ((5, Some(8)), (0, 5), false),
            ((5, Some(8)), (0, 6), true),
            ((5, Some(8)), (7, 9), true),
            ((5, Some(8)), (8, 9), false),
            ((5, None), (99, 100), true),
            ((5, None), (0, 5), false),
        ] {
            assert_eq!(hold(held.0, held.1).covers(erased.0, erased.1), covers, "{held:?} {erased:?}");
        }
    }

    #[test]
    fn a_slice_tells_absence_from_ignorance_and_what_changed() {
        let names = ["a", "b", "c", "d"].map(|name| key("t", Entity::State(name.to_owned())));
        let [known, absent, unknown, fresh] = &names;
        let mut world = World::seeded_slice(7, 2);
        world.load(known.clone(), Some(state(1)));
        world.load(absent.clone(), None);
        assert_eq!(world.get(known), Loaded::Present(&state(1)));
        assert_eq!((world.get(absent), world.get(unknown)), (Loaded::Absent, Loaded::NotLoaded));
        assert_eq!(world.missing(&names), KeySet::from([unknown.clone(), fresh.clone()]));
        assert!(!world.is_complete());
        assert_eq!(World::complete().get(unknown), Loaded::Absent);
        assert!(World::complete().missing(&names).is_empty());
        assert!(World::complete().is_complete());
        assert!(known < absent && absent < unknown);
        world.begin_record(3);
        world.put_for_record(fresh.clone(), state(9), 2);
        world.update(known, || state(0), |row| *row = state(2));
        world.update(absent, || state(7), |row| assert_eq!(*row, state(7)));
        let changed = |key: &Key, row, record| RowChange { key: key.clone(), row, record };
        let expected = [changed(known, state(2), 3), changed(absent, state(7), 3), changed(fresh, state(9), 5)];
        assert_eq!(world.iter().count(), 3);
        assert_eq!(world.take_changes(), expected);
        // Whoever holds everything has nobody to tell.
        let mut whole = World::complete();
        whole.put(known.clone(), state(1));
        whole.update(known, || state(0), |row| *row = state(2));
        assert!(whole.take_changes().is_empty());
    }

    #[test]
    fn what_is_handed_over_is_shown_once_and_what_is_kept_is_saved_in_the_end() {
        let flow = |name: &str| key("t", Entity::Flow(name.to_owned()));
        let kept = key("t", Entity::State("kept".to_owned()));
        let row = |agent: &str| Row::Flow(FlowRow { agent: agent.to_owned(), ..FlowRow::default() });
        let mut world = World::slice();
        world.load(flow("loaded"), Some(row("bot")));
        let shown = |world: &mut World| {
            let mut shown = Vec::new();
            world.hand_over(
                |kind| kind == Kind::State,
                |key, row, record| shown.push((key.clone(), row.clone(), record)),
            );
            shown
        };
        assert!(shown(&mut world).is_empty());
        world.begin_record(1);
        world.put(flow("b"), row("one"));
        world.put(kept.clone(), state(1));
        world.put(flow("a"), row("two"));
        assert_eq!(shown(&mut world), [(flow("b"), row("one"), 1), (flow("a"), row("two"), 1)]);
        assert!(shown(&mut world).is_empty(), "once");
        world.begin_record(2);
        world.update(&flow("b"), || row("?"), |changed| *changed = row("three"));
        world.put(kept.clone(), state(2));
        assert_eq!(shown(&mut world), [(flow("b"), row("three"), 2)]);
        assert_eq!(world.take_changes(), [RowChange { key: kept, row: state(2), record: 2 }]);
    }

    fn waiting(until: i64) -> Row {
        let kept = KeptIntent {
            agent: String::new(),
            flow: String::new(),
            proposal: String::new(),
            effect_key: String::new(),
            valid_until: Instant::from_micros(until),
            holds: Vec::new(),
            taken: Vec::new(),
        };
        let facts = IntentFacts::Kept(Box::new(kept));
        Row::Intent(Box::new(IntentRow {
            state: IntentState::Ready,
            accepted_at: Instant::PURE_DEFAULT,
            facts,
            running: None,
        }))
    }

    #[test]
    fn what_is_due_soonest_comes_first_and_once() {
        let intent = |tenant: &str, name: &str| key(tenant, Entity::Intent(name.to_owned()));
        let mut world = World::complete();
        let due = |world: &World| world.due_intents(&Arc::from("t")).map(|names| names.join(" "));
        assert_eq!(due(&world).as_deref(), Some(""));
        world.put(key("t", Entity::State("s".to_owned())), state(1));
        for (tenant, name, until) in [("t", "late", 9), ("t", "soon", 1), ("other", "theirs", 0)] {
            world.put(intent(tenant, name), waiting(until));
        }
        assert_eq!(due(&world).as_deref(), Some("soon late"));
        world.put(intent("t", "soon"), waiting(20));
        assert_eq!(due(&world).as_deref(), Some("late soon"));
        for number in 0..DUE_INTENTS_MAX {
            world.put(intent("t", &format!("n{number:02}")), waiting(2));
        }
        assert_eq!(world.due_intents(&Arc::from("t")).map(|names| names.len()), Some(DUE_INTENTS_MAX));
        // A slice knows what its store told it.
        let mut slice = World::slice();
        let range = [key("t", Entity::DueIntents)];
        slice.load(intent("t", "told"), Some(waiting(5)));
        assert_eq!(due(&slice), None);
        assert_eq!(slice.missing(&range), KeySet::from(range.clone()));
        slice.load_due_intents(vec!["told".to_owned()]);
        assert_eq!(due(&slice).as_deref(), Some("told"));
        assert!(slice.missing(&range).is_empty());
        // And what was changed since.
        slice.put(intent("t", "soon"), waiting(1));
        slice.put(intent("t", "last"), waiting(9));
        assert_eq!(due(&slice).as_deref(), Some("soon told last"));
    }

    #[test]
    fn a_slice_that_does_not_reach_far_enough_asks_again() {
        let intent = |number: usize| key("t", Entity::Intent(format!("n{number:02}")));
        let range = [key("t", Entity::DueIntents)];
        let mut slice = World::slice();
        for number in 0..DUE_INTENTS_MAX {
            slice.load(intent(number), Some(waiting(number as i64)));
        }
        slice.load_due_intents((0..DUE_INTENTS_MAX).map(|number| format!("n{number:02}")).collect());
        let due = |slice: &World| slice.due_intents(&Arc::from("t")).map(|names| names.len());
        assert_eq!(due(&slice), Some(DUE_INTENTS_MAX));
        // What comes behind the last that the store named may come behind others that it did not name.
        slice.put(intent(70), waiting(200));
        assert_eq!(due(&slice), Some(DUE_INTENTS_MAX));
        slice.put(intent(3), waiting(100));
        assert_eq!((due(&slice), slice.missing(&range)), (None, KeySet::from(range.clone())));
        slice.put(intent(71), waiting(5));
        assert_eq!(due(&slice), Some(DUE_INTENTS_MAX));
    }
}

//! Keys, rows, records and small batches that the checks are made of.

use crate::ports::store::{BatchId, Committed, Store, StoreFault};
use kernel::advice::{Advice, AdviceKind, AdviceOutcome};
use kernel::agent::{AgentRow, AgentStatus, Restriction};
use kernel::apply::apply;
use kernel::budget::Window;
use kernel::command::{Command, RefusedInput};
use kernel::contract::{Impact, ResourceKind, Series, Then, Watch};
use kernel::escalation::{AgentRequest, EscalationRow, EscalationState, QuestionKind, Reroute, Vote};
use kernel::flow::FlowState;
use kernel::intent::{BudgetDraw, Hold, IntentFacts, IntentRow, IntentState, KeptIntent};
use kernel::monitors::MonitorKind;
use kernel::outcome::Outcome;
use kernel::proposal::Malformed;
use kernel::record::Record;
use kernel::snapshot::Snapshot;
use kernel::watched::MonitorRow;
use kernel::world::{
    AskedRow, EffectRow, Entity, FlowHold, FlowRow, Halt, Key, Loaded, ResourceRow, Row, StateRow, TenantRow, World,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Object};
use values::sealed::Sealed;
use values::time::{Duration, Instant};

/// The tenant of most checks.
pub(super) const TENANT: &str = "shop";

/// A store may ask for a batch again so often.
const ROUNDS_MAX: usize = 100;

/// An instant so many microseconds after the clock's first.
pub(super) fn at(micros: i64) -> Instant {
    Instant::from_micros(Instant::PURE_DEFAULT.micros().saturating_add(micros))
}

pub(super) fn key(entity: Entity) -> Key {
    key_of(TENANT, entity)
}

pub(super) fn key_of(tenant: &str, entity: Entity) -> Key {
    Key { tenant: Arc::from(tenant), entity }
}

pub(super) fn state_key(name: &str) -> Key {
    key(Entity::State(name.to_owned()))
}

pub(super) fn batch_id() -> BatchId {
    BatchId(uuid::Uuid::now_v7().as_u128())
}

/// A monitor that has tripped once.
fn monitor() -> Row {
    let settings = [("max".to_owned(), Json::from(10_u64)), ("over".to_owned(), Json::from(2_u64))];
    let watch = Watch {
        kind: MonitorKind::Sum,
        series: Series::Param("amount".to_owned()),
        actions: BTreeSet::new(),
        settings: settings.into(),
        then: Then::Suspended,
        revoke: BTreeSet::new(),
    };
    match MonitorRow::new(&watch, false) {
        Some(mut row) => {
            row.take(("bot", "m"), Some(Decimal::from(11)), "p", at(5));
            Row::Monitor(Box::new(row))
        }
        None => counter(1),
    }
}

/// A record that belongs together, with a name to know it by.
pub(super) fn record(name: &str, at: Instant) -> Option<Sealed> {
    let mut salt = [0; 16];
    salt.iter_mut().zip(Digest::of(name).bytes()).for_each(|(to, from)| *to = *from);
    refusal(TENANT, name, at).map(|record| record.seal(salt))
}

/// The same before it is written out.
pub(super) fn refusal(tenant: &str, name: &str, at: Instant) -> Option<Record> {
    let refused = RefusedInput {
        tenant: Arc::from(tenant),
        malformed: Malformed { id: Some(name.to_owned()), agent: None, findings: Vec::new() },
        digest: Digest::of(name),
        id: name.to_owned(),
    };
    match apply(&mut World::complete(), &Command::Refuse(Box::new(refused)), at) {
        Outcome::Done(done) => done.records.into_iter().next(),
        Outcome::Prepare | Outcome::Need(_) => None,
    }
}

/// The name of a record's body.
pub(super) fn name_of(body: &str) -> Option<String> {
    let json = Json::parse(body.as_bytes()).ok()?;
    json.get("proposal_id").and_then(Json::as_text).map(str::to_owned)
}

/// One batch with one record, done again on a conflict.
pub(super) fn change(
    store: &mut dyn Store,
    keys: &[Key],
    name: &str,
    change: &mut dyn FnMut(&mut World, Instant),
) -> Result<Committed, String> {
    transact(store, batch_id(), keys, &mut |world, at| {
        change(world, at);
        record(name, at).into_iter().collect()
    })
}

/// One batch of one step, done again on a conflict.
pub(super) fn transact(
    store: &mut dyn Store,
    batch: BatchId,
    keys: &[Key],
    fold: &mut dyn FnMut(&mut World, Instant) -> Vec<Sealed>,
) -> Result<Committed, String> {
    let mut last = String::new();
    for _ in 0..ROUNDS_MAX {
        let mut steps = 0;
        let outcome = store.transact(batch, keys.to_vec(), &mut |world, at| {
            steps += 1;
            (steps == 1).then(|| fold(world, at))
        });
        match outcome {
            Ok(_) if steps < 2 => return Err("the fold was not stepped through to its end".to_owned()),
            Ok(committed) => return Ok(committed),
            Err(StoreFault::Conflict(problem)) => last = problem,
            Err(
                fault @ (StoreFault::Unavailable(_)
                | StoreFault::Ambiguous(_)
                | StoreFault::Refused(_)
                | StoreFault::Corrupt(_)),
            ) => return Err(fault.to_string()),
        }
    }
    Err(format!("{ROUNDS_MAX} conflicts in a row: {last}"))
}

/// Puts one row.
pub(super) fn put(store: &mut dyn Store, key: &Key, row: &Row) -> Result<Committed, String> {
    change(store, std::slice::from_ref(key), "put", &mut |world, _| world.put(key.clone(), row.clone()))
}

/// What a batch is shown of an entity.
pub(super) fn look(store: &mut dyn Store, key: &Key) -> Result<Option<Row>, String> {
    let mut seen = Err(format!("{:?} was asked for and not loaded", key.entity));
    transact(store, batch_id(), std::slice::from_ref(key), &mut |world, _| {
        match world.get(key) {
            Loaded::Present(row) => seen = Ok(Some(row.clone())),
            Loaded::Absent => seen = Ok(None),
            Loaded::NotLoaded => {}
        }
        Vec::new()
    })?;
    seen
}

/// A counter as a row.
pub(super) fn counter(value: u64) -> Row {
    Row::State(StateRow { value: Json::from(value), version: value })
}

/// What a counter says; absent is zero.
pub(super) fn count(row: Option<&Row>) -> u64 {
    match row {
        Some(Row::State(state)) => state.version,
        _ => 0,
    }
}

/// Adds one to a counter in a world.
pub(super) fn increment(world: &mut World, key: &Key) -> u64 {
    let value = match world.get(key) {
        Loaded::Present(row) => count(Some(row)),
        Loaded::Absent | Loaded::NotLoaded => 0,
    };
    world.put(key.clone(), counter(value.saturating_add(1)));
    value.saturating_add(1)
}

/// Fails a check with what was seen.
pub(super) fn must(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

/// An intent that waits until an instant, or is over.
pub(super) fn intent(state: IntentState, valid_until: Instant) -> Row {
    let kept = KeptIntent {
        agent: "bot".to_owned(),
        flow: "f".to_owned(),
        proposal: "p".to_owned(),
        effect_key: "refund:1".to_owned(),
        valid_until,
        holds: vec![Hold {
            resource: "pool".to_owned(),
            amount: Decimal::from(5),
            kind: ResourceKind::Stock,
            unit: Some("EUR".to_owned()),
        }],
        taken: vec![BudgetDraw { agent: "bot".to_owned(), budget: "daily".to_owned(), amount: Decimal::from(5) }],
    };
    Row::Intent(Box::new(IntentRow {
        state,
        accepted_at: at(0),
        facts: IntentFacts::Kept(Box::new(kept)),
        running: None,
    }))
}

/// A question that waits until an instant.
pub(super) fn question(state: EscalationState, deadline: Instant) -> Row {
    Row::Escalation(Box::new(asked(state, deadline)))
}

/// The row of a question.
pub(super) fn asked(state: EscalationState, deadline: Instant) -> EscalationRow {
    EscalationRow {
        kind: QuestionKind::Proposal,
        state,
        by: Some("operator:olga".to_owned()),
        agent: "bot".to_owned(),
        flow: "f".to_owned(),
        proposal_id: "p".to_owned(),
        proposal: Json::object([("action", Json::text("pay"))]),
        digest: Digest::of("question"),
        contract: Digest::of("contract"),
        reasons: vec!["BIG".to_owned()],
        impact: Impact::High,
        approvers: vec!["desk".to_owned()],
        quorum: 2,
        signed: true,
        asked_at: at(0),
        deadline: Some(deadline),
        remind: Some(deadline),
        reroute: Some(Reroute { at: deadline, to: "leads".to_owned(), told: true }),
        votes: vec![Vote { digest: values::ids::Digest::of("shown"), person: "ann".to_owned(), at: at(1) }],
        answer: None,
        provenance: Json::Null,
        intent: "i".to_owned(),
        advice: vec![Advice {
            kind: AdviceKind::Validator,
            name: "check".to_owned(),
            input: Digest::of("question"),
            said: AdviceOutcome::Nothing("it ended".to_owned()),
        }],
        request: Some(AgentRequest { reason: "unsure".to_owned(), context: Object::new() }),
    }
}

/// An agent that someone holds something against.
pub(super) fn agent(because: &str) -> Row {
    let restriction = Restriction {
        status: AgentStatus::Suspended,
        by: "operator:ann".to_owned(),
        because: because.to_owned(),
        at: at(3),
        actions: BTreeSet::new(),
    };
    let contract = Some(Digest::of(because));
    Row::Agent(Box::new(AgentRow { restrictions: vec![restriction], contract, ..AgentRow::active() }))
}

/// One row of every kind that has rows of its own.
pub(super) fn of_every_kind() -> Vec<(Key, Row)> {
    let named = || "n é".to_owned();
    let halt = Halt { by: "ann".to_owned(), because: "fire".to_owned(), at: at(9) };
    let mut window = Window::default();
    window.take(at(5), Duration::from_secs(60), Decimal::from(7));
    let values: Object = [("a".to_owned(), Json::text("ö"))].into_iter().collect();
    let flow = FlowRow {
        state: FlowState::Closed,
        agent: "bot".to_owned(),
        steps: 3,
        held: vec!["pool".to_owned()],
        ..FlowRow::default()
    };
    let hold = |until| FlowHold { amount: Decimal::from(3), until };
    let resource = ResourceRow {
        held: Decimal::from(1),
        consumed: Decimal::from(2),
        declared: Some("stock".to_owned()),
        flows: [("f".to_owned(), hold(None)), ("g".to_owned(), hold(Some(at(70))))].into_iter().collect(),
    };
    let snapshot =
        Snapshot { at: at(1), source: "test".to_owned(), flow: None, state: values.clone(), session: Object::new() };
    vec![
        (
            Entity::Tenant,
            Row::Tenant(TenantRow {
                halted_groups: [("payments".to_owned(), halt.clone())].into_iter().collect(),
                halted: Some(halt),
                log: Some("log.example\n".to_owned()),
                ..TenantRow::default()
            }),
        ),
        (Entity::Agent(named()), agent("noise")),
        (Entity::Contract(named()), Row::Contract(Arc::new(Json::Object(values.clone())))),
        (Entity::Flow(named()), Row::Flow(flow)),
        (Entity::Escalation(named()), question(EscalationState::Open, at(90))),
        (Entity::Asked("bot".to_owned(), named()), Row::Asked(AskedRow { question: "q".to_owned() })),
        (Entity::Intent(named()), intent(IntentState::Ready, at(80))),
        (Entity::Effect(named()), Row::Effect(EffectRow { done: true, fence: 3, ..EffectRow::by("i") })),
        (Entity::Resource(named()), Row::Resource(resource)),
        (Entity::Budget("bot".to_owned(), named()), Row::Budget(window)),
        (Entity::Monitor("bot".to_owned(), named()), monitor()),
        (Entity::State(named()), counter(4)),
        (Entity::Session(named()), Row::Session(values)),
        (Entity::Snapshot(named()), Row::Snapshot(snapshot)),
    ]
    .into_iter()
    .map(|(entity, row)| (key(entity), row))
    .collect()
}

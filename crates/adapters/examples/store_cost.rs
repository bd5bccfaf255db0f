//! What the SQLite store costs beside plain inserts on the same disk: `store_cost FOLDER [DECISIONS]`.
//!
//! A decision here is what an accepted proposal leaves behind: a record, a stored answer, a flow, an intent, an effect,
//! and its share of a budget and a resource. Nothing is judged, so this is the store alone.

use adapters::measure::RawSqlite;
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::agent::AgentRow;
use kernel::budget::Window;
use kernel::intent::{IntentFacts, IntentRow, IntentState, KeptIntent};
use kernel::outcome::{Answer, Verdict};
use kernel::world::{EffectRow, Entity, FlowRow, Key, KeySet, Loaded, ResourceRow, Row, StoredAnswer, World};
use runtime::ports::store::{BatchId, Store, StoreFault, one_step};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as Moment};
use values::decimal::Decimal;
use values::ids::Digest;
use values::sealed::Sealed;
use values::time::{Duration as Span, Instant};

const SIZES: [usize; 3] = [1, 64, 512];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: store_cost FOLDER [DECISIONS]")?;
    let decisions: usize = arguments.next().map_or(Ok(20_000), |text| text.parse())?;
    let folder = Path::new(&folder);
    for size in SIZES {
        let count = if size == 1 { decisions / 10 } else { decisions };
        let mut raw = RawSqlite::open(folder.join(format!("raw-{size}")))?;
        let (synchronous, journal) = raw.durability()?;
        let rows = raw.insert(size, Duration::from_secs(1))?;
        let rate = stored(&folder.join(format!("store-{size}")), size, count)?;
        println!(
            "{size:>4} a commit: raw {rows:>8.0} rows/s, store {rate:>7.0} decisions/s, ratio {:.2} (synchronous \
             {synchronous}, journal {journal})",
            rate / rows
        );
    }
    let (median, longest) = beside_a_busy_writer(&folder.join("busy"))?;
    println!("one decision beside a writer of 512 a commit: median {median:?}, longest {longest:?}");
    Ok(())
}

fn key(tenant: &Arc<str>, entity: Entity) -> Key {
    Key { tenant: tenant.clone(), entity }
}

fn minted() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The keys of one decision.
struct Decision {
    idempotency: Key,
    flow: Key,
    intent: Key,
    effect: Key,
}

fn batch(tenant: &Arc<str>, size: usize) -> (Vec<Decision>, KeySet) {
    let decision = |_| Decision {
        idempotency: key(tenant, Entity::Idempotency("bot".to_owned(), minted())),
        flow: key(tenant, Entity::Flow(minted())),
        intent: key(tenant, Entity::Intent(minted())),
        effect: key(tenant, Entity::Effect(format!("refund:{}", minted()))),
    };
    let decisions: Vec<Decision> = (0..size).map(decision).collect();
    let own = decisions.iter().flat_map(|made| [&made.idempotency, &made.flow, &made.intent, &made.effect]);
    let keys = own.cloned().chain(shared(tenant)).collect();
    (decisions, keys)
}

fn shared(tenant: &Arc<str>) -> [Key; 4] {
    [
        key(tenant, Entity::Tenant),
        key(tenant, Entity::Agent("bot".to_owned())),
        key(tenant, Entity::Resource("pool".to_owned())),
        key(tenant, Entity::Budget("bot".to_owned(), "daily".to_owned())),
    ]
}

fn fold(world: &mut World, at: Instant, decisions: &[Decision], tenant: &Arc<str>, body: &str) -> Vec<Sealed> {
    let [_, _, pool, daily] = shared(tenant);
    let mut records = Vec::with_capacity(decisions.len());
    for made in decisions {
        world.begin_record(records.len());
        let name = made.intent.entity.parts().0.to_owned();
        let answer = Answer {
            id: name.clone(),
            verdict: Verdict::Accept,
            findings: Arc::from([]),
            intent: None,
            question: None,
        };
        let stored = StoredAnswer { fingerprint: Digest::of(&name), answer, at };
        world.put(made.idempotency.clone(), Row::Idempotency(Box::new(stored)));
        world.put(made.flow.clone(), Row::Flow(FlowRow { agent: "bot".to_owned(), steps: 1, ..FlowRow::default() }));
        let kept = KeptIntent {
            agent: "bot".to_owned(),
            flow: made.flow.entity.parts().0.to_owned(),
            proposal: name.clone(),
            effect_key: made.effect.entity.parts().0.to_owned(),
            valid_until: at.plus(Span::from_secs(30)),
            holds: Vec::new(),
            taken: Vec::new(),
        };
        let facts = IntentFacts::Kept(Box::new(kept));
        let intent = IntentRow { state: IntentState::Ready, accepted_at: at, facts, running: None };
        world.put(made.intent.clone(), Row::Intent(Box::new(intent)));
        world.put(made.effect.clone(), Row::Effect(EffectRow::by(name)));
        let untouched = || Row::Resource(ResourceRow::UNTOUCHED);
        world.update(&pool, untouched, |row| {
            if let Row::Resource(row) = row {
                row.held = row.held.checked_add(Decimal::from(1)).unwrap_or(row.held);
            }
        });
        world.update(
            &daily,
            || Row::Budget(Window::default()),
            |row| {
                if let Row::Budget(window) = row {
                    window.take(at, Span::from_secs(86_400), Decimal::from(1));
                }
            },
        );
        records.push(Sealed { leaf: "l".repeat(200), body: body.to_owned(), salt: [1; 16] });
    }
    records
}

fn decide(store: &mut SqliteStore, tenant: &Arc<str>, size: usize, body: &str) -> Result<(), StoreFault> {
    let (decisions, keys) = batch(tenant, size);
    let id = BatchId(uuid::Uuid::now_v7().as_u128());
    let mut fold = one_step(|world, at| fold(world, at, &decisions, tenant, body));
    store.transact(id, keys.into_iter().collect(), &mut fold).map(|_| ())
}

fn opened(path: &Path, tenant: &Arc<str>) -> Result<SqliteStore, StoreFault> {
    let mut store = SqliteStore::open(path, Arc::new(SystemClock))?;
    let bot = key(tenant, Entity::Agent("bot".to_owned()));
    let mut fold = one_step(|world, _| {
        if world.get(&bot) == Loaded::Absent {
            world.put(bot.clone(), Row::Agent(Box::new(AgentRow::active())));
        }
        Vec::new()
    });
    store.transact(BatchId(0), vec![bot.clone()], &mut fold)?;
    drop(fold);
    Ok(store)
}

fn stored(path: &Path, size: usize, decisions: usize) -> Result<f64, StoreFault> {
    let tenant: Arc<str> = Arc::from("default");
    let mut store = opened(path, &tenant)?;
    let body = "b".repeat(600);
    let rounds = decisions.div_ceil(size);
    let started = Moment::now();
    for _ in 0..rounds {
        decide(&mut store, &tenant, size, &body)?;
    }
    Ok((rounds * size) as f64 / started.elapsed().as_secs_f64())
}

/// How long a hook's single decision waits for a writer that never rests.
fn beside_a_busy_writer(path: &Path) -> Result<(Duration, Duration), Box<dyn std::error::Error>> {
    let tenant: Arc<str> = Arc::from("default");
    let mut busy = opened(path, &tenant)?;
    let mut single = opened(path, &tenant)?;
    let stop = Arc::new(AtomicBool::new(false));
    let body = "b".repeat(600);
    let writer = {
        let (stop, tenant, body) = (stop.clone(), tenant.clone(), body.clone());
        std::thread::spawn(move || -> Result<(), StoreFault> {
            while !stop.load(Ordering::SeqCst) {
                decide(&mut busy, &tenant, 512, &body)?;
            }
            Ok(())
        })
    };
    let mut waits = Vec::new();
    for _ in 0..60 {
        let started = Moment::now();
        decide(&mut single, &tenant, 1, &body)?;
        waits.push(started.elapsed());
        std::thread::sleep(Duration::from_millis(7));
    }
    stop.store(true, Ordering::SeqCst);
    writer.join().map_err(|_| "the busy writer panicked")??;
    waits.sort();
    let median = waits.get(waits.len() / 2).copied().unwrap_or_default();
    Ok((median, waits.last().copied().unwrap_or_default()))
}

//! What a durable decision costs, thread by thread: `durable_cost FOLDER [SECONDS] [IN_FLIGHT]`.
//!
//! The load of `writkeeper bench` by itself, for a profiler; afterwards the processor time of every thread that was
//! there, divided by the decisions, and plain rows of the same disk by turns.

use adapters::measure::RawSqlite;
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::agent::Actor;
use kernel::command::Door;
use kernel::outcome::Verdict;
use runtime::{Arrival, Minted, Options, Pending, Runtime};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Agents that share the load; one alone would be held to its share of a batch.
const AGENTS: u64 = 8;

/// How long a turn of rows or of decisions takes.
const TURN: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: durable_cost FOLDER [SECONDS] [IN_FLIGHT]")?;
    let seconds: u64 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let in_flight: usize = arguments.next().map_or(Ok(512), |text| text.parse())?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let mut raw = RawSqlite::open(folder.join("raw.db"))?;
    let runtime = started(&folder.join("durable.db"))?;
    let (mut rows, mut rates, mut decided) = (Vec::new(), Vec::new(), 0_u64);
    let mut used: BTreeMap<String, f64> = BTreeMap::new();
    for _ in 0..(seconds * 1_000 / (2 * TURN.as_millis() as u64)).max(1) {
        rows.push(raw.insert(in_flight, TURN)?);
        let proposals: Vec<String> = (0..100_000).map(proposal).collect();
        let before = processor_time()?;
        let (count, rate) = decide(&runtime, &proposals, in_flight)?;
        for (thread, time) in processor_time()? {
            *used.entry(thread.clone()).or_default() += time - before.get(&thread).copied().unwrap_or_default();
        }
        rates.push(rate);
        decided += count;
    }
    let (rows, rate) = (median(rows), median(rates));
    println!("{rate:.0} decisions/s, {rows:.0} rows/s, ratio {:.3}", rate / rows);
    for (thread, time) in &used {
        println!("{:>7.2} us  {thread}", time * 1e6 / decided as f64);
    }
    println!("{:>7.2} us  together", used.values().sum::<f64>() * 1e6 / decided as f64);
    Ok(())
}

fn started(path: &Path) -> Result<Runtime, Box<dyn Error>> {
    let store = SqliteStore::open(path, Arc::new(SystemClock))?;
    let runtime = Runtime::start(Box::new(store), Options::default())?;
    for agent in 0..AGENTS {
        let text = format!(
            "agent: bench-{agent}\nactions:\n  pay:\n    once: \"pay:{{order}}\"\n    params: {{ order: text, amount: number, note: text }}\n    allow: amount <= 25\n    budget: {{ sum: amount, max: 1000000000, per: 24h }}\n"
        );
        let loaded = engines::load::load(&text).map_err(|errors| format!("{errors:?}"))?;
        let contract = Arc::new(loaded.compiled);
        let operator = || Actor::Operator("bench".to_owned());
        runtime.register(operator(), contract.clone(), None, None).wait();
        runtime.activate(operator(), contract).wait();
    }
    Ok(runtime)
}

fn proposal(number: u64) -> String {
    let (agent, key, order) = (number % AGENTS, Minted::id(), Minted::id());
    format!(
        r#"{{"agent":"bench-{agent}","action":"pay","idempotency_key":"{key}","params":{{"order":"{order}","amount":12.5,"note":"arrived broken"}},"justification":"the customer sent a photo"}}"#
    )
}

fn decide(runtime: &Runtime, proposals: &[String], in_flight: usize) -> Result<(u64, f64), Box<dyn Error>> {
    let mut waiting: VecDeque<Pending> = VecDeque::new();
    let (started, mut count) = (Instant::now(), 0);
    for text in proposals {
        if started.elapsed() >= TURN {
            break;
        }
        waiting.push_back(runtime.judge(text.as_bytes(), Arrival::through(Door::PURE)));
        if waiting.len() >= in_flight {
            count += answered(waiting.pop_front())?;
        }
    }
    while !waiting.is_empty() {
        count += answered(waiting.pop_front())?;
    }
    Ok((count, count as f64 / started.elapsed().as_secs_f64()))
}

fn answered(pending: Option<Pending>) -> Result<u64, Box<dyn Error>> {
    let Some(pending) = pending else { return Ok(0) };
    let answered = pending.wait();
    if answered.answer.verdict == Verdict::Accept { Ok(1) } else { Err(answered.answer.to_line().into()) }
}

/// Seconds of the processor that each thread of this process has used, those that ended as one.
fn processor_time() -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let mut used = BTreeMap::new();
    let mut living = 0.0;
    for entry in std::fs::read_dir("/proc/self/task")? {
        let folder = entry?.path();
        let name = std::fs::read_to_string(folder.join("comm"))?;
        let time = std::fs::read_to_string(folder.join("schedstat"))?;
        let seconds = time.split(' ').next().ok_or("no time")?.parse::<f64>()? / 1e9;
        living += seconds;
        *used.entry(name.trim().to_owned()).or_default() += seconds;
    }
    let whole = std::fs::read_to_string("/proc/self/stat")?;
    let behind_name = whole.rsplit(')').next().ok_or("no name")?;
    let ticks = behind_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    used.insert("(ended)".to_owned(), (ticks / 100.0 - living).max(0.0));
    Ok(used)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

//! Durable decisions beside the physical limit of the same disk in the same run, growth, and one kill.

use crate::terminal::note;
use adapters::location::{Location, OpenOptions, open_store};
use adapters::measure::RawSqlite;
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use anyhow::{Context as _, anyhow};
use engines::load::load;
use kernel::agent::Actor;
use kernel::command::Door;
use kernel::outcome::Verdict;
use kernel::world::{Entity, FlowRow, Key, Row};
use runtime::ports::store::{BatchId, Store, one_step};
use runtime::{Arrival, Minted, Options, Pending, Runtime};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use values::ids::TENANT_DEFAULT;

/// Decisions waiting at the same time.
const IN_FLIGHT: [usize; 3] = [1, 64, 512];

/// Turns that raw rows and decisions take, a quarter of a figure's time each.
pub(super) const TURNS: usize = 9;

/// Agents that share the load; one alone would be held to its share of a batch.
const AGENTS: usize = 8;

/// Proposals that are written before a turn.
const TEXTS: usize = 40_000;

/// Rows of one transaction while a store is filled.
const FILL_ROWS: u64 = 5_000;

/// A folder beside the current one's files that goes away again: the disk that counts is the one a store would use.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> anyhow::Result<Folder> {
        let path = PathBuf::from(format!(".writkeeper-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create `{}`", path.display()))?;
        Ok(Folder(path))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.0).is_err() {
            note(&format!("`{}` could not be removed", self.0.display()));
        }
    }
}

/// All figures that need a disk.
pub fn figures(budget: Duration, growth: bool) -> anyhow::Result<Map<String, Value>> {
    let folder = Folder::new()?;
    let mut raw = Map::new();
    let mut durable = Map::new();
    let mut pragmas = json!(null);
    for in_flight in IN_FLIGHT {
        let mut limit = RawSqlite::open(folder.file(&format!("raw-{in_flight}.db")))?;
        let (synchronous, journal_mode) = limit.durability()?;
        pragmas = json!({ "synchronous": synchronous, "journal_mode": journal_mode });
        let path = folder.file(&format!("durable-{in_flight}.db"));
        let mut load = Load::start(&path, in_flight, Keys::Ordered)?;
        let (mut rows, mut decided) = (Vec::new(), Vec::new());
        // By turns on the same disk: a busy moment falls on both sides, and the middle of many turns is on neither.
        for _ in 0..TURNS {
            rows.push(limit.insert(in_flight, budget / 4)?);
            decided.push(load.run(budget / 4)?);
        }
        let (rows, decided) = (median(rows), median(decided));
        raw.insert(in_flight.to_string(), json!({ "rows_per_s": rows.round() }));
        let mut figures = load.finish(&path, decided)?;
        if let Some(members) = figures.as_object_mut() {
            members.insert("ratio_to_raw".to_owned(), json!(decided / rows.max(1.0)));
        }
        durable.insert(in_flight.to_string(), figures);
    }
    let mut all = Map::new();
    all.insert("raw_sqlite".to_owned(), Value::Object(raw));
    all.insert("durable".to_owned(), Value::Object(durable));
    all.insert("pragma".to_owned(), pragmas);
    all.extend(super::proof::figures(&folder, budget)?);
    all.insert("killed".to_owned(), killed(&folder, budget)?);
    if growth {
        all.insert("growth".to_owned(), grown(&folder, budget)?);
    }
    Ok(all)
}

/// How idempotency keys and flows arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// In order of time, as our doors mint them.
    Ordered,
    /// In no order, as a caller may choose them.
    Random,
}

impl Keys {
    fn key(self) -> String {
        match self {
            Keys::Ordered => Minted::id(),
            Keys::Random => Minted::random_id(),
        }
    }
}

/// A runtime on a tenant of a store, with the agents of the benchmark where nobody has made them yet. Their contracts say something more, where that is measured.
fn start(location: &Location, tenant: &str, more: &str) -> anyhow::Result<Runtime> {
    let store = open_store(location, tenant, Arc::new(SystemClock), OpenOptions::default())?;
    let runtime = Runtime::start(store, Options::default())?;
    for agent in 0..AGENTS {
        if runtime.read(Entity::Agent(format!("bench-{agent}")))?.is_some() {
            continue;
        }
        let loaded = load(&(contract(agent as u64) + more))
            .map_err(|errors| anyhow!("the benchmark's contract is broken: {errors:?}"))?;
        let contract = Arc::new(loaded.compiled);
        let operator = || Actor::Operator("bench".to_owned());
        for answered in [
            runtime.register(operator(), contract.clone(), None, None).wait(),
            runtime.activate(operator(), contract.clone()).wait(),
        ] {
            if answered.answer.verdict != Verdict::Accept {
                return Err(anyhow!("the benchmark's agent was refused: {}", answered.answer.to_line()));
            }
        }
    }
    Ok(runtime)
}

/// What an agent of the benchmark may do.
pub(super) fn contract(agent: u64) -> String {
    format!(
        "agent: bench-{agent}\nactions:\n  pay:\n    once: \"pay:{{order}}\"\n    params: {{ order: text, amount: number, note: text }}\n    allow: amount <= 25\n    budget: {{ sum: amount, max: 1000000000, per: 24h }}\n"
    )
}

pub(super) fn proposal(number: u64, keys: Keys) -> String {
    let agent = number % AGENTS as u64;
    let (key, order) = (keys.key(), keys.key());
    format!(
        r#"{{"agent":"bench-{agent}","action":"pay","idempotency_key":"{key}","params":{{"order":"{order}","amount":12.5,"note":"arrived broken"}},"justification":"the customer sent a photo"}}"#
    )
}

/// A runtime under load: so many in flight, and what counts was answered, so it is durable.
pub(super) struct Load {
    runtime: Runtime,
    in_flight: usize,
    keys: Keys,
    number: u64,
    /// What will be proposed, written before anybody looks at the clock: agents think elsewhere.
    texts: VecDeque<String>,
    waiting: VecDeque<(Instant, Pending)>,
    /// How long each answer took, in nanoseconds.
    times: Vec<u64>,
    size_before: u64,
}

impl Load {
    pub(super) fn start(path: &Path, in_flight: usize, keys: Keys) -> anyhow::Result<Load> {
        Load::start_in(&Location::Sqlite(path.to_path_buf()), TENANT_DEFAULT, in_flight, keys)
    }

    /// On a tenant of any store.
    pub(super) fn start_in(location: &Location, tenant: &str, in_flight: usize, keys: Keys) -> anyhow::Result<Load> {
        Load::start_with(location, tenant, in_flight, keys, "")
    }

    /// Under contracts that say something more.
    pub(super) fn start_with(
        location: &Location,
        tenant: &str,
        in_flight: usize,
        keys: Keys,
        more: &str,
    ) -> anyhow::Result<Load> {
        let runtime = start(location, tenant, more)?;
        let size_before = runtime.size()?;
        let (texts, waiting) = (VecDeque::new(), VecDeque::new());
        Ok(Load { runtime, in_flight, keys, number: 0, texts, waiting, times: Vec::new(), size_before })
    }

    /// Decides for so long and waits for the last answers; says how many there were a second.
    pub(super) fn run(&mut self, time: Duration) -> anyhow::Result<f64> {
        let started = Instant::now();
        self.decide(&|_| started.elapsed() >= time)
    }

    /// Decides so often; says how many there were a second.
    pub(super) fn run_times(&mut self, count: u64) -> anyhow::Result<f64> {
        self.decide(&|asked| asked >= count)
    }

    /// Asks by itself for what may have been decided before; how long the answer took.
    pub(super) fn again(&self, text: &str) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        let answered = self.runtime.judge(text.as_bytes(), Arrival::through(Door::PURE)).wait();
        if answered.answer.verdict != Verdict::Accept {
            return Err(anyhow!("the benchmark measures acceptances, not {}", answered.answer.to_line()));
        }
        Ok(begin.elapsed())
    }

    /// Decides until it is over, by how many were asked.
    fn decide(&mut self, is_over: &dyn Fn(u64) -> bool) -> anyhow::Result<f64> {
        // What is missing is written on the way.
        while self.texts.len() < TEXTS {
            let text = self.text();
            self.texts.push_back(text);
        }
        let (started, before, mut asked) = (Instant::now(), self.times.len(), 0);
        while !is_over(asked) {
            while self.waiting.len() < self.in_flight && !is_over(asked) {
                let text = self.texts.pop_front().unwrap_or_else(|| self.text());
                let begin = Instant::now();
                let pending = self.runtime.judge(text.as_bytes(), Arrival::through(Door::PURE));
                self.waiting.push_back((begin, pending));
                asked += 1;
            }
            self.answer()?;
        }
        while !self.waiting.is_empty() {
            self.answer()?;
        }
        Ok((self.times.len() - before) as f64 / started.elapsed().as_secs_f64())
    }

    /// How many entries the ledger has.
    pub(super) fn size(&self) -> anyhow::Result<u64> {
        Ok(self.runtime.size()?)
    }

    /// Begins to count anew: ten million times are of no use to anybody.
    pub(super) fn forget_times(&mut self) {
        self.times.clear();
    }

    fn text(&mut self) -> String {
        self.number += 1;
        proposal(self.number, self.keys)
    }

    fn answer(&mut self) -> anyhow::Result<()> {
        let Some((begin, pending)) = self.waiting.pop_front() else { return Ok(()) };
        let answered = pending.wait();
        self.times.push(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if answered.answer.verdict == Verdict::Accept {
            return Ok(());
        }
        Err(anyhow!("the benchmark measures acceptances, not {}", answered.answer.to_line()))
    }

    /// How long the answer took that so many of a thousand were faster than, in microseconds.
    pub(super) fn percentile(&mut self, share: usize) -> f64 {
        self.times.sort_unstable();
        self.times.get(self.times.len() * share / 1000).copied().unwrap_or_default() as f64 / 1_000.0
    }

    /// Closes the store, opens it again and counts.
    fn finish(self, path: &Path, rate: f64) -> anyhow::Result<Value> {
        self.finish_in(&Location::Sqlite(path.to_path_buf()), TENANT_DEFAULT, rate)
    }

    /// The same of a tenant of any store.
    pub(super) fn finish_in(self, location: &Location, tenant: &str, rate: f64) -> anyhow::Result<Value> {
        let Load { runtime, mut times, size_before, .. } = self;
        drop(runtime);
        let store = open_store(location, tenant, Arc::new(SystemClock), OpenOptions::default())?;
        let stored = store.reader()?.size()? - size_before;
        if stored != times.len() as u64 {
            return Err(anyhow!("{} decisions were acknowledged and {stored} are stored", times.len()));
        }
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 1000).copied().unwrap_or_default() as f64 / 1_000.0;
        Ok(json!({
            "decisions_per_s": rate.round(),
            "p50_us": at(500).round(),
            "p99_us": at(990).round(),
            "acknowledged": times.len(),
            "found_after_reopening": stored,
        }))
    }
}

pub(super) fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

/// The rate on a store with few and with many flows, with ordered keys and with random ones, by turns.
fn grown(folder: &Folder, budget: Duration) -> anyhow::Result<Value> {
    let mut figures = Map::new();
    let mut cost = None;
    for (kind, keys) in [("uuid_v7", Keys::Ordered), ("random", Keys::Random)] {
        let path = |name: &str| folder.file(&format!("growth-{name}-{kind}.db"));
        let (few, many) = (path("1e3"), path("1e6"));
        fill(&few, 1_000, keys)?;
        fill(&many, 1_000_000, keys)?;
        let (mut of_few, mut of_many) = (Load::start(&few, 512, keys)?, Load::start(&many, 512, keys)?);
        let (mut rates_few, mut rates_many) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            rates_few.push(of_few.run(budget / 4)?);
            rates_many.push(of_many.run(budget / 4)?);
        }
        let (rate_few, rate_many) = (median(rates_few), median(rates_many));
        for (name, load, path, rate) in [("1e3", of_few, few, rate_few), ("1e6", of_many, many, rate_many)] {
            let measured = load.finish(&path, rate)?;
            let rate = measured.get("decisions_per_s").cloned().unwrap_or_default();
            let row = figures.entry(name).or_insert_with(|| json!({}));
            if let Some(row) = row.as_object_mut() {
                row.insert(kind.to_owned(), rate);
            }
            std::fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
        cost = cost.or(Some(rate_few / rate_many.max(1.0)));
    }
    figures.insert("cost_of_1e6_over_1e3".to_owned(), json!(cost));
    Ok(Value::Object(figures))
}

/// Flows and effects as so many decisions would have left them; only the records are missing.
fn fill(path: &Path, flows: u64, keys: Keys) -> anyhow::Result<()> {
    let mut store = SqliteStore::open(path, Arc::new(SystemClock))?;
    let tenant: Arc<str> = Arc::from(TENANT_DEFAULT);
    let mut left = flows;
    while left > 0 {
        let now = left.min(FILL_ROWS);
        left -= now;
        let mut fold = one_step(|world, at| {
            for _ in 0..now {
                let key = |entity| Key { tenant: tenant.clone(), entity };
                let flow = FlowRow { agent: "bench-0".to_owned(), opened_at: Some(at), steps: 1, ..FlowRow::default() };
                world.put(key(Entity::Flow(keys.key())), Row::Flow(flow));
                let effect = kernel::world::EffectRow { done: true, ..kernel::world::EffectRow::by(Minted::id()) };
                world.put(key(Entity::Effect(format!("pay:{}", keys.key()))), Row::Effect(effect));
            }
            Vec::new()
        });
        store.transact(BatchId(Minted::batch()), Vec::new(), &mut fold)?;
    }
    Ok(())
}

/// A writer of its own is killed in the middle; whatever it acknowledged must be there.
fn killed(folder: &Folder, budget: Duration) -> anyhow::Result<Value> {
    let path = folder.file("killed.db");
    let mut child = Command::new(std::env::current_exe()?)
        .arg("bench-writer")
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start a second writer")?;
    let output = child.stdout.take().context("the second writer has no output")?;
    let mut acknowledged = BTreeSet::new();
    let mut lines = BufReader::new(output).lines();
    let started = Instant::now();
    while started.elapsed() < budget
        && let Some(line) = lines.next()
    {
        acknowledged.insert(line?);
    }
    child.kill().context("cannot kill the second writer")?;
    // What it said before it died counts too; a line cut short does not.
    acknowledged.extend(lines.map_while(Result::ok).filter(|line| line.len() == 36));
    child.wait()?;
    let mut reader = SqliteStore::open(&path, Arc::new(SystemClock))?.reader()?;
    let (mut stored, mut from) = (BTreeSet::new(), 0);
    loop {
        let page = reader.records(from, 1_000)?;
        let Some(last) = page.last() else { break };
        from = last.index + 1;
        for (body, _) in page.iter().filter_map(|record| record.body.as_ref()) {
            let body: Value = serde_json::from_str(body)?;
            if let Some(id) = body.get("proposal_id").and_then(Value::as_str) {
                stored.insert(id.to_owned());
            }
        }
    }
    let missing = acknowledged.difference(&stored).count();
    Ok(json!({ "acknowledged": acknowledged.len(), "stored": stored.len(), "missing": missing }))
}

/// `writkeeper bench-writer PATH`: decides and says what was acknowledged, until it is killed.
pub fn write_until_killed(args: &crate::cli::BenchWriterArgs) -> anyhow::Result<crate::exit::Exit> {
    let runtime = start(&args.store.parse()?, &args.tenant, "")?;
    let mut output = std::io::stdout().lock();
    let mut tell = |pending: Pending| -> anyhow::Result<()> {
        let answered = pending.wait();
        // Only what was decided is in the store; "not now" acknowledges nothing.
        if answered.at.is_none() {
            return Err(anyhow!("nothing was decided: {}", answered.answer.to_line()));
        }
        if args.silent {
            return Ok(());
        }
        writeln!(output, "{}", answered.answer.id)?;
        Ok(output.flush()?)
    };
    let mut waiting: VecDeque<Pending> = VecDeque::new();
    for number in 0..args.count {
        waiting.push_back(runtime.judge(proposal(number, Keys::Ordered).as_bytes(), Arrival::through(Door::PURE)));
        if waiting.len() >= args.in_flight
            && let Some(pending) = waiting.pop_front()
        {
            tell(pending)?;
        }
    }
    waiting.into_iter().try_for_each(tell)?;
    Ok(crate::exit::Exit::Fine)
}

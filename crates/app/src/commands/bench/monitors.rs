//! What three monitors cost a durable decision, and how fast `contract backtest` reads what was decided under them.

use super::durable::{Folder, Keys, Load, contract, median};
use crate::terminal::note;
use adapters::location::Location;
use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use values::ids::TENANT_DEFAULT;

/// Decisions waiting at the same time.
const IN_FLIGHT: usize = 512;

/// Turns of each contract. Each is compared with the one beside it, so that whatever else the machine does falls on both.
const PAIRS: usize = 101;

/// Decisions of the shorter history that is judged again.
const HISTORY: u64 = 50_000;

/// How often the memory of a backtest is looked at; what is read is its peak, so that only the last look matters.
const LOOK: Duration = Duration::from_millis(10);

/// One monitor of each way to be moved: by a param, by a verdict, by a statistic over a param. None of them trips.
const WATCH: &str = "watch:
  size: { mean: params.amount, max: 20, over: 50 }
  refused: { share: verdict.rejected, max: 0.5, over: 200 }
  rate: { e_sr: params.amount, m0: 15, low: 0, high: 25, arl: 1000000 }
";

/// The rates of a contract without and with monitors, by turns, and of backtests of a watched history of two lengths.
pub fn figures(budget: Duration, records: Option<u64>) -> anyhow::Result<Value> {
    let folder = Folder::new()?;
    let mut backtests = Vec::new();
    let mut history = start(&folder.file("history.db"), WATCH)?;
    let mut decided = 0;
    for size in [Some(HISTORY), records.filter(|records| *records > HISTORY)].into_iter().flatten() {
        history.run_times(size - decided)?;
        history.forget_times();
        decided = size;
        note(&format!("{decided} decisions to judge again"));
        backtests.push(json!({
            "unchanged": backtest(&folder, &(contract(0) + WATCH))?,
            "tighter": backtest(&folder, &(contract(0).replace("amount <= 25", "amount <= 12") + WATCH))?,
        }));
    }
    drop(history);
    let mut figures = cost(&folder, budget)?;
    if let Some(members) = figures.as_object_mut() {
        members.insert("backtest".to_owned(), Value::Array(backtests));
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        members.insert("machine".to_owned(), json!({ "cores": cores, "build": super::build() }));
    }
    Ok(figures)
}

fn start(path: &Path, more: &str) -> anyhow::Result<Load> {
    Load::start_with(&Location::Sqlite(path.to_path_buf()), TENANT_DEFAULT, IN_FLIGHT, Keys::Ordered, more)
}

fn cost(folder: &Folder, budget: Duration) -> anyhow::Result<Value> {
    let (plain, watched) = (folder.file("plain.db"), folder.file("watched.db"));
    let (mut without, mut with) = (start(&plain, "")?, start(&watched, WATCH)?);
    let (mut rates_without, mut rates_with) = (Vec::new(), Vec::new());
    let (mut added, mut added_cpu) = (Vec::new(), Vec::new());
    let turn = budget / 4;
    without.run(turn)?;
    with.run(turn)?;
    for pair in 0..PAIRS {
        // Who goes first changes, because what one leaves to the disk the next one waits for.
        let (one, other) = if pair % 2 == 0 {
            let one = measured(&mut without, turn)?;
            (one, measured(&mut with, turn)?)
        } else {
            let other = measured(&mut with, turn)?;
            (measured(&mut without, turn)?, other)
        };
        rates_without.push(one.rate);
        rates_with.push(other.rate);
        added.push(one.rate / other.rate.max(1.0) - 1.0);
        added_cpu.extend(other.cpu.zip(one.cpu).map(|(with, without)| with / without.max(1.0) - 1.0));
    }
    let (rate_without, rate_with) = (median(rates_without), median(rates_with));
    let without = without.finish_in(&Location::Sqlite(plain), TENANT_DEFAULT, rate_without)?;
    let with = with.finish_in(&Location::Sqlite(watched), TENANT_DEFAULT, rate_with)?;
    let mut figures = json!({ "in_flight": IN_FLIGHT, "pairs": PAIRS, "without": without, "with_three": with });
    if let Some(members) = figures.as_object_mut() {
        // Beside other programs time says little, and what a decision costs the processor says nearly the same as ever.
        for (name, mut shares) in [("added_share", added), ("added_cpu_share", added_cpu)] {
            let (low, high) = interval_of_median(&mut shares);
            members.insert(format!("{name}_95"), json!([rounded(low), rounded(high)]));
            members.insert(name.to_owned(), json!(rounded(median(shares))));
        }
    }
    Ok(figures)
}

/// What one turn came to.
struct Turn {
    rate: f64,
    /// Nanoseconds of processor for a decision, where the system tells.
    cpu: Option<f64>,
}

fn measured(load: &mut Load, time: Duration) -> anyhow::Result<Turn> {
    let (size, before) = (load.size()?, cpu_nanos());
    let rate = load.run(time)?;
    let (decisions, after) = (load.size()? - size, cpu_nanos());
    let cpu = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64 / decisions.max(1) as f64);
    Ok(Turn { rate, cpu })
}

/// How long the threads of this process were on a processor.
fn cpu_nanos() -> Option<u64> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let nanos = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    Some(threads.filter_map(|thread| nanos(thread.ok()?.path())).sum())
}

fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}

/// Between which two values the median of what was sampled lies in 95 of 100 cases, whatever the distribution: the number of
/// values below it is binomial.
fn interval_of_median(values: &mut [f64]) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len() as f64;
    let below = ((count - 1.96 * count.sqrt()) / 2.0).floor().max(0.0) as usize;
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    (at(below), at(values.len().saturating_sub(below + 1)))
}

/// Runs `contract backtest` on the history as anybody would.
fn backtest(folder: &Folder, candidate: &str) -> anyhow::Result<Value> {
    let (file, said) = (folder.file("candidate.yaml"), folder.file("said.jsonl"));
    std::fs::write(&file, candidate).with_context(|| format!("cannot write `{}`", file.display()))?;
    let output = std::fs::File::create(&said).with_context(|| format!("cannot write `{}`", said.display()))?;
    let started = Instant::now();
    let mut process = Command::new(std::env::current_exe()?)
        .args(["contract", "backtest", "--json", "--store"])
        .args([folder.file("history.db"), file])
        .stdin(Stdio::null())
        .stdout(output)
        .spawn()?;
    let mut peak = None;
    let ended = loop {
        peak = peak_memory(process.id()).or(peak);
        if let Some(status) = process.try_wait()? {
            break status;
        }
        std::thread::sleep(LOOK);
    };
    let took = started.elapsed().as_secs_f64();
    let said = std::fs::read_to_string(&said)?;
    let last = said.lines().last().ok_or_else(|| anyhow!("the backtest ended with {ended} and said nothing"))?;
    let mut counts: Value = serde_json::from_str(last)?;
    let decisions = counts.get("decisions").and_then(Value::as_f64).unwrap_or_default();
    if let Some(members) = counts.as_object_mut() {
        members.insert("decisions_per_s".to_owned(), json!((decisions / took).round()));
        members.insert("peak_memory_mib".to_owned(), json!(peak));
    }
    Ok(counts)
}

/// The most memory that a process had, in MiB, where the system tells.
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib / 1_024)
}

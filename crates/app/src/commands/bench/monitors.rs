//! What three monitors cost a durable decision, and how fast a backtest reads what was decided under them.

use super::durable::{Folder, Keys, Load, TURNS, contract, median};
use adapters::location::Location;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use values::ids::TENANT_DEFAULT;
use writkeeper::backtest::{Candidate, Counts, Flip, Listener, of_store};

/// Decisions waiting at the same time.
const IN_FLIGHT: usize = 512;

/// One monitor of each way to be moved: by a param, by a verdict, by a statistic over a param. None of them trips.
const WATCH: &str = "watch:
  size: { mean: params.amount, max: 20, over: 50 }
  refused: { share: verdict.rejected, max: 0.5, over: 200 }
  rate: { e_sr: params.amount, m0: 15, low: 0, high: 25, arl: 1000000 }
";

/// The rates of a contract without and with monitors, by turns, and of backtests of the watched history.
pub fn figures(budget: Duration) -> anyhow::Result<Value> {
    let folder = Folder::new()?;
    let (plain, watched) = (folder.file("plain.db"), folder.file("watched.db"));
    let start = |path: &Path, more: &str| {
        Load::start_with(&Location::Sqlite(path.to_path_buf()), TENANT_DEFAULT, IN_FLIGHT, Keys::Ordered, more)
    };
    let (mut without, mut with) = (start(&plain, "")?, start(&watched, WATCH)?);
    let (mut rates_without, mut rates_with) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        rates_without.push(without.run(budget / 4)?);
        rates_with.push(with.run(budget / 4)?);
    }
    let (rate_without, rate_with) = (median(rates_without), median(rates_with));
    let without = without.finish_in(&Location::Sqlite(plain), TENANT_DEFAULT, rate_without)?;
    let with = with.finish_in(&Location::Sqlite(watched.clone()), TENANT_DEFAULT, rate_with)?;
    Ok(json!({
        "in_flight": IN_FLIGHT,
        "without": without,
        "with_three": with,
        "added_share": rate_without / rate_with.max(1.0) - 1.0,
        "backtest": {
            "unchanged": backtest(&watched, &(contract(0) + WATCH))?,
            "tighter": backtest(&watched, &(contract(0).replace("amount <= 25", "amount <= 12") + WATCH))?,
        },
    }))
}

fn backtest(path: &Path, candidate: &str) -> anyhow::Result<Value> {
    let contract = super::compile(candidate)?;
    let keeper = writkeeper::open(&path.display().to_string())?;
    let started = Instant::now();
    let Counts { decisions, flipped, unknown, .. } =
        of_store(keeper.runtime(), Candidate { contract, since: None }, &mut Silent)?;
    let rate = decisions as f64 / started.elapsed().as_secs_f64();
    let unknown: u64 = unknown.values().sum();
    Ok(json!({ "decisions": decisions, "flipped": flipped, "unknown": unknown, "decisions_per_s": rate.round() }))
}

/// Nobody listens.
struct Silent;

impl Listener for Silent {
    fn passed(&mut self, _entries: u64) -> bool {
        true
    }

    fn flipped(&mut self, _flip: &Flip) -> bool {
        true
    }
}

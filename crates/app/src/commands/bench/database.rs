//! Decisions on a database beside what it takes of plain rows, in the same run.

use super::durable::{Keys, Load, TURNS, median};
use crate::exit::{Exit, UsageError};
use crate::terminal::say;
use adapters::location::Location;
use adapters::store_postgres::{RawPostgres, Settings};
use anyhow::{Context as _, anyhow};
use serde_json::{Map, Value, json};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Decisions waiting at the same time.
const IN_FLIGHT: [usize; 3] = [1, 64, 512];

/// Decisions of each process where several share a database.
const SHARED_COUNT: u64 = 20_000;

/// Measures a database and says it.
pub fn run(store: &str, budget: Duration, is_json: bool) -> anyhow::Result<Exit> {
    let location: Location = store.parse()?;
    let Location::Postgres(address) = &location else {
        return Err(
            UsageError(format!("--store `{store}` is no database; give postgres://USER@HOST:PORT/DATABASE")).into()
        );
    };
    // What is measured stays in the ledger of this tenant, and nobody else's is touched.
    let tenant = format!("bench-{}", runtime::Minted::id());
    let settings = Settings::of(address)?;
    let (mut raw, mut durable) = (Map::new(), Map::new());
    for in_flight in IN_FLIGHT {
        let mut limit = RawPostgres::open(address)?;
        let mut load = Load::start_in(&location, &tenant, in_flight, Keys::Ordered)?;
        let (mut rows, mut decided) = (Vec::new(), Vec::new());
        // By turns on the same server: a busy moment falls on both sides.
        for _ in 0..TURNS {
            rows.push(limit.insert(in_flight, budget / 4)?);
            decided.push(load.run(budget / 4)?);
        }
        limit.end()?;
        let (rows, decided) = (median(rows), median(decided));
        raw.insert(in_flight.to_string(), json!({ "rows_per_s": rows.round() }));
        let mut figures = load.finish_in(&location, &tenant, decided)?;
        if let Some(members) = figures.as_object_mut() {
            members.insert("ratio_to_raw".to_owned(), json!(decided / rows.max(1.0)));
        }
        durable.insert(in_flight.to_string(), figures);
    }
    let mut processes = Map::new();
    for count in [1, 2] {
        let rate = shared(store, &tenant, count)?;
        processes.insert(count.to_string(), json!({ "decisions_per_s": rate.round() }));
    }
    let figures = json!({
        "raw_unnest": raw,
        "durable": durable,
        "processes": processes,
        "tenant": tenant,
        "database": {
            "version": settings.version, "fsync": settings.fsync, "synchronous_commit": settings.synchronous_commit,
        },
        "machine": {
            "cores": std::thread::available_parallelism().map_or(0, usize::from), "build": super::build(),
        },
    });
    if is_json {
        say!("{figures}");
    } else {
        tell(&figures)?;
    }
    Ok(Exit::Fine)
}

/// So many processes decide on one tenant at the same time; decisions a second together, without their start.
fn shared(store: &str, tenant: &str, processes: u64) -> anyhow::Result<f64> {
    let binary = std::env::current_exe()?;
    let run = |count: u64| -> anyhow::Result<Duration> {
        let began = Instant::now();
        let children: Vec<_> = (0..processes)
            .map(|_| {
                let mut command = Command::new(&binary);
                command.args(["bench-writer", store, "--tenant", tenant, "--silent", "--in-flight", "512"]);
                command.args(["--count", &count.to_string()]).stdin(Stdio::null()).stdout(Stdio::null()).spawn()
            })
            .collect::<Result<_, _>>()
            .context("cannot start another writer")?;
        for mut child in children {
            let status = child.wait()?;
            if !status.success() {
                return Err(anyhow!("a writer ended with {status}"));
            }
        }
        Ok(began.elapsed())
    };
    let idle = run(1)?;
    let took = run(SHARED_COUNT)?.saturating_sub(idle);
    Ok((SHARED_COUNT * processes) as f64 / took.as_secs_f64().max(f64::MIN_POSITIVE))
}

fn tell(figures: &Value) -> anyhow::Result<()> {
    let number = |path: &str| figures.pointer(path).and_then(Value::as_f64).unwrap_or_default();
    say!("PostgreSQL {}", figures.pointer("/database/version").and_then(Value::as_str).unwrap_or_default());
    for in_flight in IN_FLIGHT {
        say!(
            "{in_flight:>5} in flight  {:>8.0} decisions/s   {:>8.0} plain rows/s   {:.2} of them   p99 {:.0} µs",
            number(&format!("/durable/{in_flight}/decisions_per_s")),
            number(&format!("/raw_unnest/{in_flight}/rows_per_s")),
            number(&format!("/durable/{in_flight}/ratio_to_raw")),
            number(&format!("/durable/{in_flight}/p99_us")),
        );
    }
    for processes in [1, 2] {
        let rate = number(&format!("/processes/{processes}/decisions_per_s"));
        say!("{processes:>5} process{}  {rate:>8.0} decisions/s", if processes == 1 { "   " } else { "es " });
    }
    Ok(())
}

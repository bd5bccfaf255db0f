//! A store that grows: what a decision costs at every power of ten of them.

use super::durable::{Folder, Keys, Load, median, proposal};
use crate::exit::{Exit, UsageError};
use crate::terminal::{counted, note, say};
use adapters::location::Location;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};
use values::ids::TENANT_DEFAULT;

/// Decisions waiting at the same time.
const IN_FLIGHT: usize = 512;

/// The first look; before it everything is in memory anyway.
const FIRST: u64 = 1_000;

/// Turns of each look, a quarter of a figure's time each.
const TURNS: usize = 5;

/// Decisions of the beginning that are asked for again at every look.
const ASKED_AGAIN: u64 = 200;

/// Fills a store and says what it found on the way.
pub fn run(store: Option<&str>, records: u64, budget: Duration, is_json: bool) -> anyhow::Result<Exit> {
    let location: Option<Location> = store.map(str::parse).transpose()?;
    let figures = match location {
        None => {
            let folder = Folder::new()?;
            grown(&Location::Sqlite(folder.file("records.db")), TENANT_DEFAULT, records, budget)?
        }
        Some(location @ Location::Postgres(_)) => {
            grown(&location, &format!("bench-{}", runtime::Minted::id()), records, budget)?
        }
        Some(Location::Sqlite(_) | Location::Memory) => {
            let problem = "--store is no database; leave it out for a file, or give postgres://USER@HOST:PORT/DATABASE";
            return Err(UsageError(problem.to_owned()).into());
        }
    };
    if is_json {
        say!("{figures}");
    } else {
        tell(&figures)?;
    }
    Ok(Exit::Fine)
}

fn grown(location: &Location, tenant: &str, records: u64, budget: Duration) -> anyhow::Result<Value> {
    let mut load = Load::start_in(location, tenant, IN_FLIGHT, Keys::Ordered)?;
    // Decided first, so that they lie deepest.
    let early: Vec<String> = (0..ASKED_AGAIN).map(|number| proposal(number, Keys::Ordered)).collect();
    early.iter().try_for_each(|text| load.again(text).map(|_| ()))?;
    let (started, mut looks, mut next) = (Instant::now(), Vec::new(), FIRST);
    loop {
        let mark = next.min(records);
        let missing = mark.saturating_sub(load.size()?);
        let filled = if missing > 0 { load.run_times(missing)? } else { 0.0 };
        let (mut rates, mut again) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            rates.push(load.run(budget / 4)?);
        }
        for text in &early {
            again.push(load.again(text)?.as_secs_f64() * 1e6);
        }
        note(&format!("{} after {} s", counted(load.size()?, "entry"), started.elapsed().as_secs()));
        looks.push(json!({
            "entries": load.size()?,
            "filled_per_s": filled.round(),
            "decisions_per_s": median(rates).round(),
            "asked_again_us": median(again).round(),
        }));
        load.forget_times();
        if mark == records {
            break;
        }
        next = next.saturating_mul(10);
    }
    let mut figures = Map::new();
    figures.insert("records".to_owned(), Value::Array(looks));
    figures.insert("tenant".to_owned(), json!(tenant));
    figures.insert(
        "machine".to_owned(),
        json!({
            "cores": std::thread::available_parallelism().map_or(0, usize::from), "build": super::build(),
        }),
    );
    Ok(Value::Object(figures))
}

fn tell(figures: &Value) -> anyhow::Result<()> {
    for look in figures.get("records").and_then(Value::as_array).into_iter().flatten() {
        let number = |name: &str| look.get(name).and_then(Value::as_f64).unwrap_or_default();
        say!(
            "{:>10} entries  {:>8.0} decisions/s   an old one asked again {:>6.0} µs",
            number("entries"),
            number("decisions_per_s"),
            number("asked_again_us"),
        );
    }
    Ok(())
}

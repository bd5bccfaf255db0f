//! A store that grows: what a decision costs at every power of ten of them.

use super::durable::{Folder, Keys, Load, median, proposal};
use crate::exit::{Exit, UsageError};
use crate::terminal::{counted, note, say};
use adapters::location::Location;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
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

/// Fills a store and says what it found on the way. At every look a fresh store is measured by turns with the grown one: what
/// other programs of the machine take meanwhile, they take from both.
pub fn run(
    (store, beside): (Option<&str>, Option<&str>),
    records: u64,
    budget: Duration,
    is_json: bool,
) -> anyhow::Result<Exit> {
    let locations = (store.map(str::parse).transpose()?, beside.map(str::parse).transpose()?);
    let folder = Folder::new()?;
    let figures = match locations {
        (None, None) => {
            let small = |look: usize| Place::file(folder.file(&format!("small-{look}.db")));
            grown(&Place::file(folder.file("records.db")), &small, records, budget)?
        }
        (Some(location @ Location::Postgres(_)), beside @ (None | Some(Location::Postgres(_)))) => {
            // Without a database of its own it shares tables and indices with the grown tenant.
            let small = |_| Place::tenant(beside.as_ref().unwrap_or(&location));
            grown(&Place::tenant(&location), &small, records, budget)?
        }
        (Some(_) | None, _) => {
            let problem = "--store is no database; leave it out for a file, or give postgres://USER@HOST:PORT/DATABASE, and \
                           --beside another one";
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

/// A tenant of a store.
struct Place {
    location: Location,
    tenant: String,
}

impl Place {
    fn file(path: PathBuf) -> Place {
        Place { location: Location::Sqlite(path), tenant: TENANT_DEFAULT.to_owned() }
    }

    /// Of its own, in a database that may hold others.
    fn tenant(location: &Location) -> Place {
        Place { location: location.clone(), tenant: format!("bench-{}", runtime::Minted::id()) }
    }

    fn load(&self) -> anyhow::Result<Load> {
        Load::start_in(&self.location, &self.tenant, IN_FLIGHT, Keys::Ordered)
    }
}

fn grown(place: &Place, small: &dyn Fn(usize) -> Place, records: u64, budget: Duration) -> anyhow::Result<Value> {
    let mut load = place.load()?;
    // Decided first, so that they lie deepest.
    let early: Vec<String> = (0..ASKED_AGAIN).map(|number| proposal(number, Keys::Ordered)).collect();
    early.iter().try_for_each(|text| load.again(text).map(|_| ()))?;
    let (started, mut looks, mut next) = (Instant::now(), Vec::new(), FIRST);
    loop {
        let mark = next.min(records);
        let missing = mark.saturating_sub(load.size()?);
        let filled = if missing > 0 { load.run_times(missing)? } else { 0.0 };
        let (mut rates, mut ratios, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let mut fresh = small(looks.len()).load()?;
        for turn in 0..TURNS {
            // Neither always comes first.
            let before = if turn % 2 == 0 { None } else { Some(fresh.run(budget / 4)?) };
            let rate = load.run(budget / 4)?;
            let beside = before.map_or_else(|| fresh.run(budget / 4), Ok)?;
            rates.push(rate);
            ratios.push(rate / beside);
        }
        drop(fresh);
        for text in &early {
            again.push(load.again(text)?.as_secs_f64() * 1e6);
        }
        note(&format!("{} after {} s", counted(load.size()?, "entry"), started.elapsed().as_secs()));
        looks.push(json!({
            "entries": load.size()?,
            "filled_per_s": filled.round(),
            "decisions_per_s": median(rates).round(),
            "beside_a_fresh_store": (median(ratios) * 100.0).round() / 100.0,
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
    figures.insert("tenant".to_owned(), json!(place.tenant));
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
            "{:>10} entries  {:>8.0} decisions/s, {:>4.2} of a fresh store's   an old one asked again {:>6.0} µs",
            number("entries"),
            number("decisions_per_s"),
            number("beside_a_fresh_store"),
            number("asked_again_us"),
        );
    }
    Ok(())
}

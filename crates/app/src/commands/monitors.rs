//! `writkeeper monitors …`: what watches agents, and a monitor over numbers of one's own.

mod trial;

use crate::cli::monitors::{MonitorsArgs, MonitorsCommand};
use crate::exit::Exit;
use crate::store;
use crate::terminal::{self, ATTENTION, FAINT, GOOD, STRONG, counted, paint, say};
use kernel::finding::visible;
use writkeeper::monitors::{self, MonitorSummary};

/// Cells of the chart.
const CELLS: u64 = 20;

/// Lists, or tries one.
pub fn run(args: &MonitorsArgs) -> anyhow::Result<Exit> {
    match args.command.as_ref().unwrap_or(&MonitorsCommand::List) {
        MonitorsCommand::List => list(&args.kept.store, args.kept.json),
        MonitorsCommand::Try { kind, settings } => trial::run(kind, settings),
    }
}

fn list(location: &str, json: bool) -> anyhow::Result<Exit> {
    let monitors = monitors::all(&store::view(location)?)?;
    if monitors.is_empty() && !json {
        say!("no monitor has seen anything yet; `watch:` in a contract names them");
    }
    for monitor in &monitors {
        if json {
            say!("{}", monitor.to_json().to_canonical());
        } else {
            print(monitor)?;
        }
    }
    Ok(Exit::Fine)
}

fn print(monitor: &MonitorSummary) -> anyhow::Result<()> {
    let state = match (monitor.is_tripped, monitor.is_in_contract) {
        (true, true) => paint(ATTENTION, "tripped"),
        (true, false) => paint(ATTENTION, "tripped, not in the contract"),
        (false, true) => paint(GOOD, "watching"),
        (false, false) => paint(FAINT, "not in the contract"),
    };
    let name = visible(&format!("{} {}", monitor.agent, monitor.name));
    say!("{}  {state}  {} of {}", paint(STRONG, name), monitor.kind, visible(&monitor.series));
    let values = counted(monitor.seen, "value");
    let missing = if monitor.missing > 0 { format!(", {} missing", monitor.missing) } else { String::new() };
    match &monitor.reading {
        Some(reading) => {
            let chart = chart(monitor.part);
            say!(
                "  {chart} {} against {}, window {}, {values}{missing}",
                reading.statistic,
                reading.threshold,
                reading.window
            );
        }
        None => say!("  nothing to measure yet, {values}{missing}"),
    }
    say!("  alarm: {}; guarantee: {}", monitor.then, monitor.guarantee);
    if monitor.trips_before > 0 {
        let (shown, all) = (monitor.trips.len(), monitor.trips_before.saturating_add(monitor.trips.len() as u64));
        let warns = monitor.trips.iter().any(|trip| !trip.is_drift);
        let what = if warns { "alarms and warnings" } else { "alarms" };
        say!("  {}", paint(FAINT, format!("{shown} of {all} {what}, the latest first:")));
    }
    for trip in monitor.trips.iter().rev() {
        let word = if trip.is_drift { "tripped" } else { "warned" };
        let said = format!("{word} {}: {} ({})", terminal::at(trip.at), trip.sentence(), trip.then.word());
        say!("  {}", paint(FAINT, visible(&said)));
    }
    Ok(())
}

/// How far the statistic is on its way: a full bar is the threshold.
pub fn chart(hundredths: Option<u64>) -> String {
    let filled = hundredths.unwrap_or(0).min(100) * CELLS / 100;
    let cell = |place: u64| if place < filled { '#' } else { '.' };
    format!("[{}]", (0..CELLS).map(cell).collect::<String>())
}

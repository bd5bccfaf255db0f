//! Monitors as values: what each measures, how far it is from an alarm, how it tripped last.

use crate::error::Error;
use kernel::monitors::Reading;
use kernel::stored::Kind;
use kernel::watched::{MonitorRow, Trip};
use kernel::world::Row;
use runtime::Runtime;
use values::json::Json;

/// Monitors that are listed at most.
const MONITORS_MAX: usize = 10_000;

/// A monitor of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MonitorSummary {
    pub agent: String,
    pub name: String,
    pub kind: String,
    /// What it watches, in words.
    pub series: String,
    /// What its alarm does.
    pub then: String,
    /// Whether its alarm holds the agent back now.
    pub is_tripped: bool,
    /// Values taken, and values that were missing.
    pub seen: u64,
    pub missing: u64,
    pub reading: Option<Reading>,
    pub guarantee: String,
    /// The latest alarms, the last one last.
    pub trips: Vec<Trip>,
}

impl MonitorSummary {
    fn of(agent: &str, name: &str, row: &MonitorRow) -> MonitorSummary {
        MonitorSummary {
            agent: agent.to_owned(),
            name: name.to_owned(),
            kind: row.watch.kind.word().to_owned(),
            series: row.watch.series.words(),
            then: row.watch.then.word().to_owned(),
            is_tripped: row.held,
            seen: row.seen,
            missing: row.missing,
            reading: row.reading(),
            guarantee: row.guarantee(),
            trips: row.trips.clone(),
        }
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let reading = |part: fn(&Reading) -> Json| self.reading.as_ref().map_or(Json::Null, part);
        Json::object([
            ("agent", Json::text(self.agent.as_str())),
            ("monitor", Json::text(self.name.as_str())),
            ("kind", Json::text(self.kind.as_str())),
            ("watches", Json::text(self.series.as_str())),
            ("then", Json::text(self.then.as_str())),
            ("tripped", Json::Bool(self.is_tripped)),
            ("seen", Json::from(self.seen)),
            ("missing", Json::from(self.missing)),
            ("statistic", reading(|reading| Json::text(reading.statistic.as_str()))),
            ("threshold", reading(|reading| Json::text(reading.threshold.as_str()))),
            ("window", reading(|reading| Json::from(reading.window))),
            ("guarantee", Json::text(self.guarantee.as_str())),
            ("trips", Json::List(self.trips.iter().map(Trip::to_json).collect())),
        ])
    }
}

/// Every monitor that has been moved, by agent and name.
pub fn all(runtime: &Runtime) -> Result<Vec<MonitorSummary>, Error> {
    let rows = runtime.scan(Kind::Monitor, None, MONITORS_MAX)?;
    let summary = |(key, row): &(kernel::world::Key, Row)| match (key.entity.parts(), row.as_monitor()) {
        ((agent, Some(name)), Some(row)) => Some(MonitorSummary::of(agent, name, row)),
        (_, _) => None,
    };
    Ok(rows.iter().filter_map(summary).collect())
}

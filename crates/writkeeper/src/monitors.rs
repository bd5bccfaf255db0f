//! Monitors as values: what each measures, how far it is from an alarm, how it tripped last.

use crate::error::Error;
use kernel::agent::AgentRow;
use kernel::monitors::Reading;
use kernel::stored::Kind;
use kernel::watched::{MonitorRow, Trip};
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::collections::BTreeMap;
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
    /// Whether the contract in force, or the candidate beside it, has it as it is worded here. What none has takes no values.
    pub is_in_contract: bool,
    /// Values taken, and values that were missing.
    pub seen: u64,
    pub missing: u64,
    pub reading: Option<Reading>,
    /// How far the statistic is on its way to the threshold, in hundredths, for a chart.
    pub part: Option<u64>,
    pub guarantee: String,
    /// The latest alarms, the last one last.
    pub trips: Vec<Trip>,
    /// How many came before those.
    pub trips_before: u64,
}

impl MonitorSummary {
    fn of((agent, name): (&str, &str), row: &MonitorRow, whose: Option<&AgentRow>) -> MonitorSummary {
        MonitorSummary {
            agent: agent.to_owned(),
            name: name.to_owned(),
            kind: row.watch.kind.word().to_owned(),
            series: row.watch.series.words(),
            then: row.watch.then.word().to_owned(),
            is_tripped: row.held,
            is_in_contract: whose.is_some_and(|agent| agent.watches(name, row.wording())),
            seen: row.seen,
            missing: row.missing,
            part: row.hundredths(),
            reading: row.reading(),
            guarantee: row.guarantee(),
            trips: row.trips.clone(),
            trips_before: row.trips_before,
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
            ("in_contract", Json::Bool(self.is_in_contract)),
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
    let mut agents: BTreeMap<String, Option<AgentRow>> = BTreeMap::new();
    let mut summaries = Vec::new();
    for (key, row) in &rows {
        let ((agent, Some(name)), Some(row)) = (key.entity.parts(), row.as_monitor()) else { continue };
        if !agents.contains_key(agent) {
            let known = match runtime.read(Entity::Agent(agent.to_owned()))? {
                Some(Row::Agent(row)) => Some(*row),
                Some(_) | None => None,
            };
            agents.insert(agent.to_owned(), known);
        }
        let whose = agents.get(agent).and_then(Option::as_ref);
        summaries.push(MonitorSummary::of((agent, name), row, whose));
    }
    Ok(summaries)
}

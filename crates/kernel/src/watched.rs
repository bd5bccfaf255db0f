//! What a store keeps of a monitor: its settings, its state, and how it tripped last.

use crate::contract::{Mode, Then, Watch};
use crate::monitors::{Input, Monitor, Reading, Signal};
use crate::stored::StoredRow;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

/// Trips that a row remembers, the latest last.
const TRIPS_KEPT: usize = 5;

/// A monitor of an agent.
#[derive(Clone, PartialEq, Debug)]
pub struct MonitorRow {
    /// What the contract says; a contract that says otherwise starts anew.
    pub watch: Watch,
    monitor: Monitor,
    /// Values taken so far; they are numbered from 0.
    pub seen: u64,
    /// Values that were missing, or no numbers.
    pub missing: u64,
    /// Whether an alarm holds the agent back: until someone lifts that, nothing is taken.
    pub held: bool,
    /// Whether the contract only observes: alarms are recorded and do nothing.
    pub observes: bool,
    warning: bool,
    /// The latest alarms.
    pub trips: Vec<Trip>,
    /// How many came before those.
    pub trips_before: u64,
}

/// An alarm, with all that is needed to compute it again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trip {
    pub agent: String,
    pub monitor: String,
    pub kind: String,
    /// A drift, or only a warning of one.
    pub is_drift: bool,
    /// What it did.
    pub then: Then,
    pub reading: Reading,
    /// The first value that the statistic covers, by the monitor's own count from 0.
    pub from: u64,
    /// The value that tripped it.
    pub to: u64,
    /// The proposal or intent that brought it.
    pub cause: String,
    pub at: Instant,
}

impl MonitorRow {
    /// A monitor that has seen nothing. Nothing where the settings are no settings: then the contract was refused.
    pub fn new(watch: &Watch, observes: bool) -> Option<MonitorRow> {
        let monitor = watch.monitor().ok()?;
        let (watch, trips) = (watch.clone(), Vec::new());
        let (seen, missing, trips_before) = (0, 0, 0);
        Some(MonitorRow { watch, monitor, seen, missing, held: false, observes, warning: false, trips, trips_before })
    }

    /// Takes a value, or notes that there was none; the alarm, where that is one.
    pub fn take(
        &mut self,
        (agent, name): (&str, &str),
        value: Option<Decimal>,
        cause: &str,
        at: Instant,
    ) -> Option<Trip> {
        if self.held {
            return None;
        }
        let input = value.map(|value| Input::exact(value, at));
        let Some(input) = input.filter(|input| self.monitor.refuses(input).is_none()) else {
            self.missing = self.missing.saturating_add(1);
            return None;
        };
        let signal = self.monitor.update(&input);
        let index = self.seen;
        self.seen = self.seen.saturating_add(1);
        // A warning is told when it begins.
        let warns = signal.warning && !self.warning;
        self.warning = signal.warning && !signal.drift;
        if !(signal.drift || warns) {
            return None;
        }
        let then = self.consequence(signal);
        let reading = self.monitor.reading().unwrap_or_else(Reading::unknown);
        let trip = Trip {
            agent: agent.to_owned(),
            monitor: name.to_owned(),
            kind: self.watch.kind.word().to_owned(),
            is_drift: signal.drift,
            then,
            from: index.saturating_add(1).saturating_sub(reading.window),
            to: index,
            reading,
            cause: cause.to_owned(),
            at,
        };
        self.held = then.status().is_some();
        if self.trips.len() >= TRIPS_KEPT {
            self.trips.remove(0);
            self.trips_before = self.trips_before.saturating_add(1);
        }
        self.trips.push(trip.clone());
        Some(trip)
    }

    /// A warning never holds anyone back, and a contract that observes holds nobody back.
    fn consequence(&self, signal: Signal) -> Then {
        if signal.drift && !self.observes || self.watch.then.status().is_none() { self.watch.then } else { Then::Warn }
    }

    /// Someone lifted what the alarm did: it starts anew, and knows its earlier trips.
    pub fn restart(&mut self) {
        self.monitor.restart();
        (self.held, self.warning) = (false, false);
    }

    /// What tells this wording from others.
    pub fn wording(&self) -> Digest {
        self.watch.wording(if self.observes { Mode::Observe } else { Mode::Enforce })
    }

    /// What it measures now.
    pub fn reading(&self) -> Option<Reading> {
        self.monitor.reading()
    }

    /// How far it is on its way to an alarm, in hundredths, for a chart. Nothing where that has no meaning.
    pub fn hundredths(&self) -> Option<u64> {
        self.monitor.hundredths()
    }

    /// How often it is wrong, in words.
    pub fn guarantee(&self) -> String {
        self.monitor.guarantee()
    }
}

impl Trip {
    /// In one sentence, for whoever asks why the agent is held back.
    pub fn sentence(&self) -> String {
        let Trip { monitor, kind, reading, from, to, .. } = self;
        let Reading { statistic, threshold, window } = reading;
        format!("monitor `{monitor}`: {kind} is {statistic} against {threshold} over {window} values ({from} to {to})")
    }

    /// As records and rows tell it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("agent", Json::text(self.agent.as_str())),
            ("monitor", Json::text(self.monitor.as_str())),
            ("detector", Json::text(self.kind.as_str())),
            ("alarm", Json::text(if self.is_drift { "drift" } else { "warning" })),
            ("then", Json::text(self.then.word())),
            ("statistic", Json::text(self.reading.statistic.as_str())),
            ("threshold", Json::text(self.reading.threshold.as_str())),
            ("window", Json::from(self.reading.window)),
            ("from", Json::from(self.from)),
            ("to", Json::from(self.to)),
            ("cause", Json::text(self.cause.as_str())),
            ("tripped_at", Json::text(self.at.to_string())),
        ])
    }

    /// What [`Trip::to_json`] wrote.
    pub fn read(json: &Json) -> Option<Trip> {
        let text = |key: &str| Some(json.get(key)?.as_text()?.to_owned());
        let whole = |key: &str| u64::try_from(json.get(key)?.as_number()?.to_i64()?).ok();
        let is_drift = match json.get("alarm")?.as_text()? {
            "drift" => true,
            "warning" => false,
            _ => return None,
        };
        Some(Trip {
            agent: text("agent")?,
            monitor: text("monitor")?,
            kind: text("detector")?,
            is_drift,
            then: Then::from_word(json.get("then")?.as_text()?)?,
            reading: Reading { statistic: text("statistic")?, threshold: text("threshold")?, window: whole("window")? },
            from: whole("from")?,
            to: whole("to")?,
            cause: text("cause")?,
            at: Instant::parse(json.get("tripped_at")?.as_text()?)?,
        })
    }
}

impl StoredRow for MonitorRow {
    /// The keys of an object in their canonical order. Nearly every decision writes this row, so no object is made first.
    fn write(&self, text: &mut String) {
        let flag = |text: &mut String, key: &str, is_so: bool| {
            if is_so {
                text.push_str(key);
                text.push_str(":true,");
            }
        };
        text.push('{');
        flag(text, "\"held\"", self.held);
        text.push_str("\"missing\":");
        Json::from(self.missing).write_canonical(text);
        text.push(',');
        flag(text, "\"observes\"", self.observes);
        text.push_str("\"seen\":");
        Json::from(self.seen).write_canonical(text);
        text.push_str(",\"state\":");
        Json::text(self.monitor.state()).write_canonical(text);
        text.push_str(",\"trips\":");
        Json::List(self.trips.iter().map(Trip::to_json).collect()).write_canonical(text);
        // Absent where all of them are there.
        if self.trips_before > 0 {
            text.push_str(",\"trips_before\":");
            Json::from(self.trips_before).write_canonical(text);
        }
        text.push(',');
        flag(text, "\"warning\"", self.warning);
        text.push_str("\"watch\":");
        self.watch.to_json().write_canonical(text);
        text.push('}');
    }

    fn read(json: Json) -> Option<MonitorRow> {
        let whole = |key: &str| u64::try_from(json.get(key)?.as_number()?.to_i64()?).ok();
        let watch = Watch::read(json.get("watch")?).ok()?;
        let mut row = MonitorRow::new(&watch, json.get("observes").is_some())?;
        row.monitor.restore(json.get("state")?.as_text()?)?;
        (row.seen, row.missing) = (whole("seen")?, whole("missing")?);
        (row.held, row.warning) = (json.get("held").is_some(), json.get("warning").is_some());
        row.trips_before = whole("trips_before").unwrap_or_default();
        row.trips = json.get("trips")?.as_list()?.iter().map(Trip::read).collect::<Option<_>>()?;
        Some(row)
    }
}

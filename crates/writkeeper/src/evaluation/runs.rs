//! A monitor on labelled series. What counts is not one value but a run of values with the same label: a bad run is a
//! change that should be noticed, a good one a time in which nothing should be said.

use super::Evaluation;
use super::label::Label;
use kernel::monitors::{Input, Monitor};
use std::collections::BTreeMap;
use std::time::Instant as Stopwatch;
use values::json::Json;
use values::time::{Duration, Instant};

/// A value of a labelled series.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Its line.
    pub place: u64,
    /// Which series; each has a monitor of its own, in whatever order their values come.
    pub series: String,
    pub label: Label,
    /// The number as it is written; nothing where it is missing.
    pub value: Option<String>,
}

/// The run at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    place: u64,
    label: Label,
    length: u64,
    is_flagged: bool,
}

/// What was found out about a monitor.
#[derive(Clone, Debug, Default)]
pub struct RunFigures {
    /// Runs, not values.
    pub evaluation: Evaluation,
    /// Values in all; of recorded history these are decisions, and those in good runs.
    pub values: u64,
    pub good_values: u64,
    /// Alarms in good runs; one run may have several.
    pub false_alarms: u64,
    /// Values from the beginning of a noticed change to its alarm.
    pub delays: Vec<u64>,
}

/// Series that are watched at once: each has a monitor with a window of its own.
pub const SERIES_MAX: usize = 10_000;

/// A monitor on its way along labelled series.
pub struct Watched {
    /// One that has seen nothing.
    fresh: Monitor,
    /// Whether a warning counts as well.
    warnings: bool,
    series: BTreeMap<String, Series>,
    figures: RunFigures,
}

/// One series on its way.
struct Series {
    monitor: Monitor,
    values: u64,
    run: Option<Run>,
}

impl Watched {
    /// Starts.
    pub fn new(monitor: Monitor, warnings: bool) -> Watched {
        Watched { fresh: monitor, warnings, series: BTreeMap::new(), figures: RunFigures::default() }
    }

    /// Takes the next value; the error says what is wrong with it.
    pub fn take(&mut self, point: &Point) -> Result<(), String> {
        if !self.series.contains_key(&point.series) && self.series.len() >= SERIES_MAX {
            return Err(format!(
                "`{}` would be series {} of at most {SERIES_MAX}; evaluate them in several files",
                kernel::finding::visible(&point.series),
                self.series.len() + 1
            ));
        }
        let fresh = || Series { monitor: self.fresh.clone(), values: 0, run: None };
        let series = self.series.entry(point.series.clone()).or_insert_with(fresh);
        let input = series.input(point)?;
        let begun = Stopwatch::now();
        let signal = input.map(|input| series.monitor.update(&input)).unwrap_or_default();
        self.figures.evaluation.latency.add(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        series.values += 1;
        self.figures.enter(&mut series.run, point.place, point.label);
        if signal.drift || (self.warnings && signal.warning) {
            self.figures.alarm(&mut series.run);
        }
        Ok(())
    }

    /// Ends, with everything that was found out.
    pub fn figures(mut self) -> RunFigures {
        // Runs that are still open end in the order in which they began.
        let mut open: Vec<Option<Run>> = self.series.into_values().map(|series| series.run).collect();
        open.sort_by_key(|run| run.map(|run| run.place));
        open.iter_mut().for_each(|run| self.figures.end(run));
        self.figures.evaluation.mistakes.sort_by_key(|mistake| mistake.place);
        self.figures.evaluation.calls = self.figures.values;
        self.figures
    }
}

impl Series {
    fn input(&self, point: &Point) -> Result<Option<Input>, String> {
        let Some(value) = &point.value else { return Ok(None) };
        // By time, the values of a series are a second apart.
        let seconds = i64::try_from(self.values).unwrap_or(i64::MAX);
        let at = Instant::PURE_DEFAULT.plus(Duration::from_secs(seconds));
        let input = Input::parse(value, at).ok_or_else(|| format!("`{value}` is no number within ±1e100"))?;
        match self.monitor.refuses(&input) {
            Some(why) => Err(format!("the monitor {why}; `{value}` is neither")),
            None => Ok(Some(input)),
        }
    }
}

impl RunFigures {
    /// A value with a label: one with another label than before ends the run and begins another.
    pub(super) fn enter(&mut self, run: &mut Option<Run>, place: u64, label: Label) {
        if run.is_some_and(|run| run.label != label) {
            self.end(run);
        }
        self.values += 1;
        self.good_values += u64::from(label == Label::Good);
        run.get_or_insert(Run { place, label, length: 0, is_flagged: false }).length += 1;
    }

    /// An alarm in the run at hand; before the first label it counts as nothing.
    pub(super) fn alarm(&mut self, run: &mut Option<Run>) {
        let Some(run) = run else { return };
        match run.label {
            Label::Good => self.false_alarms += 1,
            Label::Bad if !run.is_flagged => self.delays.push(run.length),
            Label::Bad => {}
        }
        run.is_flagged = true;
    }

    /// The run at hand is over.
    pub(super) fn end(&mut self, run: &mut Option<Run>) {
        if let Some(run) = run.take() {
            self.evaluation.count_recorded(run.place, run.label, run.is_flagged);
        }
    }

    /// How many values a change went on before its alarm: half of them at most, and the longest.
    pub fn delay(&self) -> Option<(u64, u64)> {
        let mut sorted = self.delays.clone();
        sorted.sort_unstable();
        let half = sorted.get(sorted.len().checked_sub(1)? / 2)?;
        Some((*half, *sorted.last()?))
    }

    /// For programs, beside what every evaluation tells.
    pub fn to_json(&self) -> Json {
        let delay = self.delay();
        let told = |part: Option<u64>| part.map_or(Json::Null, Json::from);
        Json::object([
            ("values", Json::from(self.values)),
            ("good_values", Json::from(self.good_values)),
            ("false_alarms", Json::from(self.false_alarms)),
            ("delay_p50", told(delay.map(|(half, _)| half))),
            ("delay_longest", told(delay.map(|(_, longest)| longest))),
        ])
    }
}

//! Circuit breaker: opens after so many failures in a row, or so many in all.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::enforcement::ladder::{BLOCK, DEFER, WARN};
use crate::settings::{Fault, Fields};
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "too many failures in a row, or in all";

/// Failures so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// Since the last success.
    pub consecutive: u64,
    /// Since the beginning.
    pub total: u64,
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["consecutive", "total"])?;
        Ok(Evidence { consecutive: fields.count("consecutive", 0)?, total: fields.count("total", 0)? })
    }

    /// The counts after a failure.
    #[must_use]
    pub fn failed(self) -> Evidence {
        Evidence { consecutive: self.consecutive.saturating_add(1), total: self.total.saturating_add(1) }
    }

    /// The counts after a success, which makes no failure undone.
    #[must_use]
    pub fn succeeded(self) -> Evidence {
        Evidence { consecutive: 0, total: self.total }
    }
}

words! {
    /// What becomes of calls that change something while the breaker is open.
    OnTrip {
        /// They run, and the agent is told.
        None = "NONE",
        /// Confidence picks the rung and the handler has its say, as with other findings.
        Judge = "JUDGE",
        /// A person is asked.
        Human = "HUMAN",
        /// They are refused.
        Refuse = "REFUSE",
    }
}

/// When the breaker opens; 0 switches one limit off, not both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    max_consecutive: u64,
    max_total: u64,
    on_trip: OnTrip,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_consecutive: 3, max_total: 20, on_trip: OnTrip::None }
    }
}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["max_consecutive", "max_total", "on_trip"])?;
        let standard = Settings::default();
        let max_consecutive = fields.count("max_consecutive", standard.max_consecutive)?;
        let max_total = fields.count("max_total", standard.max_total)?;
        if max_consecutive == 0 && max_total == 0 {
            return Err(Fault::new(path, "can never trip: both limits are 0"));
        }
        let word = fields.text("on_trip", standard.on_trip.word())?;
        let on_trip = OnTrip::from_word(&word).ok_or_else(|| {
            let words = OnTrip::WORDS.join("`, `");
            Fault::new(fields.at("on_trip"), format!("must be one of `{words}`, not `{word}`"))
        })?;
        Ok(Settings { max_consecutive, max_total, on_trip })
    }
}

words! {
    /// Whether work goes on.
    State {
        /// It does.
        Closed = "CLOSED",
        /// It should not.
        Open = "OPEN",
    }
}

words! {
    /// Which limit was reached.
    Limit {
        /// Failures in a row.
        Consecutive = "consecutive",
        /// Failures in all.
        Total = "total",
    }
}

/// The judgement and who is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Whether work goes on.
    pub state: State,
    /// Who is asked; nobody while the breaker is closed.
    pub escalation: OnTrip,
    /// The limit that was reached; failures in a row come first.
    pub tripped_on: Option<Limit>,
}

/// Looks at the counts alone: a breaker closes again when a success ends the row, unless the total holds it open.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Judgement {
    let reached = |count: u64, max: u64| max > 0 && count >= max;
    let tripped_on = if reached(evidence.consecutive, settings.max_consecutive) {
        Some(Limit::Consecutive)
    } else if reached(evidence.total, settings.max_total) {
        Some(Limit::Total)
    } else {
        None
    };
    match tripped_on {
        Some(_) => Judgement { state: State::Open, escalation: settings.on_trip, tripped_on },
        None => Judgement { state: State::Closed, escalation: OnTrip::None, tripped_on },
    }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let Judgement { state, escalation, tripped_on } = judge(evidence, settings);
    let Evidence { consecutive, total } = *evidence;
    Signal {
        detector: "breaker",
        state: state.word(),
        confidence: match state {
            State::Closed => Confidence::None,
            State::Open => Confidence::High,
        },
        rung: match (state, settings.on_trip) {
            (State::Closed, _) | (State::Open, OnTrip::Judge) => None,
            (State::Open, OnTrip::None) => Some(WARN),
            (State::Open, OnTrip::Human) => Some(DEFER),
            (State::Open, OnTrip::Refuse) => Some(BLOCK),
        },
        reason: format!("{consecutive} failures in a row, {total} in all"),
        details: Json::object([
            ("consecutive", Json::from(consecutive)),
            ("total", Json::from(total)),
            ("tripped_on", Json::from(tripped_on.map(Limit::word))),
            ("escalation", Json::text(escalation.word())),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(events: &str, settings: Settings, expected: &str) {
        let fold = |counts: Evidence, event| if event == 'F' { counts.failed() } else { counts.succeeded() };
        let judgement = judge(&events.chars().fold(Evidence::default(), fold), &settings);
        let limit = judgement.tripped_on.map_or("-", Limit::word);
        assert_eq!(format!("{} {limit} {}", judgement.state.word(), judgement.escalation.word()), expected, "{events}");
    }

    #[test]
    fn a_success_ends_the_row_and_not_the_total() {
        let asking = Settings { on_trip: OnTrip::Human, max_total: 5, ..Settings::default() };
        check("FF", asking, "CLOSED - NONE");
        check("FFF", asking, "OPEN consecutive HUMAN");
        check("FFFS", asking, "CLOSED - NONE");
        check("FFSFFSF", asking, "OPEN total HUMAN");
        check("FFSFFSFS", asking, "OPEN total HUMAN");
    }

    #[test]
    fn a_limit_of_zero_is_no_limit() {
        check("FFFFFFF", Settings { max_consecutive: 0, ..Settings::default() }, "CLOSED - NONE");
        check(&"FS".repeat(50), Settings { max_total: 0, ..Settings::default() }, "CLOSED - NONE");
    }
}

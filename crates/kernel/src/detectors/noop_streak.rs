//! No-op streak: turns that moved nothing since the last that did.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "too many turns in a row moved nothing";

/// Turns without a forward step since the last one that had one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The turns before this one.
    pub noop_turns: u64,
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["noop_turns"])?;
        Ok(Evidence { noop_turns: fields.count("noop_turns", 0)? })
    }
}

/// How many such turns are borne. None at all is a choice too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Turns that may move nothing.
    pub max: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max: 4 }
    }
}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["max"])?;
        Ok(Settings { max: fields.count("max", Settings::default().max)? })
    }
}

words! {
    /// Whether one more such turn is borne.
    State {
        /// It is.
        Live = "LIVE",
        /// It is not.
        Exhausted = "EXHAUSTED",
    }
}

/// The judgement and the count to remember.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Whether one more such turn is borne.
    pub state: State,
    /// The turns after this one: one more if it is borne.
    pub noop_turns: u64,
}

/// Bears a turn as long as the streak is below its maximum.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Judgement {
    let noop_turns = evidence.noop_turns;
    if noop_turns < settings.max {
        Judgement { state: State::Live, noop_turns: noop_turns + 1 }
    } else {
        Judgement { state: State::Exhausted, noop_turns }
    }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let Judgement { state, noop_turns } = judge(evidence, settings);
    Signal {
        detector: "noop_streak",
        state: state.word(),
        confidence: match state {
            State::Live => Confidence::None,
            State::Exhausted => Confidence::Low,
        },
        rung: None,
        reason: format!("{noop_turns} of {} turns that move nothing", settings.max),
        details: Json::object([("noop_turns", Json::from(noop_turns)), ("max", Json::from(settings.max))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_borne_until_the_maximum() {
        let check = |noop_turns: u64, max: u64, expected: &str| {
            let judgement = judge(&Evidence { noop_turns }, &Settings { max });
            assert_eq!(format!("{} {}", judgement.state.word(), judgement.noop_turns), expected);
        };
        check(0, 4, "LIVE 1");
        check(3, 4, "LIVE 4");
        check(4, 4, "EXHAUSTED 4");
        check(0, 0, "EXHAUSTED 0");
        check(u64::MAX, u64::MAX, "EXHAUSTED 18446744073709551615");
    }
}

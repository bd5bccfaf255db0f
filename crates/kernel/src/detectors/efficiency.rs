//! Efficiency: work for the tokens spent.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use values::decimal::Decimal;
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "tokens are spent for little work, or none";

/// What was spent and what came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// Units of work.
    pub work: u64,
    /// Tokens spent.
    pub tokens: u64,
}

impl Evidence {
    /// Work per token; zero if nothing was spent.
    pub fn ratio(&self) -> Decimal {
        Decimal::from(self.work).checked_div(Decimal::from(self.tokens)).unwrap_or(Decimal::ZERO)
    }
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["work", "tokens"])?;
        Ok(Evidence { work: fields.count("work", 0)?, tokens: fields.count("tokens", 0)? })
    }
}

/// From when on the spending is judged, and what is too little.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Fewer tokens are not judged.
    pub min_tokens: u64,
    floor: Decimal,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { min_tokens: 1_000, floor: Decimal::ZERO }
    }
}

impl Settings {
    /// Reads what a contract gives. A floor of 0, the default, calls nothing costly.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["min_tokens", "floor"])?;
        let standard = Settings::default();
        Ok(Settings {
            min_tokens: fields.count("min_tokens", standard.min_tokens)?,
            floor: fields.number("floor", standard.floor)?,
        })
    }
}

words! {
    /// Whether the spending pays.
    State {
        /// It does, or too little was spent.
        Efficient = "EFFICIENT",
        /// It brings less than the floor.
        Costly = "COSTLY",
        /// It brings nothing.
        Wasteful = "WASTEFUL",
    }
}

/// Compares by multiplication, which is exact: work on the floor itself is efficient, whatever the digits.
pub fn judge(evidence: &Evidence, settings: &Settings) -> State {
    if evidence.tokens == 0 || evidence.tokens < settings.min_tokens {
        return State::Efficient;
    }
    if evidence.work == 0 {
        return State::Wasteful;
    }
    // Where the product needs more than 28 digits, the ratio rounded to 28 digits decides.
    let is_below = match settings.floor.checked_mul(Decimal::from(evidence.tokens)) {
        Some(expected) => Decimal::from(evidence.work) < expected,
        None => evidence.ratio() < settings.floor,
    };
    if is_below { State::Costly } else { State::Efficient }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let state = judge(evidence, settings);
    let Evidence { work, tokens } = *evidence;
    Signal {
        detector: "efficiency",
        state: state.word(),
        confidence: match state {
            State::Efficient => Confidence::None,
            State::Costly => Confidence::Low,
            State::Wasteful => Confidence::High,
        },
        rung: None,
        reason: format!("{work} units of work for {tokens} tokens"),
        details: Json::object([
            ("work", Json::from(work)),
            ("tokens", Json::from(tokens)),
            ("ratio", Json::from(evidence.ratio())),
            ("floor", Json::from(settings.floor)),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_itself_is_efficient() {
        let check = |work: u64, tokens: u64, floor: &str, expected: &str| {
            let settings = Settings { floor: Decimal::parse(floor).unwrap(), ..Settings::default() };
            assert_eq!(judge(&Evidence { work, tokens }, &settings).word(), expected, "{work}/{tokens} {floor}");
        };
        check(0, 999, "0", "EFFICIENT");
        check(0, 1_000, "0", "WASTEFUL");
        check(1, 1_000_000, "0", "EFFICIENT");
        check(1, 10_000, "0.0001", "EFFICIENT");
        check(1, 10_001, "0.0001", "COSTLY");
        check(300, 1_000, "0.3", "EFFICIENT");
        check(u64::MAX, u64::MAX, "9999999999999999999999999999", "COSTLY");
        check(u64::MAX, 1_000, "0.0000000000000000000000000001", "EFFICIENT");
    }

    #[test]
    fn nothing_spent_is_nothing_wasted() {
        let settings = Settings { min_tokens: 0, ..Settings::default() };
        assert_eq!(judge(&Evidence::default(), &settings), State::Efficient);
        assert_eq!(judge(&Evidence { work: 0, tokens: 1 }, &settings), State::Wasteful);
    }
}

//! Productivity: how much each step moved, and whether that fades.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "the steps move less and less, or nothing";

/// What each step moved, newest last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// Units of work per step.
    pub deltas: Vec<u64>,
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["deltas"])?;
        Ok(Evidence { deltas: fields.counts("deltas")? })
    }
}

/// From when on the steps are judged, and what is little.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Fewer steps are not judged.
    pub min_steps: u64,
    /// Less than this in both of the last two steps is fading.
    pub floor: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { min_steps: 3, floor: 500 }
    }
}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["min_steps", "floor"])?;
        let standard = Settings::default();
        Ok(Settings {
            min_steps: fields.count("min_steps", standard.min_steps)?,
            floor: fields.count("floor", standard.floor)?,
        })
    }
}

words! {
    /// How the work goes.
    State {
        /// It moves, or too little was seen.
        Productive = "PRODUCTIVE",
        /// It fades.
        Diminishing = "DIMINISHING",
        /// The last step moved nothing.
        Stalled = "STALLED",
    }
}

/// Looks at the last two steps, once there are enough of them.
pub fn judge(evidence: &Evidence, settings: &Settings) -> State {
    let mut newest_first = evidence.deltas.iter().rev();
    let (last, prior) = (newest_first.next(), newest_first.next());
    let enough = u64::try_from(evidence.deltas.len()).is_ok_and(|steps| steps >= settings.min_steps);
    match (last, prior) {
        (Some(0), _) if enough => State::Stalled,
        (Some(last), Some(prior)) if enough && *last < settings.floor && *prior < settings.floor => State::Diminishing,
        (Some(_) | None, _) => State::Productive,
    }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let state = judge(evidence, settings);
    let last = evidence.deltas.last().copied();
    let steps = u64::try_from(evidence.deltas.len()).unwrap_or(u64::MAX);
    Signal {
        detector: "productivity",
        state: state.word(),
        confidence: match state {
            State::Productive => Confidence::None,
            State::Diminishing => Confidence::Low,
            State::Stalled => Confidence::High,
        },
        rung: None,
        reason: match last {
            Some(last) => format!("step {steps} moved {last}, with {} expected", settings.floor),
            None => "no step was seen".to_owned(),
        },
        details: Json::object([
            ("steps", Json::from(steps)),
            ("last", Json::from(last)),
            ("floor", Json::from(settings.floor)),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_small_steps_fade_and_an_empty_one_stalls() {
        let check = |deltas: &[u64], expected: &str| {
            let evidence = Evidence { deltas: deltas.to_vec() };
            assert_eq!(judge(&evidence, &Settings::default()).word(), expected, "{deltas:?}");
        };
        check(&[], "PRODUCTIVE");
        check(&[0, 0], "PRODUCTIVE");
        check(&[900, 499, 499], "DIMINISHING");
        check(&[900, 500, 499], "PRODUCTIVE");
        check(&[900, 499, 500], "PRODUCTIVE");
        check(&[900, 900, 0], "STALLED");
    }

    #[test]
    fn one_step_cannot_fade() {
        let settings = Settings { min_steps: 0, floor: 10 };
        assert_eq!(judge(&Evidence { deltas: vec![5] }, &settings), State::Productive);
        assert_eq!(judge(&Evidence { deltas: vec![0] }, &settings), State::Stalled);
        assert_eq!(judge(&Evidence::default(), &settings), State::Productive);
    }
}

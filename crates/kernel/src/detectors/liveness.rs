//! Liveness: whether a run moves anything, runs without moving anything, or does not run any more.
//!
//! What the agent says about its progress is no evidence: commits and effects are, and signs of life only tell a run that
//! spins from one that hangs. It reports; it ends nothing.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use values::json::Json;
use values::time::Duration;

/// One line for people.
pub const ABOUT: &str = "the run goes on and moves nothing, or has come to a standstill";

/// What is known of a run. What is not known is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// How long ago it began; `None` if nobody has seen it.
    pub age: Option<Duration>,
    /// Commits since it began.
    pub commits: u64,
    /// Other effects since it began.
    pub effects: u64,
    /// How long ago it last showed a sign of life; `None` if it never did.
    pub last_sign: Option<Duration>,
    /// What the operating system says of its process; `None` if it was not asked.
    pub process: Option<Process>,
}

words! {
    /// A process as the operating system sees it.
    Process {
        /// It is there.
        Running = "running",
        /// It is not there any more.
        Gone = "gone",
    }
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["age", "commits", "effects", "last_sign", "process"])?;
        let nothing = Duration::from_secs(0);
        let length = |key: &str| fields.get(key).map(|_| fields.duration(key, nothing)).transpose();
        let process =
            fields.get("process").map(|_| fields.word("process", Process::Running, Process::WORDS, Process::from_word));
        Ok(Evidence {
            age: length("age")?,
            commits: fields.count("commits", 0)?,
            effects: fields.count("effects", 0)?,
            last_sign: length("last_sign")?,
            process: process.transpose()?,
        })
    }
}

/// How long a run may move nothing, and how old a sign of life may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    grace: Duration,
    spin: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { grace: Duration::from_secs(30 * 60), spin: Duration::from_secs(15 * 60) }
    }
}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["grace", "spin"])?;
        let standard = Settings::default();
        Ok(Settings { grace: fields.duration("grace", standard.grace)?, spin: fields.duration("spin", standard.spin)? })
    }
}

words! {
    /// Whether a run moves.
    State {
        /// It does, or it is too young to say.
        Advancing = "ADVANCING",
        /// It lives and moves nothing.
        Spinning = "SPINNING",
        /// It shows no sign of life.
        Stalled = "STALLED",
    }
}

/// Effects count first, then signs of life. A process that is gone outweighs a fresh sign, which others can leave too.
pub fn judge(evidence: &Evidence, settings: &Settings) -> State {
    let Some(age) = evidence.age else { return State::Advancing };
    if evidence.commits > 0 || evidence.effects > 0 {
        return State::Advancing;
    }
    let is_fresh = evidence.last_sign.is_some_and(|sign| sign <= settings.spin);
    if !is_fresh || evidence.process == Some(Process::Gone) {
        State::Stalled
    } else if age >= settings.grace {
        State::Spinning
    } else {
        State::Advancing
    }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let state = judge(evidence, settings);
    let shown = |length: Option<Duration>| length.map_or_else(|| "an unknown time".to_owned(), |it| it.to_string());
    Signal {
        detector: "liveness",
        state: state.word(),
        confidence: match state {
            State::Advancing => Confidence::None,
            State::Spinning | State::Stalled => Confidence::Low,
        },
        rung: None,
        reason: match state {
            State::Advancing => "the run moves, or is too young to say".to_owned(),
            State::Spinning => format!("nothing was moved for {}", shown(evidence.age)),
            State::Stalled => format!("no sign of life for {}", shown(evidence.last_sign)),
        },
        details: Json::object([
            ("commits", Json::from(evidence.commits)),
            ("effects", Json::from(evidence.effects)),
            ("age", Json::from(evidence.age.map(|age| age.to_string()))),
            ("last_sign", Json::from(evidence.last_sign.map(|sign| sign.to_string()))),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minutes since the beginning and since the last sign of life; commits and effects.
    fn check(age: i64, sign: Option<i64>, moved: (u64, u64), process: Option<Process>, expected: State) {
        let minutes = |count: i64| Duration::from_secs(count * 60);
        let evidence = Evidence {
            age: Some(minutes(age)),
            commits: moved.0,
            effects: moved.1,
            last_sign: sign.map(minutes),
            process,
        };
        assert_eq!(judge(&evidence, &Settings::default()), expected, "{evidence:?}");
    }

    #[test]
    fn what_moved_counts_before_signs_of_life() {
        check(0, None, (1, 0), None, State::Advancing);
        check(400, None, (0, 1), Some(Process::Gone), State::Advancing);
        check(29, Some(1), (0, 0), None, State::Advancing);
        check(30, Some(1), (0, 0), None, State::Spinning);
        check(400, Some(15), (0, 0), Some(Process::Running), State::Spinning);
        check(400, Some(16), (0, 0), Some(Process::Running), State::Stalled);
        check(5, None, (0, 0), None, State::Stalled);
        check(5, Some(0), (0, 0), Some(Process::Gone), State::Stalled);
    }

    #[test]
    fn a_run_that_nobody_saw_is_no_concern() {
        assert_eq!(judge(&Evidence::default(), &Settings::default()), State::Advancing);
    }

    #[test]
    fn windows_come_from_the_contract() {
        let read = |text: &str| Settings::read("liveness", Some(&Json::parse(text.as_bytes()).unwrap()));
        let minutes = |count: i64| Duration::from_secs(count * 60);
        assert_eq!(read(r#"{"grace":"5m"}"#), Ok(Settings { grace: minutes(5), spin: minutes(15) }));
        let fault = read(r#"{"spin":"soon"}"#).map_err(|fault| fault.to_string());
        assert_eq!(fault, Err("`liveness.spin` must be a length of time such as `15m`, not `soon`".to_owned()));
    }
}

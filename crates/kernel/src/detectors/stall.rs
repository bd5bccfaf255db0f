//! Stall and repetition: the same call with the same result, again and again.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use values::ids::Digest;
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "the same call brought the same result several times in a row";

/// A call that returned. Names of tools are compared without case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The tool.
    pub tool: String,
    /// Digest of its arguments.
    pub arguments: Digest,
    /// Digest of its result; a result that is not known never counts as the same.
    pub result: Option<Digest>,
}

/// The calls of a run, newest last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The calls.
    pub steps: Vec<Step>,
}

impl Evidence {
    /// Reads what labelled cases give: tools with arguments and results of any shape.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["steps"])?;
        let digest = |value: &Json| Digest::of(value.to_canonical());
        let steps = fields.objects("steps", &["tool", "arguments", "result"], |step| {
            let arguments = step.get("arguments").map_or_else(|| Digest::of(""), digest);
            Ok(Step { tool: step.text("tool", "")?, arguments, result: step.get("result").map(digest) })
        })?;
        Ok(Evidence { steps })
    }
}

/// When repetition is worth a word, and when it is hopeless.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    repeat: u64,
    stall: u64,
    ignore_tools: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { repeat: 3, stall: 5, ignore_tools: Vec::new() }
    }
}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["repeat", "stall", "ignore_tools"])?;
        let standard = Settings::default();
        let (repeat, stall) = (fields.count("repeat", standard.repeat)?, fields.count("stall", standard.stall)?);
        if repeat < 2 {
            return Err(Fault::new(fields.at("repeat"), "must be at least 2: one call repeats nothing"));
        }
        if stall < repeat {
            return Err(Fault::new(fields.at("stall"), format!("is {stall}, which is before `repeat` at {repeat}")));
        }
        Ok(Settings { repeat, stall, ignore_tools: fields.texts("ignore_tools")? })
    }

    fn ignores(&self, tool: &str) -> bool {
        self.ignore_tools.iter().any(|ignored| same_tool(ignored, tool))
    }
}

words! {
    /// What the stream of calls looks like.
    State {
        /// New results come in, or too few calls were seen.
        Advancing = "ADVANCING",
        /// The agent has read this result already.
        Repeating = "REPEATING",
        /// Nothing new will come.
        Stalled = "STALLED",
    }
}

/// The judgement and what it rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// What the stream looks like.
    pub state: State,
    /// How many of the newest calls are the same.
    pub run: u64,
    /// The call that repeats.
    pub repeated: Option<Step>,
}

/// Counts the identical calls at the end. Calls of ignored tools are passed over as if they had not been made.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Judgement {
    let mut newest_first = evidence.steps.iter().rev().filter(|step| !settings.ignores(&step.tool));
    let newest = newest_first.next();
    let same = |step: &&Step| newest.is_some_and(|newest| is_same(step, newest));
    let run = u64::from(newest.is_some()) + newest_first.take_while(same).map(|_| 1).sum::<u64>();
    let state = if run >= settings.stall {
        State::Stalled
    } else if run >= settings.repeat {
        State::Repeating
    } else {
        State::Advancing
    };
    let repeated = newest.filter(|_| state != State::Advancing).cloned();
    Judgement { state, run, repeated }
}

fn is_same(step: &Step, newest: &Step) -> bool {
    step.result.is_some()
        && step.result == newest.result
        && step.arguments == newest.arguments
        && same_tool(&step.tool, &newest.tool)
}

fn same_tool(left: &str, right: &str) -> bool {
    left.to_lowercase() == right.to_lowercase()
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let judgement = judge(evidence, settings);
    let run = judgement.run;
    let tool = judgement.repeated.as_ref().map(|step| step.tool.as_str());
    let reason = match (judgement.state, tool) {
        (State::Repeating | State::Stalled, Some(tool)) => {
            format!("`{tool}` brought the same result {run} times in a row")
        }
        (State::Advancing | State::Repeating | State::Stalled, _) => "new results come in".to_owned(),
    };
    Signal {
        detector: "stall",
        state: judgement.state.word(),
        confidence: match judgement.state {
            State::Advancing => Confidence::None,
            State::Repeating => Confidence::Low,
            State::Stalled => Confidence::High,
        },
        rung: None,
        reason,
        details: Json::object([("run", Json::from(run)), ("tool", Json::from(tool))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Ra1` is tool `R` with arguments `a` and result `1`; a `?` is a result nobody knows.
    fn check(steps: &str, ignore: &[&str], expected: &str) {
        let step = |word: &str| Step {
            tool: word[..1].to_owned(),
            arguments: Digest::of(&word[1..2]),
            result: (&word[2..] != "?").then(|| Digest::of(&word[2..])),
        };
        let evidence = Evidence { steps: steps.split_whitespace().map(step).collect() };
        let ignore_tools = ignore.iter().map(|tool| (*tool).to_owned()).collect();
        let judgement = judge(&evidence, &Settings { ignore_tools, ..Settings::default() });
        assert_eq!(format!("{} {}", judgement.state.word(), judgement.run), expected, "{steps}");
    }

    #[test]
    fn identical_calls_at_the_end_count() {
        check("", &[], "ADVANCING 0");
        check("Ra1 Ra1", &[], "ADVANCING 2");
        check("Ra1 ra1 Ra1", &[], "REPEATING 3");
        check("Ra1 Ra1 Ra1 Ra1 Ra1", &[], "STALLED 5");
        check("Ra1 Ra1 Ra1 Ra2", &[], "ADVANCING 1");
        check("Ra1 Rb1 Ra1", &[], "ADVANCING 1");
        check("Ra? Ra? Ra? Ra? Ra?", &[], "ADVANCING 1");
    }

    #[test]
    fn ignored_tools_neither_count_nor_interrupt() {
        check("Sx1 Sx1 Sx1 Sx1 Sx1", &["s"], "ADVANCING 0");
        check("Ra1 Sx1 Ra1 Sx1 Ra1", &["S"], "REPEATING 3");
        check("Ra1 Sx1 Ra1 Sx1 Ra1", &[], "ADVANCING 1");
    }
}

//! A witness as a contract names it, and what a contract says about detectors and enforcement.

use super::Contract;
use super::shape::{Direction, shape};
use crate::detectors::Thresholds;
use crate::enforcement::plan::EnforcementPlan;
use crate::enforcement::registry::Registry;
use crate::settings::Fault;
use values::bugs::{self, Bug};
use values::json::{Json, Object};
use values::time::Duration;

shape! {
    /// Settings of detectors.
    DETECTORS = "detectors" {
        "stall": Direction::Unclear;
        "noop_streak": Direction::Unclear;
        "breaker": Direction::Unclear;
        "productivity": Direction::Unclear;
        "efficiency": Direction::Unclear;
        "precursor": Direction::Unclear;
        "dangling_intent": Direction::Unclear;
        "liveness": Direction::Unclear;
        "scope": Direction::Unclear;
    }
}

shape! {
    /// The same call with the same result.
    STALL = "stall" { "repeat": Direction::Unclear; "stall": Direction::Unclear; "ignore_tools": Direction::Unclear; }
}

shape! {
    /// Turns without any effect.
    NOOP_STREAK = "noop_streak" { "max": Direction::Unclear; }
}

shape! {
    /// Failures in a row and in all.
    BREAKER = "breaker" {
        "max_consecutive": Direction::Unclear;
        "max_total": Direction::Unclear;
        "on_trip": Direction::Unclear;
    }
}

shape! {
    /// Work that gets less.
    PRODUCTIVITY = "productivity" { "min_steps": Direction::Unclear; "floor": Direction::Unclear; }
}

shape! {
    /// Work for the tokens.
    EFFICIENCY = "efficiency" { "min_tokens": Direction::Unclear; "floor": Direction::Unclear; }
}

shape! {
    /// Tools that must have been called before.
    PRECURSOR = "precursor" { "requires": Direction::Unclear; "aliases": Direction::Unclear; }
}

shape! {
    /// Announced and not done.
    DANGLING_INTENT = "dangling_intent" { "enabled": Direction::Unclear; "on_stop": Direction::Unclear; }
}

shape! {
    /// A run that moves nothing.
    LIVENESS = "liveness" { "grace": Direction::Unclear; "spin": Direction::Unclear; }
}

shape! {
    /// The tree that a run is meant for.
    SCOPE = "scope" { "tree": Direction::Unclear; "tolerance": Direction::Unclear; "shared": Direction::Unclear; }
}

shape! {
    /// How verdicts are enforced.
    ENFORCEMENT = "enforcement" {
        "rungs": Direction::Unclear;
        "binding": Direction::Unclear;
        "confidence": Direction::Unclear;
        "handler": Direction::Unclear;
    }
}

shape! {
    /// A rung of the ladder.
    RUNG = "rung" {
        "rank": Direction::Unclear;
        "summary": Direction::Unclear;
        "runs": Direction::Unclear;
        "answers": Direction::Unclear;
    }
}

shape! {
    /// What confidence is worth.
    RUNGS_BY_CONFIDENCE = "rungs_by_confidence" {
        "high": Direction::Unclear;
        "low": Direction::Unclear;
        "none": Direction::Unclear;
        "floor": Direction::Unclear;
        "ceiling": Direction::Unclear;
    }
}

shape! {
    /// Somebody else who is asked.
    WITNESS = "witness" {
        "command": Direction::Unclear;
        "git": Direction::Unclear;
        "http": Direction::Unclear;
        "expect": Direction::Unclear;
        "timeout": Direction::Unclear;
    }
}

/// Somebody else than the agent who is asked whether something is so.
#[derive(Clone, PartialEq, Debug)]
pub struct Witness {
    /// Who is asked.
    pub source: WitnessSource,
    /// What must be seen, by name.
    pub expect: Object,
    /// How long it may take.
    pub timeout: Duration,
}

/// Who is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WitnessSource {
    /// A program and its arguments; never a shell. Seen: `exit`, `output`, and the members of a JSON object it prints.
    Command(Vec<String>),
    /// The repository of the workspace. Seen: `head`, `branch`, `clean`, `pushed`.
    Git,
    /// An address that is fetched. Seen: `status`, `body`, and the members of a JSON object it answers with.
    Http(String),
}

impl Witness {
    /// The full form.
    pub fn to_json(&self) -> Json {
        let source = match &self.source {
            WitnessSource::Command(words) => ("command", Json::texts(words.iter().map(String::as_str))),
            WitnessSource::Git => ("git", Json::Bool(true)),
            WitnessSource::Http(address) => ("http", Json::text(address.as_str())),
        };
        Json::object([
            source,
            ("expect", Json::Object(self.expect.clone())),
            ("timeout", Json::text(self.timeout.to_string())),
        ])
    }
}

impl Contract {
    /// The handlers that can be named: built-in ones and those the contract declares.
    pub fn handler_names(&self) -> Result<Registry, Fault> {
        let names = self.handlers.keys().map(String::as_str);
        Registry::with(names).map_err(|problem| Fault::new("handlers", format!("cannot be used: {problem}")))
    }

    /// How verdicts are enforced. What cannot be read was refused with the contract; the standard plan stands for it.
    pub fn enforcement_plan(&self) -> EnforcementPlan {
        if bugs::on(Bug::SettingsUnread) {
            return EnforcementPlan::default();
        }
        let registry = self.handler_names().unwrap_or_default();
        EnforcementPlan::read(self.enforcement.as_ref(), &registry).unwrap_or_default()
    }

    /// The settings of every detector.
    pub fn thresholds(&self) -> Thresholds {
        let written = self.detectors.as_ref().filter(|_| !bugs::on(Bug::SettingsUnread));
        Thresholds::read(written).unwrap_or_default()
    }
}

//! Precursor: a change that is made without the lookup that must come before it.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "a change is about to be made without the lookup that belongs before it";

words! {
    /// How a call before ended.
    Ended {
        /// It brought what was asked for.
        Succeeded = "SUCCEEDED",
        /// It did not: a lookup that failed has shown the agent nothing.
        Failed = "FAILED",
        /// Nobody can say.
        Unknown = "UNKNOWN",
    }
}

/// A call that was made before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prior {
    /// The tool.
    pub tool: String,
    /// How it ended.
    pub ended: Ended,
}

/// The call at hand and those before it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The tool that is called.
    pub tool: String,
    /// Whether it changes anything.
    pub is_mutating: bool,
    /// What was called before.
    pub prior: Vec<Prior>,
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["tool", "is_mutating", "prior"])?;
        let prior = fields.objects("prior", &["tool", "ended"], |prior| {
            let ended = prior.word("ended", Ended::Unknown, Ended::WORDS, Ended::from_word)?;
            Ok(Prior { tool: prior.text("tool", "")?, ended })
        })?;
        Ok(Evidence { tool: fields.text("tool", "")?, is_mutating: fields.flag("is_mutating", true)?, prior })
    }
}

/// Which lookups belong before which changes. Names are compared without case, and `-` and `.` are `_`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    requires: BTreeMap<String, BTreeSet<String>>,
    aliases: BTreeMap<String, BTreeSet<String>>,
}

impl Settings {
    /// Reads what a contract gives: `requires` and `aliases`, each from a name to names.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["requires", "aliases"])?;
        let names = |key: &str| {
            let listed = Fields::open(&fields.at(key), fields.get(key))?;
            let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (name, _) in listed.all() {
                let values = listed.texts(name)?;
                names.entry(plain(name)).or_default().extend(values.iter().map(|value| plain(value)));
            }
            Ok(names)
        };
        Ok(Settings { requires: names("requires")?, aliases: names("aliases")? })
    }

    fn lookups(&self, tool: &str) -> BTreeSet<String> {
        let required = self.requires.get(&plain(tool)).into_iter().flatten();
        let with_aliases =
            required.flat_map(|name| std::iter::once(name).chain(self.aliases.get(name).into_iter().flatten()));
        with_aliases.cloned().collect()
    }
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace(['-', '.'], "_")
}

words! {
    /// Whether the lookup was made.
    State {
        /// It was.
        Attested = "ATTESTED",
        /// It was not.
        Refuted = "REFUTED",
        /// There is nothing to say.
        NoSignal = "NO_SIGNAL",
    }
}

/// The judgement and what it rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Whether the lookup was made.
    pub state: State,
    /// The lookups of which any one is enough.
    pub required: BTreeSet<String>,
    /// Those that were made and did not fail.
    pub present: BTreeSet<String>,
}

/// Any one of the declared lookups is enough. Reads, undeclared tools and an empty past say nothing.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Judgement {
    let required = settings.lookups(&evidence.tool);
    let has_looked = |prior: &&Prior| match prior.ended {
        Ended::Succeeded | Ended::Unknown => true,
        Ended::Failed => false,
    };
    let made = evidence.prior.iter().filter(has_looked).map(|prior| plain(&prior.tool));
    let present: BTreeSet<String> = made.filter(|tool| required.contains(tool)).collect();
    let state = if !evidence.is_mutating || required.is_empty() || evidence.prior.is_empty() {
        State::NoSignal
    } else if present.is_empty() {
        State::Refuted
    } else {
        State::Attested
    };
    Judgement { state, required, present }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let Judgement { state, required, present } = judge(evidence, settings);
    let (tool, names) = (&evidence.tool, Vec::from_iter(required.iter().map(String::as_str)).join("`, `"));
    Signal {
        detector: "precursor",
        state: state.word(),
        confidence: match state {
            State::Attested | State::NoSignal => Confidence::None,
            State::Refuted => Confidence::Low,
        },
        rung: None,
        reason: match state {
            State::Attested => format!("`{tool}` comes after its lookup"),
            State::Refuted => format!("`{tool}` comes without any of `{names}` before it"),
            State::NoSignal => "no lookup is asked for".to_owned(),
        },
        details: Json::object([("required", Json::texts(required)), ("present", Json::texts(present))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, is_mutating: bool, prior: &[(&str, Ended)], expected: &str) {
        let written =
            Json::parse(br#"{"requires":{"cancel":["get.order","find"]},"aliases":{"find":["search"]}}"#).unwrap();
        let settings = Settings::read("precursor", Some(&written)).unwrap();
        let prior = prior.iter().map(|(tool, ended)| Prior { tool: (*tool).to_owned(), ended: *ended }).collect();
        let judgement = judge(&Evidence { tool: tool.to_owned(), is_mutating, prior }, &settings);
        assert_eq!(judgement.state.word(), expected, "{tool}");
    }

    #[test]
    fn any_declared_lookup_is_enough() {
        check("cancel", true, &[("GET-ORDER", Ended::Succeeded)], "ATTESTED");
        check("CANCEL", true, &[("search", Ended::Unknown)], "ATTESTED");
        check("cancel", true, &[("list", Ended::Succeeded)], "REFUTED");
    }

    #[test]
    fn a_lookup_that_failed_has_shown_nothing() {
        check("cancel", true, &[("find", Ended::Failed)], "REFUTED");
        check("cancel", true, &[("find", Ended::Failed), ("find", Ended::Succeeded)], "ATTESTED");
    }

    #[test]
    fn without_a_rule_a_change_or_a_past_there_is_nothing_to_say() {
        check("cancel", false, &[("list", Ended::Succeeded)], "NO_SIGNAL");
        check("create", true, &[("list", Ended::Succeeded)], "NO_SIGNAL");
        check("cancel", true, &[], "NO_SIGNAL");
    }
}

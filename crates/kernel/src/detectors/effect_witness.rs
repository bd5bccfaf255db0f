//! Effect witness: "done" counts only with a read-back that the agent did not write.
//!
//! Reading back (running a command, asking git, fetching a page) is the shell's work; here what was claimed is compared
//! with what was read.

use super::Signal;
use crate::contract::words;
use crate::enforcement::corrective::{Evidence as ToolEvidence, WrittenByGuard};
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use std::collections::BTreeSet;
use values::json::{Json, Object};

/// One line for people.
pub const ABOUT: &str = "something is said to be done that nobody else can see";

/// What the agent says is now so: a name for the effect and what should be readable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The effect, for example `push:main`.
    pub key: String,
    /// What a read-back should show, for example `{"head": "4f2a…"}`.
    pub states: Object,
}

words! {
    /// How it was read back.
    Source {
        /// A command was run.
        Command = "command",
        /// A repository was asked.
        Git = "git",
        /// A page was fetched.
        Http = "http",
    }
}

words! {
    /// Who answers for what was read.
    Accountability {
        /// The agent wrote it: it may say anything.
        AgentAuthored = "AGENT_AUTHORED",
        /// The operating system recorded it.
        OsRecorded = "OS_RECORDED",
        /// Somebody else holds it.
        ThirdParty = "THIRD_PARTY",
    }
}

/// What came of reading back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Nothing: the source could not be reached.
    Unreachable,
    /// These members.
    Saw(Object),
}

impl Reading {
    /// A reading from what a tool returned.
    pub fn of(result: &ToolEvidence) -> Reading {
        match result.result() {
            Json::Object(members) => Reading::Saw(members.clone()),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => Reading::Unreachable,
        }
    }
}

/// One read-back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Testimony {
    /// The effect it is about.
    pub key: String,
    /// How it was read back.
    pub source: Source,
    /// Who answers for it.
    pub accountability: Accountability,
    /// What came of it.
    pub reading: Reading,
}

impl Testimony {
    /// Testimony from a result; what the guard itself wrote is none.
    pub fn read(
        key: &str,
        source: Source,
        accountability: Accountability,
        result: &Json,
    ) -> Result<Testimony, WrittenByGuard> {
        let reading = Reading::of(&ToolEvidence::read(result)?);
        Ok(Testimony { key: key.to_owned(), source, accountability, reading })
    }
}

/// A claim, if there is one, and what was read back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// What the agent says is done.
    pub claim: Option<Claim>,
    /// What was read back, about this claim or others.
    pub testimony: Vec<Testimony>,
}

impl Evidence {
    /// Reads what labelled cases give; a testimony without `saw` could not be read back.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["claim", "testimony"])?;
        let states = |fields: &Fields<'_>, key: &str| {
            let members = Fields::open(&fields.at(key), fields.get(key))?;
            Ok(members.all().map(|(name, value)| (name.to_owned(), value.clone())).collect::<Object>())
        };
        let claim = match fields.get("claim") {
            None => None,
            Some(claim) => {
                let claim = Fields::of(&fields.at("claim"), Some(claim), &["key", "states"])?;
                Some(Claim { key: claim.text("key", "")?, states: states(&claim, "states")? })
            }
        };
        let testimony = fields.objects("testimony", &["key", "source", "accountability", "saw"], |told| {
            let reading = match told.get("saw") {
                None => Reading::Unreachable,
                Some(_) => Reading::Saw(states(told, "saw")?),
            };
            let standard = Accountability::AgentAuthored;
            Ok(Testimony {
                key: told.text("key", "")?,
                source: told.word("source", Source::Command, Source::WORDS, Source::from_word)?,
                accountability: told.word(
                    "accountability",
                    standard,
                    Accountability::WORDS,
                    Accountability::from_word,
                )?,
                reading,
            })
        })?;
        Ok(Evidence { claim, testimony })
    }
}

/// There is nothing to set: what is proof is not a matter of degree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {}

impl Settings {
    /// Reads what a contract gives.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        Fields::of(path, written, &[]).map(|_| Settings {})
    }
}

words! {
    /// What the witnesses say.
    State {
        /// All that was claimed was seen by somebody who answers for it.
        Confirmed = "CONFIRMED",
        /// Somebody saw something else.
        Refuted = "REFUTED",
        /// Nobody saw all of it.
        Unwitnessed = "UNWITNESSED",
        /// Nothing was claimed.
        NoClaim = "NO_CLAIM",
    }
}

/// The judgement and what it rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// What the witnesses say.
    pub state: State,
    /// Claimed members that somebody saw as claimed.
    pub seen: BTreeSet<String>,
    /// Claimed members that somebody saw otherwise.
    pub contradicted: BTreeSet<String>,
    /// Whether witnesses contradict each other, so that a person has to look.
    pub needs_human: bool,
}

/// Compares the claim with what was read by others than the agent.
///
/// A contradiction weighs more than any confirmation: witnesses that disagree refute the claim and call for a person.
pub fn judge(evidence: &Evidence, _: &Settings) -> Judgement {
    let Some(claim) = &evidence.claim else {
        let (seen, contradicted) = (BTreeSet::new(), BTreeSet::new());
        return Judgement { state: State::NoClaim, seen, contradicted, needs_human: false };
    };
    let (mut seen, mut contradicted) = (BTreeSet::new(), BTreeSet::new());
    for members in evidence.testimony.iter().filter_map(|testimony| sworn(testimony, &claim.key)) {
        for (name, claimed) in &claim.states {
            match members.get(name) {
                Some(read) if read == claimed => _ = seen.insert(name.clone()),
                Some(_) => _ = contradicted.insert(name.clone()),
                None => {}
            }
        }
    }
    let state = if !contradicted.is_empty() {
        State::Refuted
    } else if !claim.states.is_empty() && seen.len() == claim.states.len() {
        State::Confirmed
    } else {
        State::Unwitnessed
    };
    Judgement { state, needs_human: !seen.is_disjoint(&contradicted), seen, contradicted }
}

/// What a witness saw of this effect, if it is one that answers for its words.
fn sworn<'t>(testimony: &'t Testimony, key: &str) -> Option<&'t Object> {
    let answers = match testimony.accountability {
        Accountability::AgentAuthored => false,
        Accountability::OsRecorded | Accountability::ThirdParty => true,
    };
    match &testimony.reading {
        Reading::Saw(members) if answers && testimony.key == key => Some(members),
        Reading::Saw(_) | Reading::Unreachable => None,
    }
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let Judgement { state, seen, contradicted, needs_human } = judge(evidence, settings);
    let key = evidence.claim.as_ref().map(|claim| claim.key.as_str());
    let shown = key.unwrap_or_default();
    Signal {
        detector: "effect_witness",
        state: state.word(),
        confidence: match state {
            State::Confirmed | State::NoClaim => Confidence::None,
            State::Unwitnessed => Confidence::Low,
            State::Refuted => Confidence::High,
        },
        rung: None,
        reason: match state {
            State::Confirmed => format!("`{shown}` was seen by somebody else"),
            State::Refuted => format!("`{shown}` was seen to be otherwise"),
            State::Unwitnessed => format!("nobody but the agent has seen all of `{shown}`"),
            State::NoClaim => "nothing was said to be done".to_owned(),
        },
        details: Json::object([
            ("claim", Json::from(key)),
            ("seen", Json::texts(seen)),
            ("contradicted", Json::texts(contradicted)),
            ("needs_human", Json::Bool(needs_human)),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Testimony is about `push` unless the row says otherwise.
    fn check(claim: Option<&str>, testimony: &[(&str, Accountability, &str)], expected: &str) {
        let object = |text: &str| Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone();
        let claim = claim.map(|states| Claim { key: "push".to_owned(), states: object(states) });
        let testimony = testimony.iter().map(|(key, accountability, saw)| Testimony {
            key: (*key).to_owned(),
            source: Source::Git,
            accountability: *accountability,
            reading: if saw.is_empty() { Reading::Unreachable } else { Reading::Saw(object(saw)) },
        });
        let judgement = judge(&Evidence { claim, testimony: testimony.collect() }, &Settings {});
        let human = if judgement.needs_human { " human" } else { "" };
        assert_eq!(format!("{}{human}", judgement.state.word()), expected);
    }

    use Accountability::{AgentAuthored, OsRecorded, ThirdParty};

    #[test]
    fn the_agent_is_no_witness_of_itself() {
        let claim = Some(r#"{"head":"4f2a"}"#);
        check(claim, &[], "UNWITNESSED");
        check(claim, &[("push", AgentAuthored, r#"{"head":"4f2a"}"#)], "UNWITNESSED");
        check(claim, &[("push", OsRecorded, r#"{"head":"4f2a"}"#)], "CONFIRMED");
        check(claim, &[("push", ThirdParty, r#"{"head":"0000"}"#)], "REFUTED");
        check(claim, &[("push", AgentAuthored, r#"{"head":"0000"}"#)], "UNWITNESSED");
        check(claim, &[("push", ThirdParty, "")], "UNWITNESSED");
        check(claim, &[("other", ThirdParty, r#"{"head":"4f2a"}"#)], "UNWITNESSED");
        check(None, &[("push", ThirdParty, r#"{"head":"4f2a"}"#)], "NO_CLAIM");
    }

    #[test]
    fn witnesses_that_disagree_need_a_person() {
        let disagree = [("push", OsRecorded, r#"{"head":"4f2a"}"#), ("push", ThirdParty, r#"{"head":"0000"}"#)];
        check(Some(r#"{"head":"4f2a"}"#), &disagree, "REFUTED human");
    }

    #[test]
    fn all_of_the_claim_has_to_be_seen() {
        let claim = Some(r#"{"exit":0,"head":"4f2a"}"#);
        check(claim, &[("push", OsRecorded, r#"{"exit":0}"#)], "UNWITNESSED");
        let together = [("push", OsRecorded, r#"{"exit":0}"#), ("push", ThirdParty, r#"{"head":"4f2a","more":1}"#)];
        check(claim, &together, "CONFIRMED");
        check(Some("{}"), &[("push", OsRecorded, r#"{"exit":0}"#)], "UNWITNESSED");
    }

    #[test]
    fn what_the_guard_wrote_is_no_testimony() {
        let result = Json::parse(br#"{"head":"4f2a","writkeeper_blocked":true}"#).unwrap();
        assert!(Testimony::read("push", Source::Command, OsRecorded, &result).is_err());
    }
}

//! Cases from history: what was found about proposals when they were decided, against what people say of them.

use super::Evaluation;
use super::label::Label;
use super::subjects::Flags;
use crate::error::Error;
use crate::history::History;
use kernel::advice::{Advice, AdviceKind, AdviceOutcome};
use kernel::change::ActKind;
use kernel::detectors::{Detector, Seen, Thresholds};
use kernel::escalation::HumanDecision;
use kernel::finding::{Effect, Finding};
use kernel::outcome::{Answer, Verdict};
use kernel::record::RecordKind;
use runtime::Runtime;
use std::collections::BTreeMap;
use std::ops::Bound;
use values::json::Json;

/// Questions that are kept until their answer comes.
const QUESTIONS_MAX: usize = 100_000;

/// Labels that are given at most.
pub const LABELS_MAX: usize = 1_000_000;

/// Whose findings count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whose {
    /// A gate's, or everybody's.
    Gates(Flags),
    /// Those of a validator or judge by name.
    Plugin(AdviceKind, String),
    /// What a detector said when it looked.
    Detector(RecordedDetector),
}

/// A detector whose word stands in the params of what the hooks propose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedDetector {
    name: &'static str,
    /// What it says where nothing is wrong.
    quiet: &'static str,
}

/// Detectors whose word is a param; what the others notice is told to the agent and not recorded.
const RECORDED: [&str; 2] = ["stall", "breaker"];

impl RecordedDetector {
    /// Nothing for a detector that records do not tell of.
    pub fn of(detector: &Detector) -> Result<RecordedDetector, String> {
        let quiet = (detector.judge)(&Seen::default(), &Thresholds::default()).state;
        let named = RECORDED.contains(&detector.name);
        named.then_some(RecordedDetector { name: detector.name, quiet }).ok_or_else(|| {
            let names = RECORDED.map(|name| format!("`{name}`")).join(" and ");
            format!("records tell what {names} said, not `{}`; give its cases as evidence", detector.name)
        })
    }

    /// Whether it said something, where it said anything at all.
    fn flagged(self, body: &Json) -> (bool, bool) {
        let word = body.get("proposal").and_then(|proposal| proposal.get("params")?.get(self.name)?.as_text());
        (word.is_some_and(|word| word != self.quiet), word.is_some())
    }
}

/// Where labels come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Labels {
    /// Given for proposals by their ids, whole or their beginnings.
    Given(BTreeMap<String, Label>),
    /// The answers of people to questions: what was let through as it was is good, what was changed or refused is bad.
    Answers,
}

/// Evaluates on the decisions of a store. The error names a label that fits no decision or more than one.
pub fn evaluate(runtime: &Runtime, whose: &Whose, labels: &Labels) -> Result<Evaluation, Error> {
    let mut history = History::since(runtime, None)?;
    let mut given = match labels {
        Labels::Given(given) => Some(Labelled::new(given)),
        Labels::Answers => None,
    };
    let mut walk = Walk { whose, evaluation: Evaluation::default(), asked: BTreeMap::new() };
    while let Some((entry, body)) = history.next_entry()? {
        match (RecordKind::of(&body), &mut given) {
            (Some(RecordKind::Decision), Some(given)) => walk.labelled(entry, &body, given)?,
            (Some(RecordKind::Decision), None) => walk.question(entry, &body),
            (Some(RecordKind::Change(ActKind::Answer)), None) => walk.answered(&body),
            (Some(_) | None, _) => {}
        }
    }
    given.map_or(Ok(()), |given| given.demand_used())?;
    Ok(walk.evaluation)
}

/// Labels that were given for proposals, and what each was used for.
pub(super) struct Labelled<'a> {
    given: &'a BTreeMap<String, Label>,
    /// The proposal that each given id stood for.
    used: BTreeMap<&'a str, String>,
}

impl<'a> Labelled<'a> {
    pub(super) fn new(given: &'a BTreeMap<String, Label>) -> Labelled<'a> {
        Labelled { given, used: BTreeMap::new() }
    }

    /// The label of a proposal, if it has one. The error names an id that fits two.
    pub(super) fn of(&mut self, proposal: &str) -> Result<Option<Label>, Error> {
        let nearest = self.given.range::<str, _>((Bound::Unbounded, Bound::Included(proposal))).next_back();
        let Some((id, label)) = nearest.filter(|(id, _)| proposal.starts_with(id.as_str())) else { return Ok(None) };
        if let Some(other) = self.used.insert(id, proposal.to_owned()) {
            let problem = format!("`{}` is the beginning of {other} and of {proposal}; give more of it", visible(id));
            return Err(Error::Invalid(problem));
        }
        Ok(Some(*label))
    }

    /// Refuses labels that fit no decision.
    pub(super) fn demand_used(&self) -> Result<(), Error> {
        match self.given.keys().find(|id| !self.used.contains_key(id.as_str())) {
            Some(id) => Err(Error::Invalid(format!("no decision about proposal `{}` can be read", visible(id)))),
            None => Ok(()),
        }
    }
}

struct Walk<'a> {
    whose: &'a Whose,
    evaluation: Evaluation,
    /// Open questions: the entry, whether something was said, and whether anybody answered.
    asked: BTreeMap<String, (u64, bool, bool)>,
}

impl Walk<'_> {
    fn labelled(&mut self, entry: u64, body: &Json, given: &mut Labelled<'_>) -> Result<(), Error> {
        let Some(answer) = Answer::from_record(body) else { return Ok(()) };
        let Some(label) = given.of(&answer.id)? else { return Ok(()) };
        let (is_flagged, is_answered) = self.flagged(&answer, body);
        self.evaluation.count_recorded(entry, label, is_flagged);
        self.evaluation.unanswered += u64::from(!is_answered);
        Ok(())
    }

    fn question(&mut self, entry: u64, body: &Json) {
        let Some(answer) = Answer::from_record(body) else { return };
        let (is_flagged, is_answered) = self.flagged(&answer, body);
        if let Some(question) = answer.question.filter(|_| self.asked.len() < QUESTIONS_MAX) {
            self.asked.insert(question.id, (entry, is_flagged, is_answered));
        }
    }

    fn answered(&mut self, body: &Json) {
        let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_text).map(str::to_owned);
        let Some(command) = body.get("command") else { return };
        // A vote of several is no answer yet, and a refused answer is none.
        let counts = text(body, "verdict").as_deref() == Some(Verdict::Accept.word()) && body.get("votes").is_none();
        let decision = text(command, "decision").and_then(|word| HumanDecision::from_word(&word)).filter(|_| counts);
        let label = match decision {
            Some(HumanDecision::Override) => Label::Good,
            Some(HumanDecision::Modify | HumanDecision::Abort) => Label::Bad,
            None => return,
        };
        let question = text(command, "question").unwrap_or_default();
        if let Some((entry, is_flagged, is_answered)) = self.asked.remove(&question) {
            self.evaluation.count_recorded(entry, label, is_flagged);
            self.evaluation.unanswered += u64::from(!is_answered);
        }
    }

    /// Whether something was said against a proposal, and whether the one who was asked said anything.
    fn flagged(&self, answer: &Answer, body: &Json) -> (bool, bool) {
        match self.whose {
            Whose::Gates(flags) => (answer.findings.iter().any(|finding| flags.counts(finding)), true),
            Whose::Plugin(kind, name) => {
                let is_flagged = answer.findings.iter().any(|finding| is_of(finding, *kind, name));
                let advice = Advice::list_from_json(body.get("advice")).unwrap_or_default();
                let said = |advice: &Advice| matches!(advice.said, AdviceOutcome::Opinion(_));
                let is_answered = advice.iter().any(|given| given.kind == *kind && given.name == *name && said(given));
                (is_flagged, is_answered)
            }
            Whose::Detector(detector) => detector.flagged(body),
        }
    }
}

/// Whether a finding comes from that validator or judge, and not from its silence.
fn is_of(finding: &Finding, kind: AdviceKind, name: &str) -> bool {
    let named =
        |(key, value): &(std::borrow::Cow<'static, str>, Json)| key == kind.word() && *value == Json::text(name);
    let is_opinion = finding.values.iter().any(|(key, _)| key == "version");
    let counts = finding.effect >= Effect::Escalate || kind == AdviceKind::Judge;
    counts && is_opinion && finding.values.iter().any(named)
}

fn visible(text: &str) -> String {
    kernel::finding::visible(text)
}

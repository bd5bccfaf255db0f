//! Cases from history: what was found about proposals when they were decided, against what people say of them.

use super::Evaluation;
use super::label::Label;
use super::subjects::Flags;
use crate::error::Error;
use crate::history::History;
use kernel::advice::{Advice, AdviceKind, AdviceOutcome};
use kernel::change::ActKind;
use kernel::escalation::HumanDecision;
use kernel::finding::{Effect, Finding};
use kernel::outcome::{Answer, Verdict};
use kernel::record::RecordKind;
use runtime::Runtime;
use std::collections::BTreeMap;
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
    let mut walk = Walk { whose, evaluation: Evaluation::default(), used: BTreeMap::new(), asked: BTreeMap::new() };
    while let Some((entry, body)) = history.next_entry()? {
        match (RecordKind::of(&body), labels) {
            (Some(RecordKind::Decision), Labels::Given(given)) => walk.labelled(entry, &body, given)?,
            (Some(RecordKind::Decision), Labels::Answers) => walk.question(entry, &body),
            (Some(RecordKind::Change(ActKind::Answer)), Labels::Answers) => walk.answered(&body),
            (Some(_) | None, _) => {}
        }
    }
    if let Labels::Given(given) = labels {
        let unused = given.keys().find(|id| !walk.used.contains_key(id.as_str()));
        if let Some(id) = unused {
            return Err(Error::Invalid(format!("no decision about proposal `{}` can be read", visible(id))));
        }
    }
    Ok(walk.evaluation)
}

struct Walk<'a> {
    whose: &'a Whose,
    evaluation: Evaluation,
    /// The proposal that each given id stood for.
    used: BTreeMap<&'a str, String>,
    /// Open questions: the entry, whether something was said, and whether anybody answered.
    asked: BTreeMap<String, (u64, bool, bool)>,
}

impl<'a> Walk<'a> {
    fn labelled(&mut self, entry: u64, body: &Json, given: &'a BTreeMap<String, Label>) -> Result<(), Error> {
        let Some(answer) = Answer::from_record(body) else { return Ok(()) };
        let nearest = given.range::<String, _>(..=&answer.id).next_back();
        let Some((id, label)) = nearest.filter(|(id, _)| answer.id.starts_with(id.as_str())) else { return Ok(()) };
        if let Some(other) = self.used.insert(id, answer.id.clone()) {
            let problem =
                format!("`{}` is the beginning of {other} and of {}; give more of it", visible(id), answer.id);
            return Err(Error::Invalid(problem));
        }
        let (is_flagged, is_answered) = self.flagged(&answer, body);
        self.evaluation.count_recorded(entry, *label, is_flagged);
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

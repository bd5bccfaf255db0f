//! What can be evaluated case by case: gates, validators, judges and detectors.

use super::{Opinion, Subject};
use kernel::advice::{AdviceKind, AdviceOutcome, AdviceVerdict, Needed, Opinion as Said, needed};
use kernel::command::{MintedIds, Submission};
use kernel::detectors::{DETECTORS, Detector, Seen, Thresholds};
use kernel::evaluator::Compiled;
use kernel::finding::{Effect, Finding, Gate, visible};
use kernel::nearest::suggestion;
use kernel::proposal::{Malformed, Proposal};
use kernel::pure::PureRun;
use kernel::request::Provenance;
use runtime::ports::advisor::Advisor;
use std::sync::Arc;
use std::time::Instant;
use values::ids::TENANT_DEFAULT;
use values::json::{Json, Object};

/// What counts as saying something against a proposal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags {
    /// Findings of this gate; of every gate without one.
    pub gate: Option<Gate>,
    /// A question to a person does not count.
    pub only_refusals: bool,
}

impl Flags {
    /// Whether a finding counts.
    pub fn counts(self, finding: &Finding) -> bool {
        let least = if self.only_refusals { Effect::Reject } else { Effect::Escalate };
        finding.effect >= least && self.gate.is_none_or(|gate| finding.gate == gate)
    }
}

/// A gate of a contract, or all of them. Proposals are judged in order and what is accepted adds up, as in `decide`.
pub struct Gates<'a> {
    pub run: PureRun,
    pub flags: Flags,
    pub advisor: &'a dyn Advisor,
}

impl Gates<'_> {
    /// A refusal of what the contract is not about, or of what nobody can read, says nothing of its gates.
    fn demand_usable(&self, number: u64, line: &[u8]) -> Result<(), String> {
        let about = &self.run.contract().contract.agent;
        match Proposal::parse_line(line, number) {
            Ok(proposal) if proposal.agent == *about => Ok(()),
            Ok(proposal) => {
                let agent = visible(&proposal.agent);
                Err(format!("the proposal is of agent `{agent}`, and the contract is about `{about}`"))
            }
            // Only this gate judges what cannot be read.
            Err(_) if self.flags.gate == Some(Gate::Shape) => Ok(()),
            Err(malformed) => Err(unread(&malformed)),
        }
    }
}

impl Subject for Gates<'_> {
    fn judge(&mut self, number: u64, case: &Json) -> Result<Opinion, String> {
        let line = case.to_canonical();
        self.demand_usable(number, line.as_bytes())?;
        let advisor = self.advisor;
        let begun = Instant::now();
        let mut advise = |submission| runtime::advised(submission, Some(advisor));
        let done = self.run.judge_advised(number, line.as_bytes(), &mut advise);
        let nanos = since(begun);
        let is_flagged = done.answer.findings.iter().any(|finding| self.flags.counts(finding));
        Ok(Opinion { is_flagged, is_answered: true, nanos })
    }
}

/// One validator or judge of a contract. Nobody else is asked, and nothing adds up.
pub struct PluginOf<'a> {
    contract: Arc<Compiled>,
    kind: AdviceKind,
    name: String,
    advisor: &'a dyn Advisor,
}

impl<'a> PluginOf<'a> {
    /// The one of that name; the error lists the names there are.
    pub fn new(
        contract: Arc<Compiled>,
        kind: AdviceKind,
        name: &str,
        advisor: &'a dyn Advisor,
    ) -> Result<PluginOf<'a>, String> {
        let known = match kind {
            AdviceKind::Validator => &contract.contract.validators,
            AdviceKind::Judge => &contract.contract.judges,
        };
        if !known.contains_key(name) {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(unknown(&format!("the contract has no {} `{name}`", kind.word()), name, &names));
        }
        Ok(PluginOf { contract, kind, name: name.to_owned(), advisor })
    }

    fn is_meant(&self, needed: &Needed<'_>) -> bool {
        needed.kind == self.kind && needed.name == self.name
    }
}

impl Subject for PluginOf<'_> {
    fn judge(&mut self, number: u64, case: &Json) -> Result<Opinion, String> {
        let proposal = Proposal::parse_line(case.to_canonical().as_bytes(), number);
        let proposal = proposal.map_err(|malformed| unread(&malformed))?;
        let action = proposal.action.clone();
        let id = |what: &str| format!("{what}-{number}");
        let ids =
            MintedIds { proposal: id("proposal"), flow: id("flow"), intent: id("intent"), escalation: id("question") };
        let provenance = Provenance::of(&proposal, true);
        let submission = Submission::new(Arc::from(TENANT_DEFAULT), proposal, self.contract.clone(), provenance, ids);
        let questions = needed(&submission);
        let Some(question) = questions.iter().find(|needed| self.is_meant(needed)) else {
            let (kind, name) = (self.kind.word(), &self.name);
            return Err(format!("{kind} `{name}` is not asked about `{action}`, or the params do not fit"));
        };
        let begun = Instant::now();
        let answer = self.advisor.ask(question.plugin, &question.question);
        let nanos = since(begun);
        Ok(match question.heard(answer).said {
            AdviceOutcome::Nothing(_) => Opinion { is_flagged: false, is_answered: false, nanos },
            AdviceOutcome::Opinion(said) => Opinion { is_flagged: doubts(question, &said), is_answered: true, nanos },
        })
    }
}

/// Whether an answer says anything against a proposal.
fn doubts(question: &Needed<'_>, said: &Said) -> bool {
    let is_low = question.plugin.escalate_below.zip(said.score).is_some_and(|(bound, score)| score < bound);
    match said.verdict {
        AdviceVerdict::Reject | AdviceVerdict::Escalate => true,
        AdviceVerdict::Pass => is_low,
    }
}

/// A detector with its settings. A case is what it looks at.
pub struct DetectorOf {
    pub detector: &'static Detector,
    pub thresholds: Thresholds,
}

impl Subject for DetectorOf {
    fn judge(&mut self, _number: u64, case: &Json) -> Result<Opinion, String> {
        let seen = Seen::read(self.detector.name, case).map_err(|fault| fault.to_string())?;
        let begun = Instant::now();
        let signal = (self.detector.judge)(&seen, &self.thresholds);
        Ok(Opinion { is_flagged: signal.is_concern(), is_answered: true, nanos: since(begun) })
    }
}

/// Settings of a detector from words `key=value`, where a value is JSON or plain text.
pub fn settings(name: &str, given: &[(String, String)]) -> Result<Thresholds, String> {
    let mut members = Object::new();
    for (key, value) in given {
        let value = Json::parse(value.as_bytes()).unwrap_or_else(|_| Json::text(value.as_str()));
        members.insert(key.clone(), value);
    }
    let written = Json::object([(name, Json::Object(members))]);
    Thresholds::read(Some(&written)).map_err(|fault| fault.to_string())
}

/// Detectors by their name; the error lists the names there are.
pub fn detector(name: &str) -> Result<&'static Detector, String> {
    let names: Vec<&str> = DETECTORS.iter().map(|detector| detector.name).collect();
    let detector = DETECTORS.iter().find(|detector| detector.name == name);
    detector.ok_or_else(|| unknown(&format!("there is no detector `{name}`"), name, &names))
}

/// Gates by their word.
pub fn gate(word: &str) -> Result<Gate, String> {
    let words: Vec<&str> = Gate::ALL.iter().map(|gate| gate.word()).collect();
    let found = Gate::ALL.iter().find(|gate| gate.word() == word).copied();
    found.ok_or_else(|| unknown(&format!("there is no gate `{word}`"), word, &words))
}

fn unknown(problem: &str, word: &str, known: &[&str]) -> String {
    let meant = suggestion(word, known.iter().copied());
    let list = if known.is_empty() { "it has none".to_owned() } else { format!("known: {}", known.join(", ")) };
    visible(&format!("{problem}{meant} ({list})"))
}

fn unread(malformed: &Malformed) -> String {
    let problems: Vec<String> = malformed.findings.iter().map(|finding| visible(&finding.message())).collect();
    format!("the proposal cannot be read: {}", problems.join("; "))
}

fn since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

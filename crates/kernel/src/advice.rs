//! Advice: what validators and judges outside said about one proposal. It enters a command as recorded input.
//!
//! Who must be asked is a pure function of the proposal and the contracts, and so is the exact question. Its digest
//! binds an answer to this proposal under this contract; an answer to another question is no answer.

use crate::command::{Performer, Submission};
use crate::contract::{Contract, Plugin, words};
use crate::enforcement::gating::Confidence;
use crate::evaluator::Compiled;
use crate::finding::{Effect, Finding, Findings, Gate};
use crate::nearest::suggestion;
use crate::reasons::Reason;
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::ids::{self, Digest};
use values::json::{Json, Object};

/// The format of questions.
const FORMAT: &str = "writkeeper/advice/v1";

/// The longest answer; whoever says more has not answered.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The longest message kept of an answer.
const MESSAGE_BYTES_MAX: usize = 1_024;

/// The longest description of what went wrong.
const PROBLEM_CHARS_MAX: usize = 300;

/// Fields of an answer.
const FIELDS: &[&str] = &["verdict", "version", "reason", "message", "score"];

words! {
    /// Who gives advice.
    AdviceKind {
        /// Its "no" refuses, and so does its silence.
        Validator = "validator",
        /// It may ask for a person, or advise whoever enforces by a ladder; when it fails it abstains.
        Judge = "judge",
    }
}

words! {
    /// What advice says.
    AdviceVerdict {
        /// Nothing against it.
        Pass = "pass",
        /// It must not happen. A judge that says so asks for a person.
        Reject = "reject",
        /// A person must look.
        Escalate = "escalate",
    }
}

/// One answer to one question, or why there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// Who was asked.
    pub kind: AdviceKind,
    /// By name.
    pub name: String,
    /// SHA-256 of the question.
    pub input: Digest,
    /// What came back.
    pub said: AdviceOutcome,
}

/// What came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AdviceOutcome {
    /// An answer.
    Opinion(Opinion),
    /// None, and why.
    Nothing(String),
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opinion {
    /// What it says.
    pub verdict: AdviceVerdict,
    /// Version of whoever answered.
    pub version: String,
    /// A code of its own.
    pub reason: Option<String>,
    /// Why, in words.
    pub message: Option<String>,
    /// How good it is, from 0 to 1; judges only.
    pub score: Option<Decimal>,
}

/// Someone who must be asked about a proposal.
#[derive(Clone, Debug)]
pub struct Needed<'a> {
    /// As what.
    pub kind: AdviceKind,
    /// By name.
    pub name: &'a str,
    /// How to reach it.
    pub plugin: &'a Plugin,
    /// The question, canonical JSON.
    pub question: String,
}

impl Needed<'_> {
    /// What an answer must be bound to.
    pub fn input(&self) -> Digest {
        Digest::of(&self.question)
    }

    /// Whether this is an answer to the question.
    pub fn is_met_by(&self, advice: &Advice) -> bool {
        advice.kind == self.kind && advice.name == self.name && advice.input == self.input()
    }

    /// The answer as a command carries it: the bytes that came back, or why none did.
    pub fn heard(&self, answer: Result<Vec<u8>, String>) -> Advice {
        let said = match answer.and_then(|bytes| Opinion::read(self.kind, &bytes)) {
            Ok(opinion) => AdviceOutcome::Opinion(opinion),
            Err(problem) => AdviceOutcome::Nothing(problem.chars().take(PROBLEM_CHARS_MAX).collect()),
        };
        Advice { kind: self.kind, name: self.name.to_owned(), input: self.input(), said }
    }
}

/// Everyone who must be asked: by the contract, and by those above it.
///
/// What is malformed is refused anyway and shown to nobody.
pub fn needed(submission: &Submission) -> Vec<Needed<'_>> {
    let malformed = |finding: &Finding| finding.gate == Gate::Shape && finding.effect == Effect::Reject;
    let line = std::iter::once(&submission.contract).chain(&submission.ancestors);
    let mut needed: Vec<Needed<'_>> = Vec::new();
    for contract in line {
        for (kind, name, plugin) in asked(&contract.contract, &submission.proposal.action) {
            // The same plug-in of a contract above would be asked the same.
            let again = |known: &Needed<'_>| known.kind == kind && known.name == name && known.plugin == plugin;
            if !needed.iter().any(again) {
                needed.push(Needed { kind, name, plugin, question: question(submission, contract, kind, name) });
            }
        }
    }
    if !needed.is_empty() && submission.prepared.iter().any(malformed) {
        needed.clear();
    }
    needed
}

fn asked<'a>(contract: &'a Contract, action: &str) -> impl Iterator<Item = (AdviceKind, &'a str, &'a Plugin)> {
    let action = contract.actions.get(action);
    let validators = action.into_iter().flat_map(|action| &action.validators);
    let judges = action.into_iter().flat_map(|action| &action.judges);
    let validators = validators.filter_map(|name| Some((AdviceKind::Validator, name, contract.validators.get(name)?)));
    let judges = judges.filter_map(|name| Some((AdviceKind::Judge, name, contract.judges.get(name)?)));
    validators.chain(judges).map(|(kind, name, plugin)| (kind, name.as_str(), plugin))
}

/// Exactly what is asked. Secret params are withheld, as they are from records.
fn question(submission: &Submission, contract: &Arc<Compiled>, kind: AdviceKind, name: &str) -> String {
    let mut proposal = submission.proposal.to_json(submission.shown_params());
    if let Json::Object(members) = &mut proposal {
        // Minted ids are part of the question: it is about this very proposal, also when it is formed again.
        members.insert("id".to_owned(), Json::text(submission.proposal_id()));
        members.insert("flow".to_owned(), Json::text(submission.flow_id()));
        // The door's statement counts, and it stands beside the proposal.
        members.remove("provenance");
    }
    let question = Json::object([
        ("format", Json::text(FORMAT)),
        ("kind", Json::text(kind.word())),
        ("name", Json::text(name)),
        ("tenant", Json::text(&*submission.tenant)),
        ("contract", Json::text(contract.digest.to_string())),
        ("proposal", proposal),
        ("provenance", submission.provenance.to_json()),
    ]);
    question.to_canonical()
}

/// What the advice of a command amounts to. An answer that is missing or about something else is none.
pub(crate) fn judge(submission: &Submission, findings: &mut Findings) {
    for needed in needed(submission) {
        let named = |advice: &&Advice| advice.kind == needed.kind && advice.name == needed.name;
        let mut bound = submission.advice.iter().filter(|advice| needed.is_met_by(advice)).peekable();
        if bound.peek().is_none() {
            let problem = match submission.advice.iter().find(named) {
                Some(_) => "its answer is about another proposal or contract",
                None => "it was not asked",
            };
            silence(&needed, problem, findings);
        }
        for advice in bound {
            match &advice.said {
                AdviceOutcome::Nothing(problem) => silence(&needed, problem, findings),
                AdviceOutcome::Opinion(opinion) if needed.kind == AdviceKind::Judge && is_advised(submission) => {
                    findings.extend(doubt(&needed, opinion));
                }
                AdviceOutcome::Opinion(opinion) => weigh(&needed, opinion, findings),
            }
        }
    }
}

/// A required validator that says nothing refuses; whoever else says nothing abstains.
fn silence(needed: &Needed<'_>, problem: &str, findings: &mut Findings) {
    if needed.kind == AdviceKind::Judge || !needed.plugin.required {
        return;
    }
    let finding = Finding::reject(Gate::Validators, Reason::ValidatorFailed);
    findings
        .push(finding.with("validator", needed.name).with("problem", problem).with("asked", needed.plugin.to_json()));
}

/// Whether judges only advise whoever enforces.
fn is_advised(submission: &Submission) -> bool {
    submission.door.performer == Performer::Host && !bugs::on(Bug::JudgesBind)
}

/// What a judge says to whoever enforces by a ladder: how sure it is picks the rung there.
fn doubt(needed: &Needed<'_>, opinion: &Opinion) -> Option<Finding> {
    let low = needed.plugin.escalate_below.zip(opinion.score).filter(|(bound, score)| score < bound);
    let (confidence, problem) = match (opinion.verdict, low) {
        (AdviceVerdict::Reject, _) => (Confidence::High, opinion.message().to_owned()),
        (AdviceVerdict::Escalate, _) => (Confidence::Low, opinion.message().to_owned()),
        (AdviceVerdict::Pass, Some((bound, score))) => {
            (Confidence::Low, format!("it gives it {}, below {}", plain(score), plain(bound)))
        }
        (AdviceVerdict::Pass, None) => return None,
    };
    let finding = Finding::advise(Gate::Validators, Reason::JudgeDoubts).with("judge", needed.name);
    let finding = finding.with("problem", problem).with("confidence", confidence.word());
    Some(finding.with("version", opinion.version.as_str()))
}

fn weigh(needed: &Needed<'_>, opinion: &Opinion, findings: &mut Findings) {
    let low = needed.plugin.escalate_below.zip(opinion.score).filter(|(bound, score)| score < bound);
    let finding = match (needed.kind, opinion.verdict) {
        (AdviceKind::Validator, AdviceVerdict::Reject) => {
            let finding = Finding::reject(Gate::Validators, Reason::ValidatorRejected);
            finding.with("validator", needed.name).with("problem", opinion.message())
        }
        (AdviceKind::Validator, AdviceVerdict::Escalate)
        | (AdviceKind::Judge, AdviceVerdict::Reject | AdviceVerdict::Escalate) => {
            asks(needed, format!("{} `{}` asks for it: {}", needed.kind.word(), needed.name, opinion.message()))
        }
        (AdviceKind::Validator | AdviceKind::Judge, AdviceVerdict::Pass) => match low {
            Some((bound, score)) => {
                asks(needed, format!("judge `{}` gives it {}, below {}", needed.name, plain(score), plain(bound)))
                    .with("score", score)
            }
            None => return,
        },
    };
    let finding = finding.with("version", opinion.version.as_str());
    findings.push(match &opinion.reason {
        Some(reason) => finding.with("reason", reason.as_str()),
        None => finding,
    });
}

/// The same text for the same number, however it was written.
fn plain(number: Decimal) -> String {
    Json::from_decimal(number).to_canonical()
}

fn asks(needed: &Needed<'_>, problem: String) -> Finding {
    let finding = Finding::escalate(Gate::Validators, Reason::NeedsApproval);
    finding.with(needed.kind.word(), needed.name).with("problem", problem)
}

impl Opinion {
    fn message(&self) -> &str {
        self.message.as_deref().or(self.reason.as_deref()).unwrap_or("it does not say why")
    }

    /// Reads what a plug-in sent; the error says what is wrong with it.
    pub fn read(kind: AdviceKind, bytes: &[u8]) -> Result<Opinion, String> {
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(format!("its answer is longer than {ANSWER_BYTES_MAX} bytes"));
        }
        let json = Json::parse(bytes).map_err(|refusal| format!("its answer is no JSON: {refusal}"))?;
        let members = json.as_object().ok_or_else(|| format!("its answer is {}, not an object", json.kind()))?;
        if let Some(key) = members.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            let key: String = key.chars().take(64).collect();
            return Err(format!("its answer has an unknown key `{key}`{}", suggestion(&key, FIELDS.iter().copied())));
        }
        let text = |key: &'static str| match members.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Text(text)) if text.len() <= MESSAGE_BYTES_MAX => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{key}` of its answer is no text of at most {MESSAGE_BYTES_MAX} bytes")),
        };
        let verdict = text("verdict")?.as_deref().and_then(AdviceVerdict::from_word);
        let verdict = verdict.ok_or_else(|| format!("its verdict is none of {}", AdviceVerdict::WORDS.join(", ")))?;
        let version = text("version")?.filter(|version| ids::identifier_problem(version).is_none());
        let version = version.ok_or("its answer says no `version`")?;
        let reason = text("reason")?;
        if reason.as_ref().is_some_and(|reason| !ids::is_reason_code(reason)) {
            return Err("its `reason` is no code such as RISK_TOO_HIGH".to_owned());
        }
        let score = match members.get("score").filter(|score| **score != Json::Null) {
            None => None,
            Some(_) if kind == AdviceKind::Validator => return Err("a validator gives no `score`".to_owned()),
            Some(score) => {
                let within = |score: &Decimal| !score.is_negative() && *score <= Decimal::from(1);
                Some(score.as_number().filter(within).ok_or("its `score` is no number from 0 to 1")?)
            }
        };
        Ok(Opinion { verdict, version, reason, message: text("message")?, score })
    }
}

impl Advice {
    /// As records and rows hold it.
    pub fn to_json(&self) -> Json {
        let mut members = Object::new();
        let mut put = |key: &str, value: Json| members.insert(key.to_owned(), value);
        put("kind", Json::text(self.kind.word()));
        put("name", Json::text(self.name.as_str()));
        put("input", Json::text(self.input.to_string()));
        match &self.said {
            AdviceOutcome::Nothing(problem) => {
                put("failed", Json::text(problem.as_str()));
            }
            AdviceOutcome::Opinion(opinion) => {
                put("verdict", Json::text(opinion.verdict.word()));
                put("version", Json::text(opinion.version.as_str()));
                let texts = [("reason", &opinion.reason), ("message", &opinion.message)];
                for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?))) {
                    put(key, Json::text(text.as_str()));
                }
                if let Some(score) = opinion.score {
                    put("score", Json::from_decimal(score));
                }
            }
        }
        Json::Object(members)
    }

    /// Reads back what [`Advice::to_json`] wrote.
    pub fn from_json(json: &Json) -> Option<Advice> {
        let text = |key: &str| json.get(key).and_then(Json::as_text);
        let owned = |key: &str| text(key).map(str::to_owned);
        let said = match text("failed") {
            Some(problem) => AdviceOutcome::Nothing(problem.to_owned()),
            None => AdviceOutcome::Opinion(Opinion {
                verdict: AdviceVerdict::from_word(text("verdict")?)?,
                version: owned("version")?,
                reason: owned("reason"),
                message: owned("message"),
                score: json.get("score").and_then(Json::as_number),
            }),
        };
        let kind = AdviceKind::from_word(text("kind")?)?;
        Some(Advice { kind, name: owned("name")?, input: Digest::parse(text("input")?)?, said })
    }

    /// A list as records and rows hold it.
    pub fn list_to_json(list: &[Advice]) -> Json {
        Json::List(list.iter().map(Advice::to_json).collect())
    }

    /// Reads a list back; what is absent is empty.
    pub fn list_from_json(json: Option<&Json>) -> Option<Vec<Advice>> {
        match json {
            None => Some(Vec::new()),
            Some(list) => list.as_list()?.iter().map(Advice::from_json).collect(),
        }
    }
}

/// What a row of a contract's tests lets someone say: a word, or the score of a judge.
pub fn rehearsed(needed: &Needed<'_>, said: &Json) -> Advice {
    let opinion = |verdict: AdviceVerdict, score: Option<Decimal>| {
        AdviceOutcome::Opinion(Opinion { verdict, version: "test".to_owned(), reason: None, message: None, score })
    };
    let said = match (said.as_text().and_then(AdviceVerdict::from_word), said.as_number()) {
        (Some(verdict), _) => opinion(verdict, None),
        (None, Some(score)) => opinion(AdviceVerdict::Pass, Some(score)),
        (None, None) => AdviceOutcome::Nothing("the test says so".to_owned()),
    };
    Advice { kind: needed.kind, name: needed.name.to_owned(), input: needed.input(), said }
}

#[cfg(test)]
mod tests;

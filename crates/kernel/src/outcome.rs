//! What a command leaves behind: an answer for the caller and records for the ledger.

use crate::event::Event;
use crate::finding::{Effect, Finding};
use crate::intent::Intent;
use crate::reasons::Reason;
use crate::record::Record;
use crate::world::KeySet;
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

/// The three things the kernel can say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// It may happen.
    Accept,
    /// It must not happen.
    Reject,
    /// A person decides.
    Escalate,
}

impl Verdict {
    /// The verdict of a word.
    pub fn from_word(word: &str) -> Option<Verdict> {
        [Verdict::Accept, Verdict::Reject, Verdict::Escalate].into_iter().find(|verdict| verdict.word() == word)
    }

    /// The word in answers and records.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Accept => "ACCEPT",
            Verdict::Reject => "REJECT",
            Verdict::Escalate => "ESCALATE",
        }
    }
}

/// What the caller is told. The same bytes through every door.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The proposal's id.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Everything found.
    pub findings: Arc<[Finding]>,
    /// What may now be performed, if it was accepted and has an effect.
    pub intent: Option<AnsweredIntent>,
    /// The question that people are asked, if it was escalated.
    pub question: Option<AskedQuestion>,
}

/// A question as an answer names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedQuestion {
    /// Its id.
    pub id: String,
    /// Digest of the exact bytes that a person is shown. Left out where a param is secret: a digest of a short secret
    /// gives it away.
    pub digest: Option<Digest>,
    /// After this the safe default counts.
    pub deadline: Instant,
    /// Whether an earlier proposal asked it.
    pub repeated: bool,
}

impl AskedQuestion {
    /// The question a decision's record tells of; also reads back what [`AskedQuestion::to_json`] wrote.
    pub fn from_record(escalation: &Json) -> Option<AskedQuestion> {
        let id = escalation.get("id")?.as_text()?.to_owned();
        let digest = match escalation.get("digest") {
            None | Some(Json::Null) => None,
            Some(digest) => Some(Digest::parse(digest.as_text()?)?),
        };
        let deadline = Instant::parse(escalation.get("deadline")?.as_text()?)?;
        Some(AskedQuestion { id, digest, deadline, repeated: escalation.get("repeated").is_some() })
    }

    /// As an answer names it; `digest` is null where it is left out.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("id", Json::text(self.id.as_str())),
            ("digest", Json::from(self.digest.map(|digest| digest.to_string()))),
            ("deadline", Json::text(self.deadline.to_string())),
        ])
    }
}

/// An intent as an answer names it: just made, or read back from the record of the first answer.
#[derive(Clone, PartialEq, Debug)]
pub enum AnsweredIntent {
    /// Made by this decision.
    Made(Arc<Intent>),
    /// As it was recorded.
    Recorded(Arc<Json>),
}

impl AnsweredIntent {
    /// As it is answered and recorded.
    pub fn to_json(&self) -> Json {
        match self {
            AnsweredIntent::Made(intent) => intent.to_json(),
            AnsweredIntent::Recorded(json) => json.as_ref().clone(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            AnsweredIntent::Made(intent) => intent.id(),
            AnsweredIntent::Recorded(json) => json.get("id").and_then(Json::as_text).unwrap_or_default(),
        }
    }
}

impl Answer {
    /// The answer a decision's record tells of; `None` if that is no such record.
    ///
    /// Its line has the same bytes as the answer that was given.
    pub fn from_record(body: &Json) -> Option<Answer> {
        let verdict = Verdict::from_word(body.get("verdict")?.as_text()?)?;
        let findings = body.get("findings")?.as_list()?.iter().map(Finding::from_record).collect::<Option<Vec<_>>>()?;
        let intent = match body.get("intent") {
            None | Some(Json::Null) => None,
            Some(_) => Some(AnsweredIntent::Recorded(Arc::new(Intent::from_record(body)?))),
        };
        let question = match body.get("escalation") {
            None => None,
            Some(escalation) => Some(AskedQuestion::from_record(escalation)?),
        };
        let id = body.get("proposal_id")?.as_text()?.to_owned();
        Some(Answer { id, verdict, findings: findings.into(), intent, question })
    }

    /// The codes that support the verdict, in gate order, each once.
    pub fn reasons(&self) -> Vec<&str> {
        let supporting = match self.verdict {
            Verdict::Accept => return vec![Reason::ValidationPassed.code()],
            Verdict::Reject => Effect::Reject,
            Verdict::Escalate => Effect::Escalate,
        };
        let mut codes: Vec<&str> = Vec::new();
        for finding in self.findings.iter().filter(|finding| finding.effect == supporting) {
            let code = finding.code.as_str();
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
        codes
    }

    /// One line of JSON: `id`, `verdict`, `reasons`, `findings`, `intent`, and where people are asked `question`.
    pub fn to_line(&self) -> String {
        let mut line = String::with_capacity(512);
        line.push_str("{\"id\":");
        Json::text(self.id.as_str()).write_canonical(&mut line);
        line.push_str(",\"verdict\":\"");
        line.push_str(self.verdict.word());
        line.push_str("\",\"reasons\":");
        Json::texts(self.reasons()).write_canonical(&mut line);
        line.push_str(",\"findings\":[");
        for (index, finding) in self.findings.iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            write_finding(finding, self.verdict, &mut line);
        }
        line.push_str("],\"intent\":");
        write_intent(self.intent.as_ref(), &mut line);
        if let Some(question) = &self.question {
            line.push_str(",\"question\":");
            question.to_json().write_canonical(&mut line);
        }
        line.push('}');
        line
    }
}

/// What an agent can do about a question that is not asked yet.
const ASKED_LATER: &str = "mend what is refused and propose again; then a person is asked about this";

/// Appends the canonical text of an intent, or null.
fn write_intent(intent: Option<&AnsweredIntent>, text: &mut String) {
    match intent {
        None => text.push_str("null"),
        Some(AnsweredIntent::Made(intent)) => intent.write(text),
        Some(AnsweredIntent::Recorded(json)) => json.write_canonical(text),
    }
}

fn write_finding(finding: &Finding, verdict: Verdict, line: &mut String) {
    let fix = match (verdict, finding.effect) {
        // Nobody is asked about what is refused anyway.
        (Verdict::Reject, Effect::Escalate) => ASKED_LATER.to_owned(),
        (Verdict::Accept | Verdict::Escalate | Verdict::Reject, _) => finding.fix(),
    };
    let members = [
        ("{\"code\":", Json::text(finding.code.as_str())),
        (",\"gate\":", Json::text(finding.gate.word())),
        (",\"field\":", Json::from(finding.field.clone())),
        (",\"message\":", Json::text(finding.message())),
        (",\"fix\":", Json::text(fix)),
    ];
    for (key, value) in members {
        line.push_str(key);
        value.write_canonical(line);
    }
    line.push('}');
}

/// What applying a command yields.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Nothing was changed; load these and apply again.
    Need(KeySet),
    /// Nothing was changed; the agent acts under another contract by now: form the command again under that one.
    Prepare,
    /// It is done.
    Done(Box<Done>),
}

/// What a finished command leaves behind. The world has been changed in place.
#[derive(Clone, Debug)]
pub struct Done {
    /// For the caller.
    pub answer: Answer,
    /// What a change tells besides; proposals and most refusals tell nothing.
    pub event: Option<Arc<Event>>,
    /// For the ledger.
    pub records: Vec<Record>,
}

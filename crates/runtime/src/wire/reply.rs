//! What became of a call: the answer with everything found, what the change tells, when it was decided, and its records.

use super::{REPLY_BOUNDS, given, text};
use crate::runtime::Answered;
use kernel::change::ActKind;
use kernel::event::Event;
use kernel::finding::Finding;
use kernel::outcome::{Answer, AnsweredIntent, AskedQuestion, Verdict};
use std::sync::Arc;
use values::json::{Json, Object};
use values::time::Instant;

/// The bytes of a reply. The kind says how the event is read; a proposal has none.
pub fn write(answered: &Answered, kind: Option<ActKind>) -> Vec<u8> {
    let Answered { answer, event, at, .. } = answered;
    let reply = Json::object([
        ("act", Json::from(kind.map(|kind| kind.word().to_owned()))),
        ("answer", answer_json(answer)),
        ("event", event.as_ref().map_or(Json::Null, |event| event.to_json())),
        ("at", Json::from(at.map(|at| at.to_string()))),
        ("records", Json::List(answered.bodies())),
    ]);
    reply.to_canonical().into_bytes()
}

/// Reads the bytes of a reply; `None` if they are none.
pub fn read(bytes: &[u8]) -> Option<Answered> {
    let json = Json::parse_within(bytes, &REPLY_BOUNDS).ok()?;
    let answer = answer(json.get("answer")?)?;
    let event = match (given(&json, "act"), given(&json, "event")) {
        (Some(word), Some(event)) => {
            let kind = ActKind::from_word(word.as_text()?)?;
            Some(Arc::new(Event::read(kind, answer.verdict, event)?))
        }
        (None, Some(_)) => return None,
        (Some(_) | None, None) => None,
    };
    let at = match given(&json, "at") {
        Some(at) => Some(Instant::parse(at.as_text()?)?),
        None => None,
    };
    let told = json.get("records")?.as_list()?.to_vec();
    Some(Answered { answer, event, at, records: Vec::new(), told })
}

fn answer_json(answer: &Answer) -> Json {
    let findings = answer.findings.iter().map(Finding::to_record).collect();
    let mut members = Object::from_iter([
        ("id".to_owned(), Json::text(answer.id.as_str())),
        ("verdict".to_owned(), Json::text(answer.verdict.word())),
        ("findings".to_owned(), Json::List(findings)),
    ]);
    members.extend(answer.intent.as_ref().map(|intent| ("intent".to_owned(), intent.to_json())));
    members.extend(answer.question.as_ref().map(|question| ("question".to_owned(), question.to_json())));
    Json::Object(members)
}

fn answer(json: &Json) -> Option<Answer> {
    let findings = json.get("findings")?.as_list()?.iter().map(Finding::from_record).collect::<Option<Vec<_>>>()?;
    let question = match given(json, "question") {
        Some(question) => Some(AskedQuestion::from_record(question)?),
        None => None,
    };
    Some(Answer {
        id: text(json, "id")?,
        verdict: Verdict::from_word(json.get("verdict")?.as_text()?)?,
        findings: findings.into(),
        intent: given(json, "intent").map(|intent| AnsweredIntent::Recorded(Arc::new(intent.clone()))),
        question,
    })
}

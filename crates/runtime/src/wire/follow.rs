//! What became of a decision, as a service tells it.

use super::{REPLY_BOUNDS, given, optional, text};
use crate::waiting::{FollowUp, IntentOutcome, QuestionOutcome};
use kernel::escalation::EscalationState;
use kernel::intent::IntentState;
use kernel::record::Record;
use kernel::result::ResultRecord;
use std::sync::Arc;
use values::json::{Json, Object};
use values::time::Instant;

/// The bytes of it.
pub fn write(follow_up: &FollowUp) -> Vec<u8> {
    let outcome = follow_up.outcome.as_ref().map(|outcome| {
        let mut members = match outcome.to_json() {
            Json::Object(members) => members,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => Object::new(),
        };
        members.insert("worker".to_owned(), Json::from(outcome.worker.clone()));
        let record = outcome.result.clone().map(|result| Record::Result(Arc::new(result)).body());
        members.insert("result".to_owned(), record.unwrap_or_default());
        Json::Object(members)
    });
    let answer = follow_up.answer.as_ref().map(QuestionOutcome::to_json);
    let told = [("answer", answer.unwrap_or_default()), ("outcome", outcome.unwrap_or_default())];
    Json::object(told).to_canonical().into_bytes()
}

/// Reads it back; `None` if that is none.
pub fn read(bytes: &[u8]) -> Option<FollowUp> {
    let json = Json::parse_within(bytes, &REPLY_BOUNDS).ok()?;
    let answer = match given(&json, "answer") {
        Some(answer) => Some(question_outcome(answer)?),
        None => None,
    };
    let outcome = match given(&json, "outcome") {
        Some(outcome) => Some(intent_outcome(outcome)?),
        None => None,
    };
    Some(FollowUp { answer, outcome })
}

fn question_outcome(json: &Json) -> Option<QuestionOutcome> {
    Some(QuestionOutcome {
        question: text(json, "question")?,
        state: EscalationState::from_word(json.get("state")?.as_text()?)?,
        person: optional(json, "by")?,
        reason: optional(json, "reason")?,
    })
}

fn intent_outcome(json: &Json) -> Option<IntentOutcome> {
    let over_at = match given(json, "at") {
        Some(at) => Some(Instant::parse(at.as_text()?)?),
        None => None,
    };
    let result = match given(json, "result") {
        Some(result) => Some(ResultRecord::from_record(result)?),
        None => None,
    };
    Some(IntentOutcome {
        intent: text(json, "intent")?,
        state: IntentState::from_word(json.get("state")?.as_text()?)?,
        over_at,
        question: optional(json, "question")?,
        worker: optional(json, "worker")?,
        result,
    })
}

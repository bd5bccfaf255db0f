//! Proposals and answers.

use super::{closed, digest, identifier, instant, list, or_null, shared_one, text, words};
use serde_json::{Value, json};

/// A proposal, or anything else: what is no proposal is answered with a verdict too, which says what is wrong with it.
pub fn proposal() -> Value {
    let other = json!({
        "description": "Anything else is recorded and answered with REJECT, which says what is wrong with it",
        "type": ["null", "boolean", "number", "string", "array", "object"],
    });
    json!({ "anyOf": [shared_one("Proposal"), other] })
}

pub fn batch() -> Value {
    json!({ "type": "array", "items": proposal(), "minItems": 1, "maxItems": 256 })
}

pub fn answer() -> Value {
    shared_one("Answer")
}

pub fn answers() -> Value {
    closed([("answers", list(shared_one("Answer")))])
}

pub fn proposal_schema() -> Value {
    json!({
        "type": "object",
        "description": "What an agent wants to do; members that are not known are refused in the answer",
        "required": ["agent", "action", "params"],
        "properties": {
            "agent": identifier(),
            "action": identifier(),
            "params": { "type": "object" },
            "id": identifier(),
            "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
            "justification": { "type": "string", "maxLength": 8192 },
            "flow": identifier(),
            "step": identifier(),
            "snapshot": identifier(),
            "valid_until": instant(),
            "created_at": instant(),
            "idempotency_key": identifier(),
            "provenance": { "type": "object" },
            "tokens": { "type": "integer", "minimum": 0 },
        },
    })
}

pub fn answer_schema() -> Value {
    let question = closed([("id", text()), ("digest", or_null(digest())), ("deadline", instant())]);
    closed([
        ("id", text()),
        ("verdict", words(&["ACCEPT", "REJECT", "ESCALATE"])),
        ("reasons", list(text())),
        ("findings", list(shared_one("Finding"))),
        ("intent", or_null(json!({ "type": "object", "required": ["id"] }))),
        ("question?", question),
        ("answer?", json!({ "type": ["object", "null"] })),
        ("outcome?", json!({ "type": ["object", "null"] })),
        ("result?", json!({ "type": ["object", "null"] })),
    ])
}

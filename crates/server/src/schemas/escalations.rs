//! Questions and answers of people.

use super::{closed, count, digest, identifier, instant, list, shared_one, span, text, text_or_null, truth};
use serde_json::{Value, json};

pub fn inbox() -> Value {
    closed([
        ("questions", list(shared_one("Question"))),
        ("more", truth()),
        ("next", text_or_null()),
        ("snoozed", count()),
    ])
}

pub fn question() -> Value {
    shared_one("Question")
}

pub fn question_schema() -> Value {
    json!({
        "type": "object",
        "required": [
            "id", "kind", "intent", "state", "agent", "flow", "flow_over", "proposal_id", "digest", "contract",
            "asked_under", "reasons", "impact", "approvers", "entitled", "quorum", "signed", "votes", "agreed",
            "asked_at", "deadline", "answer", "proposal",
        ],
        "properties": { "id": text(), "digest": digest(), "agent": text(), "by": text(), "flow": text(), "proposal": { "type": "object" },
            "request": { "type": "object", "required": ["reason", "context"] }, "handed": handing_told(),
            "snoozed": snooze_told() },
    })
}

pub fn handing() -> Value {
    closed([("to", identifier()), ("because?", text())])
}

pub fn handed() -> Value {
    closed([("question", text()), ("handed", handing_told())])
}

fn handing_told() -> Value {
    closed([("by", text()), ("to", text()), ("at", instant()), ("because", text())])
}

pub fn snoozing() -> Value {
    closed([("for", span())])
}

pub fn snoozed() -> Value {
    closed([("question", text()), ("snoozed", snooze_told())])
}

fn snooze_told() -> Value {
    closed([("since", instant()), ("until", instant())])
}

pub fn given() -> Value {
    closed([
        (
            "decision",
            json!({
                "type": "string",
                "enum": ["approve", "deny", "modify", "override", "abort", "OVERRIDE", "MODIFY", "ABORT",
                    "happened", "did-not", "retry", "HAPPENED", "DID_NOT", "RETRY"],
            }),
        ),
        ("because?", json!({ "type": "string", "maxLength": 1_000, "description": "Why; a no needs it" })),
        ("digest", digest()),
        ("instead?", json!({ "type": ["object", "null"] })),
        ("signature?", json!({ "type": ["object", "null"] })),
    ])
}

pub fn ended() -> Value {
    closed([("result", json!({ "type": ["object", "null"] })), ("intent", json!({ "type": ["object", "null"] }))])
}

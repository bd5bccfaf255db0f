//! What agents do in their flows besides proposing.

use super::{closed, list, text};
use serde_json::{Value, json};

fn amounts() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": ["number", "string"] } })
}

pub fn inquiry() -> Value {
    closed([
        ("reason", text()),
        ("context?", json!({ "type": "object" })),
        ("proposal?", json!({ "type": ["object", "null"] })),
        ("impact?", text()),
    ])
}

pub fn reservation() -> Value {
    closed([("resources", amounts()), ("available", amounts()), ("for?", text()), ("wait?", text())])
}

pub fn release() -> Value {
    closed([("resources?", list(text()))])
}

pub fn note() -> Value {
    closed([("name", text()), ("details?", json!({ "type": "object" }))])
}

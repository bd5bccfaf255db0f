//! The ledger and the rows under it.

use super::{closed, count, instant, list, or_null, text, text_or_null, words};
use kernel::change::ActKind;
use serde_json::{Value, json};

pub fn size() -> Value {
    closed([("size", count())])
}

pub fn bytes() -> Value {
    json!({ "type": "string", "format": "binary" })
}

pub fn entries() -> Value {
    let entry = closed([("index", count()), ("leaf", text()), ("body", text_or_null()), ("salt", text_or_null())]);
    closed([("entries", list(entry))])
}

pub fn row() -> Value {
    closed([
        ("name", text()),
        ("second?", text()),
        ("row", json!({ "type": ["object", "array", "string", "number", "boolean", "null"] })),
    ])
}

pub fn rows() -> Value {
    closed([("rows", list(row())), ("next?", text())])
}

pub fn call() -> Value {
    closed([("act", words(ActKind::WORDS)), ("command", json!({ "type": "object" }))])
}

pub fn reply() -> Value {
    closed([
        ("act", or_null(words(ActKind::WORDS))),
        ("answer", json!({ "type": "object", "required": ["id", "verdict", "findings"] })),
        ("event", json!({ "type": ["object", "null"] })),
        ("at", instant()),
        ("records", list(json!({ "type": "object" }))),
    ])
}

pub fn followed() -> Value {
    closed([("answer", json!({ "type": ["object", "null"] })), ("outcome", json!({ "type": ["object", "null"] }))])
}

//! What the service says about itself.

use super::{closed, count, identifier, instant, text, words};
use kernel::api_key::KeyRole;
use serde_json::{Value, json};

pub fn health() -> Value {
    closed([("status", words(&["ok"]))])
}

/// One event of the stream. Its data is a CloudEvents value, or the indices of a gap.
pub fn event() -> Value {
    let index = || json!({ "type": "string", "pattern": "^[0-9]+$" });
    let told = json!({
        "type": "object",
        "required": ["specversion", "id", "source", "type", "datacontenttype", "data"],
        "properties": {
            "specversion": { "const": "1.0" },
            "id": index(),
            "source": text(),
            "type": text(),
            "time": instant(),
            "subject": text(),
            "datacontenttype": { "const": "application/json" },
            "data": { "type": "object" },
        },
    });
    let gap = closed([("from", count()), ("to", count())]);
    let data = json!({
        "type": "string", "contentMediaType": "application/json", "contentSchema": { "anyOf": [told, gap] },
    });
    closed([("id", index()), ("event", text()), ("data", data)])
}

pub fn document() -> Value {
    json!({ "type": "object", "required": ["openapi", "info", "paths"] })
}

pub fn whoami() -> Value {
    closed([("tenant", text()), ("role", words(KeyRole::WORDS)), ("name", text())])
}

pub fn reason() -> Value {
    closed([
        ("code", text()),
        ("category", text()),
        ("sentence", text()),
        ("fix_agent", text()),
        ("fix_operator", text()),
    ])
}

pub fn because() -> Value {
    closed([("because", text())])
}

/// Why, and of which group; without one it is everything.
pub fn switch() -> Value {
    json!({
        "type": "object",
        "required": ["because"],
        "additionalProperties": false,
        "properties": { "because": text(), "group": { "anyOf": [identifier(), { "type": "null" }] } },
    })
}

pub fn monitors() -> Value {
    let monitor = json!({
        "type": "object",
        "required": ["agent", "monitor", "kind", "watches", "then", "tripped", "in_contract", "seen", "missing", "guarantee", "trips"],
        "properties": { "agent": text(), "monitor": text(), "tripped": { "type": "boolean" }, "in_contract": { "type": "boolean" }, "trips": { "type": "array" } },
    });
    json!({ "type": "object", "required": ["monitors"], "properties": { "monitors": { "type": "array", "items": monitor } } })
}

pub fn report() -> Value {
    json!({ "type": "object", "minProperties": 1, "properties": { "decisions": count(), "agents": { "type": "object" } } })
}

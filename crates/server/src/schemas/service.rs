//! What the service says about itself.

use super::{closed, count, text, words};
use kernel::api_key::KeyRole;
use serde_json::{Value, json};

pub fn health() -> Value {
    closed([("status", words(&["ok"]))])
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

pub fn report() -> Value {
    json!({ "type": "object", "minProperties": 1, "properties": { "decisions": count(), "agents": { "type": "object" } } })
}

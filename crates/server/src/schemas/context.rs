//! State, sessions and snapshots.

use super::{closed, count, instant, list, text, text_or_null};
use serde_json::{Value, json};

/// Any JSON at all.
fn anything() -> Value {
    json!({ "type": ["null", "boolean", "number", "string", "array", "object"] })
}

pub fn keys() -> Value {
    closed([("keys", list(closed([("key", text()), ("version", count())]))), ("next", text_or_null())])
}

pub fn value() -> Value {
    closed([("key", text()), ("value", anything()), ("version", count())])
}

pub fn write() -> Value {
    closed([("value", anything()), ("expect?", count())])
}

pub fn version() -> Value {
    closed([("key", text()), ("version", count())])
}

pub fn session() -> Value {
    closed([("flow", text()), ("values", json!({ "type": "object" }))])
}

pub fn values() -> Value {
    closed([("values", json!({ "type": "object" }))])
}

pub fn freeze() -> Value {
    closed([("flow?", text()), ("keys?", list(text()))])
}

pub fn snapshot() -> Value {
    closed([
        ("snapshot", text()),
        ("at", instant()),
        ("source", text()),
        ("flow", text_or_null()),
        ("state", json!({ "type": "object" })),
        ("session", json!({ "type": "object" })),
    ])
}

//! JSON Schemas of everything that is sent and answered, for the document. Objects are closed where their members are known.

pub mod agents;
pub mod context;
pub mod escalations;
pub mod flows;
pub mod intents;
pub mod keys;
pub mod leases;
pub mod ledger;
pub mod own_flow;
pub mod proposals;
pub mod service;

use serde_json::{Map, Value, json};

/// A closed object: every member is there, unless its name ends with a question mark; such a one may also be null.
pub fn closed<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in members {
        let bare = name.trim_end_matches('?');
        if bare == name {
            required.push(json!(name));
            properties.insert(bare.to_owned(), schema);
        } else {
            properties.insert(bare.to_owned(), or_null(schema));
        }
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Text.
pub fn text() -> Value {
    json!({ "type": "string" })
}

/// A name. Letters that deceive are refused too, which no pattern can say.
pub fn identifier() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 128 })
}

/// Text, or nothing.
pub fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

/// A list.
pub fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// A schema, or nothing.
pub fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// A whole number, not negative.
pub fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// Yes or no.
pub fn truth() -> Value {
    json!({ "type": "boolean" })
}

/// An instant.
pub fn instant() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// A SHA-256.
pub fn digest() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
}

/// A length of time such as `30s`.
pub fn span() -> Value {
    json!({ "type": "string", "minLength": 2, "maxLength": 32, "examples": ["30s", "15m", "24h"] })
}

/// One of some words.
pub fn words(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// One that stands among the shared ones.
pub fn shared_one(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// What a change tells.
pub fn event() -> Value {
    shared_one("Event")
}

/// Those that several routes use.
pub fn shared() -> Value {
    json!({
        "Problem": closed([
            ("type", text()),
            ("title", text()),
            ("status", json!({ "type": "integer", "minimum": 400, "maximum": 599 })),
            ("detail", text()),
            ("code", text()),
            ("fix", text()),
            ("findings?", list(json!({ "type": ["object", "string"] }))),
        ]),
        "Event": {
            "type": "object",
            "description": "What a change tells: its members depend on what was changed",
            "minProperties": 1,
        },
        "Finding": closed([
            ("code", text()),
            ("gate", text()),
            ("field", text_or_null()),
            ("message", text()),
            ("fix", text()),
        ]),
        "Proposal": proposals::proposal_schema(),
        "Answer": proposals::answer_schema(),
        "Question": escalations::question_schema(),
        "Agent": agents::agent_schema(),
        "Flow": flows::flow_schema(),
        "Intent": intents::intent_schema(),
    })
}

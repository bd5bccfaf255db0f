//! Keys, people and tenants.

use super::{closed, count, identifier, instant, list, or_null, span, text, text_or_null, truth, words};
use kernel::api_key::{KeyRole, TenantState};
use kernel::attention::QUESTIONS_MAX;
use serde_json::{Value, json};

pub fn wanted() -> Value {
    closed([
        ("role", words(KeyRole::WORDS)),
        ("name", identifier()),
        ("groups?", list(identifier())),
        ("ttl?", span()),
        ("provenance?", truth()),
    ])
}

pub fn made() -> Value {
    closed([("id", text()), ("key", text())])
}

pub fn key() -> Value {
    closed([
        ("id", text()),
        ("role", words(KeyRole::WORDS)),
        ("name", text()),
        ("groups", list(text())),
        ("created_by", text()),
        ("expires", or_null(instant())),
        ("revoked", truth()),
        ("provenance", truth()),
    ])
}

pub fn list_of_keys() -> Value {
    closed([("keys", super::list(key()))])
}

pub fn groups() -> Value {
    closed([("groups", list(identifier()))])
}

pub fn person() -> Value {
    closed([("name", text()), ("groups", list(text())), ("key", text_or_null())])
}

pub fn people() -> Value {
    closed([("people", list(person()))])
}

/// What a group takes; without questions it takes any number.
pub fn attention() -> Value {
    json!({
        "type": "object",
        "required": ["questions"],
        "additionalProperties": false,
        "properties": {
            "questions": { "type": ["integer", "null"], "minimum": 0, "maximum": QUESTIONS_MAX },
            "per": { "type": "string", "pattern": "^[1-9][0-9]{0,5}(ms|s|m|h|d)$" },
            "spent": { "enum": ["REFUSE", "ESCALATION_ONLY"] },
        },
    })
}

pub fn attentions() -> Value {
    let group = [("group", text()), ("questions", count()), ("per", text()), ("spent", text()), ("asked", text())];
    closed([("groups", list(closed(group)))])
}

fn tenant_name() -> Value {
    json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,31}$" })
}

pub fn wanted_tenant() -> Value {
    closed([("name", tenant_name())])
}

pub fn made_tenant() -> Value {
    closed([("tenant", tenant_name()), ("key", text_or_null())])
}

pub fn tenant() -> Value {
    closed([("tenant", tenant_name()), ("state", words(TenantState::WORDS))])
}

pub fn tenants() -> Value {
    closed([("tenants", list(tenant()))])
}

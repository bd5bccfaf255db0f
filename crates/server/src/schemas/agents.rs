//! Agents and their contracts.

use super::{closed, count, digest, identifier, instant, list, or_null, shared_one, span, text, text_or_null, words};
use kernel::agent::AgentStatus;
use serde_json::{Value, json};

/// What can be held against an agent.
const RESTRICTIONS: &[&str] = &["DEGRADED", "ESCALATION_ONLY", "PASSIVE", "SUSPENDED"];

fn contract_given() -> Value {
    json!({
        "description": "The text of a contract (YAML or JSON), or the contract as an object",
        "type": ["string", "object"],
    })
}

pub fn newcomer() -> Value {
    closed([("contract", contract_given()), ("ttl?", span())])
}

pub fn lifetime() -> Value {
    closed([("ttl?", span())])
}

pub fn admitted() -> Value {
    closed([("agent", text()), ("token", text()), ("expires", instant())])
}

pub fn named() -> Value {
    closed([("agent", text())])
}

pub fn agent_schema() -> Value {
    closed(members())
}

fn members() -> [(&'static str, Value); 10] {
    let restriction = closed([
        ("status", words(AgentStatus::WORDS)),
        ("by", text()),
        ("because", text()),
        ("at", instant()),
        ("actions", list(text())),
    ]);
    let contract = closed([("id", text()), ("version", text()), ("digest", digest())]);
    [
        ("agent", text()),
        ("status", words(AgentStatus::WORDS)),
        ("restrictions", list(restriction)),
        ("contract", or_null(contract)),
        ("offered", or_null(digest())),
        ("parent", text_or_null()),
        ("version", text_or_null()),
        ("group?", text()),
        ("canary?", canary()),
        ("amendments", list(json!({ "type": "object", "required": ["action", "param", "until"] }))),
    ]
}

pub fn list_of_agents() -> Value {
    closed([("agents", list(shared_one("Agent"))), ("next", text_or_null())])
}

pub fn page() -> Value {
    let [agent, status, restrictions, contract, offered, parent, version, group, canary, amendments] = members();
    let entry = json!({ "type": "object", "required": ["index", "at", "actor", "kind", "refused"] });
    closed([
        agent,
        status,
        restrictions,
        contract,
        offered,
        parent,
        version,
        group,
        canary,
        amendments,
        ("history", list(entry)),
        ("left_out", count()),
    ])
}

pub fn contract() -> Value {
    closed([("digest", digest()), ("contract", json!({ "type": "object", "required": ["agent", "actions"] }))])
}

pub fn schema() -> Value {
    json!({ "type": "object", "minProperties": 1 })
}

pub fn activation() -> Value {
    closed([("contract", contract_given()), ("expected?", digest())])
}

pub fn canary_start() -> Value {
    closed([("contract", contract_given()), ("share", share()), ("because", text())])
}

pub fn canary_promotion() -> Value {
    closed([("contract", digest()), ("because", text())])
}

/// A candidate that is tried.
fn canary() -> Value {
    closed([("contract", digest()), ("share", share()), ("since", instant()), ("by", text()), ("because", text())])
}

/// A share of flows, such as 5% or 0.25%.
fn share() -> Value {
    json!({ "type": "string", "pattern": "^[0-9]{1,3}([.][0-9]{1,2})?%$" })
}

pub fn restriction() -> Value {
    closed([("status", words(RESTRICTIONS)), ("because", text()), ("actions?", list(identifier()))])
}

pub fn lifting() -> Value {
    closed([("status", words(RESTRICTIONS)), ("because", json!({ "type": "string", "minLength": 1 }))])
}

pub fn amendment() -> Value {
    closed([
        ("action", text()),
        ("param", text()),
        ("min?", json!({ "type": ["number", "null"] })),
        ("max?", json!({ "type": ["number", "null"] })),
        ("because", text()),
        ("ttl?", span()),
    ])
}

//! Flows and what happened in them.

use super::{closed, count, instant, list, or_null, shared_one, text, text_or_null, words};
use kernel::flow::{FlowState, ProposalState};
use serde_json::{Value, json};

fn members() -> [(&'static str, Value); 13] {
    [
        ("flow", text()),
        ("name", text_or_null()),
        ("state", words(FlowState::WORDS)),
        ("status", or_null(words(ProposalState::WORDS))),
        ("agent", text()),
        ("opened_at", or_null(instant())),
        ("parent", text_or_null()),
        ("root", text_or_null()),
        ("open_intents", list(text())),
        ("open_questions", list(text())),
        ("proposals", count()),
        ("rejected", count()),
        ("tokens", count()),
    ]
}

pub fn flow_schema() -> Value {
    closed(members())
}

pub fn list_of_flows() -> Value {
    closed([("flows", list(shared_one("Flow"))), ("all", count())])
}

pub fn wanted() -> Value {
    closed([("agent?", text()), ("parent?", text())])
}

/// What happened once, to a flow or to an intent.
pub fn entry() -> Value {
    json!({
        "type": "object",
        "required": ["index", "at", "actor", "kind", "refused"],
        "properties": { "index": count(), "at": instant(), "actor": text_or_null(), "kind": text() },
    })
}

pub fn timeline() -> Value {
    let [flow, name, state, status, agent, opened, parent, root, intents, questions, proposals, rejected, tokens] =
        members();
    closed([
        flow,
        name,
        state,
        status,
        agent,
        opened,
        parent,
        root,
        intents,
        questions,
        proposals,
        rejected,
        tokens,
        ("timeline", list(entry())),
        ("next", or_null(count())),
    ])
}

//! Intents, and what is said about them.

use super::flows::entry;
use super::{closed, count, digest, instant, list, or_null, shared_one, span, text, text_or_null, truth, words};
use kernel::flow::ProposalState;
use kernel::intent::{IntentEvent, IntentState, Observed};
use serde_json::{Value, json};

fn members() -> [(&'static str, Value); 14] {
    [
        ("id", text()),
        ("state", words(IntentState::WORDS)),
        ("agent", text()),
        ("flow", text()),
        ("proposal", text()),
        ("effect_key", text()),
        ("valid_until", instant()),
        ("accepted_at", instant()),
        ("epoch", count()),
        ("doubts", count()),
        ("question", text_or_null()),
        ("undoes", text_or_null()),
        ("undone_by", text_or_null()),
        ("order", json!({ "type": ["object", "null"] })),
    ]
}

pub fn intent_schema() -> Value {
    closed(members())
}

pub fn list_of_intents() -> Value {
    closed([("intents", list(shared_one("Intent"))), ("next", text_or_null())])
}

pub fn page() -> Value {
    let [id, state, agent, flow, proposal, effect, valid, accepted, epoch, doubts, question, undoes, undone, order] =
        members();
    closed([
        id,
        state,
        agent,
        flow,
        proposal,
        effect,
        valid,
        accepted,
        epoch,
        doubts,
        question,
        undoes,
        undone,
        order,
        ("proposal_state", words(ProposalState::WORDS)),
        ("timeline", list(entry())),
        ("more", truth()),
        ("result", json!({ "type": ["object", "null"] })),
    ])
}

pub fn claim() -> Value {
    closed([("worker?", text()), ("lease?", span())])
}

pub fn claimed() -> Value {
    closed([
        ("intent", text()),
        ("epoch", count()),
        ("attempt", or_null(digest())),
        ("order", json!({ "type": ["object", "null"] })),
        ("key", text()),
        ("claimed", json!({ "type": "object", "minProperties": 1 })),
        ("secrets?", json!({ "type": "object", "description": "Params that only whoever performs it may see" })),
    ])
}

pub fn start() -> Value {
    closed([("epoch", count()), ("attempt?", digest())])
}

fn result() -> Value {
    closed([
        ("status?", json!({ "type": "integer", "minimum": 100, "maximum": 599 })),
        ("content_type?", text()),
        ("body", text()),
    ])
}

pub fn finish() -> Value {
    closed([
        ("epoch", count()),
        ("observed", words(Observed::WORDS)),
        ("detail?", text()),
        ("result?", or_null(result())),
    ])
}

pub fn settle() -> Value {
    closed([("event", words(IntentEvent::WORDS)), ("result?", or_null(result()))])
}

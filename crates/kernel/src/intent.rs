//! Intents: what an accepted proposal becomes. Only an intent may cause an effect.

use crate::command::Submission;
use crate::contract::{Action, EffectClass, Executor, ResourceKind, Run, Undo};
use crate::decimal::Decimal;
use crate::json::Json;
use crate::time::Instant;
use std::sync::Arc;

/// Permission to cause one effect.
#[derive(Clone, Debug)]
pub struct Intent {
    /// The proposal it came from, with its contract.
    pub submission: Arc<Submission>,
    /// The business key of the effect.
    pub effect_key: String,
    /// Not after this.
    pub valid_until: Instant,
    /// What it holds of resources.
    pub holds: Vec<Hold>,
}

/// What an intent holds of a resource.
#[derive(Clone, PartialEq, Debug)]
pub struct Hold {
    /// The resource.
    pub resource: String,
    /// How much.
    pub amount: Decimal,
    /// What success does to it.
    pub kind: ResourceKind,
    /// Its unit.
    pub unit: Option<String>,
}

impl Intent {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.submission.ids.intent
    }

    /// As it is answered and recorded; secret params are commitments.
    pub fn to_json(&self) -> Json {
        let submission = &self.submission;
        let action = submission.contract.contract.actions.get(&submission.proposal.action);
        let run = action.and_then(|action| action.run.as_ref());
        let class = run.map_or(EffectClass::Opaque, |run| run.class);
        let impact = action.map_or("HIGH", |action: &Action| action.impact.word());
        Json::object([
            ("id", Json::text(self.id())),
            ("proposal", Json::text(submission.proposal_id())),
            ("flow", Json::text(submission.flow_id())),
            ("agent", Json::text(submission.proposal.agent.as_str())),
            ("action", Json::text(submission.proposal.action.as_str())),
            ("params", Json::Object(submission.committed_params())),
            ("effect_key", Json::text(self.effect_key.as_str())),
            ("class", Json::text(class.word())),
            ("impact", Json::text(impact)),
            ("run", run.map_or(Json::Null, run_json)),
            ("undo", action.map_or(Json::Null, |action| undo_json(&action.undo))),
            ("valid_until", Json::text(self.valid_until.to_string())),
            ("holds", Json::List(self.holds.iter().map(hold_json).collect())),
            ("contract", Json::text(submission.contract.digest.to_string())),
        ])
    }
}

/// Two intents are the same if they say the same.
impl PartialEq for Intent {
    fn eq(&self, other: &Intent) -> bool {
        self.to_json() == other.to_json()
    }
}

fn hold_json(hold: &Hold) -> Json {
    Json::object([
        ("resource", Json::text(hold.resource.as_str())),
        ("amount", Json::from_decimal(hold.amount)),
        ("kind", Json::text(hold.kind.word())),
        ("unit", Json::from(hold.unit.clone())),
    ])
}

fn run_json(run: &Run) -> Json {
    let (kind, value) = match &run.executor {
        Executor::Http(request) => ("http", Json::text(request.as_str())),
        Executor::Command(argv) => ("command", Json::texts(argv.iter().map(String::as_str))),
        Executor::Function(name) => ("function", Json::text(name.as_str())),
        Executor::Host => ("host", Json::Bool(true)),
    };
    let headers = run.headers.iter().map(|(name, value)| (name.clone(), Json::text(value.as_str()))).collect();
    Json::object([
        (kind, value),
        ("class", Json::text(run.class.word())),
        ("timeout", Json::text(run.timeout.to_string())),
        ("headers", Json::Object(headers)),
    ])
}

fn undo_json(undo: &Undo) -> Json {
    Json::object([
        ("kind", Json::text(undo.kind.word())),
        ("http", Json::from(undo.http.clone())),
        ("within", Json::from(undo.within.map(|within| within.to_string()))),
    ])
}

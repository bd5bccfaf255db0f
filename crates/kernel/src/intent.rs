//! Intents: what an accepted proposal becomes. Only an intent may cause an effect.

use crate::contract::{EffectClass, Executor, ResourceKind, Run, Undo};
use crate::decimal::Decimal;
use crate::ids::Digest;
use crate::json::{Json, Object};
use crate::time::Instant;

/// Permission to cause one effect.
#[derive(Clone, PartialEq, Debug)]
pub struct Intent {
    /// Its id.
    pub id: String,
    /// The proposal it came from.
    pub proposal: String,
    /// The flow.
    pub flow: String,
    /// Who proposed it.
    pub agent: String,
    /// What kind of action.
    pub action: String,
    /// With which params; secret ones as commitments.
    pub params: Object,
    /// The business key of the effect.
    pub effect_key: String,
    /// Who performs it and how; without one, the caller does.
    pub run: Option<Run>,
    /// How it is undone.
    pub undo: Undo,
    /// How much it may hurt.
    pub impact: crate::contract::Impact,
    /// Not after this.
    pub valid_until: Instant,
    /// What it holds of resources.
    pub holds: Vec<Hold>,
    /// Digest of the contract it was judged under.
    pub contract: Digest,
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
    /// As it is answered and recorded.
    pub fn to_json(&self) -> Json {
        let class = self.run.as_ref().map_or(EffectClass::Opaque, |run| run.class);
        Json::object([
            ("id", Json::text(self.id.as_str())),
            ("proposal", Json::text(self.proposal.as_str())),
            ("flow", Json::text(self.flow.as_str())),
            ("agent", Json::text(self.agent.as_str())),
            ("action", Json::text(self.action.as_str())),
            ("params", Json::Object(self.params.clone())),
            ("effect_key", Json::text(self.effect_key.as_str())),
            ("class", Json::text(class.word())),
            ("impact", Json::text(self.impact.word())),
            ("run", self.run.as_ref().map_or(Json::Null, run_json)),
            ("undo", undo_json(&self.undo)),
            ("valid_until", Json::text(self.valid_until.to_string())),
            ("holds", Json::List(self.holds.iter().map(hold_json).collect())),
            ("contract", Json::text(self.contract.to_string())),
        ])
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

//! What a gate can know before anything is locked: the proposal, the contract, and what the door says.

use crate::contract::{Action, Origin};
use crate::evaluator::{Compiled, CompiledAction, Reads};
use crate::proposal::Proposal;
use std::collections::BTreeMap;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::json::{Json, Object};

/// Where values came from, as far as anyone entitled to say so said it.
#[derive(Clone, PartialEq, Debug)]
pub enum Provenance {
    /// The door computed it.
    Stated(BTreeMap<String, Origin>),
    /// The door knows nothing.
    Unknown,
    /// The agent claimed it, which it may not.
    ClaimedByAgent,
}

impl Provenance {
    /// As records and rows hold it.
    pub fn to_json(&self) -> Json {
        match self {
            Provenance::Stated(origins) => {
                let stated = origins.iter().map(|(param, origin)| (param.clone(), Json::text(origin.word())));
                Json::Object(stated.collect())
            }
            Provenance::Unknown => Json::Null,
            Provenance::ClaimedByAgent => Json::text("claimed"),
        }
    }

    /// Reads back what [`Provenance::to_json`] wrote.
    pub fn from_json(json: &Json) -> Option<Provenance> {
        match json {
            Json::Null => Some(Provenance::Unknown),
            Json::Text(_) => Some(Provenance::ClaimedByAgent),
            Json::Object(stated) => {
                let origin =
                    |(param, word): (&String, &Json)| Some((param.clone(), Origin::from_word(word.as_text()?)?));
                stated.iter().map(origin).collect::<Option<_>>().map(Provenance::Stated)
            }
            Json::Bool(_) | Json::Number(_) | Json::List(_) => None,
        }
    }

    /// What a door that cannot trace values makes of a proposal's own statement.
    pub fn of(proposal: &Proposal, trusted: bool) -> Provenance {
        match (&proposal.provenance, trusted) {
            (Some(stated), true) => Provenance::Stated(stated.clone()),
            (Some(_), false) => Provenance::ClaimedByAgent,
            (None, _) => Provenance::Unknown,
        }
    }
}

/// The stateless part of a judgement.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What is proposed.
    pub proposal: &'a Proposal,
    /// Under which contract.
    pub compiled: &'a Compiled,
    /// Where values came from.
    pub provenance: &'a Provenance,
    /// The proposed action, looked up once: every gate asks for it.
    action: Option<ActionFacts<'a>>,
}

/// An action with its evaluators.
#[derive(Clone, Copy, Debug)]
pub struct ActionFacts<'a> {
    /// As the contract says.
    pub rules: &'a Action,
    /// Compiled.
    pub compiled: &'a CompiledAction,
}

impl<'a> Request<'a> {
    /// A proposal under a contract.
    pub fn new(proposal: &'a Proposal, compiled: &'a Compiled, provenance: &'a Provenance) -> Request<'a> {
        let rules = compiled.contract.actions.get(&proposal.action);
        let evaluators = compiled.actions.get(&proposal.action);
        let action = rules.zip(evaluators).map(|(rules, compiled)| ActionFacts { rules, compiled });
        Request { proposal, compiled, provenance, action }
    }

    /// The proposed action, if the contract has it.
    pub fn action(&self) -> Option<ActionFacts<'a>> {
        self.action
    }

    /// A param that is there and not null.
    pub fn param(&self, name: &str) -> Option<&'a Json> {
        self.proposal.params.get(name).filter(|value| **value != Json::Null)
    }

    /// A param as a sentence may show it: secrets stay secret.
    pub fn shown(&self, name: &str) -> Json {
        match self.action() {
            Some(action) if action.is_secret(name) => Json::text("(secret)"),
            _ => self.param(name).cloned().unwrap_or(Json::Null),
        }
    }

    /// The number a param holds.
    pub fn number(&self, name: &str) -> Number<'a> {
        let Some(value) = self.param(name) else { return Number::Missing };
        match value {
            Json::Number(number) => Number::Is(*number, None),
            Json::Text(text) if bugs::on(Bug::W09TextAsNumber) => loosely(text),
            Json::Bool(value) if bugs::on(Bug::W09TextAsNumber) => Number::Is(Decimal::from(i64::from(*value)), None),
            Json::Text(text) if self.action().is_some_and(|action| action.is_decimal_text(name)) => {
                Decimal::parse(text)
                    .map_or(Number::Not("is not a plain decimal such as 12.50"), |number| Number::Is(number, None))
            }
            Json::Object(members) => quantity(members),
            Json::Null | Json::Bool(_) | Json::Text(_) | Json::List(_) => Number::Not("is not a number"),
        }
    }
}

/// What a param is as a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number<'a> {
    /// This number, perhaps with a unit.
    Is(Decimal, Option<&'a str>),
    /// Absent or null.
    Missing,
    /// Something else; completes "`field` …".
    Not(&'static str),
}

/// `{"value": 12.5, "unit": "EUR"}`
fn quantity(members: &Object) -> Number<'_> {
    let value = members.get("value").and_then(Json::as_number);
    let unit = members.get("unit").and_then(Json::as_text);
    match (value, unit, members.len()) {
        (Some(value), Some(unit), 2) => Number::Is(value, Some(unit)),
        _ => Number::Not("is an object without exactly `value` and `unit`"),
    }
}

/// How the reference reads numbers; used only to bring that fault back.
fn loosely(text: &str) -> Number<'static> {
    match text.parse::<i64>() {
        Ok(number) => Number::Is(Decimal::from(number), None),
        Err(_) => Number::Is(Decimal::ZERO, None),
    }
}

impl ActionFacts<'_> {
    /// Whether a param is declared as decimal text.
    pub fn is_decimal_text(&self, name: &str) -> bool {
        self.compiled.plan.decimal_text.contains(name)
    }

    /// Whether any param must never be shown.
    pub fn has_secrets(&self) -> bool {
        !self.compiled.plan.secret.is_empty()
    }

    /// Whether the action's schema names the param.
    pub fn declares(&self, name: &str) -> bool {
        self.rules.params.get("properties").and_then(|properties| properties.get(name)).is_some()
    }

    /// Whether a rule looks at something that must never be shown, so that its error must not quote values.
    pub fn reads_secret(&self, reads: &Reads) -> bool {
        self.has_secrets() && (reads.all_params || reads.params.iter().any(|param| self.is_secret(param)))
    }

    /// Whether a param must never be shown.
    pub fn is_secret(&self, name: &str) -> bool {
        let secret = &self.compiled.plan.secret;
        // The name of a param may itself contain a point.
        let root = name.split('.').next().unwrap_or(name);
        secret.contains(name) || secret.contains(root)
    }
}

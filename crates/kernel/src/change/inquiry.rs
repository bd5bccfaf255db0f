//! What an agent does in its own flow besides proposing: it asks a person, holds resources, and leaves notes.

use super::Act;
use crate::contract::Impact;
use crate::escalation::AgentRequest;
use crate::evaluator::Compiled;
use crate::proposal::Proposal;
use crate::stored::{decimal_json, decimal_of, instant_json, instant_of, nullable, text_of, texts_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::identifier_problem;
use values::json::{Json, Object};
use values::time::Instant;

/// Bytes of what an agent says when it asks, of what it adds, and of the details of a note. People read these.
pub const REASON_BYTES_MAX: usize = 2_048;
pub const DETAILS_BYTES_MAX: usize = 16 * 1024;
/// Bytes of the name of a note.
pub const NOTE_NAME_BYTES_MAX: usize = 128;
/// Resources that one command takes or gives back.
pub const RESOURCES_MAX: usize = 64;

/// A question on an agent's own request.
#[derive(Clone, PartialEq, Debug)]
pub struct Inquiry {
    /// Who asks.
    pub agent: String,
    /// In which of its flows.
    pub flow: String,
    /// Why, and what a person should know.
    pub request: AgentRequest,
    /// What it would do; an approval judges it again and makes an intent of it.
    pub proposal: Option<Proposal>,
    /// How much it may hurt.
    pub impact: Impact,
}

/// A question on its way: under the contract in force, with ids that were minted outside.
#[derive(Clone, Debug)]
pub struct Asking {
    pub inquiry: Inquiry,
    /// Names the question.
    pub question: String,
    /// Names the proposal, where it has no name of its own.
    pub proposal_id: String,
    /// Names the intent that an approval makes.
    pub intent: String,
    pub contract: Arc<Compiled>,
}

/// Amounts of resources for a flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Reservation {
    pub flow: String,
    /// How much of each.
    pub wanted: BTreeMap<String, Decimal>,
    /// How much of each there is, as its provider says: an input, because nobody here can ask it again.
    pub available: BTreeMap<String, Decimal>,
    /// Until when; without it until it is released or the flow ends.
    pub until: Option<Instant>,
}

impl Inquiry {
    /// What is wrong with it: the field, and the problem.
    pub fn problem(&self) -> Option<(&'static str, String)> {
        let proposal = self.proposal.as_ref();
        if self.request.reason.trim().is_empty() {
            return Some(("reason", "is missing: a person has to know why".to_owned()));
        }
        if self.request.reason.len() > REASON_BYTES_MAX {
            return Some(("reason", format!("is longer than {REASON_BYTES_MAX} bytes")));
        }
        if let Some(problem) = too_large(&self.request.context) {
            return Some(("context", problem));
        }
        let is_foreign = |proposal: &Proposal| {
            proposal.agent != self.agent || proposal.flow.as_ref().is_some_and(|flow| *flow != self.flow)
        };
        if proposal.is_some_and(is_foreign) {
            return Some(("proposal", "is not of this agent and this flow".to_owned()));
        }
        proposal.filter(|proposal| proposal.provenance.is_some()).map(|_| {
            ("proposal", "claims where its values came from, which only the process that takes it may say".to_owned())
        })
    }

    /// As calls and records hold it.
    pub fn to_json(&self) -> Json {
        let proposal = self.proposal.as_ref().map(|proposal| proposal.to_json(proposal.params.clone()));
        Json::object([
            ("agent", Json::text(self.agent.as_str())),
            ("flow", Json::text(self.flow.as_str())),
            ("reason", Json::text(self.request.reason.as_str())),
            ("context", Json::Object(self.request.context.clone())),
            ("proposal", proposal.unwrap_or(Json::Null)),
            ("impact", Json::text(self.impact.word())),
        ])
    }

    /// Reads back what [`Inquiry::to_json`] wrote.
    pub fn from_json(json: &Json) -> Option<Inquiry> {
        let proposal = match nullable(json, "proposal")? {
            None => None,
            Some(proposal) => Some(Proposal::from_json(proposal.clone()).ok()?),
        };
        Some(Inquiry {
            agent: text_of(json, "agent")?,
            flow: text_of(json, "flow")?,
            request: AgentRequest {
                reason: text_of(json, "reason")?,
                context: json.get("context")?.as_object()?.clone(),
            },
            proposal,
            impact: Impact::from_word(json.get("impact")?.as_text()?)?,
        })
    }
}

impl Asking {
    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("inquiry", self.inquiry.to_json()),
            ("question", Json::text(self.question.as_str())),
            ("proposal_id", Json::text(self.proposal_id.as_str())),
            ("intent", Json::text(self.intent.as_str())),
            ("contract", Json::text(self.contract.digest.to_string())),
        ])
    }

    /// Reads it back, with its contract.
    pub(super) fn read(command: &Json, contract: Arc<Compiled>) -> Option<Act> {
        Some(Act::Ask(Box::new(Asking {
            inquiry: Inquiry::from_json(command.get("inquiry")?)?,
            question: text_of(command, "question")?,
            proposal_id: text_of(command, "proposal_id")?,
            intent: text_of(command, "intent")?,
            contract,
        })))
    }

    /// The question and what was asked, from the body of a record.
    pub fn from_record(body: &Json) -> Option<(String, Inquiry)> {
        let command = body.get("command")?;
        Some((text_of(command, "question")?, Inquiry::from_json(command.get("inquiry")?)?))
    }
}

impl Reservation {
    /// What is wrong with it: the field, and the problem.
    pub fn problem(&self) -> Option<(String, String)> {
        if self.wanted.is_empty() || self.wanted.len() > RESOURCES_MAX {
            return Some(("resources".to_owned(), format!("are {}, not 1 to {RESOURCES_MAX}", self.wanted.len())));
        }
        self.wanted.iter().find_map(|(name, amount)| {
            let problem = if let Some(problem) = identifier_problem(name) {
                format!("has a name that {problem}")
            } else if amount.is_negative() {
                format!("is {amount}, and an amount is not negative")
            } else if !self.available.contains_key(name) {
                "comes without how much of it there is".to_owned()
            } else {
                return None;
            };
            Some((name.clone(), problem))
        })
    }

    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("flow", Json::text(self.flow.as_str())),
            ("wanted", amounts_json(&self.wanted)),
            ("available", amounts_json(&self.available)),
            ("until", self.until.map_or(Json::Null, instant_json)),
        ])
    }

    pub(super) fn from_json(json: &Json) -> Option<Reservation> {
        let until = match nullable(json, "until")? {
            None => None,
            Some(_) => Some(instant_of(json, "until")?),
        };
        let amounts = |key: &str| amounts_of(json.get(key)?);
        Some(Reservation {
            flow: text_of(json, "flow")?,
            wanted: amounts("wanted")?,
            available: amounts("available")?,
            until,
        })
    }
}

/// What is wrong with a note: the field, and the problem.
pub fn note_problem(name: &str, details: &Object) -> Option<(&'static str, String)> {
    if name.trim().is_empty() || name.len() > NOTE_NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Some(("name", format!("is empty, longer than {NOTE_NAME_BYTES_MAX} bytes, or has control characters")));
    }
    too_large(details).map(|problem| ("details", problem))
}

fn too_large(members: &Object) -> Option<String> {
    let bytes = Json::Object(members.clone()).to_canonical().len();
    (bytes > DETAILS_BYTES_MAX).then(|| format!("take {bytes} bytes, and {DETAILS_BYTES_MAX} are kept"))
}

/// Amounts by name, as text: a number in JSON holds fewer digits.
pub(crate) fn amounts_json(amounts: &BTreeMap<String, Decimal>) -> Json {
    Json::Object(amounts.iter().map(|(name, amount)| (name.clone(), decimal_json(*amount))).collect())
}

pub(crate) fn amounts_of(json: &Json) -> Option<BTreeMap<String, Decimal>> {
    let names = json.as_object()?.keys();
    names.map(|name| Some((name.clone(), decimal_of(json, name)?))).collect()
}

/// What the record of an act in a flow holds.
pub(super) fn to_json(act: &Act) -> Json {
    if let Act::Ask(asking) = act {
        return asking.to_json();
    }
    if let Act::Reserve(reservation) = act {
        return reservation.to_json();
    }
    if let Act::Release { flow, resources } = act {
        let resources = Json::texts(resources.iter().map(String::as_str));
        return Json::object([("flow", Json::text(flow.as_str())), ("resources", resources)]);
    }
    let Act::Note { flow, name, details } = act else { return Json::Null };
    let (flow, name) = (Json::text(flow.as_str()), Json::text(name.as_str()));
    Json::object([("flow", flow), ("name", name), ("details", Json::Object(details.clone()))])
}

pub(super) fn read_release(command: &Json) -> Option<Act> {
    Some(Act::Release { flow: text_of(command, "flow")?, resources: texts_of(command, "resources")? })
}

pub(super) fn read_note(command: &Json) -> Option<Act> {
    let details = command.get("details")?.as_object()?.clone();
    Some(Act::Note { flow: text_of(command, "flow")?, name: text_of(command, "name")?, details })
}

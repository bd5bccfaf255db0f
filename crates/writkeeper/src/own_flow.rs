//! What agents say when they ask or hold something in a flow, read from the JSON that every door takes.

use crate::error::Error;
use kernel::change::{Inquiry, Reservation};
use kernel::contract::Impact;
use kernel::escalation::AgentRequest;
use kernel::finding::{Finding, Gate};
use kernel::proposal::Proposal;
use kernel::reasons::Reason;
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// Members of a question: why, what a person should know, what the agent would do, how much it may hurt.
pub const INQUIRY: &[&str] = &["reason", "context", "proposal", "impact"];

/// Members of a reservation: how much of each resource, how much of it there is, for how long, how long to wait.
pub const RESERVATION: &[&str] = &["resources", "available", "for", "wait"];

/// Longest that one call waits for a resource.
pub const WAIT_MAX: Duration = Duration::from_secs(30);

/// A question of an agent in its flow. A proposal need not say again whose it is and in which flow.
pub fn inquiry(agent: &str, flow: &str, said: &Object) -> Result<Inquiry, Error> {
    let context = match said.get("context") {
        None | Some(Json::Null) => Object::new(),
        Some(Json::Object(context)) => context.clone(),
        Some(_) => return Err(invalid("context", "is no object")),
    };
    let proposal = match said.get("proposal") {
        None | Some(Json::Null) => None,
        Some(Json::Object(members)) => {
            let mut members = members.clone();
            members.entry("agent".to_owned()).or_insert_with(|| Json::text(agent));
            members.entry("flow".to_owned()).or_insert_with(|| Json::text(flow));
            let read = Proposal::from_json(Json::Object(members));
            Some(read.map_err(|malformed| Error::Refused(malformed.findings))?)
        }
        Some(_) => return Err(invalid("proposal", "is no object")),
    };
    let impact = match said.get("impact") {
        None | Some(Json::Null) => Impact::High,
        Some(word) => {
            let read = word.as_text().and_then(|word| Impact::from_word(&word.to_uppercase()));
            read.ok_or_else(|| invalid("impact", &format!("is not one of {}", Impact::WORDS.join(", "))))?
        }
    };
    let reason = said.get("reason").and_then(Json::as_text).unwrap_or_default().to_owned();
    let request = AgentRequest { reason, context };
    Ok(Inquiry { agent: agent.to_owned(), flow: flow.to_owned(), request, proposal, impact })
}

/// What a flow wants to hold, and how long to wait for it.
pub fn reservation(flow: &str, said: &Object, now: Instant) -> Result<(Reservation, Duration), Error> {
    let span = |key: &'static str| match said.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(text) => {
            let read = text.as_text().and_then(Duration::parse);
            read.map(Some).ok_or_else(|| invalid(key, "is no length of time such as `30s`"))
        }
    };
    let wait = span("wait")?.unwrap_or(Duration::from_micros(0));
    if wait > WAIT_MAX {
        return Err(invalid("wait", &format!("is longer than {WAIT_MAX}")));
    }
    let until = span("for")?.map(|length| now.plus(length));
    let (wanted, available) = (amounts(said, "resources")?, amounts(said, "available")?);
    Ok((Reservation { flow: flow.to_owned(), wanted, available, until }, wait))
}

/// Amounts by name: numbers, or text where a number has more digits than JSON keeps.
fn amounts(said: &Object, key: &'static str) -> Result<BTreeMap<String, Decimal>, Error> {
    let none = Object::new();
    let members = match said.get(key) {
        None | Some(Json::Null) => &none,
        Some(Json::Object(members)) => members,
        Some(_) => return Err(invalid(key, "is no object of amounts by name")),
    };
    let amount = |(name, value): (&String, &Json)| {
        let read = value.as_number().or_else(|| value.as_text().and_then(Decimal::parse));
        let amount = read.ok_or_else(|| invalid(name, "is no finite number"))?;
        Ok((name.clone(), amount))
    };
    members.iter().map(amount).collect()
}

fn invalid(field: &str, problem: &str) -> Error {
    let finding = Finding::reject(Gate::Shape, Reason::ParamInvalid).field(field).with("problem", problem);
    Error::Refused(vec![finding])
}

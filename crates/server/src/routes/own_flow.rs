//! What agents do in their flows besides proposing: they ask a person, hold resources, and leave notes.

use super::flows::found;
use super::{AGENT_AND_OPERATOR, Answer, BODY_MAX, BodyRule, Route, Run};
use crate::call::{Call, JSON, Reply, text_if_any, texts_if_any};
use crate::problem::Problem;
use crate::schemas;
use std::time::Duration;
use values::json::{Json, Object};
use writkeeper::Answered;
use writkeeper::own_flow::{self, INQUIRY, RESERVATION};

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/flows/{id}/questions",
        name: "ask_person",
        summary: "Ask a person on the agent's own request; the budget, the deadline and the approvers are the contract's",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::own_flow::inquiry, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::event, summary: "The question" },
        run: Run::Blocking(ask),
    },
    Route {
        method: "POST",
        path: "/v1/flows/{id}/reservations",
        name: "reserve",
        summary: "Hold amounts of resources for a flow, all or none, of what their provider says there is",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::own_flow::reservation, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::event, summary: "What the flow holds of them" },
        run: Run::Blocking(reserve),
    },
    Route {
        method: "POST",
        path: "/v1/flows/{id}/release",
        name: "release",
        summary: "Give back what a flow holds outside of proposals",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::own_flow::release, optional: true }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "What was given back" },
        run: Run::Blocking(release),
    },
    Route {
        method: "POST",
        path: "/v1/flows/{id}/notes",
        name: "note",
        summary: "Write something down in a flow under a name; its timeline shows it",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::own_flow::note, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::event, summary: "The note" },
        run: Run::Blocking(note),
    },
];

fn told(answered: &Answered) -> Reply {
    Reply::json(&answered.event.as_ref().map(|event| event.to_json()).unwrap_or_default())
}

fn ask(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(INQUIRY)?;
    let (flow, row) = found(call, call.part("id"))?;
    let inquiry = own_flow::inquiry(&row.agent, &flow, &members)?;
    Ok(told(&call.keeper().ask(&call.caller.actor(), inquiry)?).created())
}

fn reserve(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(RESERVATION)?;
    let (flow, _) = found(call, call.part("id"))?;
    let (wanted, wait) = own_flow::reservation(&flow, &members, call.keeper().now())?;
    let wait = Duration::from_micros(u64::try_from(wait.micros()).unwrap_or_default());
    Ok(told(&call.keeper().reserve(&call.caller.actor(), &wanted, wait)?).created())
}

fn release(call: &Call) -> Result<Reply, Problem> {
    let members = if call.body.is_empty() { Object::new() } else { call.members(&["resources"])? };
    let (flow, _) = found(call, call.part("id"))?;
    let resources = texts_if_any(&members, "resources")?.unwrap_or_default();
    Ok(told(&call.keeper().release(&call.caller.actor(), &flow, resources)?))
}

fn note(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["name", "details"])?;
    let (flow, _) = found(call, call.part("id"))?;
    let name = text_if_any(&members, "name")?.ok_or_else(|| Problem::invalid("`name` is missing"))?;
    let details = match members.get("details") {
        None | Some(Json::Null) => Object::new(),
        Some(details) => details.as_object().cloned().ok_or_else(|| Problem::invalid("`details` is no object"))?,
    };
    Ok(told(&call.keeper().note(&call.caller.actor(), &flow, &name, details)?).created())
}

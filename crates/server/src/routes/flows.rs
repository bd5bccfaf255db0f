//! Flows: the latest, one with everything that happened in it, opening and ending.

use super::{AGENT_AND_OPERATOR, Answer, BODY_MAX, BodyRule, Param, ParamKind, READERS_AND_AGENT, Route, Run, changed};
use crate::call::{Call, JSON, Reply, text_if_any};
use crate::problem::Problem;
use crate::schemas;
use kernel::change::Act;
use kernel::flow::FlowEvent;
use kernel::world::FlowRow;
use runtime::Minted;
use values::json::{Json, Object};
use writkeeper::flows::{FlowList, Span, Timeline};
use writkeeper::lookup;

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/flows",
        name: "flows",
        summary: "The latest flows, newest first; agents see their own",
        access: READERS_AND_AGENT,
        query: &[
            Param { name: "agent", summary: "Only flows of this agent", kind: ParamKind::Text },
            Param { name: "limit", summary: "Flows at most", kind: ParamKind::Whole(1, 1_000) },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::flows::list_of_flows, summary: "The flows" },
        run: Run::Blocking(list),
    },
    Route {
        method: "POST",
        path: "/v1/flows",
        name: "open_flow",
        summary: "Open a flow that several proposals can name",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::flows::wanted, optional: true }),
        answer: Answer { status: 201, media: JSON, schema: schemas::event, summary: "The flow" },
        run: Run::Blocking(open),
    },
    Route {
        method: "GET",
        path: "/v1/flows/{id}",
        name: "flow",
        summary: "One flow and everything that happened in it, oldest first",
        access: READERS_AND_AGENT,
        query: &[
            Param { name: "from", summary: "The index to begin with", kind: ParamKind::Whole(0, u64::MAX) },
            Param { name: "limit", summary: "Entries at most", kind: ParamKind::Whole(1, 1_000) },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::flows::timeline, summary: "The flow" },
        run: Run::Blocking(show),
    },
    Route {
        method: "POST",
        path: "/v1/flows/{id}/close",
        name: "close_flow",
        summary: "Take no more proposals in a flow",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The flow" },
        run: Run::Blocking(close),
    },
    Route {
        method: "POST",
        path: "/v1/flows/{id}/abort",
        name: "abort_flow",
        summary: "Break a flow off: what was not started is called off, and open questions end",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The flow" },
        run: Run::Blocking(abort),
    },
];

/// The flow that is meant; agents see their own, by whole ids.
pub(super) fn found(call: &Call, id: &str) -> Result<(String, FlowRow), Problem> {
    let runtime = call.keeper().runtime();
    let Some(own) = call.caller.own_agent() else { return Ok(lookup::flow(runtime, id)?) };
    let found = lookup::flow(runtime, &format!("={id}")).map_err(|_| Problem::not_found())?;
    if found.1.agent == own { Ok(found) } else { Err(Problem::not_found()) }
}

fn list(call: &Call) -> Result<Reply, Problem> {
    let limit = call.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
    let agent = match (call.caller.own_agent(), call.asked("agent")) {
        (Some(own), Some(asked)) if own != asked => return Err(Problem::not_found()),
        (Some(own), _) => Some(own),
        (None, asked) => asked,
    };
    let FlowList { flows, all } = FlowList::of(call.keeper().runtime(), agent, limit)?;
    let flows = flows.iter().map(|flow| Json::Object(flow.to_json())).collect();
    Ok(Reply::json(&Json::object([("flows", Json::List(flows)), ("all", Json::from(all as u64))])))
}

fn open(call: &Call) -> Result<Reply, Problem> {
    let members = if call.body.is_empty() { Object::new() } else { call.members(&["agent", "parent"])? };
    let agent = match (text_if_any(&members, "agent")?, call.caller.own_agent()) {
        (Some(agent), Some(own)) if agent != own => return Err(Problem::not_found()),
        (Some(agent), _) => agent,
        (None, Some(own)) => own.to_owned(),
        (None, None) => return Err(Problem::invalid("`agent` is missing")),
    };
    let parent = match text_if_any(&members, "parent")? {
        Some(parent) => Some(found(call, &parent)?.0),
        None => None,
    };
    changed(call, Act::OpenFlow { flow: Minted::id(), agent, parent }).map(Reply::created)
}

fn show(call: &Call) -> Result<Reply, Problem> {
    let limit = call.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(Span::LIMIT);
    let (id, row) = found(call, call.part("id"))?;
    let timeline = Timeline::of(call.keeper().runtime(), &id, &row, Span { from: call.whole("from"), limit })?;
    Ok(Reply::json(&timeline.to_json()))
}

fn close(call: &Call) -> Result<Reply, Problem> {
    let (flow, _) = found(call, call.part("id"))?;
    changed(call, Act::EndFlow { flow, event: FlowEvent::Close })
}

fn abort(call: &Call) -> Result<Reply, Problem> {
    let (flow, _) = found(call, call.part("id"))?;
    changed(call, Act::EndFlow { flow, event: FlowEvent::Abort })
}

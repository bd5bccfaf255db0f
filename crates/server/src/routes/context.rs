//! State with versions, the sessions of flows, and snapshots of both.

use super::flows::found;
use super::{
    AGENT_AND_OPERATOR, Answer, BODY_MAX, BodyRule, Param, ParamKind, READERS, READERS_AND_AGENT, Route, Run, changed,
};
use crate::call::{Call, JSON, Reply, text_if_any, texts_if_any, whole_if_any};
use crate::problem::Problem;
use crate::schemas;
use axum::http::{StatusCode, header};
use kernel::agent::{OWN_STATE, owns_state};
use kernel::api_key::{KEYS, KeyRole, TENANTS};
use kernel::attention::ATTENTION;
use kernel::change::{Act, Write};
use kernel::handed::HANDED;
use kernel::lease::kept::LEASES;
use kernel::reasons::Reason;
use kernel::shadow::SHADOWS;
use kernel::snooze::SNOOZED;
use kernel::world::{Entity, Row};
use values::json::Json;
use writkeeper::access::is_for_admins;

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/state",
        name: "state_keys",
        summary: "Names and versions of values of state, in the order of their names",
        access: READERS,
        query: &[
            Param { name: "after", summary: "The name behind which to begin", kind: ParamKind::Text },
            Param { name: "limit", summary: "Names at most", kind: ParamKind::Whole(1, 1_000) },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::context::keys, summary: "The names" },
        run: Run::Blocking(list),
    },
    Route {
        method: "GET",
        path: "/v1/state/{rest}",
        name: "state",
        summary: "A value of state with its version; agents see what is theirs, under `agents/NAME/`",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::context::value, summary: "The value" },
        run: Run::Blocking(get),
    },
    Route {
        method: "PUT",
        path: "/v1/state/{rest}",
        name: "set_state",
        summary: "Write a value of state; `expect` or `If-Match` demands the version it replaces",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::context::write, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::context::version, summary: "Its version" },
        run: Run::Blocking(put),
    },
    Route {
        method: "GET",
        path: "/v1/flows/{id}/session",
        name: "session",
        summary: "What the session of a flow holds",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::context::session, summary: "The session" },
        run: Run::Blocking(session),
    },
    Route {
        method: "POST",
        path: "/v1/flows/{id}/session",
        name: "extend_session",
        summary: "Add values to the session of a flow",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::context::values, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The session" },
        run: Run::Blocking(remember),
    },
    Route {
        method: "POST",
        path: "/v1/snapshots",
        name: "take_snapshot",
        summary: "Freeze values of state, and the session of a flow, under a name that proposals can give",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::context::freeze, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::event, summary: "The snapshot" },
        run: Run::Blocking(freeze),
    },
    Route {
        method: "GET",
        path: "/v1/snapshots/{id}",
        name: "snapshot",
        summary: "What a snapshot holds",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::context::snapshot, summary: "The snapshot" },
        run: Run::Blocking(snapshot),
    },
];

/// The name of state that is meant, as far as the caller may know of it.
fn key(call: &Call) -> Result<&str, Problem> {
    let key = call.part("rest");
    if let Some(problem) = values::ids::identifier_problem(key) {
        return Err(Problem::invalid(format!("the name {problem}")));
    }
    if call.caller.own_agent().is_some_and(|own| !owns_state(own, key)) || key.starts_with(KEYS) {
        return Err(Problem::not_found());
    }
    Ok(key)
}

fn list(call: &Call) -> Result<Reply, Problem> {
    let limit = call.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
    let rows = call.keeper().runtime().scan(kernel::stored::Kind::State, call.asked("after"), limit)?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|(key, _)| key.entity.parts().0.to_owned());
    let named = rows.iter().filter_map(|(key, row)| {
        let (name, Row::State(row)) = (key.entity.parts().0, row) else { return None };
        let told = [("key", Json::text(name)), ("version", Json::from(row.version))];
        (!name.starts_with(KEYS)).then(|| Json::object(told))
    });
    Ok(Reply::json(&Json::object([("keys", Json::List(named.collect())), ("next", Json::from(next))])))
}

fn get(call: &Call) -> Result<Reply, Problem> {
    let key = key(call)?;
    let (value, version) = call.keeper().state(key)?.ok_or_else(Problem::not_found)?;
    let told = [("key", Json::text(key)), ("value", value), ("version", Json::from(version))];
    Ok(Reply::json(&Json::object(told)).with(header::ETAG, &format!("\"{version}\"")))
}

fn put(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["value", "expect"])?;
    let key = key(call)?.to_owned();
    let is_admin = call.caller.role == KeyRole::Admin;
    // People's own notes about questions are written by what knows the person.
    let is_of_people = [HANDED, SNOOZED].iter().any(|prefix| key.starts_with(prefix));
    if is_for_admins(&key) && !is_admin || key.starts_with(TENANTS) || is_of_people {
        let values = [("role", call.caller.role.word())];
        return Err(Problem::of(StatusCode::FORBIDDEN, Reason::RoleForbidden, &values));
    }
    let value = members.get("value").cloned().ok_or_else(|| Problem::invalid("`value` is missing"))?;
    let expect = match (whole_if_any(&members, "expect")?, call.headers.get(header::IF_MATCH)) {
        (Some(expect), _) => Some(expect),
        (None, None) => None,
        (None, Some(etag)) => {
            let version = etag.to_str().ok().and_then(|text| text.trim().trim_matches('"').parse().ok());
            Some(version.ok_or_else(|| Problem::invalid("`If-Match` is no version of a value"))?)
        }
    };
    let write = Write { key: key.clone(), value, expect };
    let answered = call.keeper().merge(&call.caller.actor(), vec![write])?;
    let version = match answered.event.as_deref() {
        Some(kernel::event::Event::StateMerged { versions }) => versions.get(&key).copied().unwrap_or_default(),
        Some(_) | None => 0,
    };
    let told = [("key", Json::text(key)), ("version", Json::from(version))];
    Ok(Reply::json(&Json::object(told)).with(header::ETAG, &format!("\"{version}\"")))
}

fn session(call: &Call) -> Result<Reply, Problem> {
    let (flow, _) = found(call, call.part("id"))?;
    let values = match call.keeper().runtime().read(Entity::Session(flow.clone()))? {
        Some(Row::Session(values)) => values,
        Some(_) | None => values::json::Object::new(),
    };
    Ok(Reply::json(&Json::object([("flow", Json::text(flow)), ("values", Json::Object(values))])))
}

fn remember(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["values"])?;
    let values = members.get("values").and_then(Json::as_object).cloned();
    let values = values.ok_or_else(|| Problem::invalid("`values` is no object"))?;
    let (flow, _) = found(call, call.part("id"))?;
    changed(call, Act::Remember { flow, values })
}

/// Whether a name of state is another agent's, or tells of others: who freezes it could read it.
fn is_of_others(own: &str, key: &str) -> bool {
    let is_foreign = key.starts_with(OWN_STATE) && !owns_state(own, key);
    is_foreign || [LEASES, ATTENTION, SHADOWS, HANDED, SNOOZED].iter().any(|prefix| key.starts_with(prefix))
}

fn freeze(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["flow", "keys"])?;
    let keys = texts_if_any(&members, "keys")?.unwrap_or_default();
    let flow = match text_if_any(&members, "flow")? {
        Some(flow) => Some(found(call, &flow)?.0),
        None => None,
    };
    if keys.iter().any(|key| key.starts_with(KEYS)) {
        return Err(Problem::invalid("keys of the service are not frozen"));
    }
    if let Some(own) = call.caller.own_agent()
        && keys.iter().any(|key| is_of_others(own, key))
    {
        return Err(Problem::not_found());
    }
    changed(call, Act::Freeze { flow, keys }).map(Reply::created)
}

fn snapshot(call: &Call) -> Result<Reply, Problem> {
    let id = call.part("id");
    let Some(Row::Snapshot(snapshot)) = call.keeper().runtime().read(Entity::Snapshot(id.to_owned()))? else {
        return Err(Problem::not_found());
    };
    if call.caller.own_agent().is_some() {
        let flow = snapshot.flow.as_deref().ok_or_else(Problem::not_found)?;
        found(call, flow)?;
    }
    Ok(Reply::json(&Json::object([
        ("snapshot", Json::text(id)),
        ("at", Json::text(snapshot.at.to_string())),
        ("source", Json::text(snapshot.source)),
        ("flow", Json::from(snapshot.flow)),
        ("state", Json::Object(snapshot.state)),
        ("session", Json::Object(snapshot.session)),
    ])))
}

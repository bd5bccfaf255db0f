//! What the service says about itself, the kill switch, and what a code means.

use super::{ALL, Access, Answer, BODY_MAX, BodyRule, OPERATOR, Param, ParamKind, READERS, Route, Run};
use crate::call::{Call, JSON, Reply, text, text_if_any};
use crate::events;
use crate::openapi;
use crate::problem::Problem;
use crate::schemas;
use crate::site::Site;
use kernel::change::Act;
use kernel::reasons::Reason;
use values::json::Json;
use values::time::Instant;
use writkeeper::access::reason_json;
use writkeeper::report::Range;

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/healthz",
        name: "health",
        summary: "Whether the process lives",
        access: Access::Anybody,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::service::health, summary: "It lives" },
        run: Run::Open(health),
    },
    Route {
        method: "GET",
        path: "/readyz",
        name: "ready",
        summary: "Whether it can decide: the store answers and keeps decisions, and it is not about to end",
        access: Access::Anybody,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::service::health, summary: "It can decide" },
        run: Run::Probe(ready),
    },
    Route {
        method: "GET",
        path: "/v1/openapi.json",
        name: "document",
        summary: "This document",
        access: Access::Anybody,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::service::document, summary: "The document" },
        run: Run::Open(document),
    },
    Route {
        method: "GET",
        path: "/v1/whoami",
        name: "whoami",
        summary: "Who the caller is",
        access: ALL,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::service::whoami, summary: "The caller" },
        run: Run::Blocking(whoami),
    },
    Route {
        method: "GET",
        path: "/v1/explain/{code}",
        name: "explain",
        summary: "What a reason code means and what to do about it",
        access: ALL,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::service::reason, summary: "The reason" },
        run: Run::Blocking(explain),
    },
    Route {
        method: "GET",
        path: "/v1/report",
        name: "report",
        summary: "What was decided in a while, and what became of it",
        access: READERS,
        query: &[
            Param { name: "since", summary: "The first instant that counts", kind: ParamKind::Instant },
            Param { name: "until", summary: "The first instant that no longer counts", kind: ParamKind::Instant },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::service::report, summary: "The report" },
        run: Run::Blocking(report),
    },
    Route {
        method: "GET",
        path: "/v1/monitors",
        name: "monitors",
        summary: "What is watched, how far each monitor is from an alarm, and its latest alarms",
        access: READERS,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::service::monitors, summary: "The monitors" },
        run: Run::Blocking(monitors),
    },
    Route {
        method: "POST",
        path: "/v1/halt",
        name: "halt",
        summary: "Accept nothing until it is resumed; with `group`, nothing of that group of agents",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::service::switch, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "Nothing is accepted" },
        run: Run::Blocking(halt),
    },
    Route {
        method: "POST",
        path: "/v1/resume",
        name: "resume",
        summary: "Judge proposals again after a halt",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::service::switch, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "Proposals are judged" },
        run: Run::Blocking(resume),
    },
    Route {
        method: "GET",
        path: "/v1/events",
        name: "events",
        summary: "What happens, as server-sent events from any index on; each is a CloudEvents value",
        access: super::READERS_AND_AGENT,
        query: &[
            Param { name: "after", summary: "The index behind which to begin", kind: ParamKind::Whole(0, u64::MAX) },
            Param { name: "type", summary: "Only events of this type", kind: ParamKind::Text },
            Param { name: "agent", summary: "Only events of this agent", kind: ParamKind::Text },
            Param { name: "flow", summary: "Only events of this flow", kind: ParamKind::Text },
            Param {
                name: "limit",
                summary: "End after so many events; without it the stream goes on",
                kind: ParamKind::Whole(1, 1_000),
            },
        ],
        body: None,
        answer: Answer {
            status: 200,
            media: events::MEDIA,
            schema: schemas::service::event,
            summary: "A stream of such events",
        },
        run: Run::Async(events::stream),
    },
];

fn health(_site: &Site) -> Result<Reply, Problem> {
    Ok(Reply::json(&Json::object([("status", Json::text("ok"))])))
}

fn ready(site: &Site) -> Result<Reply, Problem> {
    if *site.ending.borrow() {
        return Err(Problem::unavailable("the service is about to end"));
    }
    if let Some(problem) = site.readiness.problem(std::time::Instant::now()) {
        return Err(Problem::unavailable(&format!("decisions are not kept: {problem}")));
    }
    site.tenants.default().keeper.runtime().size()?;
    health(site)
}

fn document(_site: &Site) -> Result<Reply, Problem> {
    Ok(Reply::bytes(JSON, openapi::text()).with(axum::http::header::CACHE_CONTROL, "public, max-age=60"))
}

fn whoami(call: &Call) -> Result<Reply, Problem> {
    let caller = &call.caller;
    Ok(Reply::json(&Json::object([
        ("tenant", Json::text(&*caller.tenant.name)),
        ("role", Json::text(caller.role.word())),
        ("name", Json::text(&*caller.name)),
    ])))
}

fn explain(call: &Call) -> Result<Reply, Problem> {
    let reason = Reason::from_code(&call.part("code").to_uppercase()).ok_or_else(Problem::not_found)?;
    Ok(Reply::json(&reason_json(reason)))
}

fn report(call: &Call) -> Result<Reply, Problem> {
    let instant = |name: &str| call.asked(name).and_then(Instant::parse);
    let report = call.keeper().report(Range { since: instant("since"), until: instant("until") })?;
    Ok(Reply::json(&report.to_json()))
}

fn monitors(call: &Call) -> Result<Reply, Problem> {
    let monitors = writkeeper::monitors::all(call.keeper().runtime())?;
    let monitors = monitors.iter().map(writkeeper::monitors::MonitorSummary::to_json).collect();
    Ok(Reply::json(&Json::object([("monitors", Json::List(monitors))])))
}

fn halt(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["because", "group"])?;
    let (group, because) = (text_if_any(&members, "group")?, text(&members, "because")?);
    super::changed(call, Act::Halt { group, because })
}

fn resume(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["because", "group"])?;
    let (group, because) = (text_if_any(&members, "group")?, text(&members, "because")?);
    super::changed(call, Act::Resume { group, because })
}

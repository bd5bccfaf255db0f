//! Intents: what may be performed, and what executors and hosts say about it.

use super::{AGENT_AND_OPERATOR, Access, Answer, BODY_MAX, BodyRule, OPERATOR, Param, ParamKind, Route, Run, changed};
use crate::call::{Call, JSON, Reply, span_if_any, text, text_if_any, whole_if_any};
use crate::problem::Problem;
use crate::schemas;
use axum::http::StatusCode;
use kernel::agent::Actor;
use kernel::api_key::KeyRole;
use kernel::change::{Act, AttachedResult};
use kernel::intent::{IntentEvent, IntentRow, IntentState, Observed, provider_key};
use kernel::reasons::Reason;
use kernel::result::{EffectResult, Response, ResponseStatus, Secrets};
use kernel::stored::Kind;
use kernel::world::Row;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::{Duration, Instant};
use writkeeper::happening::Happening;
use writkeeper::intents::{IntentPage, IntentSummary};
use writkeeper::lookup;

/// How long a claim counts where nobody says.
const LEASE: Duration = Duration::from_secs(60);

/// Due intents looked through for those that are ready.
const LOOKED_MAX: usize = 4_096;

/// The kernel lets agents perform the functions of their own proposals only.
const PERFORMERS: Access = Access::Roles(&[KeyRole::Agent, KeyRole::Executor, KeyRole::Operator, KeyRole::Admin]);
const SEEN_BY: Access = Access::Roles(&[
    KeyRole::Agent,
    KeyRole::Executor,
    KeyRole::Operator,
    KeyRole::Approver,
    KeyRole::Auditor,
    KeyRole::Admin,
]);

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/intents",
        name: "intents",
        summary: "Intents in a state; without one those that are ready to be performed, most urgent first",
        access: Access::Roles(&[
            KeyRole::Executor,
            KeyRole::Operator,
            KeyRole::Approver,
            KeyRole::Auditor,
            KeyRole::Admin,
        ]),
        query: &[
            Param { name: "state", summary: "Only those in this state", kind: ParamKind::Word(IntentState::WORDS) },
            Param { name: "after", summary: "With a state: the id behind which to begin", kind: ParamKind::Text },
            Param { name: "limit", summary: "Intents at most", kind: ParamKind::Whole(1, 1_000) },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::intents::list_of_intents, summary: "The intents" },
        run: Run::Blocking(list),
    },
    Route {
        method: "GET",
        path: "/v1/intents/{id}",
        name: "intent",
        summary: "One intent, everything that happened to it, and its result",
        access: SEEN_BY,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::intents::page, summary: "The intent" },
        run: Run::Blocking(show),
    },
    Route {
        method: "POST",
        path: "/v1/intents/{id}/claim",
        name: "claim",
        summary: "Take an intent that is ready; answers with what to perform and under which epoch",
        access: PERFORMERS,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::intents::claim, optional: true }),
        answer: Answer { status: 200, media: JSON, schema: schemas::intents::claimed, summary: "What to perform" },
        run: Run::Blocking(claim),
    },
    Route {
        method: "POST",
        path: "/v1/intents/{id}/start",
        name: "start",
        summary: "Say that the first byte is about to be sent",
        access: PERFORMERS,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::intents::start, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The intent" },
        run: Run::Blocking(start),
    },
    Route {
        method: "POST",
        path: "/v1/intents/{id}/finish",
        name: "finish",
        summary: "Say what an attempt observed, with what the other side answered",
        access: PERFORMERS,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::intents::finish, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The intent" },
        run: Run::Blocking(finish),
    },
    Route {
        method: "POST",
        path: "/v1/intents/{id}/settle",
        name: "settle",
        summary: "Say what became of an intent that the agent's host performs",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::intents::settle, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The intent" },
        run: Run::Blocking(settle),
    },
    Route {
        method: "POST",
        path: "/v1/intents/{id}/undo",
        name: "undo",
        summary: "Undo what happened, by an intent of its own",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::service::because, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The intent that undoes it" },
        run: Run::Blocking(undo),
    },
];

/// The intent that is meant; agents see their own, by whole ids.
fn found(call: &Call) -> Result<(String, Box<IntentRow>), Problem> {
    let (id, runtime) = (call.part("id"), call.keeper().runtime());
    let Some(own) = call.caller.own_agent() else {
        let (id, row) = lookup::intent(runtime, id)?;
        return Ok((id, row));
    };
    let (id, row) = lookup::intent(runtime, &format!("={id}")).map_err(|_| Problem::not_found())?;
    if row.facts.to_kept().agent == own { Ok((id, row)) } else { Err(Problem::not_found()) }
}

fn list(call: &Call) -> Result<Reply, Problem> {
    let limit = call.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
    let runtime = call.keeper().runtime();
    let mut next = None;
    let mut intents = Vec::new();
    match call.asked("state").and_then(IntentState::from_word) {
        None => {
            let far = Instant::from_micros(i64::MAX);
            for (key, row) in runtime.due(Kind::Intent, far, LOOKED_MAX)? {
                let Row::Intent(row) = row else { continue };
                let is_for_us = row.running.as_ref().is_some_and(|running| !running.by_host);
                if row.state == IntentState::Ready && is_for_us && intents.len() < limit {
                    intents.push(Json::Object(IntentSummary::of(key.entity.parts().0, &row).to_json()));
                }
            }
        }
        Some(state) => {
            let mut after = call.asked("after").map(str::to_owned);
            'pages: loop {
                let page = runtime.scan(Kind::Intent, after.as_deref(), 256)?;
                let Some((last, _)) = page.last() else { break };
                after = Some(last.entity.parts().0.to_owned());
                for (key, row) in &page {
                    let (name, Row::Intent(row)) = (key.entity.parts().0, row) else { continue };
                    if row.state != state {
                        continue;
                    }
                    if intents.len() >= limit {
                        break 'pages;
                    }
                    next = Some(name.to_owned());
                    intents.push(Json::Object(IntentSummary::of(name, row).to_json()));
                }
            }
            next = next.filter(|_| intents.len() >= limit);
        }
    }
    Ok(Reply::json(&Json::object([("intents", Json::List(intents)), ("next", Json::from(next))])))
}

fn show(call: &Call) -> Result<Reply, Problem> {
    let (id, row) = found(call)?;
    Ok(Reply::json(&IntentPage::of(call.keeper().runtime(), &id, &row)?.to_json()))
}

fn claim(call: &Call) -> Result<Reply, Problem> {
    let members = if call.body.is_empty() { Object::new() } else { call.members(&["worker", "lease"])? };
    let (id, row) = found(call)?;
    demand_performer(call, &row)?;
    let worker = text_if_any(&members, "worker")?;
    let name = worker_name(call);
    let worker = worker.map_or_else(|| name.clone(), |own| format!("{name}/{own}"));
    let lease = span_if_any(&members, "lease")?.unwrap_or(LEASE);
    let runtime = call.keeper().runtime();
    let act = Act::Claim { intent: id.clone(), worker, lease };
    let actor = if call.caller.role == KeyRole::Executor { Actor::Kernel } else { call.caller.actor() };
    let answered = writkeeper::carried_out(runtime.change(actor, act))?;
    let event = answered.event.map(|event| event.to_json()).unwrap_or_default();
    let running = row.running.as_deref();
    let secrets = running.map(|running| running.secrets.clone()).filter(|secrets| !secrets.is_empty());
    let attempt = running.map(|running| running.digest().to_string());
    let mut told = Object::from_iter(
        [
            ("intent", Json::text(id)),
            ("epoch", event.get("epoch").cloned().unwrap_or_default()),
            ("attempt", Json::from(attempt)),
            ("order", running.map_or(Json::Null, |running| running.order.to_json())),
            ("key", Json::text(provider_key(runtime.tenant(), row.facts.effect_key()))),
            ("claimed", event),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    told.extend(secrets.map(|secrets| ("secrets".to_owned(), Json::Object(secrets))));
    Ok(Reply::json(&Json::Object(told)))
}

/// Under which name the caller claims; an agent is not taken for an executor whose key bears the same name.
pub(super) fn worker_name(call: &Call) -> String {
    if call.caller.role == KeyRole::Agent { call.caller.actor().text() } else { call.caller.name.to_string() }
}

/// Secrets are for executors: whoever else claimed what holds them could not perform it.
pub(super) fn demand_performer(call: &Call, row: &IntentRow) -> Result<(), Problem> {
    let holds_secrets = row.running.as_deref().is_some_and(|running| !running.secrets.is_empty());
    if call.caller.role == KeyRole::Executor || !holds_secrets {
        return Ok(());
    }
    let values = [("actor", "the caller"), ("what", "perform what holds secrets; the key of an executor does")];
    Err(Problem::of(StatusCode::FORBIDDEN, Reason::NotAuthorized, &values))
}

/// Whether an executor holds the claim of an intent at this moment.
pub(super) fn has_claimed(call: &Call, row: &IntentRow) -> bool {
    let is_held = matches!(row.state, IntentState::Claimed | IntentState::InFlight);
    let owner = row.running.as_deref().map(|running| &*running.owner);
    is_held
        && call.caller.role == KeyRole::Executor
        && owner.is_some_and(|owner| is_worker_of(&worker_name(call), owner))
}

/// Whether a worker is one of those that claim under a name.
fn is_worker_of(name: &str, worker: &str) -> bool {
    worker.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Who is recorded for the steps of a worker: the claim says who it is.
fn step(call: &Call, act: Act) -> Result<Reply, Problem> {
    let actor = if call.caller.role == KeyRole::Executor { Actor::Kernel } else { call.caller.actor() };
    super::told(writkeeper::carried_out(call.keeper().runtime().change(actor, act))?)
}

/// An executor and an agent speak of their own claims only: whoever holds another key knows nothing of what that one
/// did.
pub(super) fn demand_claim(call: &Call, id: &str, row: &IntentRow, epoch: u64) -> Result<(), Problem> {
    let is_bound = matches!(call.caller.role, KeyRole::Executor | KeyRole::Agent);
    let Some(running) = row.running.as_deref().filter(|_| is_bound) else {
        return Ok(());
    };
    let claimed_by =
        if epoch == running.epoch {
            Some(running.owner.clone())
        } else {
            // What a late attempt observed counts as evidence, so whose attempt it was is looked up in the ledger.
            let page = IntentPage::of(call.keeper().runtime(), id, row)?;
            let claims = page.entries.into_iter().filter(|entry| entry.refused.is_empty());
            let mut workers = claims.filter_map(|entry| {
                if let Happening::Claimed { worker, .. } = entry.happened { Some(worker) } else { None }
            });
            let before = epoch.checked_sub(1).and_then(|before| usize::try_from(before).ok());
            before.and_then(|before| workers.nth(before))
        };
    let name = worker_name(call);
    if claimed_by.as_deref().is_none_or(|worker| is_worker_of(&name, worker)) {
        // An epoch that nobody has is refused by the kernel.
        return Ok(());
    }
    let values = [("actor", "the caller"), ("what", "speak for a claim of somebody else")];
    Err(Problem::of(StatusCode::FORBIDDEN, Reason::NotAuthorized, &values))
}

fn epoch(members: &Object) -> Result<u64, Problem> {
    whole_if_any(members, "epoch")?.ok_or_else(|| Problem::invalid("`epoch` is missing"))
}

fn start(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["epoch", "attempt"])?;
    let (intent, row) = found(call)?;
    let attempt = match text_if_any(&members, "attempt")? {
        Some(text) => Digest::parse(&text).ok_or_else(|| Problem::invalid("`attempt` is no SHA-256"))?,
        None => {
            let running = row.running.as_deref().ok_or_else(|| Problem::invalid("nobody performs this intent"))?;
            running.digest()
        }
    };
    let epoch = epoch(&members)?;
    demand_claim(call, &intent, &row, epoch)?;
    step(call, Act::Start { intent, epoch, attempt })
}

/// What the other side answered, without the secrets of the intent.
fn result(members: &Object, row: &IntentRow) -> Result<Option<AttachedResult>, Problem> {
    let Some(given) = members.get("result").filter(|given| **given != Json::Null) else { return Ok(None) };
    let unfit = || Problem::invalid("`result` is not {\"status\"?: number, \"content_type\"?: text, \"body\": text}");
    let object = given.as_object().ok_or_else(unfit)?;
    if object.keys().any(|member| !["status", "content_type", "body"].contains(&member.as_str())) {
        return Err(unfit());
    }
    let status = match whole_if_any(object, "status")? {
        Some(status) => {
            let status = u16::try_from(status).ok().filter(|status| (100..600).contains(status));
            ResponseStatus::Http(status.ok_or_else(unfit)?)
        }
        None => ResponseStatus::Reported,
    };
    let (content_type, body) = (text_if_any(object, "content_type")?, text(object, "body")?.into_bytes());
    let response = Response { status, content_type, body, complete: true, secrets: Vec::new() };
    let secrets = row.running.as_deref().map_or_else(|| Secrets::Known(Vec::new()), Secrets::of);
    Ok(Some(AttachedResult::Given(Box::new(EffectResult::of(response, secrets)))))
}

fn finish(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["epoch", "observed", "detail", "result"])?;
    let (intent, row) = found(call)?;
    let observed = Observed::from_word(&text(&members, "observed")?.to_uppercase());
    let unknown = || Problem::invalid(format!("`observed` is not one of {}", Observed::WORDS.join(", ")));
    let (observed, epoch) = (observed.ok_or_else(unknown)?, epoch(&members)?);
    demand_claim(call, &intent, &row, epoch)?;
    let detail = text_if_any(&members, "detail")?.unwrap_or_default();
    let detail = row.running.as_deref().map_or(detail.clone(), |running| Secrets::of(running).removed_from(&detail));
    let result = result(&members, &row)?;
    step(call, Act::Outcome { intent, epoch, observed, detail, result })
}

fn settle(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["event", "result"])?;
    let (intent, row) = found(call)?;
    let event = IntentEvent::from_word(&text(&members, "event")?.to_uppercase());
    let unknown = || Problem::invalid(format!("`event` is not one of {}", IntentEvent::WORDS.join(", ")));
    let (event, result) = (event.ok_or_else(unknown)?, result(&members, &row)?);
    changed(call, Act::Settle { intent, event, result })
}

fn undo(call: &Call) -> Result<Reply, Problem> {
    let because = text(&call.members(&["because"])?, "because")?;
    let (intent, _) = found(call)?;
    changed(call, Act::Undo { intent, undo: runtime::Minted::id(), because })
}

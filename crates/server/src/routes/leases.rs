//! Leases: who holds which part of a tree, or which named thing.

use super::{AGENT_AND_OPERATOR, Answer, BODY_MAX, BodyRule, OPERATOR, READERS_AND_AGENT, Route, Run, changed};
use crate::call::{Call, JSON, Reply, flag, span_if_any, text, text_if_any, texts_if_any};
use crate::problem::Problem;
use crate::schemas;
use kernel::change::Act;
use kernel::change::leasing::Leasing;
use kernel::event::LeaseTerms;
use kernel::lease::Mode;
use kernel::lease::book::LeaseBook;
use kernel::lease::fence::Fence;
use kernel::lease::kept::BOOK;
use kernel::world::{Entity, Row};
use values::json::{Json, Object};
use values::time::Duration;
use writkeeper::Error;

/// How long a lease lasts from one heartbeat to the next where nobody says.
const TTL: Duration = Duration::from_secs(60);

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/leases",
        name: "leases",
        summary: "What is held, by whom and until when; agents see their own",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::leases::held, summary: "The leases" },
        run: Run::Blocking(list),
    },
    Route {
        method: "POST",
        path: "/v1/leases",
        name: "acquire_lease",
        summary: "Ask for regions; asking again for the same renews",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::leases::wanted, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::event, summary: "The lease" },
        run: Run::Blocking(acquire),
    },
    Route {
        method: "POST",
        path: "/v1/leases/{fence}/heartbeat",
        name: "keep_lease",
        summary: "Keep a lease for another while",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::leases::holder, optional: true }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The lease" },
        run: Run::Blocking(heartbeat),
    },
    Route {
        method: "POST",
        path: "/v1/leases/{fence}/release",
        name: "release_lease",
        summary: "Give a lease back",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::leases::holder, optional: true }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The lease" },
        run: Run::Blocking(release),
    },
    Route {
        method: "POST",
        path: "/v1/leases/{fence}/evict",
        name: "evict_lease",
        summary: "Take a lease away",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::service::because, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The lease" },
        run: Run::Blocking(evict),
    },
    Route {
        method: "POST",
        path: "/v1/leases/{fence}/adopt",
        name: "adopt_lease",
        summary: "Give a lease to somebody else",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::leases::heir, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The lease" },
        run: Run::Blocking(adopt),
    },
];

fn list(call: &Call) -> Result<Reply, Problem> {
    let book = match call.keeper().runtime().read(Entity::State(BOOK.to_owned()))? {
        Some(Row::State(row)) => LeaseBook::from_json(&row.value)
            .ok_or_else(|| Problem::from(Error::Damaged("the book of leases cannot be read".to_owned())))?,
        Some(_) | None => LeaseBook::default(),
    };
    let own = |holder: &str| call.caller.own_agent().is_none_or(|own| is_of(own, holder));
    let leases = book.leases().filter(|lease| own(lease.holder.as_str()));
    let leases = leases.map(|lease| LeaseTerms::of(lease).to_json(lease.fence)).collect();
    Ok(Reply::json(&Json::object([("leases", Json::List(leases))])))
}

/// Whether a holder is an agent itself, or one of its sessions.
fn is_of(agent: &str, holder: &str) -> bool {
    holder == agent || holder.strip_prefix(agent).is_some_and(|rest| rest.starts_with(':'))
}

/// Who is to hold it: an agent itself, or one of its sessions.
fn holder(call: &Call, members: &Object) -> Result<String, Problem> {
    let said = text_if_any(members, "holder")?;
    match (call.caller.own_agent(), said) {
        (Some(own), None) => Ok(own.to_owned()),
        (Some(own), Some(said)) => {
            if is_of(own, &said) {
                Ok(said)
            } else {
                Err(Problem::invalid(format!("`holder` is not {own} or {own}:SESSION")))
            }
        }
        (None, Some(said)) => Ok(said),
        (None, None) => Err(Problem::invalid("`holder` is missing")),
    }
}

fn fence(call: &Call) -> Result<Fence, Problem> {
    call.part("fence").parse().map(Fence::from_number).map_err(|_| Problem::not_found())
}

fn acquire(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["holder", "regions", "shared", "ttl"])?;
    let regions = texts_if_any(&members, "regions")?.filter(|regions| !regions.is_empty());
    let regions = regions.ok_or_else(|| Problem::invalid("`regions` is missing"))?;
    let mode = if flag(&members, "shared")? { Mode::Shared } else { Mode::Exclusive };
    let (holder, ttl) = (holder(call, &members)?, span_if_any(&members, "ttl")?.unwrap_or(TTL));
    changed(call, Act::Lease(Leasing::Acquire { holder, mode, regions, ttl })).map(Reply::created)
}

fn held(call: &Call) -> Result<(String, Fence), Problem> {
    let members = if call.body.is_empty() { Object::new() } else { call.members(&["holder"])? };
    Ok((holder(call, &members)?, fence(call)?))
}

fn heartbeat(call: &Call) -> Result<Reply, Problem> {
    let (holder, fence) = held(call)?;
    changed(call, Act::Lease(Leasing::Heartbeat { holder, fence }))
}

fn release(call: &Call) -> Result<Reply, Problem> {
    let (holder, fence) = held(call)?;
    changed(call, Act::Lease(Leasing::Release { holder, fence }))
}

fn evict(call: &Call) -> Result<Reply, Problem> {
    let because = text(&call.members(&["because"])?, "because")?;
    changed(call, Act::Lease(Leasing::Evict { fence: fence(call)?, because }))
}

fn adopt(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["to", "because"])?;
    let (heir, because) = (text(&members, "to")?, text(&members, "because")?);
    changed(call, Act::Lease(Leasing::Adopt { fence: fence(call)?, heir, because }))
}

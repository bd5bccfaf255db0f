//! Agents and their contracts.

use super::{
    Answer, BODY_MAX, BodyRule, OPERATOR, Param, ParamKind, READERS, READERS_AND_AGENT, Route, Run, changed, told,
};
use crate::call::{Call, JSON, Reply, span_if_any, text, text_if_any, texts_if_any};
use crate::problem::Problem;
use crate::schemas;
use axum::http::StatusCode;
use kernel::agent::AgentStatus;
use kernel::canary::Share;
use kernel::change::{Act, Trial};
use kernel::contract::amend::Amendment;
use kernel::evaluator::Compiled;
use kernel::reasons::Reason;
use std::sync::Arc;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Duration;
use writkeeper::{Admitted, Keeper, carried_out, lookup};

/// How long a token counts where nobody says.
const TOKEN_COUNTS: Duration = Duration::from_secs(24 * 3_600);

/// How long a token counts at most.
const TOKEN_COUNTS_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Agents of one page.
const PAGE: usize = 256;

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/agents",
        name: "register_agent",
        summary: "Make an agent known with its contract, put it in force, and give it a token, which is told only now; one that it had before ends",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::newcomer, optional: false }),
        answer: Answer { status: 201, media: JSON, schema: schemas::agents::admitted, summary: "The agent" },
        run: Run::Blocking(register),
    },
    Route {
        method: "GET",
        path: "/v1/agents",
        name: "agents",
        summary: "Agents in the order of their names",
        access: READERS,
        query: &[Param { name: "after", summary: "The name behind which to begin", kind: ParamKind::Text }],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::agents::list_of_agents, summary: "The agents" },
        run: Run::Blocking(list),
    },
    Route {
        method: "GET",
        path: "/v1/agents/{name}",
        name: "agent",
        summary: "One agent and what the registry did to it",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::agents::page, summary: "The agent" },
        run: Run::Blocking(show),
    },
    Route {
        method: "GET",
        path: "/v1/agents/{name}/contract",
        name: "contract",
        summary: "The contract that counts for an agent, in full",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::agents::contract, summary: "The contract" },
        run: Run::Blocking(contract),
    },
    Route {
        method: "GET",
        path: "/v1/agents/{name}/actions/{action}/schema",
        name: "action_schema",
        summary: "The JSON Schema of the params of an action",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer {
            status: 200,
            media: "application/schema+json",
            schema: schemas::agents::schema,
            summary: "The schema",
        },
        run: Run::Blocking(schema),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/token",
        name: "renew_token",
        summary: "Give an agent another token in place of the one it has",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::lifetime, optional: true }),
        answer: Answer { status: 201, media: JSON, schema: schemas::agents::admitted, summary: "The token" },
        run: Run::Blocking(renew),
    },
    Route {
        method: "DELETE",
        path: "/v1/agents/{name}/token",
        name: "revoke_token",
        summary: "Let the token of an agent count no more",
        access: OPERATOR,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::agents::named, summary: "The agent" },
        run: Run::Blocking(revoke),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/activate",
        name: "activate_contract",
        summary: "Put a contract in force for an agent",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::activation, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "How the agent stands" },
        run: Run::Blocking(activate),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/canary",
        name: "start_canary",
        summary: "Put a share of an agent's flows under a candidate, or change the share",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::canary_start, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "How the agent stands" },
        run: Run::Blocking(start_canary),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/canary/promote",
        name: "promote_canary",
        summary: "Put the candidate that is tried in force",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::canary_promotion, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "How the agent stands" },
        run: Run::Blocking(promote_canary),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/canary/rollback",
        name: "roll_back_canary",
        summary: "Put every flow under the contract in force again",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::service::because, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "How the agent stands" },
        run: Run::Blocking(roll_back_canary),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/restrict",
        name: "restrict_agent",
        summary: "Hold something against an agent: SUSPENDED stops it",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::restriction, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "How the agent stands" },
        run: Run::Blocking(restrict),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/lift",
        name: "lift_restriction",
        summary: "Lift what is held against an agent",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::lifting, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "How the agent stands" },
        run: Run::Blocking(lift),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/retire",
        name: "retire_agent",
        summary: "End an agent for good",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::service::because, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "How the agent stands" },
        run: Run::Blocking(retire),
    },
    Route {
        method: "POST",
        path: "/v1/agents/{name}/amend",
        name: "amend_limit",
        summary: "Change a limit of an agent for a while, as far as its contract lets it",
        access: OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::agents::amendment, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::event, summary: "The limit" },
        run: Run::Blocking(amend),
    },
];

/// A contract as text, or in full as an object.
fn compiled(members: &Object) -> Result<Arc<Compiled>, Problem> {
    let text = match members.get("contract") {
        Some(Json::Text(text)) => text.clone(),
        Some(object @ Json::Object(_)) => object.to_canonical(),
        Some(other) => return Err(Problem::invalid(format!("`contract` is {}, not text or an object", other.kind()))),
        None => return Err(Problem::invalid("`contract` is missing")),
    };
    Ok(Keeper::contract(&text)?)
}

fn lifetime(members: &Object) -> Result<Duration, Problem> {
    let counts = span_if_any(members, "ttl")?.unwrap_or(TOKEN_COUNTS);
    if counts <= TOKEN_COUNTS_MAX { Ok(counts) } else { Err(Problem::invalid("`ttl` is longer than 30 days")) }
}

fn admitted_json(admitted: &Admitted) -> Json {
    Json::object([
        ("agent", Json::text(admitted.agent.as_str())),
        ("token", Json::text(admitted.token.as_str())),
        ("expires", Json::text(admitted.expires.to_string())),
    ])
}

fn register(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["contract", "ttl"])?;
    let (contract, counts) = (compiled(&members)?, lifetime(&members)?);
    let admitted = call.keeper().admit(&call.caller.actor(), &contract, counts)?;
    call.site.cache.clear();
    Ok(Reply::json(&admitted_json(&admitted)).created())
}

fn list(call: &Call) -> Result<Reply, Problem> {
    let agents = call.keeper().agents(call.asked("after"))?;
    let next = agents.last().filter(|_| agents.len() == PAGE).map(|last| last.name.clone());
    let agents = agents.iter().map(|agent| Json::Object(agent.to_json())).collect();
    Ok(Reply::json(&Json::object([("agents", Json::List(agents)), ("next", Json::from(next))])))
}

/// The agent that is meant; agents see themselves.
fn named(call: &Call) -> Result<&str, Problem> {
    let name = call.part("name");
    if call.caller.own_agent().is_some_and(|own| own != name) {
        return Err(Problem::not_found());
    }
    lookup::agent_named(call.keeper().runtime(), name).map_err(|_| Problem::not_found())?;
    Ok(name)
}

fn show(call: &Call) -> Result<Reply, Problem> {
    let name = named(call)?;
    Ok(Reply::json(&call.keeper().agent(&format!("={name}"))?.to_json()))
}

fn contract(call: &Call) -> Result<Reply, Problem> {
    let contract = call.keeper().contract_of(named(call)?)?;
    let told = [("digest", Json::text(contract.digest.to_string())), ("contract", contract.contract.to_json())];
    Ok(Reply::json(&Json::object(told)))
}

fn schema(call: &Call) -> Result<Reply, Problem> {
    let contract = call.keeper().contract_of(named(call)?)?;
    let action = contract.contract.actions.get(call.part("action")).ok_or_else(Problem::not_found)?;
    Ok(Reply::bytes("application/schema+json", action.params.to_canonical().into_bytes()))
}

fn renew(call: &Call) -> Result<Reply, Problem> {
    let members = if call.body.is_empty() { Object::new() } else { call.members(&["ttl"])? };
    let admitted = call.keeper().renew_token(&call.caller.actor(), named(call)?, lifetime(&members)?)?;
    call.site.cache.clear();
    Ok(Reply::json(&admitted_json(&admitted)).created())
}

fn revoke(call: &Call) -> Result<Reply, Problem> {
    let name = named(call)?;
    call.keeper().revoke_token(&call.caller.actor(), name)?;
    call.site.cache.clear();
    Ok(Reply::json(&Json::object([("agent", Json::text(name))])))
}

fn activate(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["contract", "expected"])?;
    let (name, contract) = (named(call)?, compiled(&members)?);
    demand_contract_of(name, &contract)?;
    let expected = match text_if_any(&members, "expected")? {
        None => None,
        Some(text) => Some(Digest::parse(&text).ok_or_else(|| Problem::invalid("`expected` is no SHA-256"))?),
    };
    told(carried_out(call.keeper().runtime().activate_over(call.caller.actor(), contract, expected))?)
}

fn demand_contract_of(name: &str, contract: &Compiled) -> Result<(), Problem> {
    if contract.contract.agent == name {
        return Ok(());
    }
    Err(Problem::invalid(format!("the contract is for agent `{}`", contract.contract.agent)))
}

fn start_canary(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["contract", "share", "because"])?;
    let (name, contract, because) = (named(call)?, compiled(&members)?, text(&members, "because")?);
    demand_contract_of(name, &contract)?;
    let share = Share::parse(&text(&members, "share")?);
    let share = share.ok_or_else(|| Problem::invalid("`share` is no share from 0.01% to 100%"))?;
    told(carried_out(call.keeper().runtime().start_canary(call.caller.actor(), contract, share, because))?)
}

fn promote_canary(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["contract", "because"])?;
    let contract = Digest::parse(&text(&members, "contract")?);
    let contract = contract.ok_or_else(|| Problem::invalid("`contract` is no SHA-256"))?;
    let (agent, because) = (named(call)?.to_owned(), text(&members, "because")?);
    changed(call, Act::Try(Box::new(Trial::Promote { agent, contract, because })))
}

fn roll_back_canary(call: &Call) -> Result<Reply, Problem> {
    let because = text(&call.members(&["because"])?, "because")?;
    changed(call, Act::Try(Box::new(Trial::RollBack { agent: named(call)?.to_owned(), because })))
}

fn status(members: &Object) -> Result<AgentStatus, Problem> {
    let said = text(members, "status")?;
    let unknown = || Problem::invalid("`status` is not one of DEGRADED, ESCALATION_ONLY, PASSIVE, SUSPENDED");
    AgentStatus::from_word(&said).ok_or_else(unknown)
}

fn restrict(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["status", "because", "actions"])?;
    let (agent, status, because) = (named(call)?.to_owned(), status(&members)?, text(&members, "because")?);
    let actions = texts_if_any(&members, "actions")?.unwrap_or_default();
    if let Some(problem) = actions.iter().find_map(|action| values::ids::identifier_problem(action)) {
        return Err(Problem::invalid(format!("a name in `actions` {problem}")));
    }
    changed(call, Act::Restrict { agent, status, because, actions })
}

/// Whoever lifts says why, through every door.
pub fn demand_because(because: &str, agent: &str) -> Result<(), Problem> {
    if !because.trim().is_empty() {
        return Ok(());
    }
    let what = format!("lifting a restriction of agent `{agent}`");
    Err(Problem::of(StatusCode::UNPROCESSABLE_ENTITY, Reason::BecauseMissing, &[("what", &what)]))
}

fn lift(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["status", "because"])?;
    let (agent, status, because) = (named(call)?.to_owned(), status(&members)?, text(&members, "because")?);
    demand_because(&because, &agent)?;
    changed(call, Act::Lift { agent, status, because })
}

fn retire(call: &Call) -> Result<Reply, Problem> {
    let because = text(&call.members(&["because"])?, "because")?;
    changed(call, Act::Retire { agent: named(call)?.to_owned(), because })
}

fn amend(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["action", "param", "min", "max", "because", "ttl"])?;
    let number = |name: &str| match members.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => json.as_number().map(Some).ok_or_else(|| Problem::invalid(format!("`{name}` is no number"))),
    };
    let now = call.keeper().now();
    let amendment = Amendment {
        action: text(&members, "action")?,
        param: text(&members, "param")?,
        min: number("min")?,
        max: number("max")?,
        actor: call.caller.actor().text(),
        because: text(&members, "because")?,
        at: now,
        expires: span_if_any(&members, "ttl")?.map(|span| now.plus(span)),
    };
    told(carried_out(call.keeper().runtime().amend(call.caller.actor(), named(call)?, amendment))?)
}

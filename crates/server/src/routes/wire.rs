//! What the command line asks of a server: rows as the store keeps them, and changes as records write them.

use super::agents::demand_because;
use super::{Access, Answer, Answering, BodyRule, Param, ParamKind, Route, Run};
use crate::call::{Call, JSON, Reply};
use crate::following::{self, Followed};
use crate::problem::Problem;
use crate::schemas;
use axum::http::StatusCode;
use kernel::agent::owns_state;
use kernel::api_key::{KEYS, KeyRole, TENANTS};
use kernel::change::{Act, ActKind, Write};
use kernel::contract::Impact;
use kernel::handed::{HANDED, Handed};
use kernel::reasons::Reason;
use kernel::snooze::{SNOOZED, Snoozed};
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::wire::serve::{self, Caller, DUE_ROWS_MAX, RowQuery};
use runtime::wire::{REPLY_TYPE, call as wire_call, follow as wire_follow, rows as wire_rows};
use std::time::Duration;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;
use writkeeper::access::is_for_admins;
use writkeeper::inbox::{shown_proposal, snoozed_by};
use writkeeper::overlap;

/// Bytes of the largest call.
const CALL_MAX: usize = 16 * 1024 * 1024;

/// Seconds that one request waits at most.
const WAIT_MAX: u32 = 30;

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/changes",
        name: "change",
        summary: "Carry out a change in the form that records have; who may ask depends on the act",
        access: Access::Roles(&[
            KeyRole::Agent,
            KeyRole::Executor,
            KeyRole::Operator,
            KeyRole::Approver,
            KeyRole::Admin,
        ]),
        query: &[],
        body: Some(BodyRule { limit: CALL_MAX, schema: schemas::ledger::call, optional: false }),
        answer: Answer { status: 200, media: REPLY_TYPE, schema: schemas::ledger::reply, summary: "What came of it" },
        run: Run::Blocking(change),
    },
    Route {
        method: "GET",
        path: "/v1/rows/{kind}",
        name: "rows",
        summary: "Rows of a kind as the store keeps them; agents read the questions about their own proposals",
        access: super::ALL,
        query: &[
            Param { name: "after", summary: "The name behind which to begin", kind: ParamKind::Text },
            Param { name: "limit", summary: "Rows at most", kind: ParamKind::Whole(1, DUE_ROWS_MAX as u64) },
            Param {
                name: "due",
                summary: "Only rows due not later than this, in microseconds since 1970",
                kind: ParamKind::Whole(0, i64::MAX as u64),
            },
            Param { name: "agent", summary: "Only questions of this agent", kind: ParamKind::Text },
            Param {
                name: "impact",
                summary: "Only open questions of this impact, oldest first",
                kind: ParamKind::Word(Impact::WORDS),
            },
            Param {
                name: "asked",
                summary: "With `impact`: when the question behind which to begin was asked, in microseconds since 1970",
                kind: ParamKind::Whole(0, i64::MAX as u64),
            },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::ledger::rows, summary: "The rows" },
        run: Run::Blocking(rows),
    },
    Route {
        method: "GET",
        path: "/v1/rows/{kind}/{name}",
        name: "row",
        summary: "One row as the store keeps it; agents read their own intents, questions and state",
        access: super::ALL,
        query: &[Param { name: "second", summary: "The second part of its name", kind: ParamKind::Text }],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::ledger::row, summary: "The row" },
        run: Run::Blocking(row),
    },
    Route {
        method: "GET",
        path: "/v1/follow",
        name: "follow",
        summary: "Wait for what becomes of a question or an intent; agents for their own",
        access: super::ALL,
        query: &[
            Param { name: "question", summary: "The question", kind: ParamKind::Text },
            Param { name: "intent", summary: "The intent", kind: ParamKind::Text },
            Param { name: "wait", summary: "How long at most", kind: ParamKind::Span(WAIT_MAX) },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::ledger::followed, summary: "How it stands" },
        run: Run::Async(follow),
    },
];

/// Which roles may ask for an act. Agents ask for those that the kernel lets them do in their own flows and for their own
/// intents only.
fn may(role: KeyRole, kind: ActKind) -> bool {
    use ActKind as Is;
    let operators = matches!(role, KeyRole::Operator | KeyRole::Admin);
    match kind {
        Is::Register
        | Is::Activate
        | Is::StartCanary
        | Is::PromoteCanary
        | Is::RollBackCanary
        | Is::Restrict
        | Is::Lift
        | Is::Retire
        | Is::Amend
        | Is::OpenFlow
        | Is::EndFlow
        | Is::Remember
        | Is::Freeze
        | Is::Import
        | Is::Undo
        | Is::Halt
        | Is::Resume
        | Is::LeaseAcquire
        | Is::LeaseHeartbeat
        | Is::LeaseRelease
        | Is::LeaseEvict
        | Is::LeaseAdopt
        | Is::EnrolKey => operators,
        Is::Ask | Is::Reserve | Is::Release | Is::Note | Is::Merge | Is::Settle => operators || role == KeyRole::Agent,
        Is::Claim | Is::Start | Is::Outcome => operators || matches!(role, KeyRole::Executor | KeyRole::Agent),
        Is::ExpireQuestions | Is::ExpireIntents => operators || role == KeyRole::Executor,
        Is::Answer | Is::Resolve => role == KeyRole::Approver,
        Is::Erase | Is::LegalHold | Is::ReleaseHold | Is::RotateKeys | Is::KeepKeys | Is::ForgetKeys => {
            role == KeyRole::Admin
        }
    }
}

fn forbidden(call: &Call) -> Problem {
    Problem::of(StatusCode::FORBIDDEN, Reason::RoleForbidden, &[("role", call.caller.role.word())])
}

fn change(call: &Call) -> Result<Reply, Problem> {
    let mut asked = wire_call::Call::read(&call.body)?;
    let role = call.caller.role;
    let mut touches_access = matches!(asked.kind(), ActKind::Register);
    let mut is_allowed = may(role, asked.kind());
    if let wire_call::Call::Act(Act::Merge(writes)) = &mut asked {
        touches_access = writes.iter().any(|write| is_for_admins(&write.key));
        let is_of_tenants = writes.iter().any(|write| write.key.starts_with(TENANTS));
        let of_people = |write: &Write| [HANDED, SNOOZED].iter().any(|prefix| write.key.starts_with(prefix));
        is_allowed = match writes.iter().any(of_people) {
            true => role == KeyRole::Approver && (is_own_hand_over(call, writes)? || is_own_snooze(call, writes)?),
            false => is_allowed && !(touches_access && role != KeyRole::Admin || is_of_tenants),
        };
    }
    if !is_allowed {
        return Err(forbidden(call));
    }
    if let wire_call::Call::Act(act) = &asked {
        demand_own_performance(call, act)?;
        if let Act::Lift { agent, because, .. } = act {
            demand_because(because, agent)?;
        }
    } else if let wire_call::Call::Register { contract, .. } = &asked {
        overlap::demand_apart(call.keeper().runtime(), &contract.contract.agent)?;
    }
    let is_person = role == KeyRole::Approver;
    let caller = Caller {
        actor: call.caller.actor(),
        person: is_person.then(|| call.caller.name.to_string()),
        identity: call.caller.identity(),
        worker: (role == KeyRole::Executor).then(|| call.caller.name.to_string()),
    };
    let reply = serve::change(call.keeper().runtime(), &caller, asked)?;
    if touches_access {
        call.site.cache.clear();
    }
    Ok(Reply::bytes(REPLY_TYPE, reply))
}

/// Whether writes of state are the caller's own handing over of one question, as the command line writes it. That it may
/// be handed over so is looked at here once more: whoever writes it there is not believed.
fn is_own_hand_over(call: &Call, writes: &mut [Write]) -> Result<bool, Problem> {
    let [write] = writes else { return Ok(false) };
    let (Some(question), Some(handed)) = (write.key.strip_prefix(HANDED), Handed::from_json(&write.value)) else {
        return Ok(false);
    };
    if handed.by != *call.caller.name {
        return Ok(false);
    }
    call.keeper().demand_hand_over(question, &handed)?;
    // When it happens is for the service to say.
    write.value = Handed { at: call.keeper().now(), ..handed }.to_json();
    Ok(true)
}

/// Whether writes of state put one question off for the caller, as the command line writes it. Of what it says only the
/// question and the time count.
fn is_own_snooze(call: &Call, writes: &mut [Write]) -> Result<bool, Problem> {
    let ([write], name) = (writes, &*call.caller.name) else { return Ok(false) };
    let wanted = Snoozed::from_json(&write.value).filter(|_| write.key == Snoozed::key(name));
    let Some(wanted) = wanted else { return Ok(false) };
    let (known, _) = snoozed_by(call.keeper().runtime(), name)?;
    let mut changed = wanted.0.iter().filter(|(question, snooze)| known.0.get(*question) != Some(*snooze));
    let (Some((question, snooze)), None) = (changed.next(), changed.next()) else { return Ok(false) };
    *write = call.keeper().snooze_write(question, name, snooze.until.since(snooze.since))?;
    Ok(true)
}

/// Whoever performs speaks of its own claims, and an agent of its own intents; of others it does not even learn that they
/// are there.
fn demand_own_performance(call: &Call, act: &Act) -> Result<(), Problem> {
    let (intent, epoch) = if let Act::Claim { intent, .. } | Act::Settle { intent, .. } = act {
        (intent, None)
    } else if let Act::Start { intent, epoch, .. } | Act::Outcome { intent, epoch, .. } = act {
        (intent, Some(*epoch))
    } else {
        return Ok(());
    };
    let row = match call.keeper().runtime().read(Entity::Intent(intent.clone()))? {
        Some(Row::Intent(row)) => Some(row),
        Some(_) | None => None,
    };
    if let Some(own) = call.caller.own_agent()
        && row.as_ref().is_none_or(|row| row.facts.agent() != own)
    {
        return Err(Problem::not_found());
    }
    match (&row, epoch) {
        (Some(row), Some(epoch)) => super::intents::demand_claim(call, intent, row, epoch),
        (Some(row), None) if matches!(act, Act::Claim { .. }) => super::intents::demand_performer(call, row),
        (Some(_) | None, _) => Ok(()),
    }
}

/// Executors see what they perform, and under which contract; agents see what is their own.
fn demand_kind<'a>(call: &'a Call, own: &[Kind]) -> Result<&'a str, Problem> {
    let kind = call.part("kind");
    let is_one_of = |kinds: &[Kind]| kinds.iter().any(|known| known.word() == kind);
    let is_unseen = match call.caller.role {
        KeyRole::Executor => !is_one_of(&[Kind::Intent, Kind::Contract, Kind::Agent, Kind::Tenant]),
        KeyRole::Agent => !is_one_of(own),
        KeyRole::Operator | KeyRole::Approver | KeyRole::Auditor | KeyRole::Admin => false,
    };
    if is_unseen { Err(forbidden(call)) } else { Ok(kind) }
}

/// Whether a row is of this agent.
fn is_own(agent: &str, entity: &Entity, row: &Row) -> bool {
    if let Row::Intent(intent) = row {
        intent.facts.agent() == agent
    } else if let Row::Escalation(question) = row {
        question.agent == agent
    } else {
        matches!(row, Row::State(_)) && owns_state(agent, entity.parts().0)
    }
}

fn rows(call: &Call) -> Result<Reply, Problem> {
    let at = |name: &str| Some(Instant::from_micros(i64::try_from(call.whole(name)?).ok()?));
    let limit = call.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
    let kind = demand_kind(call, &[Kind::Escalation])?;
    let agent = match (call.caller.own_agent(), call.asked("agent")) {
        (Some(own), Some(asked)) if own != asked => return Err(Problem::not_found()),
        (Some(own), _) => Some(own.to_owned()),
        (None, asked) => asked.map(str::to_owned),
    };
    let impact = call.asked("impact").and_then(Impact::from_word);
    let open = impact.map(|impact| (impact, at("asked").unwrap_or(Instant::from_micros(0))));
    if agent.is_some() && open.is_some() {
        return Err(Problem::invalid("`impact` is for the questions of all, and `agent` for those of one"));
    }
    let query = RowQuery { after: call.asked("after").map(str::to_owned), limit, due: at("due"), agent, open };
    let mut rows = serve::rows(call.keeper().runtime(), kind, &query)?;
    for (key, row) in &mut rows {
        withhold(call, &key.entity, row);
    }
    Ok(Reply::bytes(JSON, wire_rows::write_page(&rows)))
}

fn row(call: &Call) -> Result<Reply, Problem> {
    let kind = demand_kind(call, &[Kind::Intent, Kind::Escalation, Kind::State])?;
    let found = serve::row(call.keeper().runtime(), kind, call.part("name"), call.asked("second"))?;
    let (entity, mut row) = found;
    if call.caller.own_agent().is_some_and(|own| !is_own(own, &entity, &row)) {
        return Err(Problem::not_found());
    }
    withhold(call, &entity, &mut row);
    Ok(Reply::bytes(JSON, wire_rows::write_row(&entity, &row)))
}

/// Takes out what nobody may read who asks: a question is shown as its card shows it, an executor gets the secrets of what
/// it has claimed and of nothing else, and only an admin, who revokes keys, gets the hashes that they are recognized by.
fn withhold(call: &Call, entity: &Entity, row: &mut Row) {
    if let Row::Escalation(question) = row {
        question.proposal = shown_proposal(call.keeper().runtime(), question);
    } else if let Row::Intent(intent) = row
        && !super::intents::has_claimed(call, intent)
        && let Some(running) = &mut intent.running
    {
        running.secrets.clear();
    } else if let Row::State(state) = row
        && call.caller.role != KeyRole::Admin
        && entity.parts().0.starts_with(KEYS)
        && let Json::Object(members) = &mut state.value
    {
        members.remove("hash");
    } else if let Row::Agent(agent) = row
        && call.caller.role != KeyRole::Admin
        && let Some(session) = &mut agent.session
    {
        session.token_hash = Digest::from_bytes([0; 32]);
    }
}

fn follow(call: Call) -> Answering {
    Box::pin(async move {
        let wait = call.span("wait").unwrap_or(Duration::ZERO);
        let (site, tenant) = (call.site.clone(), call.caller.tenant.clone());
        let allowed = tokio::task::spawn_blocking(move || followed(&call)).await;
        let stands = following::follow(&site, &tenant, allowed.map_err(|_| super::fault())??, wait).await?;
        Ok(Reply::bytes(JSON, wire_follow::write(&stands)))
    })
}

/// What is to be followed; agents follow their own.
fn followed(call: &Call) -> Result<Followed, Problem> {
    let runtime = call.keeper().runtime();
    let (question, intent) = (call.asked("question"), call.asked("intent"));
    if question.is_none() && intent.is_none() {
        return Err(Problem::invalid("`question` or `intent` is missing"));
    }
    if let Some(own) = call.caller.own_agent() {
        let agent_of = |entity: Entity| {
            Ok::<_, Problem>(match runtime.read(entity)? {
                Some(Row::Escalation(row)) => Some(row.agent),
                Some(Row::Intent(row)) => Some(row.facts.to_kept().agent),
                Some(_) | None => None,
            })
        };
        let question = question.map(|id| agent_of(Entity::Escalation(id.to_owned()))).transpose()?;
        let intent = intent.map(|id| agent_of(Entity::Intent(id.to_owned()))).transpose()?;
        if [question, intent].into_iter().flatten().any(|agent| agent.as_deref() != Some(own)) {
            return Err(Problem::not_found());
        }
    }
    Ok(Followed { question: question.map(str::to_owned), intent: intent.map(str::to_owned) })
}

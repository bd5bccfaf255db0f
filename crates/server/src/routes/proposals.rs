//! Proposals: the bytes that `decide` takes, and the bytes that it answers with.

use super::{AGENT_AND_OPERATOR, Answer, Answering, BodyRule, IDEMPOTENCY_KEY, Param, ParamKind, Route, Run};
use crate::call::{Call, JSON, Reply, strict};
use crate::following::{Followed, follow};
use crate::problem::{Problem, finding_json};
use crate::schemas;
use axum::http::{StatusCode, header};
use kernel::command::{Door, UnseenFlow};
use kernel::evaluator::Compiled;
use kernel::finding::Code;
use kernel::proposal::{Malformed, Proposal};
use kernel::reasons::Reason;
use kernel::statement::Proof;
use runtime::wire::serve::undecided;
use runtime::wire::{BLANK_LINE, REPLY_TYPE, reply};
use runtime::{Answered, Arrival, Minted, Pending, read_line};
use std::sync::Arc;
use std::time::Duration;
use values::json::Json;
use values::time::Instant;
use writkeeper::Error;

/// Bytes of one proposal.
const PROPOSAL_MAX: usize = 16 * 1024 * 1024;

/// Proposals of one batch.
const BATCH_MAX: usize = 256;

/// Seconds that a request may wait for what becomes of its proposal.
const WAIT_MAX: u32 = 60;

/// What a request that is sent again with the same `Idempotency-Key` does once.
pub(super) const REPEATABLE: &[&str] = &["propose", "propose_batch"];

/// Letters of an `Idempotency-Key`; the place in a batch is put behind it, and both are an identifier.
pub(crate) const KEY_MAX: usize = 120;

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/v1/proposals",
        name: "propose",
        summary: "Judge a proposal; the answer has the bytes of `writkeeper decide`",
        access: AGENT_AND_OPERATOR,
        query: &[
            Param {
                name: "wait",
                summary: "Wait so long for the answer of people, the outcome and the result",
                kind: ParamKind::Span(WAIT_MAX),
            },
            Param { name: "line", summary: "The number of the line it stood in", kind: ParamKind::Whole(1, u64::MAX) },
            Param {
                name: "flows",
                summary: "What becomes of a flow that nobody opened",
                kind: ParamKind::Word(&["opens", "refused"]),
            },
        ],
        body: Some(BodyRule { limit: PROPOSAL_MAX, schema: schemas::proposals::proposal, optional: false }),
        answer: Answer {
            status: 200,
            media: JSON,
            schema: schemas::proposals::answer,
            summary: "The verdict, whatever it is",
        },
        run: Run::Async(propose),
    },
    Route {
        method: "POST",
        path: "/v1/proposals/batch",
        name: "propose_batch",
        summary: "Judge several proposals, each by itself; the n-th answer belongs to the n-th proposal",
        access: AGENT_AND_OPERATOR,
        query: &[],
        body: Some(BodyRule { limit: PROPOSAL_MAX, schema: schemas::proposals::batch, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::proposals::answers, summary: "The verdicts" },
        run: Run::Async(propose_batch),
    },
];

fn propose(call: Call) -> Answering {
    Box::pin(async move {
        let key = idempotency_key(&call)?;
        if call.body.is_empty() {
            return Err(Problem::unreadable("the body is empty; send one proposal"));
        }
        // A line of a file may be blank, and comes as the end of it.
        let line: &[u8] = if *call.body == *BLANK_LINE { b"" } else { &call.body };
        let answered = submitted(&call, line, key.as_deref()).await?;
        if call.headers.get(header::ACCEPT).is_some_and(|accepted| accepted == REPLY_TYPE) {
            noted(&call, &answered);
            return match answered.at {
                Some(_) => Ok(Reply::bytes(REPLY_TYPE, reply::write(&answered, None))),
                None => Err(Problem::from(undecided(&answered))),
            };
        }
        let answered = decided(&call, answered)?;
        if key.is_some() && is_reused(&answered) {
            return Err(reused(&answered));
        }
        let line = match call.span("wait") {
            Some(wait) => followed(call, answered, wait).await?,
            None => answered.answer.to_line(),
        };
        Ok(Reply::bytes(JSON, line.into_bytes()))
    })
}

/// The answer with what became of it.
async fn followed(call: Call, answered: Answered, wait: Duration) -> Result<String, Problem> {
    let answer = &answered.answer;
    let followed = Followed {
        question: answer.question.as_ref().map(|question| question.id.clone()),
        intent: answer.intent.as_ref().map(|intent| intent.id().to_owned()),
    };
    let stands = follow(&call.site, &call.caller.tenant, followed, wait).await?;
    Ok(stands.to_line(answer))
}

fn propose_batch(call: Call) -> Answering {
    Box::pin(async move {
        let key = idempotency_key(&call)?;
        let json = strict(&call.body)?;
        let Some(items) = json.as_list().filter(|items| (1..=BATCH_MAX).contains(&items.len())) else {
            return Err(Problem::invalid(format!("the body is not a list of 1 to {BATCH_MAX} proposals")));
        };
        // Before any is judged: whoever is refused has decided nothing.
        for item in items.iter().filter(|_| call.caller.own_agent().is_some()) {
            match read_line(item.to_canonical().as_bytes(), 1) {
                Ok((proposal, _)) => own(&call, proposal, None).map(drop)?,
                Err(malformed) => demand_own_name(&call, &malformed)?,
            }
        }
        let mut body = String::from("{\"answers\":[");
        for (index, item) in items.iter().enumerate() {
            let key = key.as_ref().filter(|_| item.get("idempotency_key").is_none_or(|own| *own == Json::Null));
            let key = key.map(|key| format!("{key}/{index}"));
            let answered = decided(&call, submitted(&call, item.to_canonical().as_bytes(), key.as_deref()).await?)?;
            if key.is_some() && is_reused(&answered) {
                // What stands before it was answered as the first time.
                return Err(reused(&answered));
            }
            if index > 0 {
                body.push(',');
            }
            body.push_str(&answered.answer.to_line());
        }
        body.push_str("]}");
        Ok(Reply::bytes(JSON, body.into_bytes()))
    })
}

/// The key of the header, which stands for one in the proposal; in a batch each proposal gets its place behind it. It may
/// stand in quotes.
fn idempotency_key(call: &Call) -> Result<Option<String>, Problem> {
    let Some(value) = call.headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let unquoted =
        |text: &str| text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).to_owned();
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    let key = value.to_str().ok().map(unquoted);
    let key = key.filter(|key| (1..=KEY_MAX).contains(&key.len()) && is_plain(key));
    let problem =
        || Problem::unreadable(format!("`Idempotency-Key` is not 1 to {KEY_MAX} plain letters without blanks"));
    key.map(Some).ok_or_else(problem)
}

/// Whether a key came with something else before.
fn is_reused(answered: &Answered) -> bool {
    let reused = Code::Known(Reason::IdempotencyKeyReused);
    answered.answer.findings.iter().any(|finding| finding.code == reused)
}

/// The same key came with something else, as HTTP tells it.
fn reused(answered: &Answered) -> Problem {
    let problem = Problem::from(Error::Refused(answered.answer.findings.to_vec()));
    let findings = answered.answer.findings.iter().map(finding_json).collect();
    Problem { status: StatusCode::UNPROCESSABLE_ENTITY, findings, ..problem }
}

/// Judges one proposal of the caller.
async fn submitted(call: &Call, bytes: &[u8], key: Option<&str>) -> Result<Answered, Problem> {
    let number = call.whole("line");
    let runtime = call.keeper().runtime();
    let read = read_line(bytes, number.unwrap_or(1));
    if let Some(lines) = &call.site.lines {
        lines.set(read.as_ref().ok().and_then(|(proposal, _)| proposal.created_at).unwrap_or(Instant::PURE_DEFAULT));
    }
    let pending: Pending = match read {
        Ok((proposal, proof)) => {
            let proposal = own(call, proposal, key)?;
            if asks_others(call, &proposal)? {
                return advised(call, proposal, proof).await;
            }
            runtime.submit(proposal, arrival(call, proof))
        }
        Err(malformed) => {
            demand_own_name(call, &malformed)?;
            let id = number.map_or_else(Minted::id, |number| format!("line-{number}"));
            runtime.refuse(bytes, malformed, id)
        }
    };
    Ok(pending.await)
}

/// Nothing was decided where the store did not take it.
fn decided(call: &Call, answered: Answered) -> Result<Answered, Problem> {
    noted(call, &answered);
    if answered.at.is_some() { Ok(answered) } else { Err(Problem::from(Error::of_answer(&answered))) }
}

/// Notes whether the store takes decisions; the first that it does not take is told. An earlier answer that is given again
/// says nothing of that: it was only read.
fn noted(call: &Call, answered: &Answered) {
    let (site, now) = (&call.site, std::time::Instant::now());
    if answered.at.is_some() {
        if !answered.records.is_empty() {
            site.readiness.kept(now);
        }
        return;
    }
    let Error::Unavailable(problem) = Error::of_answer(answered) else { return };
    if site.readiness.refused(&problem, now) {
        site.tell(&format!("decisions are not kept: {problem}"));
    }
}

/// A proposal in the caller's own name, under the key of the header.
fn own(call: &Call, mut proposal: Proposal, key: Option<&str>) -> Result<Proposal, Problem> {
    if call.caller.own_agent().is_some_and(|own| own != proposal.agent) {
        return Err(not_own(&proposal.agent));
    }
    if let Some(key) = key {
        match &proposal.idempotency_key {
            Some(own) if own.as_str() != key => {
                return Err(Problem::invalid("`Idempotency-Key` and the proposal's `idempotency_key` differ"));
            }
            Some(_) => {}
            None => proposal.idempotency_key = Some(key.to_owned()),
        }
    }
    Ok(proposal)
}

/// What cannot be read and names an agent names the caller.
fn demand_own_name(call: &Call, malformed: &Malformed) -> Result<(), Problem> {
    if let (Some(own), Some(named)) = (call.caller.own_agent(), &malformed.agent)
        && own != named
    {
        return Err(not_own(named));
    }
    Ok(())
}

fn not_own(agent: &str) -> Problem {
    let agent = kernel::finding::shown(&Json::text(agent));
    let values = [("actor", "the caller"), ("what", &*format!("propose as agent `{agent}`"))];
    Problem::of(StatusCode::FORBIDDEN, Reason::NotAuthorized, &values)
}

fn arrival(call: &Call, proof: Option<Arc<Proof>>) -> Arrival {
    let flows = call.asked("flows").and_then(UnseenFlow::from_word).unwrap_or(UnseenFlow::Opens);
    // Whoever is not the agent is on record beside it.
    let by = call.caller.own_agent().is_none().then(|| call.caller.actor().text());
    let door = Door {
        flows,
        session: call.caller.session,
        by,
        ..if call.site.lines.is_some() { Door::PURE } else { Door::STORED }
    };
    let trust_provenance = call.caller.provenance || call.site.lines.is_some();
    Arrival { trust_provenance, proof, ..Arrival::through(door) }
}

/// Whether validators or judges have to be asked first, which takes as long as they take.
fn asks_others(call: &Call, proposal: &Proposal) -> Result<bool, Problem> {
    // Its flow may be minted with the command, so every line that can count for it is looked at.
    let lines = call.keeper().runtime().lines(&proposal.agent)?;
    let asks = |compiled: &Compiled| !compiled.contract.validators.is_empty() || !compiled.contract.judges.is_empty();
    Ok(lines.iter().any(|line| asks(&line.contract) || line.ancestors.iter().any(|above| asks(above))))
}

/// Judges where it may block.
async fn advised(call: &Call, proposal: Proposal, proof: Option<Arc<Proof>>) -> Result<Answered, Problem> {
    let (tenant, arrival) = (call.caller.tenant.clone(), arrival(call, proof));
    let judged = tokio::task::spawn_blocking(move || tenant.keeper.runtime().submit(proposal, arrival).wait());
    judged.await.map_err(|_| Problem::unavailable("judging broke off"))
}

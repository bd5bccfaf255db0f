//! Questions to people: what waits, the card of one, and its answer.

use super::Access;
use super::{Answer, BODY_MAX, BodyRule, Param, ParamKind, READERS, READERS_AND_AGENT, Route, Run};
use crate::call::{Call, JSON, Reply, span_if_any, text, text_if_any};
use crate::problem::Problem;
use crate::schemas;
use kernel::api_key::KeyRole;
use kernel::change::{Act, DoubtAnswer};
use kernel::command::Door;
use kernel::escalation::{EscalationRow, HumanDecision, QuestionKind};
use kernel::handed::REASON_MAX;
use kernel::intent::DoubtDecision;
use kernel::proposal::Proposal;
use ledger::envelope::Envelope;
use runtime::PersonAnswer;
use values::ids::Digest;
use values::json::{Json, Object};
use values::time::Duration;
use writkeeper::inbox::{Cursor, Inbox, InboxQuery, Question};
use writkeeper::{Answered, carried_out, lookup};

/// Approvers ask so for what they put off.
pub(super) const SNOOZED_ONLY: Param =
    Param { name: "snoozed", summary: "Only what the approver who asks has put off", kind: ParamKind::Word(&["only"]) };

/// Where a list goes on.
pub(super) const AFTER: Param =
    Param { name: "after", summary: "The `next` of the page before this one", kind: ParamKind::Text };

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/escalations",
        name: "questions",
        summary: "What waits for people, most urgent first; approvers do not see what they put off",
        access: READERS,
        query: &[
            AFTER,
            Param { name: "limit", summary: "Questions at most", kind: ParamKind::Whole(1, Inbox::LIMIT as u64) },
            SNOOZED_ONLY,
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::escalations::inbox, summary: "The questions" },
        run: Run::Blocking(list),
    },
    Route {
        method: "GET",
        path: "/v1/escalations/{id}",
        name: "question",
        summary: "One question with everything that an answer is for",
        access: READERS_AND_AGENT,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::escalations::question, summary: "The question" },
        run: Run::Blocking(show),
    },
    Route {
        method: "POST",
        path: "/v1/escalations/{id}/answer",
        name: "answer",
        summary: "Answer a question about exactly what its digest covers",
        access: Access::Roles(&[KeyRole::Approver]),
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::escalations::given, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::escalations::ended, summary: "What came of it" },
        run: Run::Blocking(answer),
    },
    Route {
        method: "POST",
        path: "/v1/escalations/{id}/hand-over",
        name: "hand_over",
        summary: "Hand a question to somebody else who may answer it; it is recorded, and who may answer stays as it is",
        access: Access::Roles(&[KeyRole::Approver]),
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::escalations::handing, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::escalations::handed, summary: "Who has it now" },
        run: Run::Blocking(hand_over),
    },
    Route {
        method: "POST",
        path: "/v1/escalations/{id}/snooze",
        name: "snooze",
        summary: "Put a question off for yourself, for 1m to 7d and not past its deadline; it is recorded and changes nothing for others",
        access: Access::Roles(&[KeyRole::Approver]),
        query: &[],
        body: Some(BodyRule { limit: BODY_MAX, schema: schemas::escalations::snoozing, optional: false }),
        answer: Answer { status: 200, media: JSON, schema: schemas::escalations::snoozed, summary: "Until when" },
        run: Run::Blocking(snooze),
    },
];

fn list(call: &Call) -> Result<Reply, Problem> {
    let keeper = call.keeper();
    let person = match call.caller.role {
        KeyRole::Approver => Some(&*call.caller.name),
        KeyRole::Agent | KeyRole::Executor | KeyRole::Operator | KeyRole::Auditor | KeyRole::Admin => None,
    };
    let inbox = match (call.asked("snoozed"), person) {
        (Some(_), Some(person)) => keeper.snoozed_inbox(person)?,
        // Nobody else puts anything off.
        (Some(_), None) => Inbox::default(),
        (None, person) => {
            let limit = call.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
            keeper.inbox_page(&InboxQuery { person, after: after(call.asked("after"))?, limit })?
        }
    };
    Ok(Reply::json(&inbox.to_json()))
}

/// Where a list is to go on.
pub(crate) fn after(asked: Option<&str>) -> Result<Option<Cursor>, Problem> {
    let unfit = || Problem::invalid("`after` is not the `next` of another page");
    asked.map(|text| Cursor::parse(text).ok_or_else(unfit)).transpose()
}

/// The question that is meant; agents see their own, by whole ids.
fn asked(call: &Call) -> Result<(String, EscalationRow), Problem> {
    let id = call.part("id");
    let runtime = call.keeper().runtime();
    let Some(own) = call.caller.own_agent() else { return Ok(lookup::question(runtime, id)?) };
    let found = lookup::question(runtime, &format!("={id}")).map_err(|_| Problem::not_found())?;
    if found.1.agent == own { Ok(found) } else { Err(Problem::not_found()) }
}

fn show(call: &Call) -> Result<Reply, Problem> {
    let (id, row) = asked(call)?;
    let (runtime, now) = (call.keeper().runtime(), call.keeper().now());
    let question = Question::of(runtime, &id, &row, now)?;
    let question = match call.caller.role {
        KeyRole::Approver => question.seen_by(runtime, &call.caller.name, now)?,
        KeyRole::Agent | KeyRole::Executor | KeyRole::Operator | KeyRole::Auditor | KeyRole::Admin => question,
    };
    Ok(Reply::json(&question.to_json()))
}

fn answer(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["decision", "because", "digest", "instead", "signature"])?;
    let (id, row) = asked(call)?;
    let digest = text(&members, "digest")?;
    let unfit = || Problem::invalid("`digest` is no SHA-256: 64 hexadecimal digits, as the question shows");
    let digest = Digest::parse(&digest).ok_or_else(unfit)?;
    let reason = text_if_any(&members, "because")?.unwrap_or_default();
    let said = text(&members, "decision")?;
    let answered = match row.kind {
        QuestionKind::Proposal | QuestionKind::Request => about_a_proposal(call, id, digest, reason, &said, &members)?,
        QuestionKind::Doubt => about_a_doubt(call, id, &row, (digest, reason), &said, &members)?,
    };
    let intent = answered.answer.intent.as_ref().map_or(Json::Null, |intent| intent.to_json());
    let result = answered.event.as_ref().map(|event| event.to_json()).unwrap_or_default();
    Ok(Reply::json(&Json::object([("result", result), ("intent", intent)])))
}

fn hand_over(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["to", "because"])?;
    let because = text_if_any(&members, "because")?.unwrap_or_default();
    handed_over(call, &asked(call)?.0, &text(&members, "to")?, &because)
}

/// Hands a question from the caller to somebody else.
pub(crate) fn handed_over(call: &Call, question: &str, to: &str, because: &str) -> Result<Reply, Problem> {
    let (question, handed) = call.keeper().hand_over(&format!("={question}"), &call.caller.name, to, because)?;
    let told = [("question", Json::text(question)), ("handed", handed.to_json())];
    Ok(Reply::json(&Json::object(told)))
}

fn snooze(call: &Call) -> Result<Reply, Problem> {
    let members = call.members(&["for"])?;
    let length = span_if_any(&members, "for")?.ok_or_else(|| Problem::invalid("`for` is missing"))?;
    snoozed(call, &asked(call)?.0, length)
}

/// Puts a question off for the caller.
pub(crate) fn snoozed(call: &Call, question: &str, length: Duration) -> Result<Reply, Problem> {
    let (question, snooze) = call.keeper().snooze(&format!("={question}"), &call.caller.name, length)?;
    let told = [("question", Json::text(question)), ("snoozed", snooze.to_json())];
    Ok(Reply::json(&Json::object(told)))
}

/// Answers a question whether something may happen.
pub(crate) fn about_a_proposal(
    call: &Call,
    question: String,
    digest: Digest,
    reason: String,
    said: &str,
    members: &Object,
) -> Result<Answered, Problem> {
    let decision = match said.to_lowercase().as_str() {
        "approve" | "override" => HumanDecision::Override,
        "deny" | "abort" => HumanDecision::Abort,
        "modify" => HumanDecision::Modify,
        _ => return Err(Problem::invalid("`decision` is not one of approve, deny, modify")),
    };
    demand_reason(&reason, decision == HumanDecision::Abort)?;
    let instead = match members.get("instead") {
        None | Some(Json::Null) => None,
        Some(_) if decision != HumanDecision::Modify => {
            return Err(Problem::invalid("`instead` belongs to the decision modify"));
        }
        Some(json) => {
            let read = Proposal::from_json(json.clone());
            Some(read.map_err(|malformed| Problem::from(writkeeper::Error::Refused(malformed.findings)))?)
        }
    };
    let (person, decision) = (call.caller.name.to_string(), decision.word().to_owned());
    let identity = kernel::person::Identity { signature: signature(members)?, ..call.caller.identity() };
    let given = PersonAnswer { person, question, decision, digest, reason, instead, door: Door::STORED, identity };
    Ok(call.keeper().answer(given)?)
}

/// Answers a question whether something happened.
pub(crate) fn about_a_doubt(
    call: &Call,
    question: String,
    row: &EscalationRow,
    (digest, reason): (Digest, String),
    said: &str,
    members: &Object,
) -> Result<Answered, Problem> {
    let word = said.to_uppercase().replace('-', "_");
    let decision = DoubtDecision::from_word(&word)
        .ok_or_else(|| Problem::invalid(format!("`decision` is not one of {}", DoubtDecision::WORDS.join(", "))))?;
    demand_reason(&reason, true)?;
    let identity = kernel::person::Identity { signature: signature(members)?, ..call.caller.identity() };
    let (intent, decision) = (row.intent.clone(), decision.word().to_owned());
    let act = Act::Resolve(Box::new(DoubtAnswer { intent, question, decision, digest, reason, identity }));
    Ok(carried_out(call.keeper().runtime().change(call.caller.actor(), act))?)
}

/// Whoever is told no is told why, and so is whoever reads later why a doubt was settled. A reason has bounds.
fn demand_reason(reason: &str, is_needed: bool) -> Result<(), Problem> {
    if is_needed && reason.trim().is_empty() {
        return Err(Problem::invalid("a reason is missing: say why in `because`"));
    }
    if reason.chars().count() > REASON_MAX {
        return Err(Problem::invalid(format!("`because` is longer than {REASON_MAX} letters")));
    }
    Ok(())
}

fn signature(members: &Object) -> Result<Option<Envelope>, Problem> {
    match members.get("signature") {
        None | Some(Json::Null) => Ok(None),
        Some(json) => {
            let read = Envelope::from_json(json);
            read.map(Some).map_err(|problem| Problem::invalid(format!("`signature` is no signed answer: {problem}")))
        }
    }
}

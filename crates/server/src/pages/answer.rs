//! A person's answer from the card.

use super::card::{Notice, changed_params, drawn, exact};
use super::html::{segment, span};
use super::{Visit, sent_to};
use crate::call::{Call, Reply};
use crate::problem::Problem;
use crate::routes::escalations::{about_a_doubt, about_a_proposal, handed_over, snoozed};
use axum::http::StatusCode;
use kernel::escalation::{EscalationRow, EscalationState, QuestionKind};
use kernel::reasons::Reason;
use values::ids::{Digest, is_same_person};
use values::json::{Json, Object};
use values::time::Duration;
use writkeeper::inbox::shown_proposal;

/// What the form says that puts a question off.
pub(super) const SNOOZE: &str = "snooze";

/// Where the list is.
const HOME: &str = "/approve";

/// Gives it; where it does not count the card says why.
pub fn give(call: &Call, visit: &Visit) -> Result<Reply, Problem> {
    let (id, row) = exact(call)?;
    match given(call, visit, &id, &row) {
        // What was put off is off the list, and the person goes on with the rest of it.
        Ok(()) if visit.field("decision") == SNOOZE => Ok(sent_to(HOME)),
        Ok(()) => Ok(sent_to(&format!("/approve/{}", segment(&id)))),
        Err(problem) => {
            // Whoever was faster changed it.
            let (id, row) = exact(call)?;
            let reply = drawn(call, visit, &id, &row, Some(&notice(call, &row, &problem)))?;
            Ok(Reply { status: problem.status, ..reply })
        }
    }
}

fn given(call: &Call, visit: &Visit, id: &str, row: &EscalationRow) -> Result<(), Problem> {
    let unfit = || Problem::invalid("`digest` is no SHA-256: 64 hexadecimal digits, as the card shows");
    let digest = Digest::parse(visit.field("digest")).ok_or_else(unfit)?;
    let (said, because) = (visit.field("decision"), visit.field("because"));
    if said == "hand-over" {
        return handed_over(call, id, visit.field("to"), because).map(|_| ());
    }
    if said == SNOOZE {
        let length = Duration::parse(visit.field("for"));
        let length = length.ok_or_else(|| Problem::invalid("`for` is no length of time such as 1h"))?;
        return snoozed(call, id, length).map(|_| ());
    }
    let mut members = Object::new();
    if said == "modify" {
        members.insert("instead".to_owned(), instead(call, visit, row)?);
    }
    let (question, reason) = (id.to_owned(), because.to_owned());
    match row.kind {
        QuestionKind::Proposal | QuestionKind::Request => {
            about_a_proposal(call, question, digest, reason, said, &members)?
        }
        QuestionKind::Doubt => about_a_doubt(call, question, row, (digest, reason), said, &members)?,
    };
    Ok(())
}

/// The proposal in question with other params. What the page withholds stays as it was; what names the first one does not
/// name this one.
fn instead(call: &Call, visit: &Visit, row: &EscalationRow) -> Result<Json, Problem> {
    let Json::Object(mut members) = row.proposal.clone() else { return Err(Problem::not_found()) };
    let params = members.get("params").and_then(Json::as_object).cloned().unwrap_or_default();
    let shown = shown_proposal(call.keeper().runtime(), row);
    let shown = shown.get("params").and_then(Json::as_object).cloned().unwrap_or_default();
    let changed = changed_params(&params, &shown, &visit.fields)?;
    if changed == params {
        return Err(Problem::invalid("no param was changed; to approve it as it is, use the first button"));
    }
    for name in ["id", "idempotency_key", "created_at", "provenance"] {
        members.remove(name);
    }
    members.insert("params".to_owned(), Json::Object(changed));
    Ok(Json::Object(members))
}

/// What stands above the card.
fn notice(call: &Call, row: &EscalationRow, problem: &Problem) -> Notice {
    let answer = row.answer.as_ref().filter(|_| *problem.code == *Reason::AlreadyAnswered.code());
    if let Some(answer) = answer {
        let ago = span(call.keeper().now().since(answer.at));
        let did = match row.state {
            EscalationState::Overridden => "approved it",
            EscalationState::Modified => "approved something else instead",
            EscalationState::Aborted => "denied it",
            EscalationState::Expired | EscalationState::Resolved | EscalationState::Open => "ended it",
        };
        let title = match &answer.person {
            Some(person) if is_same_person(person, &call.caller.name) => format!("You already {did}, {ago} ago."),
            Some(person) => format!("{person} was faster and {did}, {ago} ago."),
            None => format!("It ended {ago} ago: {}.", answer.reason),
        };
        return Notice { title, lines: vec!["Your answer was not counted; a question is answered once.".to_owned()] };
    }
    if *problem.code == *Reason::ApprovalMismatch.code() {
        let title = "What you saw is no longer what would happen.".to_owned();
        return Notice {
            title,
            lines: vec!["Your answer was not counted. Read the card again: this is how it stands now.".to_owned()],
        };
    }
    let found = problem.findings.iter().filter_map(|finding| {
        let text = |name: &str| finding.get(name).and_then(Json::as_text).unwrap_or_default();
        let (code, message, fix) = (text("code"), text("message"), text("fix"));
        (!message.is_empty()).then(|| format!("{code}: {message}; {fix}"))
    });
    let mut lines: Vec<String> = found.collect();
    if lines.is_empty() {
        lines.push(problem.detail.clone());
    }
    let title = match problem.status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => "Your answer could not be read.",
        _ => "Your answer was not counted; the question stays open.",
    };
    Notice { title: title.to_owned(), lines }
}

//! What an agent asked before: nobody is asked twice about one effect, and a retry does not ask whoever said no again.

use super::attending;
use super::touched::Touched;
use crate::command::Submission;
use crate::escalation::{EscalationRow, EscalationState, HumanDecision, QuestionKind};
use crate::finding::{Finding, Gate};
use crate::outcome::AskedQuestion;
use crate::reasons::Reason;
use crate::world::{AskedRow, Entity, Key, KeySet, Row, World};
use values::bugs::{self, Bug};
use values::json::Json;
use values::time::Instant;

/// What the last question about the same effect means for one that would be asked now.
pub(super) enum Before {
    /// A person may be asked.
    Nothing,
    /// A person is being asked about exactly this: the answer names that question.
    Open(AskedQuestion, Finding),
    /// Nobody is asked: a person said no.
    Refused(Finding),
}

/// What must be loaded before anyone is asked: where the last question is named, and that question.
pub(super) fn missing(world: &World, submission: &Submission, touched: &Touched) -> KeySet {
    let asked = touched.asked(submission);
    let question = known(world, touched);
    let attention = attending::keys(world, &submission.tenant, &submission.contract.contract.escalation);
    world.missing(asked.into_iter().chain(&question).chain(&attention))
}

/// The question that is known to be the last about the same effect.
pub(super) fn known(world: &World, touched: &Touched) -> Option<Key> {
    let row = world.asked(touched.asked_if_known()?)?;
    Some(key(&touched.flow, &row.question))
}

/// Remembers the question that is asked.
pub(super) fn remember(world: &mut World, submission: &Submission, touched: &Touched, question: &str) {
    if let Some(asked) = touched.asked(submission) {
        world.put(asked.clone(), Row::Asked(AskedRow { question: question.to_owned() }));
    }
}

fn key(flow: &Key, question: &str) -> Key {
    Key { tenant: flow.tenant.clone(), entity: Entity::Escalation(question.to_owned()) }
}

/// What the question before means.
pub(super) fn before(world: &World, submission: &Submission, touched: &Touched, at: Instant) -> Before {
    if bugs::on(Bug::AskedAgain) {
        return Before::Nothing;
    }
    let asked = touched.asked(submission).and_then(|key| world.asked(key));
    let Some(AskedRow { question: name }) = asked else { return Before::Nothing };
    let row = world.question(&key(&touched.flow, name)).filter(|row| row.kind == QuestionKind::Proposal);
    let Some((row, deadline)) = row.and_then(|row| Some((row, row.deadline?))) else { return Before::Nothing };
    // The name of the row covers everything but secrets.
    if !is_same(row, submission) {
        return Before::Nothing;
    }
    match row.state {
        EscalationState::Open if row.is_late(at) => Before::Nothing,
        EscalationState::Open => {
            let finding = Finding::escalate(Gate::Escalation, Reason::QuestionOpen).with("question", name.as_str());
            let finding = finding.with("deadline", deadline.to_string());
            let digest = (!submission.holds_secrets()).then_some(row.digest);
            Before::Open(AskedQuestion { id: name.clone(), digest, deadline, repeated: true }, finding)
        }
        EscalationState::Aborted if binds(row, deadline, submission, touched, at) => {
            let given = row.answer.as_ref();
            let finding = Finding::reject(Gate::Escalation, Reason::QuestionDenied).with("question", name.as_str());
            let person = given.and_then(|given| given.person.as_deref()).unwrap_or_default();
            let reason = given.map(|given| given.reason.as_str()).filter(|reason| !reason.is_empty());
            let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            Before::Refused(finding.with("person", person).with("because", because))
        }
        EscalationState::Aborted
        | EscalationState::Overridden
        | EscalationState::Modified
        | EscalationState::Expired
        | EscalationState::Resolved => Before::Nothing,
    }
}

/// Whether a person's no still counts: in its own flow always, and for what names no flow as long as the question could
/// have been open. Another flow may have another reason.
fn binds(row: &EscalationRow, deadline: Instant, submission: &Submission, touched: &Touched, at: Instant) -> bool {
    let denied = row.answer.as_ref().is_some_and(|given| given.decision == Some(HumanDecision::Abort));
    let again = if touched.flow_named { row.flow == submission.flow_id() } else { at <= deadline };
    denied && again
}

/// Whether it is the action and the params that a person was asked about.
fn is_same(row: &EscalationRow, submission: &Submission) -> bool {
    let action = row.proposal.get("action").and_then(Json::as_text);
    let params = row.proposal.get("params").and_then(Json::as_object);
    action == Some(submission.proposal.action.as_str()) && params == Some(&submission.proposal.params)
}

#[cfg(test)]
mod tests;

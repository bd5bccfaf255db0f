//! A person says what became of an intent in doubt: bound to the exact bytes shown, given once, by someone entitled.

use super::execution::{question_key, refused_in, unknown};
use super::people::vote;
use super::signing::{self, AnswerToCheck};
use super::{ChangeOutcome, not_authorized};
use crate::agent::Actor;
use crate::apply::settling::{self, intent_row};
use crate::change::{Change, DoubtAnswer};
use crate::escalation::{EscalationRow, EscalationState, GivenAnswer, QuestionKind, Vote};
use crate::event::Event;
use crate::finding::{Finding, Gate};
use crate::intent::{DoubtDecision, Step};
use crate::person::Identity;
use crate::reasons::Reason;
use crate::world::{Row, World};
use ledger::ed25519::PublicKey;
use values::ids::Digest;
use values::time::Instant;

pub(super) fn resolve(world: &mut World, change: &Change, answer: &DoubtAnswer, at: Instant) -> ChangeOutcome {
    let (name, question) = (&answer.intent, &answer.question);
    let Some(intent) = intent_row(world, &change.tenant, name) else { return unknown(name) };
    let by_host = intent.running.as_ref().is_some_and(|running| running.by_host);
    let state = intent.state;
    let asked = world.question(&question_key(change, question));
    let Some(row) = asked.filter(|row| row.kind == QuestionKind::Doubt && row.intent == *name) else {
        let finding = Finding::reject(Gate::Escalation, Reason::ApprovalUnknown);
        return ChangeOutcome::refused(finding.with("question", question.as_str()));
    };
    let mut row = row.clone();
    if row.state != EscalationState::Open {
        return already(question, &row);
    }
    let (person, decision, key) = match entitled(world, change, answer, &row, at) {
        Ok(said) => said,
        Err(finding) => return ChangeOutcome::refused(*finding),
    };
    if decision == DoubtDecision::Retry && by_host {
        return refused_in(name, state, "the runtime does not perform it; say `did not`, and it may be proposed again");
    }
    // People agree only if they say the same.
    let digest = Digest::of_parts(&[row.digest.bytes(), decision.word().as_bytes()]);
    let votes = vote(&mut row, Vote { digest, person: person.clone(), at });
    let enough = votes >= row.quorum;
    let quorum = row.quorum;
    let event = if enough {
        let moved = settling::step(world, &change.tenant, name, Step::Resolve(decision), at, |_| {});
        let moved = match moved {
            Ok(moved) => moved,
            Err(state) => {
                let state = state.map_or("unknown", |state| state.word());
                let problem = format!("nobody can say {} about it", decision.word());
                return ChangeOutcome::refused(super::step_refused(format!("intent `{name}`"), state, problem));
            }
        };
        row.state = EscalationState::Resolved;
        let reason = answer.reason.clone();
        let (person, doubt) = (Some(person), Some(decision));
        let Identity { os_user, login, .. } = answer.identity.clone();
        row.answer = Some(GivenAnswer { person, doubt, os_user, login, key, ..GivenAnswer::by_nobody(reason, at) });
        Event::DoubtResolved { question: question.clone(), intent: name.clone(), state: moved.to }
    } else {
        Event::DoubtVoteCounted { question: question.clone(), intent: name.clone(), votes, quorum }
    };
    world.put(question_key(change, question), Row::Escalation(Box::new(row)));
    ChangeOutcome::done(event)
}

fn entitled(
    world: &World,
    change: &Change,
    answer: &DoubtAnswer,
    row: &EscalationRow,
    at: Instant,
) -> Result<(String, DoubtDecision, Option<PublicKey>), Box<Finding>> {
    let Actor::Operator(person) = &change.actor else {
        return Err(Box::new(not_authorized(change, "answer for a person".to_owned())));
    };
    let Some(decision) = DoubtDecision::from_word(&answer.decision) else {
        let problem = format!("is `{}`, not one of {}", answer.decision, DoubtDecision::WORDS.join(", "));
        let finding = Finding::reject(Gate::Escalation, Reason::ParamInvalid).field("decision");
        return Err(Box::new(finding.with("problem", problem)));
    };
    super::people::may_answer(world, change, person, row, at)?;
    if answer.digest != row.digest {
        return Err(Box::new(Finding::reject(Gate::Escalation, Reason::ApprovalMismatch)));
    }
    let given = AnswerToCheck {
        question: &answer.question,
        person,
        digest: answer.digest,
        decision: &answer.decision,
        instead: None,
        reason: &answer.reason,
        identity: &answer.identity,
    };
    let key = signing::signer(world, change, &given, row.signed)?;
    Ok((person.clone(), decision, key))
}

/// The second answer gets the first.
fn already(question: &str, row: &EscalationRow) -> ChangeOutcome {
    let said = row.answer.as_ref().map(|answer| match (answer.doubt, &answer.person) {
        (Some(decision), Some(person)) => format!("{} by {person}", decision.word()),
        (Some(_) | None, _) => answer.reason.clone(),
    });
    let finding = Finding::reject(Gate::Escalation, Reason::AlreadyAnswered).with("question", question);
    ChangeOutcome::refused(finding.with("answer", said.unwrap_or_default()))
}

//! Questions whether something happened: asked when no rule may answer them, closed by a person or by evidence.

use crate::escalation::{EscalationRow, EscalationState, GivenAnswer, QuestionKind};
use crate::intent::{IntentState, KeptIntent, Running};
use crate::world::{Entity, Key, Row, World};
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;

/// The name of the question about an intent's latest doubt: nothing random is drawn here.
pub(super) fn name(intent: &str, running: &Running) -> String {
    let (epoch, doubts) = (running.epoch.to_be_bytes(), running.doubts.to_be_bytes());
    Digest::of_parts(&[b"writkeeper/doubt/v1", intent.as_bytes(), &epoch, &doubts]).to_uuid_text()
}

/// Asks a person what became of an intent. What is shown, and bound to the answer, is the ledgered intent.
pub(super) fn ask(
    world: &mut World,
    tenant: &Arc<str>,
    (intent, question): (&str, &str),
    kept: &KeptIntent,
    running: &Running,
    at: Instant,
) {
    let (contract, proposal) = (running.order.contract, running.order.to_json());
    let reason = if running.by_host { "UNREPORTED" } else { "IN_DOUBT" };
    let row = EscalationRow {
        advice: Vec::new(),
        request: None,
        remind: None,
        reroute: None,
        kind: QuestionKind::Doubt,
        state: EscalationState::Open,
        agent: kept.agent.clone(),
        by: None,
        flow: kept.flow.clone(),
        proposal_id: kept.proposal.clone(),
        digest: EscalationRow::digest_of(&proposal, contract),
        proposal,
        contract,
        reasons: vec![reason.to_owned()],
        impact: running.impact(),
        approvers: running.approvers.clone(),
        quorum: running.quorum,
        signed: running.signed,
        asked_at: at,
        deadline: None,
        votes: Vec::new(),
        answer: None,
        provenance: Json::Null,
        intent: intent.to_owned(),
    };
    let key = Key { tenant: tenant.clone(), entity: Entity::Escalation(question.to_owned()) };
    world.put(key, Row::Escalation(Box::new(row)));
}

/// Evidence or a report came before an answer.
pub(super) fn close(world: &mut World, tenant: &Arc<str>, question: &str, state: IntentState, at: Instant) {
    let key = Key { tenant: tenant.clone(), entity: Entity::Escalation(question.to_owned()) };
    let Some(row) = world.question(&key) else { return };
    if row.state != EscalationState::Open {
        return;
    }
    let mut row = row.clone();
    row.state = EscalationState::Resolved;
    let reason = format!("it became known: the intent is {}", state.word());
    row.answer = Some(GivenAnswer::by_nobody(reason, at));
    world.put(key, Row::Escalation(Box::new(row)));
}

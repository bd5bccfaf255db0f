//! A question on an agent's own request: under the same budget, deadline and rules of answering as one that a gate asks.

use super::flows::{closed, flow_row, may, unknown};
use super::{ChangeOutcome, key};
use crate::agent::{Actor, AgentRow, AgentStatus};
use crate::apply::touched::ESCALATIONS;
use crate::apply::{attending, flow_work, taking};
use crate::change::{Asking, Change};
use crate::escalation::{EscalationRow, EscalationState, QuestionKind};
use crate::event::Event;
use crate::finding::{Finding, Gate};
use crate::flow::FlowState;
use crate::reasons::Reason;
use crate::request::Provenance;
use crate::world::{Entity, Key, KeySet, Row, World};
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Instant;

/// What asking touches.
pub(super) fn keys(world: &World, change: &Change, asking: &Asking) -> KeySet {
    let flow = key(change, Entity::Flow(asking.inquiry.flow.clone()));
    let mut keys: KeySet = flow_work::above(world, &flow).into_iter().collect();
    keys.extend([flow, agent(change, asking), budget(change, asking)]);
    keys.insert(key(change, Entity::Escalation(asking.question.clone())));
    keys.extend(attending::keys(world, &change.tenant, &asking.contract.contract.escalation));
    keys
}

fn agent(change: &Change, asking: &Asking) -> Key {
    key(change, Entity::Agent(asking.inquiry.agent.clone()))
}

fn budget(change: &Change, asking: &Asking) -> Key {
    key(change, Entity::Budget(asking.inquiry.agent.clone(), ESCALATIONS.to_owned()))
}

pub(super) fn ask(world: &mut World, change: &Change, asking: &Asking, at: Instant) -> ChangeOutcome {
    let inquiry = &asking.inquiry;
    let own = |row: &&crate::world::FlowRow| may(change, row) && row.agent == inquiry.agent;
    let Some(row) = flow_row(world, change, &inquiry.flow).filter(own) else { return unknown(&inquiry.flow) };
    if !row.state.is_open() {
        return closed(&inquiry.flow, row.state);
    }
    if let Some(aborted) = flow_work::aborted(world, &key(change, Entity::Flow(inquiry.flow.clone()))) {
        return closed(&aborted, FlowState::Aborted);
    }
    if let Some((field, problem)) = inquiry.problem() {
        return invalid(field, problem);
    }
    if world.question(&key(change, Entity::Escalation(asking.question.clone()))).is_some() {
        return invalid("question", "is the name of another question".to_owned());
    }
    let standing = world.agent(&agent(change, asking));
    if standing
        .and_then(|agent| agent.contract_for(&inquiry.flow))
        .is_some_and(|active| active != asking.contract.digest)
    {
        return ChangeOutcome::Prepare;
    }
    if let Some(finding) = silenced(world, change, asking, standing) {
        return ChangeOutcome::refused(finding);
    }
    let rules = &asking.contract.contract.escalation;
    let fits = world
        .budget(&budget(change, asking))
        .is_none_or(|asked| asked.fits(at, rules.budget_per, Decimal::from(1), Decimal::from(rules.budget_max)));
    if !fits || rules.budget_max == 0 {
        let finding = Finding::reject(Gate::Escalation, Reason::EscalationBudgetExhausted)
            .with("agent", inquiry.agent.as_str())
            .with("max", rules.budget_max)
            .with("per", rules.budget_per.to_string());
        taking::exhaust(world, &asking.contract, &agent(change, asking), at);
        return ChangeOutcome::refused(finding);
    }
    if let Some(finding) = attending::spent(world, &change.tenant, rules, at) {
        attending::tighten(world, &agent(change, asking), rules, at);
        return ChangeOutcome::refused(finding);
    }
    open(world, change, asking, at)
}

/// Takes one of the budget and opens the question.
fn open(world: &mut World, change: &Change, asking: &Asking, at: Instant) -> ChangeOutcome {
    let budget = budget(change, asking);
    if !bugs::on(Bug::W03QuestionsUncounted) {
        let mut asked = world.budget(&budget).cloned().unwrap_or_default();
        asked.take(at, asking.contract.contract.escalation.budget_per, Decimal::from(1));
        world.put(budget, Row::Budget(asked));
    }
    attending::take(world, &change.tenant, &asking.contract.contract.escalation, at);
    let row = question(change, asking, at);
    let deadline = row.deadline.unwrap_or(at);
    let event = Event::QuestionAsked { question: asking.question.clone(), digest: row.digest, deadline };
    world.put(key(change, Entity::Escalation(asking.question.clone())), Row::Escalation(Box::new(row)));
    flow_work::open_question(world, &flow_work::key(&change.tenant, &asking.inquiry.flow), &asking.question);
    ChangeOutcome::done(event)
}

/// The question as people find it. With a proposal it is about that; without one nothing can follow but the answer.
fn question(change: &Change, asking: &Asking, at: Instant) -> EscalationRow {
    let (inquiry, rules) = (&asking.inquiry, &asking.contract.contract.escalation);
    let bare = || {
        let (agent, flow) = (Json::text(inquiry.agent.as_str()), Json::text(inquiry.flow.as_str()));
        Json::object([("agent", agent), ("flow", flow)])
    };
    let proposal = inquiry.proposal.as_ref();
    let proposal_id = proposal.and_then(|proposal| proposal.id.as_ref()).unwrap_or(&asking.proposal_id);
    let kind = if proposal.is_some() { QuestionKind::Proposal } else { QuestionKind::Request };
    let mut row = EscalationRow {
        kind,
        state: EscalationState::Open,
        agent: inquiry.agent.clone(),
        by: in_the_name_of(&change.actor, &inquiry.agent),
        flow: inquiry.flow.clone(),
        proposal_id: proposal_id.clone(),
        proposal: proposal.map_or_else(bare, |proposal| proposal.to_json(proposal.params.clone())),
        digest: asking.contract.digest,
        contract: asking.contract.digest,
        reasons: vec![Reason::AgentAsks.code().to_owned()],
        impact: inquiry.impact,
        approvers: rules.approvers.clone(),
        quorum: rules.quorum,
        signed: rules.signed,
        asked_at: at,
        deadline: Some(at.plus(rules.timeout.after)),
        remind: rules.timeout.remind.map(|after| at.plus(after)),
        reroute: taking::reroute(rules, at),
        votes: Vec::new(),
        answer: None,
        provenance: Provenance::Unknown.to_json(),
        intent: asking.intent.clone(),
        advice: Vec::new(),
        request: Some(inquiry.request.clone()),
    };
    row.digest = row.shown_digest(asking.contract.digest);
    row
}

/// Who asks in the name of the agent, where it is not the agent itself: nobody approves what they ask for.
fn in_the_name_of(actor: &Actor, agent: &str) -> Option<String> {
    let is_agent = matches!(actor, Actor::Agent(name) if name == agent);
    (!is_agent && !bugs::on(Bug::W15AskerUnnamed)).then(|| actor.text())
}

/// Why an agent may not even ask: it is not known, nothing of it is in force, or it was stopped.
fn silenced(world: &World, change: &Change, asking: &Asking, agent: Option<&AgentRow>) -> Option<Finding> {
    let tenant = world.tenant(&key(change, Entity::Tenant));
    if let Some(halt) = tenant.and_then(|tenant| tenant.halted.as_ref()) {
        let finding = Finding::reject(Gate::Agent, Reason::Halted).with("actor", halt.by.as_str());
        return Some(finding.with("because", halt.because.as_str()));
    }
    if let Some(finding) = tenant.and_then(|tenant| tenant.stopping(agent.into_iter())) {
        return Some(finding);
    }
    let name = asking.inquiry.agent.as_str();
    let Some(agent) = agent else {
        return Some(Finding::reject(Gate::Agent, Reason::AgentNotRegistered).with("agent", name));
    };
    let reason = match agent.status() {
        AgentStatus::Active | AgentStatus::Degraded | AgentStatus::EscalationOnly | AgentStatus::Passive
            if agent.base != AgentStatus::Registered =>
        {
            return None;
        }
        AgentStatus::Suspended if bugs::on(Bug::SuspensionIgnored) => return None,
        AgentStatus::Suspended => Reason::AgentSuspended,
        AgentStatus::Retired => Reason::AgentRetired,
        AgentStatus::Registered
        | AgentStatus::Active
        | AgentStatus::Degraded
        | AgentStatus::EscalationOnly
        | AgentStatus::Passive => Reason::ContractInactive,
    };
    let because = agent.because().map(|because| format!(": {because}")).unwrap_or_default();
    Some(Finding::reject(Gate::Agent, reason).with("agent", name).with("because", because))
}

pub(super) fn invalid(field: &str, problem: String) -> ChangeOutcome {
    ChangeOutcome::refused(Finding::reject(Gate::Shape, Reason::ParamInvalid).field(field).with("problem", problem))
}

#[cfg(test)]
mod tests;

//! Performing intents: claimed, marked before the first byte, settled by a fenced outcome, otherwise doubted.

use super::{ChangeOutcome, key, not_authorized, own_process, step_refused};
use crate::agent::{Actor, AgentStatus};
use crate::apply::flow_work;
use crate::apply::settling::{self, intent_row};
use crate::change::{Act, Change};
use crate::consequence::{Consequence, IntentStep};
use crate::event::{Event, KeptEvidence};
use crate::finding::{Code, Finding, Gate};
use crate::flow::FlowState;
use crate::intent::{Evidence, IntentEvent, IntentRow, IntentState, LEASE_MAX, Observed, Step};
use crate::reasons::Reason;
use crate::record::{EventRecord, Record};
use crate::world::{Entity, Key, KeySet, Row, World};
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::ids::Digest;
use values::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The shortest lease: below it a claim is over before anything can be sent.
const LEASE_MIN: Duration = Duration::from_secs(1);

/// What an act on an intent touches, as far as the intent is known.
pub(super) fn keys(world: &World, change: &Change, name: &str) -> KeySet {
    let key = |entity| key(change, entity);
    let mut keys = KeySet::from([key(Entity::Intent(name.to_owned()))]);
    let Some(row) = intent_row(world, &change.tenant, name) else { return keys };
    keys.extend(settling::keys(&change.tenant, row));
    if matches!(change.act, Act::Claim { .. } | Act::Start { .. })
        && let Some(running) = &row.running
    {
        let agent = row.facts.to_kept().agent;
        keys.extend(running.above.iter().cloned().chain([agent]).map(|name| key(Entity::Agent(name))));
        keys.extend(flow_work::above(world, &flow_work::key(&change.tenant, row.facts.flow())));
    }
    if let Act::Undo { undo, .. } = &change.act {
        keys.extend([key(Entity::Intent(undo.clone())), key(Entity::Effect(super::undoing::effect_key(row)))]);
    }
    keys
}

/// The intent, for those who perform what is accepted.
pub(super) fn performed<'a>(
    world: &'a World,
    change: &Change,
    name: &str,
    what: &str,
) -> Result<&'a IntentRow, Box<ChangeOutcome>> {
    let row = intent_row(world, &change.tenant, name);
    match change.actor {
        Actor::Kernel | Actor::Operator(_) => row.ok_or_else(|| Box::new(unknown(name))),
        Actor::Agent(_) | Actor::Monitor(_) => {
            Err(Box::new(ChangeOutcome::refused(not_authorized(change, format!("{what} intent `{name}`")))))
        }
    }
}

pub(super) fn unknown(name: &str) -> ChangeOutcome {
    ChangeOutcome::refused(Finding::reject(Gate::EffectKey, Reason::IntentUnknown).with("intent", name))
}

pub(super) fn claim(
    world: &mut World,
    change: &Change,
    name: &str,
    worker: &str,
    lease: Duration,
    at: Instant,
) -> ChangeOutcome {
    let row = match own_process::performed(world, change, name, "claim") {
        Ok(row) => row,
        Err(outcome) => return *outcome,
    };
    if let Err(outcome) = own_process::demand_own_worker(change, name, worker) {
        return *outcome;
    }
    if row.state != IntentState::Ready || row.running.is_none() {
        return refused_in(name, row.state, "it cannot be claimed");
    }
    if let Some(finding) = against_starting(world, change, row, at) {
        return stop(world, change, name, finding, at);
    }
    let lease_until = at.plus(lease.clamp(LEASE_MIN, LEASE_MAX));
    let moved = settling::step(world, &change.tenant, name, Step::Claim, at, |running| {
        running.epoch = running.epoch.saturating_add(1);
        running.owner = worker.to_owned();
        running.lease_until = Some(lease_until);
    });
    match moved {
        Ok(step) => ChangeOutcome::done(Event::IntentClaimed { step, lease_until }),
        Err(state) => refused_in(name, state.unwrap_or(IntentState::Ready), "it cannot be claimed"),
    }
}

pub(super) fn start(
    world: &mut World,
    change: &Change,
    name: &str,
    epoch: u64,
    attempt: Digest,
    at: Instant,
) -> ChangeOutcome {
    let row = match own_process::performed(world, change, name, "start") {
        Ok(row) => row,
        Err(outcome) => return *outcome,
    };
    let Some(running) = row.running.as_ref().filter(|running| owns(running.epoch, epoch)) else {
        return ChangeOutcome::refused(lost(name, row, epoch));
    };
    if let Err(outcome) = own_process::demand_own_worker(change, name, &running.owner) {
        return *outcome;
    }
    // A claim whose lease is over may be someone else's in the next moment.
    let over = running.lease_until.is_none_or(|until| at > until);
    if row.state != IntentState::Claimed || over {
        return ChangeOutcome::refused(lost(name, row, epoch));
    }
    let accepted = running.digest();
    if attempt != accepted {
        let finding = Finding::reject(Gate::EffectKey, Reason::IntentAltered).with("intent", name);
        let finding = finding.with("attempt", attempt.to_string()).with("accepted", accepted.to_string());
        return ChangeOutcome::refused(finding);
    }
    if let Some(finding) = against_starting(world, change, row, at) {
        return stop(world, change, name, finding, at);
    }
    let moved = settling::step(world, &change.tenant, name, Step::Start, at, |running| {
        running.first_sent = running.first_sent.or(Some(at));
    });
    done(name, moved, "it cannot be started")
}

/// The attempt's own observation counts under its epoch; anything else is evidence, which never overwrites and may
/// resolve a doubt.
pub(super) fn outcome(
    world: &mut World,
    change: &Change,
    name: &str,
    (epoch, observed): (u64, Observed),
    at: Instant,
) -> ChangeOutcome {
    let row = match own_process::performed(world, change, name, "report on") {
        Ok(row) => row,
        Err(outcome) => return *outcome,
    };
    let Some(running) = row.running.as_ref().filter(|running| epoch > 0 && epoch <= running.epoch) else {
        return ChangeOutcome::refused(lost(name, row, epoch));
    };
    // Of an earlier epoch the row does not say who had it; the door looks that up.
    if epoch == running.epoch
        && let Err(outcome) = own_process::demand_own_worker(change, name, &running.owner)
    {
        return *outcome;
    }
    let attempted =
        row.state == IntentState::InFlight || row.state == IntentState::Claimed && bugs::on(Bug::NoInFlightMark);
    if attempted && owns(running.epoch, epoch) {
        let moved = settling::step(world, &change.tenant, name, Step::Answer(observed), at, |_| {});
        return done(name, moved, "it has no attempt to report on");
    }
    let (state, current) = (row.state, running.epoch);
    let evidence = Evidence { epoch, observed, at };
    let kept = evidence.clone();
    let resolved = (observed == Observed::Positive).then(|| {
        settling::step(world, &change.tenant, name, Step::LateEvidence, at, |running| {
            running.keep(kept);
        })
    });
    if let Some(Ok(moved)) = resolved {
        return ChangeOutcome::done(Event::DoubtEnded(moved));
    }
    keep(world, change, name, evidence);
    let contradicts = observed == Observed::Positive && state.over() == Some(false);
    let kept = KeptEvidence { intent: name.to_owned(), state, epoch: current, contradicts };
    ChangeOutcome::done(Event::EvidenceKept(kept))
}

/// Whoever performed an intent reports; only a person may say "it did not happen" once there is doubt. What the runtime
/// performs is nobody's to report but its own.
pub(super) fn settle(world: &mut World, change: &Change, name: &str, event: IntentEvent, at: Instant) -> ChangeOutcome {
    let Some(row) = intent_row(world, &change.tenant, name) else { return unknown(name) };
    let by_person = matches!(change.actor, Actor::Operator(_));
    let own = matches!(&change.actor, Actor::Agent(agent) if *agent == row.facts.to_kept().agent);
    if !by_person && !own && change.actor != Actor::Kernel {
        return ChangeOutcome::refused(not_authorized(change, format!("say what became of intent `{name}`")));
    }
    let cannot = format!("it cannot {}", event.word());
    let asked = row.running.as_ref().is_some_and(|running| running.question.is_some());
    let by_runtime = row.running.as_ref().is_some_and(|running| !running.by_host);
    if by_runtime && !matches!(row.state, IntentState::Ready | IntentState::Claimed) {
        return refused_in(name, row.state, &cannot);
    }
    // A person who says so is bound to what was shown.
    if asked && event != IntentEvent::Succeed {
        return refused_in(name, row.state, "a question about it is open; answer that");
    }
    let step = if by_person { Step::PersonReports(event) } else { Step::Report(event) };
    match settling::step(world, &change.tenant, name, step, at, |_| {}) {
        Ok(IntentStep { intent, to: state, question, .. }) => {
            ChangeOutcome::done(Event::IntentSettled { intent, state, question })
        }
        Err(state) => refused_in(name, state.unwrap_or(IntentState::Ready), &cannot),
    }
}

fn keep(world: &mut World, change: &Change, name: &str, evidence: Evidence) {
    let Some(row) = intent_row(world, &change.tenant, name) else { return };
    let mut row = row.clone();
    if let Some(running) = &mut row.running {
        running.keep(evidence);
    }
    world.put(key(change, Entity::Intent(name.to_owned())), Row::Intent(Box::new(row)));
}

/// Notes when the other side's answer was recorded.
pub(super) fn note_answered(world: &mut World, change: &Change, name: &str, at: Instant) {
    let Some(row) = intent_row(world, &change.tenant, name) else { return };
    let mut row = row.clone();
    if let Some(running) = &mut row.running {
        running.answered_at = Some(at);
        world.put(key(change, Entity::Intent(name.to_owned())), Row::Intent(Box::new(row)));
    }
}

fn owns(current: u64, epoch: u64) -> bool {
    current == epoch || bugs::on(Bug::NoFence)
}

fn lost(name: &str, row: &IntentRow, claimed: u64) -> Finding {
    let epoch = row.running.as_ref().map_or(0, |running| running.epoch);
    Finding::reject(Gate::EffectKey, Reason::ClaimLost)
        .with("intent", name)
        .with("state", row.state.word())
        .with("epoch", epoch)
        .with("claimed", claimed)
}

pub(super) fn refused_in(name: &str, state: IntentState, problem: &str) -> ChangeOutcome {
    ChangeOutcome::refused(step_refused(format!("intent `{name}`"), state.word(), problem.to_owned()))
}

pub(super) fn done(name: &str, moved: Result<IntentStep, Option<IntentState>>, problem: &str) -> ChangeOutcome {
    match moved {
        Ok(moved) => ChangeOutcome::done(Event::IntentMoved(moved)),
        Err(state) => refused_in(name, state.unwrap_or(IntentState::Ready), problem),
    }
}

/// What stands against starting now: the kill switch, its time, a flow that was aborted, the agent's standing and that
/// of everyone above it.
fn against_starting(world: &World, change: &Change, row: &IntentRow, at: Instant) -> Option<Finding> {
    let running = row.running.as_ref()?;
    let kept = row.facts.to_kept();
    let names = std::iter::once(&kept.agent).chain(&running.above);
    let agents = names.filter_map(|name| world.agent(&key(change, Entity::Agent(name.clone()))));
    if let Some(finding) = world.tenant(&key(change, Entity::Tenant)).and_then(|tenant| tenant.stopping(agents)) {
        return Some(finding);
    }
    let until = if row.is_doubted() { running.retry_until } else { Some(row.facts.valid_until()) };
    if let Some(until) = until.filter(|until| at > *until) {
        let finding = Finding::reject(Gate::Validity, Reason::TtlExpired);
        return Some(finding.with("valid_until", until.to_string()).with("now", at.to_string()));
    }
    // Undoing makes good what was done; a suspension is no reason to leave it.
    if running.undoes.is_some() || bugs::on(Bug::StartUnchecked) {
        return None;
    }
    if let Some(flow) = flow_work::aborted(world, &flow_work::key(&change.tenant, &kept.flow)) {
        let finding = Finding::reject(Gate::Retry, Reason::FlowClosed).with("flow", flow);
        return Some(finding.with("state", FlowState::Aborted.word()));
    }
    let action = running.order.action.as_str();
    let own = std::iter::once((kept.agent.as_str(), true));
    let mut line = own.chain(running.above.iter().map(|name| (name.as_str(), false)));
    line.find_map(|(name, own)| {
        let agent = world.agent(&key(change, Entity::Agent(name.to_owned())));
        let reason = match agent.map(|agent| (agent.status(), agent.revokes(action))) {
            None => Reason::AgentUnknown,
            Some((AgentStatus::Suspended, _)) => Reason::AgentSuspended,
            Some((AgentStatus::Retired, _)) => Reason::AgentRetired,
            Some((
                AgentStatus::Degraded | AgentStatus::EscalationOnly | AgentStatus::Passive | AgentStatus::Active,
                true,
            )) if own => Reason::AgentDegraded,
            Some((AgentStatus::Passive, _)) if own && !running.approved => Reason::AgentPassive,
            Some((
                AgentStatus::Registered
                | AgentStatus::Active
                | AgentStatus::Degraded
                | AgentStatus::EscalationOnly
                | AgentStatus::Passive,
                _,
            )) => return None,
        };
        let because = agent.and_then(|agent| agent.because()).map(|because| format!(": {because}"));
        let finding = Finding::reject(Gate::Agent, reason).with("agent", name).with("expected", name);
        Some(finding.with("action", action).with("because", because.unwrap_or_default()))
    })
}

/// Refuses to go on. The kill switch only makes it wait; whatever else stands against it calls it off for good.
fn stop(world: &mut World, change: &Change, name: &str, finding: Finding, at: Instant) -> ChangeOutcome {
    let waits = matches!(finding.code, Code::Known(Reason::Halted | Reason::GroupHalted));
    let step = if waits { Step::Release } else { Step::CallOff };
    let kept = intent_row(world, &change.tenant, name).map(|row| row.facts.to_kept());
    let moved = settling::step(world, &change.tenant, name, step, at, |_| {});
    let records = kept.zip(moved.ok()).map(|(kept, step)| {
        let consequence = Consequence::IntentMoved { step, flow: kept.flow, agent: kept.agent };
        Record::Event(Arc::new(EventRecord::following(&change.tenant, consequence, at)))
    });
    ChangeOutcome::Refused { findings: vec![finding], event: None, records: records.into_iter().collect() }
}

pub(super) fn question_key(change: &Change, name: &str) -> Key {
    key(change, Entity::Escalation(name.to_owned()))
}

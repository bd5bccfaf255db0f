//! Folding decisions and outcomes into the monitors that watch them. An alarm acts at once: the agent's next command in
//! the same batch already meets it.

use super::submit;
use super::touched::Touched;
use crate::agent::{Actor, Restriction};
use crate::command::Submission;
use crate::consequence::Consequence;
use crate::contract::{Action, Contract, Mode, Series, Watch};
use crate::facts::Facts;
use crate::finding::{Code, Effect, Finding};
use crate::intent::IntentRow;
use crate::outcome::Verdict;
use crate::reasons::Reason;
use crate::record::{EventRecord, Record};
use crate::request::Number;
use crate::watched::{MonitorRow, Trip};
use crate::world::{Entity, Key, Row, World};
use std::sync::Arc;
use values::decimal::Decimal;
use values::time::Instant;

/// The rows of the candidate's own monitors that look at what is submitted under it.
pub(super) fn apart(world: &World, submission: &Submission, touched: &Touched) -> Vec<Key> {
    if touched.monitors.is_empty() {
        return Vec::new();
    }
    let own = touched.monitors.keys().filter_map(|name| own_row(world, submission, touched, name));
    own.collect()
}

/// The row of a monitor of the candidate that has one of its own.
fn own_row(world: &World, submission: &Submission, touched: &Touched, name: &str) -> Option<Key> {
    let canary = world.agent(&touched.agent)?.canary.as_ref()?;
    let contract = &submission.contract;
    let is_own = canary.contract == contract.digest && canary.apart.contains(name);
    let entity = Entity::Monitor(contract.contract.agent.clone(), canary.monitor(name));
    is_own.then(|| Key { tenant: submission.tenant.clone(), entity })
}

/// The row of a monitor that looks at what is submitted.
fn row(world: &World, submission: &Submission, touched: &Touched, name: &str) -> Option<Key> {
    own_row(world, submission, touched, name).or_else(|| touched.monitors.get(name).cloned())
}

/// What a monitor takes of a decision: its name and the value; nothing where that is missing.
pub(super) type Observed = Vec<(String, Option<Decimal>)>;

/// The monitors that look at an action.
pub(super) fn of_action<'a>(
    contract: &'a Contract,
    name: &'a str,
    action: Option<&'a Action>,
) -> impl Iterator<Item = (&'a String, &'a Watch)> {
    contract.watch.iter().filter(move |(_, watch)| {
        if !watch.actions.is_empty() {
            return watch.actions.contains(name);
        }
        let declared = |param: &&str| action.is_some_and(|action| action.declares(param));
        let by_verdict = matches!(watch.series, Series::Rejected | Series::Escalated);
        match action {
            Some(action) => !action.reads && watch.series.params().iter().all(declared),
            None => by_verdict,
        }
    })
}

/// What monitors take of a judged proposal.
pub(super) fn observed(facts: &Facts<'_>, verdict: Verdict, findings: &[Finding]) -> Observed {
    let request = &facts.request;
    let contract = &request.compiled.contract;
    if contract.watch.is_empty() || says_only_stopped(verdict, findings) {
        return Vec::new();
    }
    let name = request.proposal.action.as_str();
    let flag = |is_so: bool| Some(Decimal::from(i64::from(is_so)));
    let number = |param: &str| match request.number(param) {
        Number::Is(number, _) => Some(number),
        Number::Missing | Number::Not(_) => None,
    };
    let accepted = verdict == Verdict::Accept;
    let value = |(watched, watch): (&String, &Watch)| {
        let value = match &watch.series {
            Series::Param(param) if accepted => number(param),
            Series::Margin { value, cost } if accepted => {
                number(value).zip(number(cost)).and_then(|(value, cost)| value.checked_sub(cost))
            }
            // What cannot be told counts as a violation: nobody must get out of it by an error.
            Series::When(_) if accepted => {
                let expression = request.action().and_then(|action| action.compiled.watch.get(watched));
                let held = expression.and_then(|expression| expression.holds(&facts.scope()).ok());
                flag(held.unwrap_or_else(|| watch.error_counts_as()))
            }
            Series::Rejected => flag(verdict == Verdict::Reject),
            Series::Escalated => flag(verdict == Verdict::Escalate),
            Series::Param(_) | Series::Margin { .. } | Series::When(_) | Series::Failed => return None,
        };
        Some((watched.clone(), value))
    };
    let action = contract.actions.get(name);
    of_action(contract, name, action).filter_map(value).collect()
}

/// Whether nothing stands against it but that somebody stopped the agent, or that people are asked no more for now. That is
/// no news of what the agent does: a drill must not leave its monitors in alarm.
fn says_only_stopped(verdict: Verdict, findings: &[Finding]) -> bool {
    let stops = |finding: &Finding| match finding.code {
        Code::Known(reason) => matches!(
            reason,
            Reason::Halted
                | Reason::GroupHalted
                | Reason::AgentSuspended
                | Reason::AgentPassive
                | Reason::AgentDegraded
                | Reason::AgentEscalationOnly
                | Reason::AgentRetired
                | Reason::AttentionSpent
                | Reason::EscalationBudgetExhausted
        ),
        Code::Custom { .. } => false,
    };
    let effect = match verdict {
        Verdict::Accept => return false,
        Verdict::Reject => Effect::Reject,
        Verdict::Escalate => Effect::Escalate,
    };
    findings.iter().filter(|finding| finding.effect == effect).all(stops)
}

/// What a person's answer adds: the verdict itself was counted when the person was asked.
pub(super) fn of_accepted(submission: &Submission, mut observed: Observed) -> Observed {
    let watch = &submission.contract.contract.watch;
    observed.retain(|(name, _)| {
        watch.get(name).is_some_and(|watch| !matches!(watch.series, Series::Rejected | Series::Escalated))
    });
    observed
}

/// Takes what was observed of a decision; strangers move nothing.
pub(super) fn take(world: &mut World, submission: &Submission, touched: &Touched, observed: &Observed, at: Instant) {
    if observed.is_empty() || !submit::is_known(world, submission, touched) {
        return;
    }
    let contract = &submission.contract.contract;
    for (name, value) in observed {
        let (Some(watch), Some(key)) = (contract.watch.get(name), row(world, submission, touched, name)) else {
            continue;
        };
        prepare(world, &key, watch, contract.mode);
        let name = key.entity.parts().1.unwrap_or(name);
        fold(world, &key, (&contract.agent, name), *value, submission.proposal_id(), at);
    }
}

/// The names of the rows of the monitors that wait for the outcome of what an action caused; each has a row from now on.
pub(super) fn waiting(world: &mut World, submission: &Submission, touched: &Touched) -> Vec<String> {
    let contract = &submission.contract.contract;
    let name = submission.proposal.action.as_str();
    let waiting = of_action(contract, name, contract.actions.get(name))
        .filter(|(_, watch)| watch.series == Series::Failed)
        .map(|(name, _)| name.clone());
    let mut rows = Vec::new();
    for name in waiting.collect::<Vec<String>>() {
        if let (Some(watch), Some(key)) = (contract.watch.get(&name), row(world, submission, touched, &name)) {
            prepare(world, &key, watch, contract.mode);
            rows.extend(key.entity.parts().1.map(str::to_owned));
        }
    }
    rows
}

/// A monitor that the contract says otherwise about than before starts anew.
fn prepare(world: &mut World, key: &Key, watch: &Watch, mode: Mode) {
    let observes = mode == Mode::Observe;
    if world.monitor(key).is_some_and(|row| row.watch == *watch && row.observes == observes) {
        return;
    }
    if let Some(row) = MonitorRow::new(watch, observes) {
        world.put(key.clone(), Row::Monitor(Box::new(row)));
    }
}

/// The keys that the end of an intent touches.
pub(super) fn keys(tenant: &Arc<str>, row: &IntentRow) -> Vec<Key> {
    let watched = row.running.as_ref().map(|running| running.watched.as_slice()).unwrap_or_default();
    let agent = row.facts.agent();
    let key = |entity| Key { tenant: tenant.clone(), entity };
    let monitors = watched.iter().map(|name| key(Entity::Monitor(agent.to_owned(), name.clone())));
    let whose = (!watched.is_empty()).then(|| key(Entity::Agent(agent.to_owned())));
    monitors.chain(whose).collect()
}

/// An intent is over: it failed, or it succeeded.
pub(super) fn ended(world: &mut World, tenant: &Arc<str>, name: &str, row: &IntentRow, failed: bool, at: Instant) {
    let Some(running) = &row.running else { return };
    let agent = row.facts.agent();
    for monitor in &running.watched {
        let key = Key { tenant: tenant.clone(), entity: Entity::Monitor(agent.to_owned(), monitor.clone()) };
        if !is_in_force(world, tenant, agent, &key) {
            continue;
        }
        fold(world, &key, (agent, monitor), Some(Decimal::from(i64::from(failed))), name, at);
    }
}

/// Whether the monitor is, as its row has it, one of the contract in force or of the candidate beside it.
fn is_in_force(world: &World, tenant: &Arc<str>, agent: &str, key: &Key) -> bool {
    let whose = world.agent(&Key { tenant: tenant.clone(), entity: Entity::Agent(agent.to_owned()) });
    let wording = world.monitor(key).map(MonitorRow::wording);
    let name = key.entity.parts().1;
    whose.zip(wording).zip(name).is_some_and(|((agent, wording), name)| agent.watches(name, wording))
}

fn fold(world: &mut World, key: &Key, named: (&str, &str), value: Option<Decimal>, cause: &str, at: Instant) {
    if world.monitor(key).is_none() {
        return;
    }
    let mut trip = None;
    world.update(
        key,
        || Row::Tenant(crate::world::TenantRow::default()),
        |row| {
            if let Row::Monitor(row) = row {
                trip = row.take(named, value, cause, at);
            }
        },
    );
    let Some(trip) = trip else { return };
    restrict(world, &key.tenant, &trip);
    world.raise(Record::Event(Arc::new(EventRecord::following(
        &key.tenant,
        Consequence::MonitorTripped(Box::new(trip)),
        at,
    ))));
}

/// Holds the agent back, where the contract says so.
fn restrict(world: &mut World, tenant: &Arc<str>, trip: &Trip) {
    let Some(status) = trip.then.status() else { return };
    let key = Key { tenant: tenant.clone(), entity: Entity::Agent(trip.agent.clone()) };
    let Some(row) = world.agent(&key) else { return };
    let (mut row, by) = (row.clone(), Actor::Monitor(trip.monitor.clone()).text());
    let monitor = Key { tenant: tenant.clone(), entity: Entity::Monitor(trip.agent.clone(), trip.monitor.clone()) };
    let actions = world.monitor(&monitor).map(|row| row.watch.revoke.clone()).unwrap_or_default();
    row.restrictions.retain(|known| known.status != status || known.by != by);
    row.restrictions.push(Restriction { status, by, because: trip.sentence(), at: trip.at, actions });
    world.put(key, Row::Agent(Box::new(row)));
}

/// The monitors that hold an agent in a state.
pub(super) fn holding(world: &World, tenant: &Arc<str>, agent: &str, status: crate::agent::AgentStatus) -> Vec<Key> {
    let key = |entity| Key { tenant: tenant.clone(), entity };
    let Some(row) = world.agent(&key(Entity::Agent(agent.to_owned()))) else { return Vec::new() };
    let by = |restriction: &Restriction| match Actor::parse(&restriction.by) {
        Some(Actor::Monitor(name)) => Some(key(Entity::Monitor(agent.to_owned(), name))),
        Some(Actor::Operator(_) | Actor::Agent(_) | Actor::Kernel) | None => None,
    };
    row.restrictions.iter().filter(|restriction| restriction.status == status).filter_map(by).collect()
}

/// Someone lifted what monitors did: they start anew. Their names.
pub(super) fn restart(world: &mut World, keys: Vec<Key>) -> Vec<String> {
    let mut restarted = Vec::new();
    for key in keys {
        let Some(row) = world.monitor(&key) else { continue };
        let mut row = row.clone();
        row.restart();
        restarted.extend(key.entity.parts().1.map(str::to_owned));
        world.put(key, Row::Monitor(Box::new(row)));
    }
    restarted
}

#[cfg(test)]
mod tests;

//! Moving an intent on: what its new state does to what it took, and whom doubt asks.

use super::{doubt, flow_work, watching};
use crate::consequence::IntentStep;
use crate::contract::{Impact, ResourceKind};
use crate::intent::{IntentRow, IntentState, Running, Step, transition};
use crate::world::{Entity, Key, KeySet, ResourceRow, Row, World};
use std::sync::Arc;
use values::time::Instant;

/// What moving an intent on touches besides the intent.
pub(super) fn keys(tenant: &Arc<str>, row: &IntentRow) -> KeySet {
    let key = |entity| Key { tenant: tenant.clone(), entity };
    let effect = key(Entity::Effect(row.facts.effect_key().to_owned()));
    let resources = row.facts.holds().iter().map(|hold| key(Entity::Resource(hold.resource.clone())));
    let budgets = row.facts.taken().iter().map(|taken| key(Entity::Budget(taken.agent.clone(), taken.budget.clone())));
    let question = row.running.as_ref().and_then(|running| running.question.clone());
    let question = question.map(|name| key(Entity::Escalation(name)));
    let flow = key(Entity::Flow(row.facts.flow().to_owned()));
    let monitors = watching::keys(tenant, row);
    [effect, flow].into_iter().chain(resources).chain(budgets).chain(question).chain(monitors).collect()
}

pub(super) fn intent_row<'a>(world: &'a World, tenant: &Arc<str>, name: &str) -> Option<&'a IntentRow> {
    let key = Key { tenant: tenant.clone(), entity: Entity::Intent(name.to_owned()) };
    world.intent(&key)
}

/// Moves an intent on; the error is the state that refuses the step. `note` writes down what else the step tells.
///
/// Success consumes stock and frees slots; without doubt that nothing happened, budgets are returned and holds
/// released; doubt keeps everything.
pub(super) fn step(
    world: &mut World,
    tenant: &Arc<str>,
    name: &str,
    step: Step,
    at: Instant,
    note: impl FnOnce(&mut Running),
) -> Result<IntentStep, Option<IntentState>> {
    let mut row = intent_row(world, tenant, name).ok_or(None)?.clone();
    let from = row.state;
    let to = transition(from, step, row.is_doubted()).ok_or(Some(from))?;
    row.state = to;
    if let Some(happened) = to.over() {
        settle(world, tenant, name, &row, happened);
    }
    // What a person says did not happen has failed; what is called off was never tried.
    if matches!(to, IntentState::Succeeded | IntentState::Failed | IntentState::Abandoned) {
        watching::ended(world, tenant, name, &row, to != IntentState::Succeeded, at);
    }
    let mut asked = None;
    if let Some(running) = &mut row.running {
        note(running);
        asked = enter(world, tenant, name, running, (from, to), step, at);
    }
    let running = row.running.as_deref();
    let (epoch, retry_at) = running.map_or((0, None), |running| (running.epoch, running.retry_at));
    if let (Some(question), Some(running)) = (&asked, running) {
        doubt::ask(world, tenant, (name, question), &row.facts.to_kept(), running, at);
    }
    if to.over().is_some() || to == IntentState::Unreported {
        flow_work::end_intent(world, &flow_work::key(tenant, row.facts.flow()), name);
    }
    let key = Key { tenant: tenant.clone(), entity: Entity::Intent(name.to_owned()) };
    world.put(key, Row::Intent(Box::new(row)));
    Ok(IntentStep { intent: name.to_owned(), from, to, epoch, question: asked, retry_at })
}

/// What a new state does to how it is performed; the name of a question, where a person must be asked.
fn enter(
    world: &mut World,
    tenant: &Arc<str>,
    name: &str,
    running: &mut Running,
    (from, to): (IntentState, IntentState),
    step: Step,
    at: Instant,
) -> Option<String> {
    if !matches!(to, IntentState::Claimed | IntentState::InFlight) {
        running.lease_until = None;
    }
    running.retry_at = None;
    // People have been asked already, and still are.
    if step == Step::Overdue && running.question.is_some() {
        return None;
    }
    let answered = matches!(step, Step::Resolve(_));
    if let Some(question) = running.question.take()
        && !answered
    {
        doubt::close(world, tenant, &question, to, at);
    }
    match to {
        IntentState::InDoubt => {
            running.doubts = running.doubts.saturating_add(1);
            // What is called off may not be tried again without a person.
            running.retry_at = running.retry_after(at).filter(|_| step != Step::CallOff);
            if running.retry_at.is_some() {
                return None;
            }
        }
        IntentState::Unreported if matches!(running.impact(), Impact::High | Impact::Critical) => {}
        IntentState::Ready if from == IntentState::InDoubt => {
            let until = running.first_sent.unwrap_or(at).plus(crate::intent::HORIZON);
            let by_person = at.plus(crate::intent::HORIZON);
            running.retry_until = Some(if answered { by_person } else { running.retry_until.unwrap_or(until) });
            return None;
        }
        IntentState::Succeeded | IntentState::Failed | IntentState::Cancelled | IntentState::Abandoned => {
            running.over_at = Some(at);
            running.secrets.clear();
            return None;
        }
        IntentState::Ready
        | IntentState::Claimed
        | IntentState::InFlight
        | IntentState::HandedOut
        | IntentState::Unreported => return None,
    }
    let question = doubt::name(name, running);
    running.question = Some(question.clone());
    Some(question)
}

fn settle(world: &mut World, tenant: &Arc<str>, name: &str, row: &IntentRow, happened: bool) {
    let key = |entity| Key { tenant: tenant.clone(), entity };
    for hold in row.facts.holds() {
        let resource = key(Entity::Resource(hold.resource.clone()));
        release(world, &resource, hold.amount, happened && hold.kind == ResourceKind::Stock);
    }
    for taken in row.facts.taken().iter().filter(|_| !happened) {
        let budget = key(Entity::Budget(taken.agent.clone(), taken.budget.clone()));
        if let Some(window) = world.budget(&budget) {
            let mut window = window.clone();
            window.give_back(row.accepted_at, taken.amount);
            world.put(budget, Row::Budget(window));
        }
    }
    let effect_key = key(Entity::Effect(row.facts.effect_key().to_owned()));
    if let Some(effect) = world.effect(&effect_key)
        && effect.intent == name
    {
        let mut effect = effect.clone();
        effect.done = happened;
        effect.fence = effect.fence.max(row.running.as_ref().map_or(0, |running| running.epoch));
        // What did not happen frees its key: the next intent may have it.
        effect.intent = if happened { effect.intent } else { String::new() };
        world.put(effect_key, Row::Effect(effect));
    }
}

fn release(world: &mut World, key: &Key, amount: values::decimal::Decimal, consume: bool) {
    let Some(row) = world.resource(key) else { return };
    let held = row.held.checked_sub(amount).unwrap_or(row.held);
    let consumed = if consume { row.consumed.checked_add(amount).unwrap_or(row.consumed) } else { row.consumed };
    let row = ResourceRow { held, consumed, ..row.clone() };
    world.put(key.clone(), Row::Resource(row));
}

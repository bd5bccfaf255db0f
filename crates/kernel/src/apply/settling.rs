//! What becomes of what an intent took, once it is over (and what does not, while it is in doubt).

use crate::contract::ResourceKind;
use crate::intent::{IntentEvent, IntentRow, IntentState, transition};
use crate::world::{Entity, Key, KeySet, Loaded, ResourceRow, Row, World};
use std::sync::Arc;

/// What settling an intent touches besides the intent.
pub(super) fn keys(tenant: &Arc<str>, row: &IntentRow) -> KeySet {
    let key = |entity| Key { tenant: tenant.clone(), entity };
    let effect = key(Entity::Effect(row.facts.effect_key().to_owned()));
    let resources = row.facts.holds().iter().map(|hold| key(Entity::Resource(hold.resource.clone())));
    let budgets = row.facts.taken().iter().map(|taken| key(Entity::Budget(taken.agent.clone(), taken.budget.clone())));
    std::iter::once(effect).chain(resources).chain(budgets).collect()
}

/// Moves an intent on; the error is the state that refuses the step.
///
/// Success consumes stock and frees slots; without doubt that nothing happened, budgets are returned and holds
/// released; doubt keeps everything.
pub(super) fn settle(
    world: &mut World,
    tenant: &Arc<str>,
    name: &str,
    event: IntentEvent,
    by_person: bool,
) -> Result<IntentState, Option<IntentState>> {
    let key = |entity| Key { tenant: tenant.clone(), entity };
    let intent_key = key(Entity::Intent(name.to_owned()));
    let Loaded::Present(Row::Intent(row)) = world.get(&intent_key) else { return Err(None) };
    let mut row = row.as_ref().clone();
    let state = transition(row.state, event, by_person).ok_or(Some(row.state))?;
    let over = match state {
        IntentState::Succeeded => Some(true),
        IntentState::Failed | IntentState::Cancelled => Some(false),
        IntentState::Ready | IntentState::HandedOut | IntentState::InDoubt => None,
    };
    if let Some(happened) = over {
        for hold in row.facts.holds() {
            let resource = key(Entity::Resource(hold.resource.clone()));
            release(world, &resource, hold.amount, happened && hold.kind == ResourceKind::Stock);
        }
        for taken in row.facts.taken().iter().filter(|_| !happened) {
            let budget = key(Entity::Budget(taken.agent.clone(), taken.budget.clone()));
            if let Loaded::Present(Row::Budget(window)) = world.get(&budget) {
                let mut window = window.clone();
                window.give_back(row.accepted_at, taken.amount);
                world.put(budget, Row::Budget(window));
            }
        }
        let effect_key = key(Entity::Effect(row.facts.effect_key().to_owned()));
        if let Loaded::Present(Row::Effect(effect)) = world.get(&effect_key)
            && effect.intent == name
        {
            let mut effect = effect.clone();
            effect.done = happened;
            // What did not happen frees its key: the next intent may have it.
            effect.intent = if happened { effect.intent } else { String::new() };
            world.put(effect_key, Row::Effect(effect));
        }
    }
    row.state = state;
    world.put(intent_key, Row::Intent(Box::new(row)));
    Ok(state)
}

fn release(world: &mut World, key: &Key, amount: crate::decimal::Decimal, consume: bool) {
    let Loaded::Present(Row::Resource(row)) = world.get(key) else { return };
    let held = row.held.checked_sub(amount).unwrap_or(row.held);
    let consumed = if consume { row.consumed.checked_add(amount).unwrap_or(row.consumed) } else { row.consumed };
    let row = ResourceRow { held, consumed, declared: row.declared.clone() };
    world.put(key.clone(), Row::Resource(row));
}

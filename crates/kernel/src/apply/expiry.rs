//! What time does to intents: calling off what nobody started, giving back what a dead worker claimed, doubting what
//! it sent. It happens when someone asks for it, and when someone needs what such an intent still holds.

use super::settling;
use crate::consequence::Consequence;
use crate::finding::{Code, Finding, Gate};
use crate::intent::{IntentRow, IntentState, KeptIntent, Step};
use crate::reasons::Reason;
use crate::record::{EventRecord, Record};
use crate::world::{Entity, Key, KeySet, World};
use std::sync::Arc;
use values::bugs::{self, Bug};
use values::time::Instant;

/// Whether something was refused for want of what an expired intent may hold.
pub(super) fn may_help(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| match &finding.code {
        Code::Known(Reason::ResourceInsufficient | Reason::InProgress) => true,
        Code::Known(Reason::BudgetExceeded) => finding.gate == Gate::Budgets || finding.gate == Gate::Lineage,
        Code::Known(_) | Code::Custom { .. } => false,
    })
}

/// What time does to an intent at an instant, if anything.
fn step_of(row: &IntentRow, at: Instant) -> Option<Step> {
    let expired = row.facts.valid_until() < at;
    if bugs::on(Bug::ExpiryFreesInFlight)
        && expired
        && matches!(row.state, IntentState::InFlight | IntentState::InDoubt)
    {
        return Some(Step::CallOff);
    }
    if row.due().is_none_or(|due| due >= at) {
        return None;
    }
    match row.state {
        IntentState::Ready => Some(Step::CallOff),
        // Nothing was sent; there is no time left to give it to someone else.
        IntentState::Claimed if expired && !row.is_doubted() => Some(Step::CallOff),
        IntentState::Claimed => Some(Step::Release),
        IntentState::InFlight => Some(Step::LeaseOver),
        IntentState::InDoubt => Some(Step::Retry),
        IntentState::HandedOut => Some(Step::Overdue),
        IntentState::Unreported
        | IntentState::Succeeded
        | IntentState::Failed
        | IntentState::Cancelled
        | IntentState::Abandoned => None,
    }
}

/// Intents on whose time is over, with the step that time takes.
type Due = Vec<(String, KeptIntent, Step)>;

/// What one look finds due; names what must be loaded before anything is moved.
fn look(world: &World, tenant: &Arc<str>, at: Instant) -> Result<Due, KeySet> {
    let names = world.due_intents(tenant).ok_or_else(|| KeySet::from([key(tenant, Entity::DueIntents)]))?;
    let mut due = Vec::new();
    let mut needed = KeySet::new();
    for name in names {
        let intent = key(tenant, Entity::Intent(name.clone()));
        let Some(row) = world.intent(&intent) else { continue };
        let Some(step) = step_of(row, at) else { continue };
        needed.extend(settling::keys(tenant, row));
        due.push((name, row.facts.to_kept(), step));
    }
    let missing = world.missing(&needed);
    if missing.is_empty() { Ok(due) } else { Err(missing) }
}

/// What must be loaded before [`call_off_expired`] moves anything.
pub(super) fn missing(world: &World, tenant: &Arc<str>, at: Instant) -> KeySet {
    look(world, tenant, at).err().unwrap_or_default()
}

/// Moves every intent on whose time is over, as far as one look reaches; names what must be loaded first.
pub(super) fn call_off_expired(world: &mut World, tenant: &Arc<str>, at: Instant) -> Result<Vec<Record>, KeySet> {
    let due = look(world, tenant, at)?;
    let mut records = Vec::new();
    for (name, kept, step) in due {
        let Ok(step) = settling::step(world, tenant, &name, step, at, |_| {}) else { continue };
        let KeptIntent { flow, agent, valid_until, .. } = kept;
        let consequence = if step.to == IntentState::Cancelled {
            Consequence::IntentExpired { intent: name, flow, agent, valid_until }
        } else {
            Consequence::IntentMoved { step, flow, agent }
        };
        records.push(Record::Event(Arc::new(EventRecord::following(tenant, consequence, at))));
    }
    Ok(records)
}

fn key(tenant: &Arc<str>, entity: Entity) -> Key {
    Key { tenant: tenant.clone(), entity }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{IntentFacts, KeptIntent};
    use crate::world::{DUE_INTENTS_MAX, Row};
    use std::collections::BTreeMap;

    fn waiting(number: usize) -> Row {
        let kept = KeptIntent {
            agent: "bot".to_owned(),
            flow: "f".to_owned(),
            proposal: "p".to_owned(),
            effect_key: format!("pay:{number}"),
            valid_until: Instant::from_micros(number as i64),
            holds: Vec::new(),
            taken: Vec::new(),
        };
        let facts = IntentFacts::Kept(Box::new(kept));
        let (state, accepted_at) = (IntentState::Ready, Instant::from_micros(0));
        Row::Intent(Box::new(IntentRow { state, accepted_at, facts, running: None }))
    }

    /// What a store loads for these keys.
    fn loaded(stored: &BTreeMap<Key, Row>, keys: &KeySet) -> World {
        let mut world = World::slice();
        for key in keys.iter().filter(|key| key.entity != Entity::DueIntents) {
            world.load(key.clone(), stored.get(key).cloned());
        }
        let mut due: Vec<(Instant, &Key)> = stored.iter().filter_map(|(key, row)| Some((row.due()?, key))).collect();
        due.sort();
        due.truncate(DUE_INTENTS_MAX);
        due.iter().for_each(|(_, key)| world.load((*key).clone(), stored.get(*key).cloned()));
        world.load_due_intents(due.iter().map(|(_, key)| key.entity.parts().0.to_owned()).collect());
        world
    }

    #[test]
    fn two_looks_in_one_batch_find_what_a_whole_world_finds() {
        let (tenant, now): (Arc<str>, _) = (Arc::from("t"), Instant::from_micros(1_000));
        let mut whole = World::complete();
        (0..DUE_INTENTS_MAX + 6).for_each(|number| {
            whole.put(key(&tenant, Entity::Intent(format!("i{number:02}"))), waiting(number));
        });
        let mut stored: BTreeMap<Key, Row> = whole.iter().map(|(key, row)| (key.clone(), row.clone())).collect();
        let bodies = |records: Vec<Record>| records.iter().map(Record::to_canonical).collect::<Vec<_>>();
        let expected = [(); 3].map(|()| bodies(call_off_expired(&mut whole, &tenant, now).unwrap()));
        assert_eq!(expected.each_ref().map(Vec::len), [DUE_INTENTS_MAX, 6, 0]);
        // A store's slice of it, which goes on until something is not loaded; then everything so far is saved.
        let mut keys = KeySet::from([key(&tenant, Entity::DueIntents)]);
        let mut slice = loaded(&stored, &keys);
        let mut found = Vec::new();
        for _ in 0..9 {
            match call_off_expired(&mut slice, &tenant, now) {
                Ok(records) => found.push(bodies(records)),
                Err(needed) => {
                    stored.extend(slice.take_changes().into_iter().map(|change| (change.key, change.row)));
                    keys.extend(needed);
                    slice = loaded(&stored, &keys);
                }
            }
            if found.len() == expected.len() {
                break;
            }
        }
        assert_eq!(found, expected);
    }
}

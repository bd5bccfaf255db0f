//! Kill switches: of the tenant and of a group of agents. They are in force before the next decision of the same batch,
//! because the tenant's row is loaded with every command.

use super::{ChangeOutcome, key, not_authorized};
use crate::agent::Actor;
use crate::change::Change;
use crate::event::Event;
use crate::finding::{Finding, Gate};
use crate::reasons::Reason;
use crate::world::{Entity, Halt, Row, TenantRow, World};
use values::time::Instant;

/// Groups that are stopped at a time: the tenant's row is read with every command and has to stay small.
const HALTED_GROUPS_MAX: usize = 64;

/// Whoever watches may stop. A second hand on the switch takes it over: what stands there is who may be asked.
pub(super) fn pull(
    world: &mut World,
    change: &Change,
    group: Option<&str>,
    because: &str,
    at: Instant,
) -> ChangeOutcome {
    if !matches!(change.actor, Actor::Operator(_) | Actor::Monitor(_)) {
        return ChangeOutcome::refused(not_authorized(change, "use the kill switch".to_owned()));
    }
    let halt = Halt { by: change.actor.text(), because: because.to_owned(), at };
    let mut row = row(world, change);
    match group {
        None => row.halted = Some(halt),
        Some(group) => {
            if let Some(problem) = values::ids::identifier_problem(group) {
                return invalid(group, format!("is a name that {problem}"));
            }
            row.halted_groups.insert(group.to_owned(), halt);
            if row.halted_groups.len() > HALTED_GROUPS_MAX {
                return invalid(group, format!("would be the one above {HALTED_GROUPS_MAX} that are stopped"));
            }
        }
    }
    world.put(key(change, Entity::Tenant), Row::Tenant(row));
    ChangeOutcome::done(Event::Halted { group: group.map(str::to_owned) })
}

/// Only an operator lifts a switch, and each switch by itself: resuming a group leaves the tenant's where it is.
pub(super) fn lift(world: &mut World, change: &Change, group: Option<&str>) -> ChangeOutcome {
    if !matches!(change.actor, Actor::Operator(_)) {
        return ChangeOutcome::refused(not_authorized(change, "use the kill switch".to_owned()));
    }
    let mut row = row(world, change);
    match group {
        None => row.halted = None,
        Some(group) => {
            if row.halted_groups.remove(group).is_none() {
                let finding = Finding::reject(Gate::Agent, Reason::NotHalted);
                return ChangeOutcome::refused(finding.with("group", group));
            }
        }
    }
    world.put(key(change, Entity::Tenant), Row::Tenant(row));
    ChangeOutcome::done(Event::Resumed { group: group.map(str::to_owned) })
}

fn row(world: &World, change: &Change) -> TenantRow {
    world.tenant(&key(change, Entity::Tenant)).cloned().unwrap_or_default()
}

fn invalid(group: &str, problem: String) -> ChangeOutcome {
    let finding = Finding::reject(Gate::Agent, Reason::SwitchRefused);
    ChangeOutcome::refused(finding.with("group", group).with("problem", problem))
}

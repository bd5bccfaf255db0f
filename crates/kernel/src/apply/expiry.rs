//! Calling off what nobody started in time. It happens when someone needs what such an intent still holds.

use super::settling;
use crate::finding::{Code, Finding, Gate};
use crate::intent::{IntentEvent, IntentState};
use crate::json::Json;
use crate::reasons::Reason;
use crate::record::{EventRecord, Record};
use crate::time::Instant;
use crate::world::{Entity, Key, KeySet, Loaded, Row, World};
use std::sync::Arc;

/// Whether something was refused for want of what an expired intent may hold.
pub(super) fn may_help(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| match &finding.code {
        Code::Known(Reason::ResourceInsufficient | Reason::InProgress) => true,
        Code::Known(Reason::BudgetExceeded) => finding.gate == Gate::Budgets || finding.gate == Gate::Lineage,
        Code::Known(_) | Code::Custom { .. } => false,
    })
}

/// Calls off every waiting intent whose time is over, as far as one look reaches; names what must be loaded first.
pub(super) fn call_off_expired(world: &mut World, tenant: &Arc<str>, at: Instant) -> Result<Vec<Record>, KeySet> {
    let names = world.due_intents(tenant).ok_or_else(|| KeySet::from([key(tenant, Entity::DueIntents)]))?;
    let mut expired = Vec::new();
    let mut needed = KeySet::new();
    for name in names {
        let intent = key(tenant, Entity::Intent(name.clone()));
        let Loaded::Present(Row::Intent(row)) = world.get(&intent) else { continue };
        if row.state != IntentState::Ready || row.facts.valid_until() >= at {
            continue;
        }
        needed.extend(settling::keys(tenant, row));
        expired.push((name, row.facts.to_kept()));
    }
    let missing = world.missing(&needed);
    if !missing.is_empty() {
        return Err(missing);
    }
    let mut records = Vec::new();
    for (name, kept) in expired {
        if settling::settle(world, tenant, &name, IntentEvent::Cancel, false).is_ok() {
            let body = Json::object([
                ("intent", Json::text(name.as_str())),
                ("flow", Json::text(kept.flow)),
                ("agent", Json::text(kept.agent)),
                ("valid_until", Json::text(kept.valid_until.to_string())),
            ]);
            records.push(Record::Event(Box::new(EventRecord::consequence(tenant, "intent_expired", body, at))));
        }
    }
    Ok(records)
}

fn key(tenant: &Arc<str>, entity: Entity) -> Key {
    Key { tenant: tenant.clone(), entity }
}

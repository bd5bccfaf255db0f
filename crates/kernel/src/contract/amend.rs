//! Bounded, expiring changes of limits marked amendable. Pure: an amendment ends by the clock of the decision.

use super::{AmendBounds, Contract, Limit};
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::time::Instant;

/// A change of a bound for a while, by a person.
#[derive(Clone, PartialEq, Debug)]
pub struct Amendment {
    /// The action.
    pub action: String,
    /// The param whose limit changes.
    pub param: String,
    /// The minimum for that while; absent leaves it.
    pub min: Option<Decimal>,
    /// The maximum for that while; absent leaves it.
    pub max: Option<Decimal>,
    /// Who.
    pub actor: String,
    /// Since when.
    pub at: Instant,
    /// Until when; absent means as long as the contract lets it last.
    pub expires: Option<Instant>,
}

super::words! {
    /// Why an amendment is refused.
    AmendRefusal {
        /// The contract has no such action.
        ActionUnknown = "ACTION_UNKNOWN",
        /// The contract does not mark this bound amendable.
        NotAmendable = "NOT_AMENDABLE",
        /// It changes nothing.
        EmptyPatch = "EMPTY_PATCH",
        /// Nobody answers for it.
        ActorMissing = "ACTOR_MISSING",
        /// Above the ceiling.
        AboveCeiling = "ABOVE_CEILING",
        /// Below the floor.
        BelowFloor = "BELOW_FLOOR",
        /// The minimum would lie above the maximum.
        BoundsCross = "BOUNDS_CROSS",
        /// Negative where negative numbers are refused.
        Negative = "NEGATIVE",
        /// It would end before it begins.
        ExpiryPast = "EXPIRY_PAST",
        /// It would last longer than the contract allows.
        ExpiryTooLate = "EXPIRY_TOO_LATE",
    }
}

/// When the amendment ends, or why it is refused. An amendment without an end of its own gets the longest allowed.
pub fn check(contract: &Contract, amendment: &Amendment) -> Result<Instant, AmendRefusal> {
    let action = contract.actions.get(&amendment.action).ok_or(AmendRefusal::ActionUnknown)?;
    let amendable = action.amendable.get(&amendment.param).ok_or(AmendRefusal::NotAmendable)?;
    let limit = action.limits.get(&amendment.param).ok_or(AmendRefusal::NotAmendable)?;
    if amendment.min.is_none() && amendment.max.is_none() {
        return Err(AmendRefusal::EmptyPatch);
    }
    if amendment.actor.trim().is_empty() {
        return Err(AmendRefusal::ActorMissing);
    }
    within(amendment.min, amendable.min, limit.min)?;
    within(amendment.max, amendable.max, limit.max)?;
    let amended = apply(limit, amendment);
    if crosses(&amended) {
        return Err(AmendRefusal::BoundsCross);
    }
    let negative = [amendment.min, amendment.max].into_iter().flatten().any(Decimal::is_negative);
    if negative && !limit.signed {
        return Err(AmendRefusal::Negative);
    }
    let latest = amendment.at.plus(amendable.ttl);
    match amendment.expires {
        None => Ok(latest),
        Some(expires) if expires <= amendment.at => Err(AmendRefusal::ExpiryPast),
        Some(expires) if expires > latest => Err(AmendRefusal::ExpiryTooLate),
        Some(expires) => Ok(expires),
    }
}

/// The limits of every action at an instant. Of several amendments in force the last one given counts;
/// one the contract refuses, or that would cross an earlier one's bound, changes nothing.
pub fn effective_limits(
    contract: &Contract,
    amendments: &[Amendment],
    at: Instant,
) -> BTreeMap<String, BTreeMap<String, Limit>> {
    let mut limits: BTreeMap<String, BTreeMap<String, Limit>> =
        contract.actions.iter().map(|(name, action)| (name.clone(), action.limits.clone())).collect();
    for amendment in amendments {
        let in_force = amendment.at <= at && check(contract, amendment).is_ok_and(|expires| at < expires);
        if !in_force {
            continue;
        }
        let limit = limits.get_mut(&amendment.action).and_then(|limits| limits.get_mut(&amendment.param));
        if let Some(limit) = limit {
            let amended = apply(limit, amendment);
            if !crosses(&amended) {
                *limit = amended;
            }
        }
    }
    limits
}

fn within(value: Option<Decimal>, bounds: Option<AmendBounds>, current: Option<Decimal>) -> Result<(), AmendRefusal> {
    let Some(value) = value else { return Ok(()) };
    let (Some(bounds), Some(_)) = (bounds, current) else { return Err(AmendRefusal::NotAmendable) };
    if value > bounds.ceiling {
        return Err(AmendRefusal::AboveCeiling);
    }
    if value < bounds.floor {
        return Err(AmendRefusal::BelowFloor);
    }
    Ok(())
}

fn apply(limit: &Limit, amendment: &Amendment) -> Limit {
    Limit { min: amendment.min.or(limit.min), max: amendment.max.or(limit.max), ..limit.clone() }
}

fn crosses(limit: &Limit) -> bool {
    matches!((limit.min, limit.max), (Some(min), Some(max)) if min > max)
}

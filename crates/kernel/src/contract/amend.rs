//! Bounded, expiring changes of limits marked amendable. Pure: an amendment ends by the clock of the decision.

use super::{AmendBounds, Contract, Limit};
use crate::finding::visible;
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
    /// Why.
    pub because: String,
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
        /// Nobody says why.
        ReasonMissing = "REASON_MISSING",
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
    if amendment.because.trim().is_empty() {
        return Err(AmendRefusal::ReasonMissing);
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

/// What is wrong with a refused amendment, with the bounds it had to stay inside.
pub fn explain(contract: &Contract, amendment: &Amendment, refusal: AmendRefusal) -> String {
    let (action, param) = (visible(&amendment.action), visible(&amendment.param));
    let amendable = contract.actions.get(&amendment.action).and_then(|action| action.amendable.get(&amendment.param));
    let sentence = match refusal {
        AmendRefusal::ActionUnknown => format!("the contract has no action `{action}`"),
        AmendRefusal::NotAmendable => format!("the contract does not mark that bound of `{param}` as amendable"),
        AmendRefusal::EmptyPatch => "it names neither a minimum nor a maximum".to_owned(),
        AmendRefusal::ActorMissing => "nobody answers for it".to_owned(),
        AmendRefusal::ReasonMissing => "it gives no reason".to_owned(),
        AmendRefusal::AboveCeiling | AmendRefusal::BelowFloor => {
            let bounds = amendable.into_iter().flat_map(|amendable| [("min", amendable.min), ("max", amendable.max)]);
            let words = bounds.filter_map(|(key, bounds)| {
                bounds.map(|bounds| format!("`{key}` between {} and {}", bounds.floor, bounds.ceiling))
            });
            format!("the contract keeps {} of `{param}`", words.collect::<Vec<_>>().join(" and "))
        }
        AmendRefusal::BoundsCross => format!("the minimum of `{param}` would lie above its maximum"),
        AmendRefusal::Negative => format!("`{param}` is never negative"),
        AmendRefusal::ExpiryPast => "it would end before it begins".to_owned(),
        AmendRefusal::ExpiryTooLate => match amendable {
            Some(amendable) => format!("it may last {} at most", amendable.ttl),
            None => "it would last too long".to_owned(),
        },
    };
    format!("{}: {sentence}", refusal.word())
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

//! Bounded, expiring changes of limits marked amendable. Pure: an amendment ends by the clock of the decision.

use super::{AmendBounds, Contract, Limit};
use crate::decimal::Decimal;
use crate::time::Instant;
use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{read::read, source::Node};
    use crate::json::Json;
    use crate::time::Duration;

    const START: Instant = Instant::PURE_DEFAULT;

    fn contract() -> Contract {
        let text = br#"{"agent": "bot", "actions": {"pay": {"params": {"a": "number", "b": "number"},
            "limits": {"a": {"min": 5, "max": 50}, "b": {"max": 50}},
            "amendable": {"a": {"min": {"floor": 1, "ceiling": 60}, "max": {"floor": 10, "ceiling": 80}, "ttl": "8h"}}}}}"#;
        read(&Node::from_json(&Json::parse(text).unwrap())).unwrap().contract
    }

    fn to(max: i64) -> Amendment {
        Amendment {
            action: "pay".to_owned(),
            param: "a".to_owned(),
            min: None,
            max: Some(Decimal::from(max)),
            actor: "ann".to_owned(),
            at: START,
            expires: None,
        }
    }

    fn hours(hours: i64) -> Instant {
        START.plus(Duration::from_secs(hours * 3600))
    }

    #[test]
    fn amendments_are_bounded() {
        let refused = |amendment: Amendment, expected: AmendRefusal| {
            assert_eq!(super::check(&contract(), &amendment), Err(expected), "{amendment:?}");
        };
        assert_eq!(super::check(&contract(), &to(80)), Ok(hours(8)));
        refused(to(81), AmendRefusal::AboveCeiling);
        refused(to(9), AmendRefusal::BelowFloor);
        refused(Amendment { max: None, ..to(0) }, AmendRefusal::EmptyPatch);
        refused(Amendment { param: "b".to_owned(), ..to(60) }, AmendRefusal::NotAmendable);
        refused(Amendment { action: "x".to_owned(), ..to(60) }, AmendRefusal::ActionUnknown);
        refused(Amendment { actor: " ".to_owned(), ..to(60) }, AmendRefusal::ActorMissing);
        refused(Amendment { min: Some(Decimal::from(55)), max: None, ..to(0) }, AmendRefusal::BoundsCross);
    }

    #[test]
    fn amendments_always_end() {
        let until = |expires| super::check(&contract(), &Amendment { expires: Some(expires), ..to(60) });
        assert_eq!(until(hours(1)), Ok(hours(1)));
        assert_eq!(until(hours(8)), Ok(hours(8)));
        assert_eq!(until(hours(9)), Err(AmendRefusal::ExpiryTooLate));
        assert_eq!(until(START), Err(AmendRefusal::ExpiryPast));
    }

    #[test]
    fn limits_follow_the_instant() {
        let max_at = |amendments: &[Amendment], at: Instant| {
            effective_limits(&contract(), amendments, at)["pay"]["a"].max.map(|max| max.to_string())
        };
        let check = |amendments: &[Amendment], at: Instant, expected: &str| {
            assert_eq!(max_at(amendments, at).as_deref(), Some(expected));
        };
        let later = Amendment { at: hours(1), expires: Some(hours(2)), ..to(70) };
        check(&[], START, "50");
        check(&[to(80)], START, "80");
        check(&[to(80)], hours(8), "50");
        check(&[to(80), later.clone()], hours(1), "70");
        check(&[to(80), later], hours(2), "80");
        check(&[to(81)], START, "50");
        check(&[Amendment { at: hours(1), ..to(80) }], START, "50");
        let raised = Amendment { min: Some(Decimal::from(45)), max: None, ..to(0) };
        check(&[raised, to(40)], START, "50");
    }
}

//! Bounded, expiring changes of a limit.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use contract::{read::read, source::Node};
use kernel::contract::amend::*;
use kernel::contract::*;
use values::decimal::Decimal;
use values::json::Json;
use values::time::{Duration, Instant};

const START: Instant = Instant::PURE_DEFAULT;

fn written() -> Contract {
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
        because: "a rush".to_owned(),
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
        assert_eq!(kernel::contract::amend::check(&written(), &amendment), Err(expected), "{amendment:?}");
    };
    assert_eq!(kernel::contract::amend::check(&written(), &to(80)), Ok(hours(8)));
    refused(to(81), AmendRefusal::AboveCeiling);
    refused(to(9), AmendRefusal::BelowFloor);
    refused(Amendment { max: None, ..to(0) }, AmendRefusal::EmptyPatch);
    refused(Amendment { param: "b".to_owned(), ..to(60) }, AmendRefusal::NotAmendable);
    refused(Amendment { action: "x".to_owned(), ..to(60) }, AmendRefusal::ActionUnknown);
    refused(Amendment { actor: " ".to_owned(), ..to(60) }, AmendRefusal::ActorMissing);
    refused(Amendment { because: " ".to_owned(), ..to(60) }, AmendRefusal::ReasonMissing);
    refused(Amendment { min: Some(Decimal::from(55)), max: None, ..to(0) }, AmendRefusal::BoundsCross);
}

#[test]
fn a_refusal_names_the_bounds() {
    let said = |amendment: Amendment| {
        let refusal = kernel::contract::amend::check(&written(), &amendment).unwrap_err();
        explain(&written(), &amendment, refusal)
    };
    let bounds = "ABOVE_CEILING: the contract keeps `min` between 1 and 60 and `max` between 10 and 80 of `a`";
    assert_eq!(said(to(81)), bounds);
    assert_eq!(said(Amendment { expires: Some(hours(9)), ..to(60) }), "EXPIRY_TOO_LATE: it may last 8h at most");
}

#[test]
fn amendments_always_end() {
    let until = |expires| kernel::contract::amend::check(&written(), &Amendment { expires: Some(expires), ..to(60) });
    assert_eq!(until(hours(1)), Ok(hours(1)));
    assert_eq!(until(hours(8)), Ok(hours(8)));
    assert_eq!(until(hours(9)), Err(AmendRefusal::ExpiryTooLate));
    assert_eq!(until(START), Err(AmendRefusal::ExpiryPast));
}

#[test]
fn limits_follow_the_instant() {
    let max_at = |amendments: &[Amendment], at: Instant| {
        effective_limits(&written(), amendments, at)["pay"]["a"].max.map(|max| max.to_string())
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

//! What flows hold outside of a proposal, through the fold.

use crate::agent::Actor;
use crate::change::{Act, Reservation};
use crate::flow::FlowEvent;
use crate::outcome::Done;
use crate::testing::{Case, case};
use crate::world::{Entity, Row};
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::time::Duration;

fn bot() -> Actor {
    Actor::Agent("bot".to_owned())
}

/// Three open flows of one agent.
fn flows() -> Case {
    let case = case().flow("f").check("ACCEPT").flow("g").amount(6).check("ACCEPT");
    case.flow("h").amount(7).check("ACCEPT")
}

fn amounts(written: &str) -> BTreeMap<String, Decimal> {
    let one = |part: &str| {
        let (name, amount) = part.split_once(' ').unwrap();
        (name.to_owned(), Decimal::parse(amount).unwrap())
    };
    written.split(", ").map(one).collect()
}

fn told(done: &Done) -> String {
    match &done.event {
        Some(event) => event.to_json().to_canonical(),
        None => done.answer.reasons().join("+"),
    }
}

fn reserve_for(case: &mut Case, flow: &str, wanted: &str, available: &str, seconds: Option<i64>) -> String {
    let until = seconds.map(|seconds| case.now().plus(Duration::from_secs(seconds)));
    let (wanted, available) = (amounts(wanted), amounts(available));
    let done = case.change(bot(), Act::Reserve(Reservation { flow: flow.to_owned(), wanted, available, until }));
    if done.event.is_some() { "held".to_owned() } else { told(&done) }
}

fn reserve(case: &mut Case, flow: &str, wanted: &str, available: &str) -> String {
    reserve_for(case, flow, wanted, available, None)
}

fn release(case: &mut Case, flow: &str) -> Done {
    case.change(bot(), Act::Release { flow: flow.to_owned(), resources: Vec::new() })
}

/// Who holds how much of a resource.
fn book(case: &Case, resource: &str) -> String {
    let Some(Row::Resource(row)) = case.row(Entity::Resource(resource.to_owned())) else { return String::new() };
    let holds = row.flows.iter().map(|(flow, hold)| format!("{flow} {}", hold.amount));
    holds.collect::<Vec<_>>().join(", ")
}

#[test]
fn w02_flows_hold_no_more_than_there_is() {
    let mut case = flows();
    assert_eq!(reserve(&mut case, "f", "cash 60", "cash 100"), "held");
    assert_eq!(reserve(&mut case, "g", "cash 60", "cash 100"), "RESOURCE_CONTENTION");
    assert_eq!(reserve(&mut case, "g", "cash 101", "cash 100"), "RESOURCE_INSUFFICIENT");
    assert_eq!(reserve(&mut case, "g", "cash 40", "cash 100"), "held");
    assert_eq!(book(&case, "cash"), "f 60, g 40");
    // One's own hold is not in the way, and what is asked for adds to it.
    assert_eq!(reserve(&mut case, "f", "cash 10", "cash 110"), "held");
    assert_eq!(reserve(&mut case, "f", "cash 1", "cash 110"), "RESOURCE_CONTENTION");
    assert_eq!(book(&case, "cash"), "f 70, g 40");
    // The provider's number is what counts, whatever it was before.
    assert_eq!(reserve(&mut case, "h", "cash 1", "cash 5"), "RESOURCE_CONTENTION");
}

#[test]
fn w02_all_or_none_and_nothing_negative() {
    let mut case = flows();
    assert_eq!(reserve(&mut case, "f", "cash 60, desks 3", "cash 100, desks 2"), "RESOURCE_INSUFFICIENT");
    assert_eq!(book(&case, "cash"), "");
    assert_eq!(reserve(&mut case, "f", "cash -1000", "cash 100"), "PARAM_INVALID");
    assert_eq!(reserve(&mut case, "f", "cash 1", "desks 100"), "PARAM_INVALID");
    assert_eq!(reserve(&mut case, "f", "cash 0", "cash 100"), "held");
    assert_eq!(reserve(&mut case, "f", "cash 60, desks 2", "cash 100, desks 2"), "held");
}

#[test]
fn it_is_given_back_by_release_by_the_end_of_the_flow_and_by_time() {
    let mut case = flows();
    reserve(&mut case, "f", "cash 60, desks 2", "cash 100, desks 2");
    assert_eq!(told(&release(&mut case, "f")), r#"{"flow":"f","resources":["cash","desks"]}"#);
    assert_eq!(told(&release(&mut case, "f")), r#"{"flow":"f","resources":[]}"#);
    for event in [FlowEvent::Close, FlowEvent::Abort] {
        let mut case = flows();
        assert_eq!(reserve(&mut case, "g", "cash 100", "cash 100"), "held");
        case.change(bot(), Act::EndFlow { flow: "g".to_owned(), event });
        assert_eq!(book(&case, "cash"), "", "{event:?}");
        assert_eq!(reserve(&mut case, "g", "cash 1", "cash 100"), "FLOW_CLOSED");
        assert_eq!(reserve(&mut case, "f", "cash 100", "cash 100"), "held");
    }
    assert_eq!(reserve_for(&mut case, "f", "cash 100", "cash 100", Some(60)), "held");
    assert_eq!(reserve(&mut case, "g", "cash 1", "cash 100"), "RESOURCE_CONTENTION");
    case.later(60);
    assert_eq!(reserve(&mut case, "g", "cash 1", "cash 100"), "held");
    assert_eq!(reserve_for(&mut case, "f", "cash 1", "cash 100", Some(0)), "PARAM_INVALID");
}

#[test]
fn only_for_ones_own_flow() {
    let mut case = flows();
    reserve(&mut case, "f", "cash 60", "cash 100");
    for actor in [Actor::Agent("eve".to_owned()), Actor::Monitor("m".to_owned())] {
        let (wanted, available, until) = (amounts("cash 1"), amounts("cash 100"), None);
        let act = Act::Reserve(Reservation { flow: "f".to_owned(), wanted, available, until });
        assert_eq!(told(&case.change(actor.clone(), act)), "FLOW_UNKNOWN");
        let act = Act::Release { flow: "f".to_owned(), resources: Vec::new() };
        assert_eq!(told(&case.change(actor, act)), "FLOW_UNKNOWN");
    }
    assert_eq!(book(&case, "cash"), "f 60");
}

#[test]
fn a_proposal_may_use_what_its_flow_holds_and_nothing_that_others_hold() {
    let mut case = case().reserve("pool", 10, "amount").flow("f").amount(1).check("ACCEPT");
    assert_eq!(reserve(&mut case, "f", "pool 9", "pool 10"), "held");
    let case = case.flow("g").amount(2).check("REJECT RESOURCE_INSUFFICIENT");
    case.flow("f").amount(9).check("ACCEPT");
}

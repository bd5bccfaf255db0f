//! Ways out that a contract closes: nobody can answer, or a monitor trips again after every lift.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use engines::load::load;
use kernel::contract::ways_out::closed;
use kernel::person::Person;
use values::json::Json;

const ASKS: &str = "agent: bot\nactions:\n  pay:\n    once: \"pay:{order}\"\n    params: { order: text, amount: number, fee: number, shift: signed number }\n    \
                    limits: { amount: { min: 12, max: 50 } }\n    ask: amount <= 50\n";

/// `people` are their groups; each is one person.
fn check(more: &str, people: &[&str], expected: &[&str]) {
    let loaded = load(&format!("{ASKS}{more}")).unwrap();
    let person = |groups: &&str| Person::from_json(&Json::parse(groups.as_bytes()).unwrap()).unwrap();
    let people: Vec<Person> = people.iter().map(person).collect();
    let found = closed(&loaded.compiled.contract, &people);
    let found: Vec<String> = found.iter().map(|way| format!("{} {}", way.way, way.path)).collect();
    assert_eq!(found, expected, "{more}");
}

#[test]
fn people_who_are_asked_can_answer() {
    let desk = r#"["desk"]"#;
    check("", &[], &[]);
    check("approvers: [desk]\n", &[], &[]);
    check("approvers: [desk]\n", &[desk], &[]);
    check("approvers: [desk]\n", &[r#"["board"]"#], &["answering escalation.approvers"]);
    check("", &[desk], &["answering escalation.approvers"]);
    check("", &[r#"["operators"]"#], &[]);
    check("escalation: { approvers: [desk], quorum: 2 }\n", &[desk], &["answering escalation.approvers"]);
    check("escalation: { approvers: [desk], quorum: 2 }\n", &[desk, r#"["desk","x"]"#], &[]);
    check("escalation: { approvers: [desk], signed: true }\n", &[desk], &["answering escalation.signed"]);
    let budget = "escalation: { approvers: [desk], budget: { max: 0, per: 1h } }\n";
    check(budget, &[], &["answering escalation.budget.max"]);
    let passed_on = "escalation: { approvers: [desk], timeout: { reroute: 5m, to: board, after: 15m } }\n";
    check(passed_on, &[r#"["board"]"#], &[]);
}

#[test]
fn a_monitor_does_not_trip_again_whatever_is_done() {
    let watch = |more: &str| format!("watch:\n  size: {{ mean: params.amount, over: 5, {more} }}\n");
    check(&watch("max: 20"), &[], &[]);
    check(&watch("max: 12"), &[], &[]);
    check(&watch("max: 11"), &[], &["lifting watch.size"]);
    check(&watch("min: 51"), &[], &["lifting watch.size"]);
    check(&watch("max: 11, then: WARN"), &[], &[]);
    let band = |band: &str| format!("watch:\n  size: {{ {band}, over: 1 }}\n");
    check(&band("share: params.amount > 5, max: -1"), &[], &["lifting watch.size"]);
    check(&band("share: params.amount > 5, min: 2"), &[], &["lifting watch.size"]);
    check(&band("share: params.amount > 5, max: 0"), &[], &[]);
    // What is not signed is not below zero, with a limit or without.
    check(&band("mean: params.fee, max: -1"), &[], &["lifting watch.size"]);
    check(&band("mean: params.shift, max: -1"), &[], &[]);
}

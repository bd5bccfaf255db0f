//! Every property of the published schema acts: for each there are two contracts that differ in it alone and a case
//! that comes out differently. Keys that do nothing yet are listed and must say so.
#![expect(clippy::panic, clippy::expect_used, reason = "a test that cannot go on should stop loudly")]

mod published;
mod rows;
mod watching;
mod witness;

use contract::keys;
use contract::read::read;
use contract::source::Severity;
use published::Published;
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;
use witness::{Shows, Witness, loaded};

/// Properties whose other side can only be refused, and why there is no second legal contract to compare with.
const REFUSED: &[(&str, &str)] = &[
    ("contract.resources", "what an action reserves must be declared, and what none reserves is never looked at"),
    ("contract.writkeeper", "there is one format"),
    ("escalation_timeout.then", "there is one answer to silence"),
    ("rungs_by_confidence.ceiling", "a rung above the ceiling is refused, so the ceiling moves none that was read"),
    ("rungs_by_confidence.floor", "a rung below the floor is refused, so the floor moves none that was read"),
];

/// Properties that others bound, which a schema cannot say; the reader refuses them.
const BY_READER: &[&str] = &["contract.resources", "rungs_by_confidence.ceiling", "rungs_by_confidence.floor"];

/// Properties that only the process beside a host looks at; `crates/app/tests/guard/contract_keys.rs` has their rows.
const BY_HOSTS: &[&str] = &[
    "contract.handlers",
    "contract.witnesses",
    "witness.command",
    "witness.expect",
    "witness.git",
    "witness.http",
    "witness.timeout",
];

#[test]
fn every_property_has_a_witness() {
    let known = Published::read().properties();
    let mut witnessed: BTreeMap<&str, usize> = BTreeMap::new();
    for witness in rows::all() {
        *witnessed.entry(witness.property).or_default() += 1;
    }
    let missing: Vec<&String> = known.iter().filter(|name| !witnessed.contains_key(name.as_str())).collect();
    assert!(missing.is_empty(), "properties without a witness: {missing:#?}");
    let unknown: Vec<&&str> = witnessed.keys().filter(|name| !known.contains(**name)).collect();
    assert!(unknown.is_empty(), "witnesses of properties that do not exist: {unknown:#?}");
}

#[test]
fn witnesses_differ_in_their_property_alone() {
    let published = Published::read();
    for witness in rows::all() {
        let (left, right) = witness.texts();
        let [left, right] = [left, right].map(|text| document(&witness, &text));
        let mut found = published.differences(&left, &right);
        let definition = witness.property.split('.').next().unwrap_or_default();
        let alternatives = published.alternatives(definition);
        // Of several keys exactly one must stand there, so leaving one out means writing another.
        if alternatives.contains(witness.property) && found.len() == 2 && found.is_subset(&alternatives) {
            found.retain(|name| name == witness.property);
        }
        assert_eq!(found, BTreeSet::from([witness.property.to_owned()]), "{}", witness.contract);
    }
}

#[test]
fn witnesses_are_legal() {
    let schema = serde_json::from_str(contract::SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema compiles");
    for witness in rows::all() {
        let (left, right) = witness.texts();
        for (text, legal) in [(left, true), (right, !matches!(witness.shows, Shows::Refusal))] {
            let instance = serde_json::from_str(&document(&witness, &text).to_canonical()).expect("it is JSON");
            assert!(
                validator.is_valid(&instance) == legal || BY_READER.contains(&witness.property),
                "{}: {text}",
                witness.property
            );
        }
    }
}

#[test]
fn every_property_acts() {
    for witness in rows::all() {
        let (left, right) = witness.texts();
        match &witness.shows {
            Shows::Refusal => check_refused(&witness, &left, &right),
            Shows::Inert { key, .. } => check_inert(&witness, key, &left, &right),
            Shows::Hosts => assert!(BY_HOSTS.contains(&witness.property), "`{}` is shown nowhere", witness.property),
            Shows::Run { .. }
            | Shows::Rehearsal
            | Shows::Registration
            | Shows::Group
            | Shows::Amendment(..)
            | Shows::Watching => {
                assert!(acts(&witness), "`{}` acts nowhere:\n{}", witness.property, witness.contract);
            }
        }
    }
    let key = |row: &Witness| if let Shows::Inert { key, .. } = row.shows { Some(key) } else { None };
    let inert: BTreeSet<&str> = rows::all().iter().filter_map(key).collect();
    report(&inert);
    // A single word that does nothing has its own row in the reader's tests; the key itself acts.
    let expected = keys::INERT.iter().filter(|key| key.value.is_none()).map(|key| key.path);
    assert_eq!(inert, expected.collect(), "inert keys");
    let shown: BTreeSet<&str> = rows::all().iter().filter(|row| matches!(row.shows, Shows::Hosts)).map(name).collect();
    assert_eq!(shown, BY_HOSTS.iter().copied().collect(), "what hosts show");
}

/// Whether the two contracts come to different verdicts, records or answers.
fn acts(witness: &Witness) -> bool {
    let (left, right) = witness.texts();
    let (left, right) = (witness.outcome(&left), witness.outcome(&right));
    // A rule that cannot be evaluated would differ from its absence without ever having acted.
    let judged = format!("{left}{right}");
    assert!(!judged.contains("POLICY_ERROR"), "`{}`: {judged}", witness.property);
    left != right
}

/// Keys that are read, proved and kept, and that nobody looks at: the walk must say so.
#[cfg(feature = "bugs")]
#[test]
fn a_key_that_nobody_reads_is_seen() {
    use values::bugs::{Bug, with};
    let watched: Vec<Witness> = rows::all().into_iter().filter(|row| matches!(row.shows, Shows::Watching)).collect();
    assert!(watched.len() > 20, "{}", watched.len());
    for witness in &watched {
        assert!(acts(witness), "`{}` acts nowhere", witness.property);
        assert!(!with(Bug::SettingsUnread, || acts(witness)), "`{}` acts unread", witness.property);
    }
}

/// The short form and what it expands to are one contract: same digest, same outcomes.
#[test]
fn the_full_form_of_a_witness_means_the_same() {
    for witness in rows::all().iter().filter(|witness| matches!(witness.shows, Shows::Run { .. })) {
        let (left, right) = witness.texts();
        for text in [left, right] {
            let full = loaded(witness.property, &text).compiled.contract.to_json().to_canonical();
            assert_eq!(witness.outcome(&text), witness.outcome(&full), "{}: {text}", witness.property);
        }
    }
}

/// The walk itself must see what it is there to see.
#[test]
fn differences_are_named_and_counted() {
    let published = Published::read();
    let check = |left: &str, right: &str, expected: &[&str]| {
        let [left, right] = [left, right].map(|text| engines::yaml::parse(text).expect("it is YAML").to_json());
        let found = published.differences(&left, &right);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    };
    check(
        "actions: { a: { limits: { x: { max: 1 } } } }",
        "actions: { a: { limits: { x: { max: 2 } } } }",
        &["limit.max"],
    );
    check(
        "actions: { a: { limits: { x: { max: 1 } } } }",
        "actions: { a: { limits: { y: { max: 1 } } } }",
        &["action.limits"],
    );
    check(
        "{ id: a, mode: observe, budget: { max: 1 } }",
        "{ id: b, budget: { max: 2 } }",
        &["budget.max", "contract.id", "contract.mode"],
    );
    check(
        "tests: { rows: [ { name: a, expect: A } ] }",
        "tests: { rows: [ { name: b, expect: B } ] }",
        &["test_row.expect", "test_row.name"],
    );
    check("{ id: a, ix: 1 }", "{ id: a, ix: 2 }", &["contract.ix"]);
    assert_eq!(published.properties().iter().filter(|name| name.contains('/')).count(), 0, "every object has a name");
}

fn check_refused(witness: &Witness, left: &str, right: &str) {
    loaded(witness.property, left);
    assert!(engines::load::load(right).is_err(), "`{}` acts nowhere: {right}", witness.property);
    let reason = REFUSED.iter().find(|(property, _)| *property == witness.property);
    assert!(reason.is_some(), "`{}` has more than one legal value and needs a better witness", witness.property);
}

fn check_inert(witness: &Witness, key: &str, left: &str, right: &str) {
    let said = |text: &str| {
        let node = engines::yaml::parse(text).expect("it is YAML");
        let inert = read(&node).expect("it reads").inert;
        let kinds = inert.iter().map(|found| (found.path.clone(), found.code, found.severity == Severity::Inert));
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(said(left), [(key.to_owned(), "NOT_ENFORCED_YET", true)], "{left}");
    // A key inside of one that does nothing leaves that one behind when it goes.
    let holder = if key.ends_with(witness.property.rsplit('.').next().unwrap_or_default()) { 0 } else { 1 };
    assert_eq!(said(right).len(), holder, "{right}");
    assert_eq!(witness.outcome(left), witness.outcome(right), "`{}` acts by now", witness.property);
}

fn document(witness: &Witness, text: &str) -> Json {
    engines::yaml::parse(text).unwrap_or_else(|fault| panic!("{}: {fault}\n{text}", witness.property)).to_json()
}

fn name(witness: &Witness) -> &'static str {
    witness.property
}

#[expect(clippy::disallowed_macros, reason = "the list of what does nothing yet is part of the answer")]
fn report(inert: &BTreeSet<&str>) {
    println!("inert: {}", inert.iter().copied().collect::<Vec<_>>().join(", "));
}

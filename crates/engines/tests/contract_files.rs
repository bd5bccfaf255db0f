//! Contracts as people write them: the normative files load as they stand, and errors point at the right place.

use engines::yaml;
use kernel::contract::read::{Reading, read};
use kernel::contract::source::Node;
use std::path::{Path, PathBuf};

/// A file of the shared cases, wherever above this crate they lie.
#[expect(clippy::disallowed_methods, reason = "a test reads its cases from disk")]
fn shared(name: &str) -> Option<String> {
    let mut places = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|above| above.join("shared").join(name));
    let found: Option<PathBuf> = places.find(|path| path.is_file());
    found.and_then(|path| std::fs::read_to_string(path).ok())
}

fn load(text: &str) -> Result<Reading, String> {
    let node = yaml::parse(text).map_err(|fault| fault.to_string())?;
    read(&node).map_err(|faults| faults.iter().map(|fault| format!("{fault}\n")).collect())
}

/// The reading of a shared contract, whose full form must be the same contract again.
#[expect(clippy::panic, clippy::expect_used, reason = "only tests call it")]
fn load_shared(name: &str) -> Option<Reading> {
    let Some(text) = shared(name) else {
        report_skipped();
        return None;
    };
    let reading = load(&text).unwrap_or_else(|faults| panic!("{faults}"));
    let again = read(&Node::from_json(&reading.contract.to_json())).expect("the full form loads");
    assert_eq!(again.contract, reading.contract);
    assert_eq!(again.contract.digest(), reading.contract.digest());
    Some(reading)
}

#[expect(clippy::disallowed_macros, reason = "a skipped test must say so")]
fn report_skipped() {
    println!("skipped: shared cases not present");
}

#[test]
fn the_small_contract_loads() {
    let Some(reading) = load_shared("contract-small.yaml") else { return };
    assert_eq!(reading.warnings, []);
    assert_eq!(reading.inert, []);
    let refund = &reading.contract.actions["issue_refund"];
    assert_eq!(refund.allow.as_deref(), Some("params.amount <= 25"));
    assert_eq!(refund.ask[0].when, "params.amount <= 50");
    assert_eq!(refund.limits["amount"].unit.as_deref(), Some("EUR"));
    assert_eq!(reading.contract.escalation.approvers, ["refund-desk"]);
    let tests = reading.tests.expect("it carries tests");
    assert_eq!(tests.rows.len(), 7);
    assert_eq!(tests.rows[1].expect.codes, ["NOT_ALLOWED"]);
}

#[test]
fn the_full_contract_loads() {
    let Some(reading) = load_shared("contract-example.yaml") else { return };
    assert_eq!(reading.warnings, []);
    let inert: Vec<(&str, usize)> = reading.inert.iter().map(|inert| (inert.path.as_str(), inert.place.line)).collect();
    assert_eq!(inert, [("parent", 10), ("priority", 11), ("wake_when", 23), ("monitors", 73)]);
    assert_eq!(reading.contract.version.to_string(), "1.4.0");
    assert_eq!(reading.contract.drift.len(), 2);
    assert_eq!(reading.tests.expect("it carries tests").rows.len(), 10);
}

#[test]
fn errors_point_at_what_was_written() {
    let check = |text: &str, expected: &[&str]| {
        let faults = load(text).err().unwrap_or_default();
        assert_eq!(faults.lines().collect::<Vec<_>>(), expected, "{text}");
    };
    check(
        "agent: bot\nactions:\n  pay:\n    parms: { a: text }\n    once: 'k:{a}'\n",
        &["CONTRACT_INVALID: unknown key `parms` in `actions.pay` (line 4, column 5)"],
    );
    check(
        "agent: bot\nactions:\n  pay:\n    params: { amount: money EUR }\n    budget: { sum: amont, max: 5, per: 24h }\n    limits: { amount: { min: 5, max: 1 } }\n",
        &[
            "CONTRACT_INVALID: the action has no param `amont` (line 5, column 15)",
            "CONTRACT_INVALID: `min` (5) is above `max` (1) (line 6, column 15)",
        ],
    );
    check(
        "agent: bot\nactions: [",
        &[
            "CONTRACT_INVALID: this is not YAML: while parsing a node, did not find expected node content (line 3, column 1)",
        ],
    );
}

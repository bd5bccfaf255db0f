//! What the properties found, each as a row: these must never come back.

use crate::contracts::{Made, made};
use engines::load::load;
use kernel::json::Json;

fn contract(text: &str) -> Made {
    let loaded = load(text).unwrap_or_else(|errors| panic!("{errors:#?}"));
    made(&loaded.compiled.contract.to_json()).expect("the full form loads")
}

fn check(text: &str, lines: &[(&str, &str)]) {
    let contract = contract(text);
    let mut run = crate::start(&contract.compiled, None);
    for (number, (members, expected)) in (1..).zip(lines) {
        let line = format!(r#"{{"agent":"bot","action":"pay",{members}}}"#);
        let done = run.judge(number, line.as_bytes());
        let said = format!("{} {}", done.answer.verdict.word(), done.answer.reasons().join(", "));
        assert!(said.starts_with(expected), "{line}: {said}, not {expected}");
    }
}

/// A line that came late found its window emptied by a later one and could take the budget twice.
#[test]
fn a_late_line_takes_from_the_window_it_falls_into() {
    let text = "agent: bot\nactions: { pay: { params: { fee: number }, budget: { sum: fee, max: 5, per: 1h } } }";
    check(
        text,
        &[
            (r#""params":{"fee":1},"created_at":"2026-01-01T00:00:00Z""#, "ACCEPT"),
            (r#""params":{"fee":2},"created_at":"2026-01-01T01:00:00Z""#, "ACCEPT"),
            (r#""params":{"fee":3},"created_at":"2026-01-01T00:00:00Z""#, "REJECT BUDGET_EXCEEDED"),
        ],
    );
}

/// The short type `decimal` was no number to limits, so that a limit refused every proposal.
#[test]
fn decimal_text_has_limits() {
    let text = "agent: bot\nactions:\n  pay:\n    params: { price: decimal, change: optional signed decimal }\n    \
                limits: { price: { max: 10 } }\n    budget: { sum: price, max: 12, per: 1h }";
    check(
        text,
        &[
            (r#""params":{"price":"10.01","change":"1"}"#, "REJECT LIMIT_EXCEEDED"),
            (r#""params":{"price":"1e1","change":"1"}"#, "REJECT PARAM_INVALID"),
            (r#""params":{"price":"-1","change":"1"}"#, "REJECT LIMIT_BELOW_MINIMUM"),
            (r#""params":{"price":"10.00","change":"-0.5"}"#, "ACCEPT"),
            (r#""params":{"price":"2.01","change":"-0.5"}"#, "REJECT BUDGET_EXCEEDED"),
        ],
    );
}

/// A secret whose name contains a point was recorded as it was.
#[test]
fn a_secret_may_have_a_point_in_its_name() {
    let text = r#"{"agent":"bot","actions":{"pay":{"params":{"type":"object","properties":
        {"card.pin":{"type":"string","secret":true}}},"limits":{"card.pin":{"denied":["0000"]}}}}}"#;
    let contract = contract(text);
    for pin in ["4711", "0000"] {
        let line = format!(r#"{{"agent":"bot","action":"pay","params":{{"card.pin":"{pin}"}}}}"#);
        let done = crate::start(&contract.compiled, None).judge(1, line.as_bytes());
        let shown = |json: &Json| json.get("params").or(json.get("proposal")?.get("params")).map(Json::to_canonical);
        let records: Vec<Json> = done.records.iter().map(kernel::record::Record::body).collect();
        for said in records.iter().chain(&done.answer.intent.map(|intent| intent.to_json())) {
            assert!(!shown(said).expect("params are shown").contains(pin), "{}", said.to_canonical());
        }
    }
}

/// What a read reserved was checked and never held.
#[test]
fn a_read_reserves_nothing() {
    let text = "agent: bot\nresources: { pool: { kind: slots, capacity: 1 } }\nactions:\n  \
                look: { reads: true, reserves: [ { resource: pool, amount: 1 } ] }";
    let errors = load(text).expect_err("it is refused");
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["actions.look.reserves"]);
}

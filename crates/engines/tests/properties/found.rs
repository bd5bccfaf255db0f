//! What the properties found, and what they would hardly meet by chance, each as a row.

use crate::contracts::{Made, made};
use engines::load::load;
use values::json::Json;

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

/// No value reaches over its place in a key: two effects stay two, and one stays one.
#[test]
fn effects_are_told_apart_by_all_their_values() {
    let text = "agent: bot\nactions: { pay: { params: { payee: text, kind: text }, once: \"a:{payee}:{kind}\" } }";
    check(
        text,
        &[
            (r#""params":{"payee":"a:b","kind":"c"}"#, "ACCEPT"),
            (r#""params":{"payee":"a","kind":"b:c"}"#, "ACCEPT"),
            (r#""params":{"payee":"a%3Ab","kind":"c"}"#, "ACCEPT"),
            (r#""params":{"kind":"c","payee":"a\u003ab"}"#, "REJECT IN_PROGRESS"),
        ],
    );
}

/// Asking for the same effect again is no failed attempt.
#[test]
fn duplicates_are_no_retries() {
    let text =
        "agent: bot\nproposal: { retries: 1 }\nactions: { pay: { params: { payee: text }, once: \"a:{payee}\" } }";
    check(
        text,
        &[
            (r#""flow":"f","params":{"payee":"ann"}"#, "ACCEPT"),
            (r#""flow":"f","params":{"payee":"ann"}"#, "REJECT IN_PROGRESS"),
            (r#""flow":"f","params":{"payee":"ann"}"#, "REJECT IN_PROGRESS"),
            (r#""flow":"f","params":{"payee":"bob"}"#, "ACCEPT"),
            (r#""flow":"f","params":{}"#, "REJECT PARAM_MISSING"),
            (r#""flow":"f","params":{"payee":"cy"}"#, "REJECT REASONING_EXHAUSTION"),
        ],
    );
}

/// One code, two gates, another between them: it is named once.
#[test]
fn reasons_are_named_once() {
    let text = "agent: bot\nproposal: { confidence: { reject_below: 0.5 } }\nactions:\n  \
                pay: { params: { amount: number, fee: number }, limits: { fee: { max: 1 } } }";
    check(text, &[(r#""params":{"fee":2}"#, "REJECT PARAM_MISSING, LIMIT_EXCEEDED")]);
    let contract = contract(text);
    let line = br#"{"agent":"bot","action":"pay","params":{"fee":2}}"#;
    let answer = crate::start(&contract.compiled, None).judge(1, line).answer;
    assert_eq!(answer.reasons(), ["PARAM_MISSING", "LIMIT_EXCEEDED"]);
    assert_eq!(answer.findings.len(), 3, "shape and confidence both miss something");
}

/// One rule beside another takes nothing away from it.
#[test]
fn rules_stand_beside_each_other() {
    let text = "agent: bot\nactions:\n  pay:\n    params: { amount: number, kind: text }\n    \
                limits: { kind: { allowed: [ late, odd ], denied: [ odd ] } }\n    \
                refuse: [ { when: amount > 50 } ]\n    ask: [ { when: amount > 20 } ]";
    check(
        text,
        &[
            (r#""params":{"amount":10,"kind":"late"}"#, "ACCEPT"),
            (r#""params":{"amount":10,"kind":"lost"}"#, "REJECT VALUE_NOT_ALLOWED"),
            (r#""params":{"amount":10,"kind":"odd"}"#, "REJECT VALUE_DENIED"),
            (r#""params":{"amount":30,"kind":"late"}"#, "ESCALATE NEEDS_APPROVAL"),
            (r#""params":{"amount":60,"kind":"late"}"#, "REJECT NOT_ALLOWED"),
            (r#""params":{"amount":-1,"kind":"late"}"#, "REJECT LIMIT_BELOW_MINIMUM"),
        ],
    );
}

/// The first `allow` beside questions lets pass what was only asked: a child must not gain by it.
#[test]
fn a_child_may_not_allow_what_its_parent_asks() {
    let asks = "agent: bot\nactions: { pay: { params: { amount: number }, ask: amount > 5 } }";
    let allows = asks.replace("ask:", "allow: \"true\", ask:");
    let line = r#""params":{"amount":9}"#;
    check(asks, &[(line, "ESCALATE NEEDS_APPROVAL")]);
    check(&allows, &[(line, "ACCEPT")]);
    let [parent, child] = [asks, &allows].map(|text| contract(text).compiled.contract.clone());
    assert!(kernel::contract::attenuate::attenuate(&child, &parent).is_err());
    assert!(kernel::contract::attenuate::attenuate(&parent, &parent).is_ok());
}

/// What is denied is found however deep it lies.
#[test]
fn nothing_hides_inside() {
    let text = r#"{"agent":"bot","actions":{"pay":{"params":{"type":"object","properties":{"any":{}}},
        "limits":{"any":{"denied":["x"]}}}}}"#;
    check(
        text,
        &[
            (r#""params":{"any":[["y"],{"z":"xx"}]}"#, "ACCEPT"),
            (r#""params":{"any":[["y",["X"]]]}"#, "REJECT VALUE_DENIED"),
            (r#""params":{"any":{"x":1}}"#, "REJECT VALUE_DENIED"),
            (r#""params":{"any":[{"y":[-1]}]}"#, "REJECT LIMIT_BELOW_MINIMUM"),
        ],
    );
}

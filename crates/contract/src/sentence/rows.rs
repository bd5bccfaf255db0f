//! Rows of sentences over contracts of many shapes.

use super::*;
use crate::read::read;
use crate::source::Node;

/// The sentence about `pay`, whose members are given.
fn check(members: &str, expected: &str) {
    check_in("", members, &[&format!("pay: {expected}")]);
}

fn check_in(top: &str, members: &str, expected: &[&str]) {
    let params = r#""params": {"order_id": "text", "amount": "money EUR", "n": "number", "t": "text"}"#;
    let text = format!(r#"{{"agent": "bot"{top}, "actions": {{"pay": {{{params}{members}}}}}}}"#);
    let node = Node::from_json(&Json::parse(text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal} {text}")));
    let reading = read(&node).unwrap_or_else(|errors| panic!("{errors:?} {text}"));
    let found: Vec<String> = sentences(&reading.contract).iter().map(Sentence::to_string).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn the_sentence_of_a_refund() {
    check(
        r#", "allow": "amount <= 25", "ask": "amount <= 50", "budget": {"sum": "amount", "max": 500, "per": "24h"},
           "once": "refund:{order_id}""#,
        "passes when amount <= 25; a person is asked when amount <= 50; otherwise refused; \
         at most 500 EUR per 24 h; once per order",
    );
}

#[test]
fn what_passes_and_what_is_asked() {
    check("", "passes with any params that fit");
    check(r#", "allow": true"#, "passes with any params that fit");
    check(r#", "allow": "n < 2""#, "passes when n < 2; otherwise refused");
    check(r#", "allow": "false""#, "always refused");
    check(r#", "ask": "n > 2""#, "a person is asked when n > 2; otherwise refused");
    check(r#", "ask": "true""#, "a person is always asked");
    check(r#", "allow": "n < 2", "ask": "true""#, "passes when n < 2; otherwise a person is asked");
    check(r#", "allow": "true", "ask": "n > 2""#, "passes with any params that fit");
    check(
        r#", "allow": "n < 2", "ask": {"zone": [{"when": "n < 5"}, {"when": "t == 'x'", "reason": "ODD_TEXT"}]}"#,
        "passes when n < 2; a person is asked when n < 5 or when t == 'x' (ODD_TEXT); otherwise refused",
    );
}

#[test]
fn triggers_come_before_allow() {
    check(r#", "ask": [{"when": "n > 2"}]"#, "a person is asked when n > 2; otherwise passes");
    check(
        r#", "allow": "n < 9", "ask": [{"when": "n > 2", "reason": "LARGE"}]"#,
        "a person is asked when n > 2 (LARGE); passes when n < 9; otherwise refused",
    );
    check(r#", "allow": "false", "ask": [{"when": "n > 2"}]"#, "a person is asked when n > 2; otherwise refused");
    check(r#", "allow": "n < 9", "ask": [{"when": "true"}]"#, "a person is always asked");
    check(
        r#", "ask": [{"when": "n > 2"}, {"when": "n < 1", "reason": "SMALL"}, {"when": "t == 'x'"}]"#,
        "a person is asked when n > 2, when n < 1 (SMALL) or when t == 'x'; otherwise passes",
    );
}

#[test]
fn what_is_refused_first() {
    check(
        r#", "refuse": [{"when": "n > 9"}, {"when": "state.risk > 0.8", "reason": "RISKY"}], "allow": "n < 2""#,
        "refused when n > 9; refused when state.risk > 0.8 (RISKY); passes when n < 2; otherwise refused",
    );
    check(r#", "refuse": "true", "allow": "n < 2""#, "always refused");
}

#[test]
fn expressions_read_as_people_write_them() {
    check(
        r#", "allow": "amount <=\n   25 && t != 'params.amount' && state.amount > params.n""#,
        "passes when amount <= 25 && t != 'params.amount' && state.amount > n; otherwise refused",
    );
}

#[test]
fn limits_and_sets() {
    let any = |limits: &str, expected: &str| {
        check(&format!(r#", "limits": {{{limits}}}"#), &format!("passes with any params that fit; {expected}"));
    };
    any(r#""amount": {"min": 0.01, "max": 50}"#, "amount from 0.01 to 50 EUR");
    any(r#""amount": {"min": 1}"#, "amount at least 1 EUR");
    any(r#""n": {"max": 5, "signed": true}"#, "n at most 5; n may be negative");
    any(r#""t": {"allowed": ["late", "lost", 5]}"#, "t only late, lost or 5");
    any(r#""t": {"denied": ["x"]}"#, "t never is x");
    any(r#""t": {"denied": ["x", "y"], "match": "substring"}"#, "t never contains x or y");
    any(r#""t": {"script": "single"}"#, "t in letters of one script");
    any(r#""n": {"state": "prices/{t}"}"#, "n equals state prices/{t}");
    any(r#""n": {"state": {"key": "p", "tolerance": {"percent": 2}}}"#, "n within 2 % of state p");
    any(r#""n": {"state": {"key": "p", "tolerance": {"absolute": 2}}}"#, "n within 2 of state p");
}

#[test]
fn budgets_reservations_and_keys() {
    let any = |members: &str, expected: &str| {
        check(&format!(", {members}"), &format!("passes with any params that fit; {expected}"));
    };
    any(r#""budget": {"count": true, "max": 20, "per": "1h"}"#, "at most 20 times per 1 h");
    any(r#""budget": {"count": true, "max": 1, "per": "90s"}"#, "at most once per 90 s");
    any(r#""budget": {"sum": "n", "max": 20, "per": "7d"}"#, "at most 20 of n per 7 d");
    any(
        r#""limits": {"n": {"unit": "EUR"}}, "budget": {"sum": "n", "max": 20, "per": "2h"}"#,
        "at most 20 EUR of n per 2 h",
    );
    any(r#""once": "fixed""#, "once, ever");
    any(r#""once": "a:{order_id}/{t}""#, "once per order and t");
    let pool = r#", "resources": {"pool": {"kind": "stock", "capacity": 60, "unit": "EUR"}, "desk": {"kind": "slots", "capacity": 2}}"#;
    let reserves = r#", "reserves": [{"resource": "pool", "amount": "amount"}, {"resource": "desk", "amount": 1}]"#;
    let taken = "pay: passes with any params that fit; takes amount from pool (60 EUR in stock); takes 1 from desk (2 at a time)";
    check_in(pool, reserves, &[taken]);
}

#[test]
fn origins_plugins_and_undo() {
    let any = |members: &str, expected: &str| {
        check(&format!(", {members}"), &format!("passes with any params that fit; {expected}"));
    };
    any(r#""from": {"t": ["user", "state", "tool"]}"#, "t only from the user, state or tool output");
    any(r#""undo": {"kind": "REVERT", "http": "POST http://h/r", "within": "24h"}"#, "can be reverted within 24 h");
    any(r#""undo": "CLOSE_ALL""#, "undone together with its flow");
    any(r#""undo": "NOOP""#, "leaves nothing to undo");
    any(r#""leases": "t""#, "no path in t may be leased to another");
    any(
        r#""limits": {"n": {"max": 50}}, "amendable": {"n": {"max": {"floor": 10, "ceiling": 80}, "ttl": "8h"}}"#,
        "n at most 50; an operator may set the maximum of n between 10 and 80 for 8 h at most",
    );
    let plugins = r#", "validators": {"iban": ["a"]}, "judges": {"tone": ["b"]}"#;
    let asked = r#", "validators": "iban", "judges": "tone""#;
    let said = "pay: passes with any params that fit; the validator iban must agree; the judge tone may ask a person";
    check_in(plugins, asked, &[said]);
}

#[test]
fn roles_reads_and_what_holds_for_all() {
    check(r#", "reads": true"#, "only reads; passes with any params that fit");
    check_in(r#", "role": "MONITOR""#, "", &["pay: always refused, because a monitor has no effects"]);
    check_in(
        r#", "proposal": {"confidence": {"reject_below": 0.4, "escalate_below": 0.7}, "context_max_age": "60s"},
            "budgets": [{"count": true, "max": 200, "per": "1h"}, {"sum": "amount", "max": 9, "per": "1h"}],
            "drift": {"price": {"percent": 2}}, "policies": "forbid (principal, action, resource);""#,
        "",
        &[
            "every proposal: refused when confidence < 0.4; a person is asked when confidence < 0.7; \
             at most 200 times per 1 h over all actions; at most 9 EUR of amount per 1 h over all actions; \
             what the agent saw is at most 1 min old; refused when state price moved by more than 2 %; \
             refused when a policy forbids it",
            "pay: passes with any params that fit",
        ],
    );
}

#[test]
fn hostile_words_stay_on_one_line_and_long_rules_are_cut() {
    check(r#", "limits": {"t": {"denied": ["a\nb"]}}"#, "passes with any params that fit; t never is a\\u{a}b");
    let long = format!("n < {}", "1 + ".repeat(60));
    let shown: String = long.chars().take(160).collect();
    check(&format!(r#", "allow": "{long}1""#), &format!("passes when {shown}…; otherwise refused"));
}

#[test]
fn an_action_without_params_just_passes() {
    let text = br#"{"agent": "bot", "actions": {"ping": {}}}"#;
    let reading = read(&Node::from_json(&Json::parse(text).unwrap())).unwrap();
    assert_eq!(sentences(&reading.contract)[0].to_string(), "ping: passes");
}

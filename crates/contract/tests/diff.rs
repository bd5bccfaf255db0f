//! What a change of a contract does to what it allows.

#![expect(clippy::panic, reason = "a test that cannot go on fails")]

use contract::{read::read, source::Node};
use kernel::contract::Contract;
use kernel::contract::diff::{Change, Effect, diff};
use values::json::Json;

fn written(action: &str, top: &str) -> Contract {
    let text = format!(
        r#"{{"agent": "bot"{top}, "actions": {{"pay": {{"params": {{"a": "number", "t": "text"}}{action}}}}}}}"#
    );
    let node = Node::from_json(&Json::parse(text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal} {text}")));
    read(&node).unwrap_or_else(|errors| panic!("{errors:?}")).contract
}

/// Both directions: the way back must be the opposite.
fn check(old: (&str, &str), new: (&str, &str), expected: &[&str]) {
    let (old, new) = (written(old.0, old.1), written(new.0, new.1));
    let shown = |changes: &[Change]| -> Vec<String> {
        changes.iter().map(|change| format!("{} {}", change.effect.word(), change.path)).collect()
    };
    let forth = diff(&old, &new);
    assert_eq!(shown(&forth), expected);
    let back: Vec<Effect> = diff(&new, &old).iter().map(|change| change.effect.opposite()).collect();
    assert_eq!(back, forth.iter().map(|change| change.effect).collect::<Vec<_>>(), "the way back");
    assert_eq!(diff(&old, &old), []);
}

fn check_action(old: &str, new: &str, expected: &str) {
    check((old, ""), (new, ""), &[expected]);
}

fn check_top(old: &str, new: &str, expected: &str) {
    check(("", old), ("", new), &[expected]);
}

#[test]
fn limits() {
    let max = |max: u32| format!(r#", "limits": {{"a": {{"max": {max}}}}}"#);
    check_action(&max(50), &max(80), "widens actions.pay.limits.a.max");
    check_action("", &max(80), "narrows actions.pay.limits.a");
    check_action("", r#", "limits": {"a": {"max": 5, "signed": true}}"#, "unclear actions.pay.limits.a");
    let min = |min: u32| format!(r#", "limits": {{"a": {{"min": {min}}}}}"#);
    check_action(&min(1), &min(2), "narrows actions.pay.limits.a.min");
    let allowed = |words: &str| format!(r#", "limits": {{"t": {{"allowed": [{words}]}}}}"#);
    check_action(&allowed(r#""x""#), &allowed(r#""x", "y""#), "widens actions.pay.limits.t.allowed");
    check_action(&allowed(r#""x""#), &allowed(r#""y""#), "unclear actions.pay.limits.t.allowed");
    let denied = |words: &str| format!(r#", "limits": {{"t": {{"denied": [{words}]}}}}"#);
    check_action(&denied(r#""x""#), &denied(r#""x", "y""#), "narrows actions.pay.limits.t.denied");
}

#[test]
fn rules() {
    let allow = |text: &str| format!(r#", "allow": "{text}""#);
    check_action(&allow("a <= 25"), &allow("a <= 50"), "widens actions.pay.allow");
    check_action(&allow("a <= 25"), &allow("t == 'x'"), "unclear actions.pay.allow");
    check_action("", &allow("a <= 25"), "narrows actions.pay.allow");
    let refuse = r#", "refuse": "a > 5""#;
    check_action("", refuse, "narrows actions.pay.refuse.NOT_ALLOWED when params.a > 5");
    let ask = r#", "ask": [{"when": "a > 5"}]"#;
    check_action("", ask, "narrows actions.pay.ask.NEEDS_APPROVAL when params.a > 5");
    let both = format!(r#"{}{ask}"#, allow("a <= 1"));
    check_action(&allow("a <= 1"), &both, "unclear actions.pay.ask.NEEDS_APPROVAL when params.a > 5");
    let zone = |allow: &str| format!(r#", "allow": "{allow}", "ask": "a > 5""#);
    check_action(&allow("a <= 1"), &zone("a <= 1"), "widens actions.pay.ask.zone");
    check_action(&zone("a <= 1"), &zone("a <= 2"), "widens actions.pay.allow");
}

#[test]
fn allow_and_ask_are_judged_together() {
    let check = |old: &str, new: &str, expected: &[&str]| {
        let found = diff(&written(old, ""), &written(new, ""));
        let found: Vec<String> =
            found.iter().map(|change| format!("{} {}", change.effect.word(), change.path)).collect();
        assert_eq!(found, expected, "{old} {new}");
    };
    let (one, two) = (r#"{"when": "a > 5"}"#, r#"{"when": "a > 9"}"#);
    let ask = |rules: &str| format!(r#", "ask": [{rules}]"#);
    let with = |allow: &str, ask: &str| format!(r#", "allow": "{allow}"{ask}"#);
    let (first, second) =
        ("actions.pay.ask.NEEDS_APPROVAL when params.a > 5", "actions.pay.ask.NEEDS_APPROVAL when params.a > 9");
    // The question is asked inside `allow` too.
    check(&ask(one), &with("true", &ask(one)), &["narrows actions.pay.allow"]);
    check(&ask(one), &with("a < 1", &ask(one)), &["narrows actions.pay.allow"]);
    check(&ask(one), &with("true", ""), &["narrows actions.pay.allow", &format!("unclear {first}")]);
    // A zone is not: what was asked about may pass now.
    let zone = r#", "ask": "a > 5""#;
    let becomes = ["widens actions.pay.allow", &format!("unclear {first}"), "unclear actions.pay.ask.zone"];
    check(&ask(one), &with("a < 1", zone), &becomes);
    check("", zone, &["narrows actions.pay.allow", "narrows actions.pay.ask.zone"]);
    check(&with("a < 1", ""), &with("a < 1", &ask(one)), &[&format!("unclear {first}")]);
    check(&with("false", ""), &with("false", &ask(one)), &[&format!("widens {first}")]);
    // Everything passed before.
    check("", &with("a < 1", &ask(one)), &["narrows actions.pay.allow", &format!("narrows {first}")]);
    check(&with("a < 1", &ask(one)), &ask(one), &["widens actions.pay.allow"]);
    let both = ask(&format!("{one}, {two}"));
    check(&with("a < 1", &both), &with("a < 1", &ask(one)), &[&format!("unclear {second}")]);
    check(&both, &ask(one), &[&format!("widens {second}")]);
    check(&with("a < 1", &ask(one)), &with("false", &ask(one)), &["unclear actions.pay.allow"]);
    check(&with("a < 1", ""), &with("false", ""), &["narrows actions.pay.allow"]);
    check(&with("a < 2", &ask(one)), &with("a < 1", &ask(one)), &["narrows actions.pay.allow"]);
}

#[test]
fn budgets_origins_and_keys() {
    let budget = |max: u32| format!(r#", "budget": {{"sum": "a", "max": {max}, "per": "1h"}}"#);
    check_action(&budget(5), &budget(6), "widens actions.pay.budgets.sum a per 1h.max");
    check_action("", &budget(6), "narrows actions.pay.budgets.sum a per 1h");
    let from = |origins: &str| format!(r#", "from": {{"t": [{origins}]}}"#);
    check_action(&from(r#""user""#), &from(r#""user", "tool""#), "widens actions.pay.from.t");
    check_action("", &from(r#""user""#), "narrows actions.pay.from.t");
    check_action("", r#", "once": "k:{t}""#, "narrows actions.pay.once");
    check_action("", r#", "run": "host""#, "unclear actions.pay.run");
    let undo = r#", "undo": {"kind": "NOOP"}"#;
    check_action("", undo, "unclear actions.pay.undo.kind");
}

#[test]
fn the_contract_itself() {
    check_top("", r#", "version": "1.0.0""#, "neutral version");
    check_top("", r#", "mode": "observe""#, "widens mode");
    check_top("", r#", "proposal": {"retries": 5}"#, "widens proposal.retries");
    check_top("", r#", "proposal": {"ttl": {"max": "10m"}}"#, "widens proposal.ttl.max");
    let confidence =
        |below: &str| format!(r#", "proposal": {{"confidence": {{"reject_below": 0.1, "escalate_below": {below}}}}}"#);
    check_top(&confidence("0.2"), &confidence("0.3"), "narrows proposal.confidence.escalate_below");
    check_top("", r#", "role": "STRATEGIST""#, "narrows role");
    check_top(r#", "role": "INTERFACE""#, r#", "role": "MONITOR""#, "widens role");
    let timeout = |members: &str| format!(r#", "escalation": {{"timeout": {{"after": "3h"{members}}}}}"#);
    check_top("", &timeout(""), "widens escalation.timeout.after");
    check_top(&timeout(""), &timeout(r#", "remind": "1h""#), "neutral escalation.timeout.remind");
    let rerouted = timeout(r#", "reroute": "1h", "to": "b""#);
    let both = ["widens escalation.timeout.reroute", "widens escalation.timeout.to"];
    check(("", &timeout("")), ("", &rerouted), &both);
    check_top("", r#", "escalation": {"quorum": 2}"#, "narrows escalation.quorum");
    check_top("", r#", "escalation": {"signed": true}"#, "narrows escalation.signed");
    check_top(r#", "escalation": {"signed": true}"#, "", "widens escalation.signed");
    check_top("", r#", "escalation": {"valid_after": "1h"}"#, "widens escalation.valid_after");
    check_top(r#", "approvers": ["a"]"#, r#", "approvers": ["a", "b"]"#, "widens escalation.approvers");
    check_top("", r#", "drift": {"k/{t}": "exact"}"#, "narrows drift.k/{t}");
    check_top(r#", "drift": {"k/{t}": "exact"}"#, r#", "drift": {"k/{t}": {"percent": 2}}"#, "widens drift.k/{t}");
    let policies = |text: &str| format!(r#", "policies": "{text}""#);
    check_top(&policies("forbid a;"), &policies("forbid a; forbid b;"), "narrows policies");
}

#[test]
fn schemas() {
    let schema = |closed: bool, properties: &str| {
        let text = format!(
            r#"{{"agent": "bot", "actions": {{"pay": {{"params": {{"type": "object", "additionalProperties": {}, "properties": {{{properties}}}}}}}}}}}"#,
            !closed
        );
        read(&Node::from_json(&Json::parse(text.as_bytes()).unwrap())).unwrap().contract
    };
    let check = |old: Contract, new: Contract, expected: &str| {
        let found = diff(&old, &new);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(format!("{} {}", found[0].effect.word(), found[0].path), expected);
    };
    let (none, long, short) = ("", r#""description": {"maxLength": 9}"#, r#""description": {"maxLength": 5}"#);
    check(schema(true, none), schema(true, short), "widens actions.pay.params.properties.description");
    check(schema(false, none), schema(false, short), "unclear actions.pay.params.properties.description");
    let length = "widens actions.pay.params.properties.description.maxLength";
    check(schema(true, short), schema(true, long), length);
    check(schema(true, none), schema(false, none), "widens actions.pay.params.additionalProperties");
    let pattern = r#""patternProperties": {"^d": {}}, "additionalProperties": false, "type": "object""#;
    let patterned = |properties: &str| {
        let text = format!(
            r#"{{"agent": "bot", "actions": {{"pay": {{"params": {{{pattern}, "properties": {{{properties}}}}}}}}}}}"#
        );
        read(&Node::from_json(&Json::parse(text.as_bytes()).unwrap())).unwrap().contract
    };
    check(patterned(short), patterned(none), "unclear actions.pay.params.properties.description");
    let not = |length: u32| format!(r#""a": {{"not": {{"maxLength": {length}}}}}"#);
    check(schema(true, &not(5)), schema(true, &not(9)), "unclear actions.pay.params.properties.a.not.maxLength");
}

#[test]
fn actions_added_and_removed() {
    let one = written("", "");
    let mut two = one.clone();
    two.actions.insert("look".to_owned(), one.actions["pay"].clone());
    let found = diff(&one, &two);
    assert_eq!((found.len(), found[0].path.as_str(), found[0].effect), (1, "actions.look", Effect::Widens));
}

#[test]
fn monitors_and_groups() {
    let watch = |line: &str| format!(r#", "watch": {{"size": {{{line}}}}}"#);
    let mean = |more: &str| watch(&format!(r#""mean": "params.a", "max": 10, {more}"#));
    let plain = mean(r#""over": 5"#);
    check_top("", &plain, "narrows watch");
    let two = plain.replace("}}", r#"}, "rate": {"share": "verdict.rejected", "max": 0.5}}"#);
    check_top(&two, &plain, "widens watch.rate");
    let then = |word: &str| mean(&format!(r#""then": "{word}""#));
    for (weak, strong) in [("WARN", "NOTIFY"), ("NOTIFY", "ESCALATION_ONLY"), ("ESCALATION_ONLY", "SUSPENDED")] {
        check_top(&then(strong), &then(weak), "widens watch.size.then");
    }
    check_top(&plain, &plain.replace("10", "11"), "widens watch.size.max");
    let min = |min: u32| watch(&format!(r#""mean": "params.a", "min": {min}"#));
    check_top(&min(2), &min(1), "widens watch.size.min");
    check_top(&plain, &mean(r#""over": 5, "min": 1"#), "narrows watch.size.min");
    check_top(&plain, &mean(r#""over": 6"#), "unclear watch.size.over");
    check_top(&plain, &mean(r#""over": 5, "actions": ["pay"]"#), "unclear watch.size.actions");
    check_top(&plain, &plain.replace("params.a", "verdict.rejected"), "unclear watch.size.of");
    check_top(&plain, &plain.replace("mean", "sum"), "unclear watch.size.kind");
    let e_sr = |m0: &str| watch(&format!(r#""e_sr": "outcome.failed", "m0": {m0}"#));
    check_top(&e_sr("0.1"), &e_sr("0.2"), "unclear watch.size.m0");
    // What errs counts as 1 once there is an upper bound.
    let share = |bounds: &str| watch(&format!(r#""share": "params.a > 1", "min": 0.1{bounds}"#));
    check_top(&share(""), &share(r#", "max": 0.9"#), "unclear watch.size.max");
    check_top("", r#", "group": "g""#, "narrows group");
    check_top(r#", "group": "g""#, r#", "group": "h""#, "unclear group");
}

//! Whether a child's contract lies inside its parent's.

#![expect(clippy::panic, reason = "a test that cannot go on fails")]

use contract::{read::read, source::Node};
use kernel::contract::Contract;
use kernel::contract::attenuate::attenuate;
use values::json::Json;

fn written(agent: &str, actions: &str, top: &str) -> Contract {
    let text = format!(r#"{{"agent": "{agent}"{top}, "actions": {{{actions}}}}}"#);
    let node = Node::from_json(&Json::parse(text.as_bytes()).unwrap_or_else(|refusal| panic!("{refusal} {text}")));
    read(&node).unwrap_or_else(|errors| panic!("{errors:?}")).contract
}

fn pay(members: &str) -> String {
    format!(r#""pay": {{"params": {{"a": "number", "t": "text"}}{members}}}"#)
}

fn check(child: (&str, &str), parent: (&str, &str), expected: &str) {
    let found = attenuate(&written("child", child.0, child.1), &written("parent", parent.0, parent.1));
    assert_eq!(found.map_or_else(|fault| fault.message, |()| "inside".to_owned()), expected);
}

fn check_pay(child: &str, parent: &str, expected: &str) {
    check((&pay(child), ""), (&pay(parent), ""), expected);
}

#[test]
fn a_copy_and_a_part_are_inside() {
    check_pay("", "", "inside");
    let look = format!(r#"{}, "look": {{"reads": true}}"#, pay(""));
    check((&pay(""), ""), (&look, ""), "inside");
    check((&pay(""), r#", "role": "MONITOR", "mission": "m", "parent": "parent""#), (&pay(""), ""), "inside");
}

#[test]
fn another_action_is_named() {
    let look = format!(r#"{}, "look": {{"reads": true}}"#, pay(""));
    let found = attenuate(&written("c", &look, ""), &written("p", &pay(""), "")).unwrap_err();
    assert_eq!(found.path, "actions.look");
}

#[test]
fn limits_lie_within() {
    let max = |max: u32| format!(r#", "limits": {{"a": {{"max": {max}}}}}"#);
    check_pay(&max(40), &max(50), "inside");
    check_pay(&max(60), &max(50), "`actions.pay.limits.a.max` is `60`, wider than the parent's `50`");
    check_pay(
        "",
        &max(50),
        "`actions.pay.limits.a` is absent, wider than the parent's `{\"max\":50,\"signed\":false}`",
    );
    check_pay(&max(60), "", "inside");
}

#[test]
fn rules_are_kept() {
    let refuse = r#", "refuse": "a > 5""#;
    check_pay(refuse, "", "inside");
    check_pay(refuse, refuse, "inside");
    check_pay(
        "",
        refuse,
        "`actions.pay.refuse.NOT_ALLOWED when params.a > 5` is absent, wider than the parent's `{\"reason\":\"NOT_ALLOWED\",\"when\":\"params.a > 5\"}`",
    );
    check_pay(r#", "allow": "a < 2""#, r#", "allow": "a < 3""#, "inside");
    check_pay(
        r#", "allow": "a < 2 && true""#,
        r#", "allow": "a < 3""#,
        "`actions.pay.allow` is `params.a < 2 && true`, which cannot be shown to lie inside the parent's `params.a < 3`",
    );
    check_pay("", r#", "allow": "a < 3""#, "`actions.pay.allow` is absent, wider than the parent's `params.a < 3`");
}

#[test]
fn budgets_are_at_least_as_tight() {
    let budget = |max: u32, per: &str| format!(r#", "budget": {{"sum": "a", "max": {max}, "per": "{per}"}}"#);
    check_pay(&budget(5, "1h"), &budget(5, "1h"), "inside");
    check_pay(&budget(4, "2h"), &budget(5, "1h"), "inside");
    let problem = "`actions.pay.budgets` has nothing as tight as the parent's a sum of `a` of `5` per `1h`";
    check_pay(&budget(4, "30m"), &budget(5, "1h"), problem);
    check_pay(&budget(6, "1h"), &budget(5, "1h"), problem);
    check_pay("", &budget(5, "1h"), problem);
    check_pay(&budget(5, "1h"), "", "inside");
}

#[test]
fn questions_stay_questions() {
    let ask = r#", "ask": [{"when": "a > 5"}]"#;
    check_pay(&format!(r#", "allow": "true"{ask}"#), ask, "inside");
    let zone = r#", "allow": "true", "ask": "a > 5""#;
    check_pay(zone, ask, "`actions.pay.allow` is `true`, wider than the parent's absent");
    check_pay(r#", "allow": "a < 2""#, "", "inside");
    check_pay(&format!(r#", "allow": "a < 2"{ask}"#), "", "inside");
    check_pay(ask, "", "inside");
}

#[test]
fn a_role_does_not_rise() {
    let role = |role: &str| format!(r#", "role": "{role}""#);
    let order = ["EXECUTOR", "STRATEGIST", "MONITOR", "INTERFACE"];
    for (above, high) in order.iter().enumerate() {
        for low in &order[above..] {
            check((&pay(""), &role(low)), (&pay(""), &role(high)), "inside");
        }
        for low in &order[above + 1..] {
            let problem = format!("`role` is `{high}`, wider than the parent's `{low}`");
            check((&pay(""), &role(high)), (&pay(""), &role(low)), &problem);
        }
    }
}

#[test]
fn contract_wide_guards_keep_their_params() {
    let optional = r#""pay": {"params": {"a": "optional number", "t": "optional text"}}"#;
    let (no_a, no_t) =
        (r#""pay": {"params": {"t": "optional text"}}"#, r#""pay": {"params": {"a": "optional number"}}"#);
    let other = r#", "tip": {"params": {"a": "number", "t": "text"}}"#;
    let sum = r#", "budgets": [{"sum": "a", "max": 5, "per": "1h"}]"#;
    let drift = |tolerance: &str| format!(r#", "drift": {{"k/{{t}}": {tolerance}}}"#);
    let parent = format!("{optional}{other}");
    let lost = "the parent checks the drift of `k/{t}` for `pay`, the child not or less tightly";
    let exact = drift("\"exact\"");
    check((&format!("{no_t}{other}"), &exact), (&parent, &exact), lost);
    check((&parent, ""), (&parent, &exact), lost);
    check((&parent, &exact), (&parent, &exact), "inside");
    check((&parent, &exact), (&parent, &drift(r#"{"percent": 2}"#)), "inside");
    check((&parent, &drift(r#"{"percent": 1}"#)), (&parent, &drift(r#"{"percent": 2}"#)), "inside");
    check((&parent, &drift(r#"{"percent": 3}"#)), (&parent, &drift(r#"{"percent": 2}"#)), lost);
    check((&parent, &drift(r#"{"absolute": 1}"#)), (&parent, &drift(r#"{"percent": 2}"#)), lost);
    let open = "`budgets` has nothing as tight for `pay` as the parent's a sum of `a` of `5` per `1h`";
    check((&format!("{no_a}{other}"), sum), (&parent, sum), open);
    check((&parent, sum), (&parent, sum), "inside");
    // A budget of one action does not stand for one that all actions share.
    let own = r#""pay": {"params": {"a": "optional number", "t": "optional text"}, "budget": {"sum": "a", "max": 5, "per": "1h"}}"#;
    check((own, ""), (optional, sum), open);
    check((optional, sum), (own, ""), "inside");
    // Where nothing is left that they guard, they need not be repeated.
    let look = r#", "look": {"reads": true}"#;
    let with_look = format!("{parent}{look}");
    check((r#""look": {"reads": true}"#, ""), (&with_look, &format!("{sum}{exact}")), "inside");
}

#[test]
fn nothing_is_lost_in_silence() {
    let once = r#", "once": "k:{t}""#;
    check_pay(once, "", "inside");
    check_pay("", once, "`actions.pay.once` is absent, wider than the parent's `k:{t}`");
    check_pay(
        r#", "once": "k:{a}""#,
        once,
        "`actions.pay.once` is `k:{a}`, which cannot be shown to lie inside the parent's `k:{t}`",
    );
    check_pay("", r#", "from": {"t": "user"}"#, "`actions.pay.from.t` is absent, wider than the parent's `[\"user\"]`");
    check_pay(
        r#", "run": "POST http://h/x""#,
        r#", "run": "POST http://h/y""#,
        "`actions.pay.run.http` is `POST http://h/x`, which cannot be shown to lie inside the parent's `POST http://h/y`",
    );
    check_pay(
        r#", "undo": {"kind": "REVERT", "http": "POST http://h/x"}"#,
        r#", "undo": {"kind": "REVERT", "http": "POST http://h/y"}"#,
        "`actions.pay.undo.http` is `POST http://h/x`, which cannot be shown to lie inside the parent's `POST http://h/y`",
    );
    let look = r#""look": {"reads": true, "impact": "HIGH", "undo": "NOOP"}"#;
    let act = r#""look": {"undo": "NOOP"}"#;
    let toggled = |child: &str, parent: &str| {
        format!("`actions.look.reads` is `{child}`, which cannot be shown to lie inside the parent's `{parent}`")
    };
    check((look, ""), (act, ""), &toggled("true", "false"));
    check((act, ""), (look, ""), &toggled("false", "true"));
    let schema = |members: &str, schema: &str| {
        format!(
            r#""pay": {{"params": {{"type": "object", "properties": {{"t": {{"type": "string"{schema}}}}}{members}}}}}"#
        )
    };
    let (closed, secret) = (r#", "additionalProperties": false"#, r#", "secret": true"#);
    check(
        (&schema(closed, ""), ""),
        (&schema(closed, secret), ""),
        "`actions.pay.params.properties.t.secret` is absent, which cannot be shown to lie inside the parent's `true`",
    );
    check((&schema(closed, ""), ""), (&schema("", ""), ""), "inside");
    let opened = "`actions.pay.params.additionalProperties` is absent, wider than the parent's `false`";
    check((&schema("", ""), ""), (&schema(closed, ""), ""), opened);
}

#[test]
fn nobody_else_answers() {
    let asked =
        |members: &str| format!(r#", "approvers": ["a"], "escalation": {{"timeout": {{"after": "3h"{members}}}}}"#);
    check((&pay(""), &asked("")), (&pay(""), &asked(r#", "reroute": "1h", "to": "b""#)), "inside");
    check(
        (&pay(""), &asked(r#", "reroute": "1h", "to": "b""#)),
        (&pay(""), &asked("")),
        "`escalation.timeout.reroute` is `1h`, wider than the parent's absent",
    );
    check(
        (&pay(""), &asked(r#", "reroute": "1h", "to": "c""#)),
        (&pay(""), &asked(r#", "reroute": "1h", "to": "b""#)),
        "`escalation.timeout.to` is `c`, which cannot be shown to lie inside the parent's `b`",
    );
    let approvers = |names: &str| format!(r#", "approvers": [{names}]"#);
    check(
        (&pay(""), &approvers(r#""a", "b""#)),
        (&pay(""), &approvers(r#""a""#)),
        "`escalation.approvers` is `[\"a\",\"b\"]`, wider than the parent's `[\"a\"]`",
    );
}

#[test]
fn names_with_dots_hide_nothing() {
    let named =
        |max: u32| format!(r#""x.budgets": {{"params": {{"a": "number"}}, "limits": {{"a": {{"max": {max}}}}}}}"#);
    check((&named(9), ""), (&named(5), ""), "`actions.x.budgets.limits.a.max` is `9`, wider than the parent's `5`");
}

#[test]
fn origins_people_and_mode() {
    check_pay(r#", "from": {"t": "user"}"#, r#", "from": {"t": ["user", "state"]}"#, "inside");
    check_pay(
        r#", "from": {"t": ["user", "tool"]}"#,
        r#", "from": {"t": "user"}"#,
        "`actions.pay.from.t` is `[\"user\",\"tool\"]`, wider than the parent's `[\"user\"]`",
    );
    check(
        (&pay(""), r#", "mode": "observe""#),
        (&pay(""), ""),
        "`mode` is `observe`, wider than the parent's `enforce`",
    );
    check((&pay(""), r#", "approvers": ["a"]"#), (&pay(""), r#", "approvers": ["a", "b"]"#), "inside");
    check(
        (&pay(""), r#", "escalation": {"quorum": 1}"#),
        (&pay(""), r#", "escalation": {"quorum": 2}"#),
        "`escalation.quorum` is `1`, wider than the parent's `2`",
    );
}

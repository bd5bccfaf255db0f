//! Rows: policies and params in, answer out.

use super::compile;
use crate::testing::{action, json};
use kernel::contract::{Action, Role};
use kernel::evaluator::{AgentView, PolicyAnswer, PolicyEvaluator, Scope, StateView};
use std::collections::BTreeMap;
use values::decimal::Decimal;

fn actions() -> BTreeMap<String, Action> {
    let refund = r#"{"type": "object", "properties": {"amount": {"type": "number"}, "count": {"type": "integer"},
        "category": {"type": "string"}, "tags": {"type": "array"}, "approver": {}, "address": {"type": "object"},
        "maybe": {"type": ["number", "null"]}, "any": {}, "order": {"type": "string"}}}"#;
    let close = r#"{"type": "object", "properties": {"account": {"type": "string"}}}"#;
    [("refund".to_owned(), action(refund)), ("close".to_owned(), action(close))].into()
}

fn judged(policies: &str, params: &str) -> String {
    let policies = match compile(policies, &actions()) {
        Ok(policies) => policies,
        Err(fault) => return format!("{}: {}", fault.offset(), fault.problem),
    };
    let params = json(params);
    let mut state = StateView::new();
    state.insert("risk".to_owned(), json("0.5"));
    state.insert("orders/{order}/open".to_owned(), json("true"));
    let scope = Scope {
        params: params.as_object().unwrap(),
        state: &state,
        agent: AgentView { id: "refund-bot", role: Role::Executor },
        action: "refund",
        confidence: Decimal::parse("0.75"),
    };
    match policies.judge(&scope) {
        PolicyAnswer::Permit => "permit".to_owned(),
        PolicyAnswer::Forbid(ids) => format!("forbid {}", ids.join(", ")),
        PolicyAnswer::Error(problem) => format!("error {problem}"),
    }
}

fn check(policies: &str, params: &str, expected: &str) {
    assert_eq!(judged(policies, params), expected, "{policies} {params}");
}

/// One forbid with this condition.
fn check_when(condition: &str, params: &str, expected: &str) {
    check(&format!("@id(\"p\") forbid(principal, action, resource) when {{ {condition} }};"), params, expected);
}

#[test]
fn nothing_forbids() {
    check("", "{}", "permit");
    check_when("false", "{}", "permit");
    check("forbid(principal, action == Action::\"close\", resource);", "{}", "permit");
}

#[test]
fn determining_policies_are_named() {
    let policies = "forbid(principal, action, resource);
        @id(\"too-much\") forbid(principal == Agent::\"refund-bot\", action in [Action::\"refund\"], resource == Tenant::\"default\");
        forbid(principal == Agent::\"other\", action, resource);";
    check(policies, "{}", "forbid policy0, too-much");
}

#[test]
fn values_are_typed() {
    let forbidden = |condition: &str, params: &str| check_when(condition, params, "forbid p");
    forbidden("context.params.amount.greaterThan(decimal(\"25.0\"))", r#"{"amount": 25.01}"#);
    forbidden("context.params.amount == decimal(\"25.0\")", r#"{"amount": 25}"#);
    forbidden("context.params.maybe == decimal(\"1.0\")", r#"{"maybe": 1}"#);
    forbidden("context.params.count > 3", r#"{"count": 4}"#);
    forbidden("context.params.any == decimal(\"4.0\")", r#"{"any": 4}"#);
    forbidden("context.params.any == decimal(\"4.5\")", r#"{"any": 4.5}"#);
    forbidden("context.params.category == \"goodwill\"", r#"{"category": "goodwill"}"#);
    forbidden("context.params.tags.contains(\"a\")", r#"{"tags": ["a", 1, true]}"#);
    forbidden("context.params.address.city == \"Köln\"", r#"{"address": {"city": "Köln"}}"#);
    forbidden("context.agent.role == \"EXECUTOR\" && context.agent.id == \"refund-bot\"", "{}");
    forbidden("context.action == \"refund\"", "{}");
    forbidden("context.confidence.lessThan(decimal(\"0.8\"))", "{}");
    forbidden("context.state.risk == decimal(\"0.5\") && context.state[\"orders/{order}/open\"]", "{}");
    forbidden("!(context.params has maybe)", r#"{"maybe": null}"#);
    forbidden("context has params.amount", r#"{"amount": 1}"#);
    forbidden("context.params == {\"count\": 2}", r#"{"count": 2}"#);
    forbidden("{\".\": 1}[\".\"] == 1", "{}");
}

const DEEP: &str = r##"{"type": "object",
    "properties": {
        "order": {"type": "object", "properties": {"amount": {"type": "number"}, "count": {"type": "integer"}}},
        "amounts": {"type": "array", "items": {"type": "number"}},
        "counts": {"type": "array", "items": {"type": "integer"}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "number"}], "items": {"type": "integer"}},
        "money": {"$ref": "#/$defs/money"},
        "number": {"$ref": "#/$defs/a%20number"},
        "whole": {"$ref": "#whole"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
        "wrapped": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "open": {"type": "object", "additionalProperties": {"type": "integer"}},
        "mixed": {"type": ["integer", "number"]},
        "nullable": {"type": ["integer", "null"]},
        "both": {"$ref": "#/$defs/money", "properties": {"count": {"type": "number"}}},
        "any": {}},
    "$defs": {"money": {"type": "object", "properties": {"value": {"type": "number"}, "count": {"type": "integer"}}},
        "a number": {"type": "number"}, "w": {"$anchor": "whole", "type": "integer"}}}"##;

/// The declared type decides, never the value: otherwise 5 would pass a policy over decimals that 5.5 does not.
#[test]
fn numbers_follow_the_schema_at_any_depth() {
    let forbidden = |condition: &str, params: &str| {
        let text = format!("@id(\"p\") forbid(principal, action, resource) when {{ {condition} }};");
        let policies = compile(&text, &[("pay".to_owned(), action(DEEP))].into()).unwrap();
        let (params, mut state) = (json(params), StateView::new());
        state.insert("level".to_owned(), json("5"));
        state.insert("limits".to_owned(), json(r#"{"a": [5]}"#));
        let agent = AgentView { id: "bot", role: Role::Executor };
        let scope =
            Scope { params: params.as_object().unwrap(), state: &state, agent, action: "pay", confidence: None };
        assert_eq!(policies.judge(&scope), PolicyAnswer::Forbid(vec!["p".to_owned()]), "{condition} {params:?}");
    };
    let five = |field: &str, params: &str| forbidden(&format!("[decimal(\"5.0\")].contains({field})"), params);
    five("context.params.order.amount", r#"{"order": {"amount": 5}}"#);
    five("context.params.order.undeclared", r#"{"order": {"undeclared": 5}}"#);
    five("context.params.money.value", r#"{"money": {"value": 5}}"#);
    five("context.params.number", r#"{"number": 5}"#);
    five("context.params.either", r#"{"either": 5}"#);
    five("context.params.wrapped", r#"{"wrapped": 5}"#);
    five("context.params.open.x", r#"{"open": {"x": 5}}"#);
    five("context.params.mixed", r#"{"mixed": 5}"#);
    five("context.params.any", r#"{"any": 5}"#);
    five("context.params.any.deep", r#"{"any": {"deep": 5}}"#);
    five("context.params.both.value", r#"{"both": {"value": 5}}"#);
    five("context.params.both.count", r#"{"both": {"count": 5}}"#);
    five("context.state.level", "{}");
    forbidden("context.state.limits.a.contains(decimal(\"5.0\"))", "{}");
    forbidden("context.params.amounts.contains(decimal(\"5.0\"))", r#"{"amounts": [5]}"#);
    forbidden("context.params.any.contains(decimal(\"5.0\"))", r#"{"any": [5]}"#);
    forbidden("context.params.pair == [1, decimal(\"5.0\"), 7]", r#"{"pair": [1, 5, 7]}"#);
    forbidden("context.params.counts.contains(5)", r#"{"counts": [5]}"#);
    forbidden("context.params.order.count == 5", r#"{"order": {"count": 5}}"#);
    forbidden("context.params.money.count == 5", r#"{"money": {"count": 5}}"#);
    forbidden("context.params.whole == 5", r#"{"whole": 5}"#);
    forbidden("context.params.nullable == 5", r#"{"nullable": 5}"#);
}

/// The schema is refused elsewhere; policies must only come to an end.
#[test]
fn endless_schemas_end() {
    let endless = r##"{"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/b"}, "c": {"$ref": "#"}}}"##;
    let text = "forbid(principal, action, resource) when { context.params.a == 1 };";
    assert!(compile(text, &[("pay".to_owned(), action(endless))].into()).is_ok());
}

#[test]
fn policies_that_can_never_match_are_refused() {
    let refused = |head: &str, problem: &str| {
        check(&format!("forbid({head});"), "{}", &format!("0: policy `policy0`: {problem}"));
    };
    let agent = "it is always `Agent::\"<agent>\"`";
    let tenant = "it is always `Tenant::\"default\"`";
    let user = format!("the principal is never `User::\"bot\"`; {agent}");
    refused("principal == User::\"bot\", action, resource", &user);
    refused("principal in User::\"bot\", action, resource", &user);
    refused("principal is User, action, resource", &format!("the principal is never `User`; {agent}"));
    refused("principal is Agent in User::\"bot\", action, resource", &user);
    let acme = format!("the resource is never `Tenant::\"acme\"`; {tenant}");
    refused("principal, action, resource == Tenant::\"acme\"", &acme);
    refused("principal, action, resource in Tenant::\"acme\"", &acme);
    refused("principal, action, resource is X", &format!("the resource is never `X`; {tenant}"));
    refused(
        "principal, action == N::Action::\"refund\", resource",
        "the action is never `N::Action::\"refund\"`; it is always `Action::\"<action>\"`",
    );
    let refused_when =
        |condition: &str, problem: &str| check_when(condition, "{}", &format!("0: policy `p`: {problem}"));
    refused_when("principal == User::\"bot\"", &user);
    refused_when("User::\"bot\" == principal", &user);
    refused_when("principal in [Agent::\"a\", User::\"bot\"]", &user);
    refused_when("principal is User", &format!("the principal is never `User`; {agent}"));
    refused_when("true && !(resource == Tenant::\"acme\")", &acme);
    let good = "forbid(principal is Agent, action, resource is Tenant) when { principal == Agent::\"refund-bot\" };";
    check(good, "{}", "forbid policy0");
}

#[test]
fn errors_name_the_field_and_not_the_value() {
    let silent = |condition: &str, params: &str| {
        let said = judged(&format!("forbid(principal, action, resource) when {{ {condition} }};"), params);
        assert!(said.starts_with("error ") && !said.contains("4242"), "{said}");
    };
    silent("context.params.count + 9223372036854775807 > 0", r#"{"count": 4242}"#);
    silent("decimal(context.params.category).lessThan(decimal(\"1.0\"))", r#"{"category": "4242x"}"#);
    silent("ip(context.params.category).isLoopback()", r#"{"category": "4242"}"#);
    silent("context.params.category > 3", r#"{"category": "4242"}"#);
    silent("context.params.address.x == 3", r#"{"address": {"4242": "4242"}}"#);
    silent("context.params.amount == decimal(\"1.0\")", r#"{"amount": 4242.123457}"#);
    silent("context.params.count == 1", r#"{"count": 424200000000000000000}"#);
}

#[test]
fn what_cannot_be_evaluated_rejects() {
    check_when("context.params.count > 3", "{}", "error policy `p`: record does not have the attribute `count`");
    check_when(
        "context.params.amount.lessThan(decimal(\"1.0\"))",
        r#"{"amount": 0.12345}"#,
        "error `params.amount` does not fit Cedar's decimal (4 digits behind the point)",
    );
    check_when(
        "context.params.amount.lessThan(decimal(\"1.0\"))",
        r#"{"amount": 1000000000000000}"#,
        "error `params.amount` does not fit Cedar's decimal (4 digits behind the point)",
    );
    check_when(
        "context.params.count == 1",
        r#"{"count": 100000000000000000000}"#,
        "error `params.count` is no 64-bit whole number",
    );
    // What no policy reads cannot make the request fail.
    check_when("context.params.count == 3", r#"{"count": 1, "amount": 0.12345}"#, "permit");
}

#[test]
fn an_erring_forbid_wins_over_everything() {
    let policies = "forbid(principal, action, resource) when { context.params.count > 3 };
        forbid(principal, action, resource);";
    check(policies, "{}", "error policy `policy0`: record does not have the attribute `count`");
}

const APPROVED: &str = "context.params.approver != Agent::\"boss\"";

#[test]
fn cedar_injection_entity_in_params() {
    let forged = r#"{"approver": {"__entity": {"type": "Agent", "id": "boss"}}}"#;
    check_when(APPROVED, forged, "error `params.approver.__entity`: names that start with `__` are not allowed");
    check_when(APPROVED, r#"{"approver": "boss"}"#, "forbid p");
    check_when(
        "context.params.any == decimal(\"1.0\")",
        r#"{"any": {"__extn": {"fn": "decimal", "arg": "1.0"}}}"#,
        "error `params.any.__extn`: names that start with `__` are not allowed",
    );
    check_when(
        "context.params.tags.contains(1)",
        r#"{"tags": [{"__entity": {"type": "Agent", "id": "boss"}}]}"#,
        "error `params.tags.0.__entity`: names that start with `__` are not allowed",
    );
}

/// With the fault switched on, the forged approver passes: the test above is not blind.
#[cfg(feature = "bugs")]
#[test]
fn cedar_injection_works_when_the_fault_is_back() {
    let forged = r#"{"approver": {"__entity": {"type": "Agent", "id": "boss"}}}"#;
    let answer = values::bugs::with(values::bugs::Bug::CedarEntityInjection, || {
        judged(&format!("forbid(principal, action, resource) when {{ {APPROVED} }};"), forged)
    });
    assert_eq!(answer, "permit");
}

#[test]
fn mistakes_are_refused() {
    let refused = |policies: &str, problem: &str| check(policies, "{}", problem);
    refused(
        "permit(principal, action, resource);",
        "0: `policy0` is a permit; everything the contract allows is permitted already, so write what is forbidden",
    );
    refused(
        "forbid(principal == ?principal, action, resource);",
        "0: templates (`?principal`, `?resource`) cannot be filled in here",
    );
    refused(
        "forbid(principal, action == Action::\"refnd\", resource);",
        "37: policy `policy0`: there is no action `refnd`; did you mean `refund`?",
    );
    refused(
        "forbid(principal, action == Action::\"close\", resource) when { context.params.amount == 1 };",
        "77: policy `policy0`: there is no param `amount`; did you mean `account`?",
    );
    refused("forbid(principal, action, resource) whn { true };", "36: invalid policy condition: whn");
    let refused_at = |place: usize, condition: &str, problem: &str| {
        check_when(condition, "{}", &format!("{place}: policy `p`: {problem}"));
    };
    let refused_when = |condition: &str, problem: &str| refused_at(0, condition, problem);
    refused_at(67, "context.params.amont == 1", "there is no param `amont`; did you mean `amount`?");
    refused_when("context.parms.amount == 1", "`context.parms` is not known; did you mean `params`?");
    refused_when("context == {}", "`context` can only be used with a dot: `context.params.amount`");
    refused_when("context.state == {}", "`context.state` can only be read by key: `context.state[\"a/{param}/b\"]`");
    refused_when(
        "principal.department == \"x\"",
        "`principal` has no attributes here; use `context.agent`, `context.params`",
    );
    refused_when("context.state[\"a/{order\"] == 1", "state key `a/{order` has a `{` without a `}`");
    refused_at(70, "context.state[\"a/{nope}\"] == 1", "there is no param `nope`");
}

#[test]
fn reads_are_exact() {
    let policies = compile(
        "forbid(principal, action == Action::\"refund\", resource) when {
            context.params.amount == decimal(\"1.0\") && context.params has count
            && context.state[\"orders/{order}/open\"] && [context.params.tags].contains(context.confidence) };
         forbid(principal, action, resource) when { context.state.risk == 1 };",
        &actions(),
    )
    .unwrap();
    let reads = policies.reads();
    assert_eq!(reads.params.iter().map(String::as_str).collect::<Vec<_>>(), ["amount", "count", "tags"]);
    assert!(reads.confidence && !reads.all_params);
    let keys = |action: &str| policies.state_keys(action).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(keys("refund"), ["orders/{order}/open", "risk"]);
    assert_eq!(keys("close"), ["risk"]);
}

/// Also where little is left of the stack: in a small thread, and in the first one of a program with musl.
#[test]
fn an_answer_does_not_depend_on_the_stack_of_whoever_asks() {
    let policies = r#"forbid(principal, action, resource) when { context.params.amount.greaterThan(decimal("5.0")) };"#;
    let ask = || [r#"{"amount":4}"#, r#"{"amount":6}"#].map(|params| judged(policies, params));
    let elsewhere = std::thread::Builder::new().stack_size(96 << 10).spawn(ask).unwrap().join().unwrap();
    assert_eq!(elsewhere, ask());
    assert_ne!(elsewhere[0], elsewhere[1]);
}

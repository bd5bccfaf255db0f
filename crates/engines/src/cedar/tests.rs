//! Rows: policies and params in, answer out.

use super::compile;
use crate::testing::{action, json};
use kernel::contract::{Action, Role};
use kernel::decimal::Decimal;
use kernel::evaluator::{AgentView, PolicyAnswer, PolicyEvaluator, Scope, StateView};
use std::collections::BTreeMap;

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
    forbidden("context.params.any == 4", r#"{"any": 4}"#);
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

#[test]
fn what_cannot_be_evaluated_rejects() {
    check_when("context.params.count > 3", "{}", "error policy `p`: record does not have the attribute `count`");
    check_when(
        "context.params.amount.lessThan(decimal(\"1.0\"))",
        r#"{"amount": 0.12345}"#,
        "error `params.amount` is 0.12345, which Cedar's decimal (4 digits behind the point) cannot hold",
    );
    check_when(
        "context.params.amount.lessThan(decimal(\"1.0\"))",
        r#"{"amount": 1000000000000000}"#,
        "error `params.amount` is 1000000000000000, which Cedar's decimal (4 digits behind the point) cannot hold",
    );
    check_when(
        "context.params.any == 1",
        r#"{"any": 100000000000000000000}"#,
        "error `params.any` is 100000000000000000000, which is no 64-bit whole number",
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
    let answer = kernel::bugs::with(kernel::bugs::Bug::CedarEntityInjection, || {
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

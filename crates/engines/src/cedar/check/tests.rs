//! Rows: a condition in, what can only err and what may err out.

use super::check as looked_through;
use crate::testing::{action, contract};
use kernel::contract::Confidence;
use values::decimal::Decimal;

const REFUND: &str = r#"{"type": "object", "additionalProperties": false,
    "required": ["amount", "count", "name", "tags", "address", "any", "maybe"], "properties": {
    "amount": {"type": "number"}, "count": {"type": "integer"}, "name": {"type": "string"}, "any": {},
    "note": {"type": "string"}, "either": {"type": ["string", "integer"]}, "maybe": {"type": ["string", "null"]},
    "tags": {"type": "array", "items": {"type": "string"}}, "sure": {"type": "boolean"},
    "address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"},
        "floor": {"type": "integer"}, "size": {"type": "number"}}}}}"#;

const LOOK: &str = r#"{"type": "object", "additionalProperties": false, "properties": {}}"#;

fn found(policies: &str, thresholds: bool) -> String {
    let mut whole = contract();
    whole.actions.insert("refund".to_owned(), action(REFUND));
    whole.actions.insert("look".to_owned(), action(LOOK));
    whole.proposal.confidence =
        thresholds.then_some(Confidence { reject_below: Decimal::ZERO, escalate_below: Decimal::ZERO });
    crate::cedar::compile(policies, &whole.actions).unwrap();
    let doubts = looked_through(policies, &whole);
    let line = |mark: &str, fault: &crate::CompileFault| {
        let part = fault.span.clone().map_or("", |span| &policies[span]);
        let help = fault.help.as_deref().unwrap_or_default();
        format!("{mark} [{part}] {}; {help}", fault.problem)
    };
    let errors = doubts.errors.iter().map(|fault| line("error", fault));
    errors.chain(doubts.warnings.iter().map(|fault| line("warning", fault))).collect::<Vec<_>>().join("\n")
}

fn policy(condition: &str) -> String {
    format!("@id(\"p\") forbid(principal, action == Action::\"refund\", resource) when {{ {condition} }};")
}

/// One forbid over `refund` with this condition.
fn check(condition: &str, expected: &str) {
    assert_eq!(found(&policy(condition), false), expected, "{condition}");
}

fn fine(condition: &str) {
    check(condition, "");
}

#[test]
fn what_can_be_evaluated_passes() {
    fine("context.params.amount.greaterThan(decimal(\"25.0\")) && context.params.count > 3");
    fine("context.params.amount == decimal(\"25.0\") || -context.params.count + 1 <= 2");
    fine("context.params.name like \"a*\" && [\"a\", \"b\"].contains(context.params.name)");
    fine("context.params.tags.contains(\"a\") && context.params.tags.containsAny([\"b\"])");
    fine("context.params.address.city == \"Köln\" && principal == Agent::\"a\" && principal is Agent");
    fine("context.agent.role != \"STRATEGIST\" && context.action == \"refund\"");
}

#[test]
fn what_has_no_declared_type_passes() {
    fine("context.state.risk > 3 && context.state[\"a/{name}\"].greaterThan(decimal(\"1.0\"))");
    fine("context.params.any > 3 || context.params.any like \"a\" || context.params.any.deep");
    fine("context.params has either && context.params.either > 3 && context.params.either == \"a\"");
    // Inside an object the value decides between whole number and decimal.
    fine("context.params.address has size && context.params.address.size > 3");
    // The object is open, so it may hold what its schema does not name.
    fine("context.params.address.zip > 3");
}

#[test]
fn numbers_are_decimals() {
    check(
        "context.params.amount > 25",
        "error [context.params.amount > 25] policy `p`: `context.params.amount` is a decimal, which `>` cannot compare; \
         numbers are decimals in policies: write `context.params.amount.greaterThan(decimal(\"25.0\"))`, \
         or declare the param as `integer` to compare it with whole numbers",
    );
    check(
        "25 <= context.params.amount",
        "error [25 <= context.params.amount] policy `p`: `context.params.amount` is a decimal, which `<=` cannot compare; \
         numbers are decimals in policies: write `decimal(\"25.0\").lessThanOrEqual(context.params.amount)`, \
         or declare the param as `integer` to compare it with whole numbers",
    );
    check(
        "context.params.amount == 25",
        "error [context.params.amount == 25] policy `p`: `context.params.amount` is a decimal and `25` is a whole number: \
         they are never equal; numbers are decimals in policies: write `decimal(\"25.0\")`, \
         or declare the param as `integer`",
    );
    check(
        "context.params.amount.lessThan(25)",
        "error [25] policy `p`: `25` is a whole number, not a decimal; write `decimal(\"25.0\")`",
    );
    check(
        "context.params.amount.lessThan(decimal(\"25\"))",
        "error [decimal(\"25\")] policy `p`: `decimal(\"25\")` is no decimal; write `decimal(\"25.0\")`",
    );
    check(
        "context has confidence && context.confidence < 1",
        "error [context.confidence < 1] policy `p`: `context.confidence` is a decimal, which `<` cannot compare; \
         numbers are decimals in policies: write `context.confidence.lessThan(decimal(\"1.0\"))`",
    );
    check(
        "context.params.amount + 1 == 2",
        "error [context.params.amount + 1] policy `p`: `context.params.amount` is a decimal, not a whole number; \
         policies compute with whole numbers only; write it as an expression under `refuse`",
    );
}

#[test]
fn kinds_that_do_not_go_together() {
    check(
        "context.params.name > 3",
        "error [context.params.name > 3] policy `p`: `context.params.name` is text, which `>` cannot compare; \
         declare the param as `integer` to compare with whole numbers",
    );
    check(
        "context.params.name",
        "error [context.params.name] policy `p`: `context.params.name` is text, not true or false; ",
    );
    check(
        "context.params.count like \"a\"",
        "error [context.params.count] policy `p`: `context.params.count` is a whole number, not text; ",
    );
    check(
        "context.params.name.length == 3",
        "error [context.params.name.length] policy `p`: `context.params.name` is text and has no members; ",
    );
    check(
        "context.params.tags.contains(1)",
        "error [context.params.tags.contains(1)] policy `p`: every item of `context.params.tags` is text and `1` is a whole number: \
         they are never equal; compare values of one kind",
    );
    check(
        "context.params.name in [\"a\"]",
        "error [context.params.name] policy `p`: `context.params.name` is text, not an entity; `in` and `is` are for \
         `principal`, `action` and `resource`; for values write `[\"a\", \"b\"].contains(…)`",
    );
}

#[test]
fn optional_members_want_a_guard() {
    let warned = "warning [context.params.note] policy `p`: `context.params.note` is optional; where it is absent the policy \
        errs and everything is refused; guard it: `context.params has note && …`";
    check("context.params.note == \"a\"", warned);
    check("context.params has note || context.params.note == \"a\"", warned);
    check("(context.params has note || context.params.count > 1) && context.params.note == \"a\"", warned);
    fine("context.params has note && context.params.note == \"a\"");
    fine("!(context.params has note) || context.params.note == \"a\"");
    fine("if context.params has note then context.params.note == \"a\" else false");
    fine("(if context.params has note then true else false) && context.params.note == \"a\"");
    fine("context has params.note && context.params.note == \"a\"");
    fine("context.params.address has floor && context.params.address.floor > 3");
    let inside = "forbid(principal, action == Action::\"refund\", resource)
        when { context.params has note } unless { context.params.note == \"a\" };";
    assert_eq!(found(inside, false), "");
    // Null is absent to policies, so a param that may be null may be absent.
    fine("context.params has maybe && context.params.maybe == \"a\"");
    assert!(found(&policy("context.params.maybe == \"a\""), false).starts_with("warning [context.params.maybe]"));
    let confidence = policy("context.confidence.lessThan(decimal(\"0.5\"))");
    assert!(found(&confidence, false).starts_with("warning [context.confidence]"));
    assert_eq!(found(&confidence, true), "", "thresholds make it mandatory");
}

#[test]
fn every_action_is_looked_at() {
    let all = |condition: &str| found(&format!("forbid(principal, action, resource) when {{ {condition} }};"), false);
    assert_eq!(
        all("context.params.count > 3"),
        "error [context.params.count] policy `policy0` for `look`: `context.params.count` is never there; name the actions \
         that have it in the policy's head, or guard it: `context.params has count && …`"
    );
    assert_eq!(all("context.params has count && context.params.count > 3"), "");
    assert_eq!(all("context.action == \"refund\" && context.params.count > 3"), "");
    assert_eq!(all("action == Action::\"refund\" && context.params.count > 3"), "");
    assert_eq!(all("action in [Action::\"refund\"] && context.params.count > 3"), "");
    assert_eq!(all("[\"refund\"].contains(context.action) && context.params.count > 3"), "");
    assert_eq!(all("action != Action::\"refund\" || context.params.count > 3"), "");
}

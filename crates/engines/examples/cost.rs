//! What one call of each engine costs, apart: `cargo run --release -p writkeeper-engines --example cost`.

use engines::{cedar, cel, schema};
use kernel::contract::{Action, Role};
use kernel::evaluator::{
    AgentView, ExpressionEvaluator, PolicyAnswer, PolicyEvaluator, SchemaEvaluator, Scope, StateView,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;
use values::decimal::Decimal;
use values::json::Json;

const ROUNDS: u32 = 200_000;

const SCHEMA: &str = r#"{"type": "object", "required": ["order_id", "amount_eur", "iban", "category"],
    "additionalProperties": false, "properties": {
    "order_id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"}, "amount_eur": {"type": "number", "multipleOf": 0.01},
    "iban": {"type": "string", "minLength": 15, "maxLength": 34}, "category": {"type": "string"},
    "note": {"type": "string", "maxLength": 500}}}"#;

const PARAMS: &str =
    r#"{"order_id": "AB-123456", "amount_eur": 12.5, "iban": "DE89370400440532013000", "category": "damaged"}"#;

const EXAMPLE_POLICY: &str = "forbid (principal, action == Action::\"issue_refund\", resource)
    when { context.params.category == \"goodwill\" && context.agent.role != \"STRATEGIST\" };";

const DECIMAL_POLICY: &str = "forbid (principal, action == Action::\"issue_refund\", resource)
    when { context.params.amount_eur.greaterThan(decimal(\"50.0\")) && context.state.risk.greaterThan(decimal(\"0.8\")) };";

fn main() -> Result<(), Box<dyn Error>> {
    let schema_source = parsed(SCHEMA)?;
    let params = parsed(PARAMS)?;
    let bad = parsed(r#"{"order_id": "AB-123456", "amount_eur": "12.5", "ibn": "DE89"}"#)?;
    let state: StateView = [("risk".to_owned(), parsed("0.1")?)].into();
    let members = params.as_object().ok_or("params are an object")?;
    let scope = Scope {
        params: members,
        state: &state,
        agent: AgentView { id: "refund-bot", role: Role::Executor },
        action: "issue_refund",
        confidence: Decimal::parse("0.9"),
    };

    let schema = schema::compile(&schema_source)?;
    measure("schema, good params", || schema.faults(members).is_empty());
    let bad = bad.as_object().ok_or("params are an object")?;
    measure("schema, four faults", || schema.faults(bad).len() == 4);

    for text in [
        "params.amount_eur > 25",
        "state.risk > 0.8 || params.amount_eur * 1.19 > 100",
        "params.category in ['late', 'lost', 'damaged'] && params.iban.matches('^DE[0-9]{20}$')",
    ] {
        let expression = cel::compile(text)?;
        measure(&format!("cel, {text}"), || expression.holds(&scope).is_ok());
    }

    let actions: BTreeMap<String, Action> = [("issue_refund".to_owned(), action(schema_source))].into();
    for (name, text) in [("cedar, text and role", EXAMPLE_POLICY), ("cedar, two decimals", DECIMAL_POLICY)] {
        let policies = cedar::compile(text, &actions)?;
        measure(name, || policies.judge(&scope) == PolicyAnswer::Permit);
    }
    Ok(())
}

fn parsed(text: &str) -> Result<Json, Box<dyn Error>> {
    Json::parse(text.as_bytes()).map_err(|refusal| format!("{refusal:?}").into())
}

fn action(params: Json) -> Action {
    Action { params: params.into(), ..Action::default() }
}

/// The best of five, because other work on the machine only ever adds time.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example measures and prints; it judges nothing"
)]
fn measure(name: &str, call: impl Fn() -> bool) {
    let mut best = f64::INFINITY;
    let mut right = true;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..ROUNDS / 5 {
            right &= black_box(call());
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS / 5));
    }
    println!("{best:8.3} µs  {name}{}", if right { "" } else { "  (unexpected answer)" });
}

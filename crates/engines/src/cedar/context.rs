//! The context of a request, built from typed values.
//!
//! Never from JSON text: Cedar's JSON form turns `{"__entity": …}` and `{"__extn": …}` into entities and extension
//! values, so an agent could forge an approver by sending an object.

use super::plan::Plan;
use crate::declared::Shape;
use cedar_policy::Context;
use cedar_policy_core::ast::{Context as Record, Value, ValueKind};
use kernel::evaluator::Scope;
use kernel::template::Template;
use std::fmt;
use values::bugs::{self, Bug};
use values::decimal::Decimal;
use values::json::{Json, Object};

type Pairs<'a> = Vec<(&'a str, Value)>;

/// The context with what the plan reads, or why there is none.
pub(super) fn build(plan: &Plan, scope: &Scope<'_>) -> Result<Context, String> {
    if bugs::on(Bug::CedarEntityInjection) {
        return untyped(scope);
    }
    let mut pairs = Pairs::with_capacity(5);
    if plan.touches.params {
        pairs.push(("params", Value::record(params(plan, scope.params)?, None)));
    }
    if plan.touches.state {
        pairs.push(("state", Value::record(state(plan, scope)?, None)));
    }
    if plan.touches.agent {
        pairs.push(("agent", Value::record(agent(scope), None)));
    }
    if plan.touches.action {
        pairs.push(("action", Value::from(scope.action)));
    }
    if let (true, Some(confidence)) = (plan.reads.confidence, scope.confidence) {
        pairs.push(("confidence", plan.decimal.make(confidence, &"confidence")?));
    }
    match ValueKind::record(pairs) {
        ValueKind::Record(members) => Ok(Record::Value(members).into()),
        ValueKind::Lit(_) | ValueKind::Set(_) | ValueKind::ExtensionValue(_) => Err("context is no record".to_owned()),
    }
}

fn params<'a>(plan: &Plan, params: &'a Object) -> Result<Pairs<'a>, String> {
    let mut pairs = Pairs::new();
    let mut add = |name: &'a str, value: &'a Json| {
        let shape = plan.shape.member(name);
        put(plan, &mut pairs, name, value, shape, &Field { parent: None, name: Step::Param(name) })
    };
    if plan.reads.all_params {
        params.iter().try_for_each(|(name, value)| add(name, value))?;
    } else {
        let mut read = plan.reads.params.iter().filter_map(|name| params.get_key_value(name));
        read.try_for_each(|(name, value)| add(name, value))?;
    }
    Ok(pairs)
}

fn state<'a>(plan: &'a Plan, scope: &Scope<'_>) -> Result<Pairs<'a>, String> {
    let mut pairs = Pairs::new();
    for key in plan.reads.state.iter().map(Template::as_str) {
        if let Some(value) = scope.state.get(key) {
            put(plan, &mut pairs, key, value, None, &Field { parent: None, name: Step::State(key) })?;
        }
    }
    Ok(pairs)
}

fn agent(scope: &Scope<'_>) -> Pairs<'static> {
    vec![("id", Value::from(scope.agent.id)), ("role", Value::from(scope.agent.role.word()))]
}

/// Where a value stands; written out only if something is wrong with it.
struct Field<'f> {
    parent: Option<&'f Field<'f>>,
    name: Step<'f>,
}

enum Step<'f> {
    Param(&'f str),
    State(&'f str),
    Member(&'f str),
    Item(usize),
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.name {
            Step::Param(name) => write!(formatter, "params.{name}"),
            Step::State(key) => write!(formatter, "state[\"{key}\"]"),
            Step::Member(name) => write!(formatter, ".{name}"),
            Step::Item(index) => write!(formatter, ".{index}"),
        }
    }
}

/// Adds a member. Null is absent; names that Cedar's JSON form gives a meaning are refused.
fn put<'a>(
    plan: &Plan,
    pairs: &mut Pairs<'a>,
    name: &'a str,
    value: &Json,
    shape: Option<&Shape>,
    field: &Field<'_>,
) -> Result<(), String> {
    if name.starts_with("__") {
        return Err(format!("`{field}`: names that start with `__` are not allowed"));
    }
    if let Some(value) = typed(plan, value, shape, field)? {
        pairs.push((name, value));
    }
    Ok(())
}

/// Whole numbers are Longs only where the schema declares `integer`: were it the value that decided, the agent could
/// choose the type by writing 5 for 5.5, and a policy over decimals would not see it.
fn typed(plan: &Plan, value: &Json, shape: Option<&Shape>, field: &Field<'_>) -> Result<Option<Value>, String> {
    Ok(Some(match value {
        Json::Null => return Ok(None),
        Json::Bool(value) => Value::from(*value),
        Json::Text(value) => Value::from(value.as_str()),
        Json::Number(value) if shape.is_some_and(Shape::is_whole) => long(*value, field)?,
        Json::Number(value) => plan.decimal.make(*value, field)?,
        Json::List(items) => {
            let mut members = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let below = Field { parent: Some(field), name: Step::Item(index) };
                members.extend(typed(plan, item, shape.and_then(|shape| shape.item(index)), &below)?);
            }
            Value::set(members, None)
        }
        Json::Object(members) => {
            let mut pairs = Pairs::with_capacity(members.len());
            for (name, value) in members {
                let below = Field { parent: Some(field), name: Step::Member(name) };
                put(plan, &mut pairs, name, value, shape.and_then(|shape| shape.member(name)), &below)?;
            }
            Value::record(pairs, None)
        }
    }))
}

fn long(value: Decimal, field: &Field<'_>) -> Result<Value, String> {
    match value.to_i64() {
        Some(value) => Ok(Value::from(value)),
        // Never the value: the param may be a secret.
        None => Err(format!("`{field}` is no 64-bit whole number")),
    }
}

/// The fault this module exists to prevent, for the test that must be seen to catch it.
fn untyped(scope: &Scope<'_>) -> Result<Context, String> {
    let agent = serde_json::json!({ "id": scope.agent.id, "role": scope.agent.role.word() });
    let whole = serde_json::json!({
        "params": plain_members(scope.params),
        "state": plain_members(scope.state),
        "agent": agent,
        "action": scope.action,
    });
    Context::from_json_value(whole, None).map_err(|error| error.to_string())
}

fn plain_members(members: &Object) -> serde_json::Value {
    let present = members.iter().filter(|(_, value)| **value != Json::Null);
    serde_json::Value::Object(present.map(|(name, value)| (name.clone(), plain(value))).collect())
}

fn plain(value: &Json) -> serde_json::Value {
    match value {
        Json::Null => serde_json::Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match number.to_i64() {
            Some(whole) => whole.into(),
            None => serde_json::json!({ "__extn": { "fn": "decimal", "arg": number.to_string() } }),
        },
        Json::Text(text) => text.as_str().into(),
        Json::List(items) => items.iter().map(plain).collect(),
        Json::Object(members) => plain_members(members),
    }
}

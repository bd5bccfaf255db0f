//! What a policy looks at, found by walking its syntax as Cedar writes it in JSON.

use kernel::evaluator::Reads;
use kernel::nearest::suggestion;
use kernel::template::Template;
use serde_json::Value;
use std::collections::BTreeSet;

/// What one policy looks at.
#[derive(Default, Debug)]
pub(super) struct Seen {
    pub(super) reads: Reads,
    pub(super) touches: Touches,
    /// Actions named in its head; `None` if it applies to every action.
    pub(super) only_actions: Option<BTreeSet<String>>,
    /// Every action named anywhere.
    pub(super) named_actions: BTreeSet<String>,
}

/// The members of the context that are used at all.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Touches {
    pub(super) params: bool,
    pub(super) state: bool,
    pub(super) agent: bool,
    pub(super) action: bool,
}

const MEMBERS: [&str; 5] = ["params", "state", "agent", "action", "confidence"];

/// Walks one policy; the error says what it may not look at.
pub(super) fn policy(est: &Value) -> Result<Seen, String> {
    let only_actions = est.get("action").and_then(head_actions);
    let named_actions = only_actions.clone().unwrap_or_default();
    let mut seen = Seen { only_actions, named_actions, ..Seen::default() };
    if let Some(Value::Array(conditions)) = est.get("conditions") {
        for condition in conditions {
            if let Some(body) = condition.get("body") {
                expression(body, &mut seen)?;
            }
        }
    }
    Ok(seen)
}

/// `action == X`, `action in X` and `action in [X, Y]`; there are no groups, so all mean "one of".
fn head_actions(head: &Value) -> Option<BTreeSet<String>> {
    let several = head.get("entities").and_then(Value::as_array).cloned();
    let entities = several.or_else(|| head.get("entity").map(|one| vec![one.clone()]))?;
    Some(entities.iter().filter_map(|entity| entity.get("id")?.as_str().map(str::to_owned)).collect())
}

fn expression(node: &Value, seen: &mut Seen) -> Result<(), String> {
    match node {
        Value::Array(items) => items.iter().try_for_each(|item| expression(item, seen)),
        Value::Object(members) => members.iter().try_for_each(|(operator, operand)| operation(operator, operand, seen)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn operation(operator: &str, operand: &Value, seen: &mut Seen) -> Result<(), String> {
    match (operator, operand) {
        ("Value", literal) => {
            named_action(literal, seen);
            Ok(())
        }
        ("Var", Value::String(name)) if name == "context" => look(&[], false, seen),
        ("." | "has", Value::Object(parts)) if parts.contains_key("left") && parts.contains_key("attr") => {
            let left = parts.get("left").unwrap_or(&Value::Null);
            let attributes = attributes(parts.get("attr").unwrap_or(&Value::Null));
            if let Some(variable @ ("principal" | "resource" | "action")) = left.get("Var").and_then(Value::as_str) {
                return Err(format!("`{variable}` has no attributes here; use `context.agent`, `context.params`"));
            }
            match context_path(left) {
                Some(mut path) => {
                    path.extend(attributes);
                    let path: Vec<&str> = path.iter().map(String::as_str).collect();
                    look(&path, operator == "has", seen)
                }
                None => expression(left, seen),
            }
        }
        // Keys of a record are the writer's own words and must not be taken for operators.
        ("Record", Value::Object(members)) => members.values().try_for_each(|value| expression(value, seen)),
        (_, operands) => operands_of(operands, seen),
    }
}

/// The operands of `{"left": …, "right": …}` and its like, or of a call.
fn operands_of(operands: &Value, seen: &mut Seen) -> Result<(), String> {
    match operands {
        Value::Object(members) => members.values().try_for_each(|value| expression(value, seen)),
        Value::Array(items) => items.iter().try_for_each(|item| expression(item, seen)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn attributes(attr: &Value) -> Vec<String> {
    match attr {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => several.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// `context.a.b` as `[a, b]`.
fn context_path(node: &Value) -> Option<Vec<String>> {
    if node.get("Var").and_then(Value::as_str) == Some("context") {
        return Some(Vec::new());
    }
    let access = node.get(".")?;
    let mut path = context_path(access.get("left")?)?;
    path.push(access.get("attr")?.as_str()?.to_owned());
    Some(path)
}

fn named_action(literal: &Value, seen: &mut Seen) {
    let Some(entity) = literal.get("__entity") else { return };
    if let (Some("Action"), Some(id)) =
        (entity.get("type").and_then(Value::as_str), entity.get("id").and_then(Value::as_str))
    {
        seen.named_actions.insert(id.to_owned());
    }
}

/// Notes one look at the context. `tested` is a `has`.
fn look(path: &[&str], tested: bool, seen: &mut Seen) -> Result<(), String> {
    match path.first().copied() {
        Some("params") => seen.touches.params = true,
        Some("state") => seen.touches.state = true,
        Some("agent") => seen.touches.agent = true,
        Some("action") => seen.touches.action = true,
        Some(_) | None => {}
    }
    match path {
        [] => return Err("`context` can only be used with a dot: `context.params.amount`".to_owned()),
        // Always there; what matters is what is looked at inside.
        ["params" | "state" | "agent"] if tested => {}
        ["params"] => seen.reads.all_params = true,
        ["params", name, ..] => {
            seen.reads.params.insert((*name).to_owned());
        }
        ["state"] => {
            return Err("`context.state` can only be read by key: `context.state[\"a/{param}/b\"]`".to_owned());
        }
        ["state", key, ..] => {
            let template = Template::parse(key).map_err(|problem| format!("state key `{key}` {problem}"))?;
            seen.reads.state.insert(template);
        }
        ["agent"] | ["agent", "id" | "role", ..] | ["action", ..] => {}
        ["agent", other, ..] => {
            return Err(format!(
                "`context.agent.{other}` is not known; there are `context.agent.id` and `context.agent.role`"
            ));
        }
        ["confidence", ..] => seen.reads.confidence = true,
        [other, ..] => return Err(format!("`context.{other}` is not known{}", suggestion(other, MEMBERS))),
    }
    Ok(())
}

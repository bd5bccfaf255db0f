//! Which entities a policy may name. A comparison with one that no request ever has is always the same answer, so the
//! policy would forbid nothing.

use serde_json::Value;

/// The first entity or type that principal, action or resource can never be.
pub(super) fn check(est: &Value) -> Result<(), String> {
    for variable in ["principal", "action", "resource"] {
        if let Some(head) = est.get(variable) {
            named(variable, head)?;
        }
    }
    let conditions = est.get("conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.filter_map(|condition| condition.get("body")).try_for_each(body)
}

/// Comparisons of a variable with an entity inside a condition.
fn body(node: &Value) -> Result<(), String> {
    match node {
        Value::Array(items) => items.iter().try_for_each(body),
        Value::Object(members) => members.values().try_for_each(|operand| {
            let side = |name: &str| operand.get(name);
            for (one, other) in [("left", "right"), ("right", "left")] {
                let Some(variable) = side(one).and_then(|side| side.get("Var")).and_then(Value::as_str) else {
                    continue;
                };
                side(other).map_or(Ok(()), |other| named(variable, other))?;
                // `principal is User in …` carries its type and its entity beside the variable.
                side("entity_type").map_or(Ok(()), |_| named(variable, operand))?;
            }
            body(operand)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Every entity and type in what a variable is compared with.
fn named(variable: &str, place: &Value) -> Result<(), String> {
    match place {
        Value::Array(items) => items.iter().try_for_each(|item| named(variable, item)),
        Value::Object(members) => {
            if let Some(type_name) = members.get("entity_type").and_then(Value::as_str) {
                fits(variable, type_name, None)?;
            }
            let text = |key: &str| members.get(key).and_then(Value::as_str);
            if let (Some(type_name), Some(id)) = (text("type"), text("id")) {
                fits(variable, type_name, Some(id))?;
            }
            let inside = ["entity", "entities", "in", "Value", "__entity", "Set"];
            inside.iter().filter_map(|key| members.get(*key)).try_for_each(|below| named(variable, below))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn fits(variable: &str, type_name: &str, id: Option<&str>) -> Result<(), String> {
    let (good, exists) = match variable {
        "principal" => (type_name == "Agent", "`Agent::\"<agent>\"`"),
        "action" => (type_name == "Action", "`Action::\"<action>\"`"),
        "resource" => {
            let tenant = type_name == "Tenant" && id.is_none_or(|id| id == "default");
            (tenant, "`Tenant::\"default\"`")
        }
        _ => return Ok(()),
    };
    if good {
        return Ok(());
    }
    let shown = id.map_or_else(|| type_name.to_owned(), |id| format!("{type_name}::{id:?}"));
    Err(format!("the {variable} is never `{shown}`; it is always {exists}"))
}

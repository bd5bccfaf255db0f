//! What the schema of an action says about its params, as far as the rest of a contract needs to know.

use super::Action;
use values::json::{Json, Object};

/// The declared params.
pub fn names(action: &Action) -> impl Iterator<Item = &str> {
    properties(action).into_iter().flat_map(|properties| properties.keys()).map(String::as_str)
}

/// Whether the param is declared.
pub fn has(action: &Action, param: &str) -> bool {
    properties(action).is_some_and(|properties| properties.contains_key(param))
}

/// Whether the schema itself insists on the param.
pub fn is_required(action: &Action, param: &str) -> bool {
    let required = action.params.get("required").and_then(Json::as_list).unwrap_or_default();
    required.iter().any(|name| name.as_text() == Some(param))
}

/// The schema types the param may have; empty where the schema does not say.
pub fn kinds<'a>(action: &'a Action, param: &str) -> Vec<&'a str> {
    match properties(action).and_then(|properties| properties.get(param)).and_then(|schema| schema.get("type")) {
        Some(Json::Text(kind)) => vec![kind],
        Some(Json::List(kinds)) => kinds.iter().filter_map(Json::as_text).collect(),
        None | Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) => Vec::new(),
    }
}

/// Whether the param is never shown.
pub fn is_secret(action: &Action, param: &str) -> bool {
    let schema = properties(action).and_then(|properties| properties.get(param));
    schema.and_then(|schema| schema.get("secret")) == Some(&Json::Bool(true))
}

/// What the schema makes of the param instead of a number, in words; `None` where it can be a number.
pub fn not_a_number(action: &Action, param: &str) -> Option<String> {
    let schema = properties(action)?.get(param)?;
    let kinds = kinds(action, param);
    let decimal = schema.get("format").and_then(Json::as_text) == Some("decimal");
    let has = |key: &str| schema.get("properties").is_some_and(|properties| properties.get(key).is_some());
    let fits = |kind: &&str| match *kind {
        "number" | "integer" => true,
        "string" => decimal,
        "object" => has("value") && has("unit"),
        _ => false,
    };
    if kinds.is_empty() || kinds.iter().any(fits) {
        return None;
    }
    let words = kinds.iter().map(|kind| match *kind {
        "string" => "text",
        "array" => "a list",
        "object" => "an object without `value` and `unit`",
        other => other,
    });
    Some(words.collect::<Vec<_>>().join(" or "))
}

/// The first construct at the root through which params could come that `properties` does not name.
pub fn opening(action: &Action) -> Option<&'static str> {
    const CONSTRUCTS: &[&str] = &[
        "patternProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "then",
        "else",
        "not",
        "$ref",
        "$dynamicRef",
        "dependentSchemas",
    ];
    let present = CONSTRUCTS.iter().find(|construct| action.params.get(construct).is_some()).copied();
    present.or_else(|| (!is_closed(action)).then_some("no `additionalProperties: false`"))
}

/// Whether unknown params are refused.
pub fn is_closed(action: &Action) -> bool {
    action.params.get("additionalProperties") == Some(&Json::Bool(false))
}

fn properties(action: &Action) -> Option<&Object> {
    action.params.get("properties").and_then(Json::as_object)
}

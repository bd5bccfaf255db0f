//! What the schema of an action says about its params, as far as the rest of a contract needs to know.

use super::Action;
use crate::json::{Json, Object};

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

/// Whether unknown params are refused.
pub fn is_closed(action: &Action) -> bool {
    action.params.get("additionalProperties") == Some(&Json::Bool(false))
}

fn properties(action: &Action) -> Option<&Object> {
    action.params.get("properties").and_then(Json::as_object)
}

//! What an action's schema declares about its params.

use kernel::json::{Json, Object};
use std::collections::BTreeMap;

/// Which numbers a param declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    /// `integer`
    Whole,
    /// `number`
    Any,
}

fn properties(schema: &Json) -> Option<&Object> {
    schema.get("properties").and_then(Json::as_object)
}

/// The declared params.
pub(crate) fn names(schema: &Json) -> impl Iterator<Item = &str> {
    properties(schema).into_iter().flat_map(|properties| properties.keys().map(String::as_str))
}

/// Whether the param is not declared.
pub(crate) fn missing(schema: &Json, param: &str) -> bool {
    properties(schema).is_none_or(|properties| !properties.contains_key(param))
}

/// The numeric params and which numbers they declare.
pub(crate) fn numbers(schema: &Json) -> BTreeMap<String, Number> {
    let declared = properties(schema).into_iter().flatten();
    declared.filter_map(|(name, property)| Some((name.clone(), number(property)?))).collect()
}

fn number(property: &Json) -> Option<Number> {
    let is = |word: &str| match property.get("type") {
        Some(Json::Text(one)) => one == word,
        Some(Json::List(several)) => several.iter().any(|one| one.as_text() == Some(word)),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => false,
    };
    if is("number") {
        Some(Number::Any)
    } else if is("integer") {
        Some(Number::Whole)
    } else {
        None
    }
}

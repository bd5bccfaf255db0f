//! What is wrong with the params, as the rest of a sentence that starts with the field's name.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use kernel::evaluator::{SchemaFault, SchemaFaultKind};
use kernel::json::Json;
use kernel::nearest::suggestion;
use serde_json::Value;

/// Longer values are cut in messages.
const QUOTED_CHARS_MAX: usize = 60;

/// The faults one error of the validator stands for.
pub(super) fn faults(error: &ValidationError<'_>, schema: &Json) -> Vec<SchemaFault> {
    let field = dotted(error.instance_path().as_str());
    #[expect(clippy::wildcard_enum_match_arm, reason = "the validator's list of kinds is open; others share one arm")]
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![missing(&field, property.as_str().unwrap_or_default())]
        }
        ValidationErrorKind::Type { .. } if error.instance().is_null() => {
            vec![SchemaFault { field, kind: SchemaFaultKind::Missing, problem: "is null".to_owned() }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = declared(schema, error.schema_path().as_str());
            unexpected.iter().map(|name| unknown(&field, name, &known)).collect()
        }
        kind => vec![invalid(field, problem(kind, error.instance()))],
    }
}

fn missing(parent: &str, name: &str) -> SchemaFault {
    SchemaFault { field: joined(parent, name), kind: SchemaFaultKind::Missing, problem: "is missing".to_owned() }
}

fn unknown(parent: &str, name: &str, known: &[&str]) -> SchemaFault {
    let hint = suggestion(name, known.iter().copied());
    invalid(joined(parent, name), format!("is not a known field{hint}"))
}

fn invalid(field: String, problem: String) -> SchemaFault {
    SchemaFault { field: cut(&field), kind: SchemaFaultKind::Invalid, problem }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the validator's list of kinds is open; others say its own words")]
fn problem(kind: &ValidationErrorKind, instance: &Value) -> String {
    match kind {
        ValidationErrorKind::Custom { message, .. } => message.clone(),
        ValidationErrorKind::Type { kind } => format!("is {}, not {}", kind_of(instance), wanted(kind)),
        ValidationErrorKind::Enum { options } => format!("is not one of {}", listed(options)),
        ValidationErrorKind::Constant { expected_value } => format!("is not {}", quoted(expected_value)),
        ValidationErrorKind::Pattern { pattern } => format!("does not match {}", cut(pattern)),
        ValidationErrorKind::Format { format } => format!("is not a valid {format}"),
        ValidationErrorKind::MinLength { limit } => format!("is shorter than {}", counted(*limit, "character")),
        ValidationErrorKind::MaxLength { limit } => format!("is longer than {}", counted(*limit, "character")),
        ValidationErrorKind::MinItems { limit } => format!("has fewer than {}", counted(*limit, "item")),
        ValidationErrorKind::MaxItems { limit } => format!("has more than {}", counted(*limit, "item")),
        ValidationErrorKind::AdditionalItems { limit } => format!("has more than {}", counted(*limit as u64, "item")),
        ValidationErrorKind::UnevaluatedItems { .. } => "has items that are not allowed".to_owned(),
        ValidationErrorKind::MinProperties { limit } => format!("has fewer than {}", counted(*limit, "field")),
        ValidationErrorKind::MaxProperties { limit } => format!("has more than {}", counted(*limit, "field")),
        ValidationErrorKind::UniqueItems => "has the same item twice".to_owned(),
        ValidationErrorKind::Contains => "has no item of the kind it must contain".to_owned(),
        ValidationErrorKind::FalseSchema => "is not allowed".to_owned(),
        ValidationErrorKind::Not { .. } => "has a form that is not allowed".to_owned(),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            "has none of the allowed forms".to_owned()
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => "has more than one of the allowed forms".to_owned(),
        ValidationErrorKind::PropertyNames { .. } => "has a field whose name is not allowed".to_owned(),
        other => format!("is not valid ({})", other.keyword()),
    }
}

fn kind_of(instance: &Value) -> &'static str {
    match instance {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn wanted(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => word(*one).to_owned(),
        TypeKind::Multiple(several) => several.iter().map(word).collect::<Vec<_>>().join(" or "),
    }
}

fn word(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "text",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    }
}

fn counted(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn listed(options: &Value) -> String {
    let Value::Array(options) = options else { return quoted(options) };
    options.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => cut(&value.to_string()),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= QUOTED_CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(QUOTED_CHARS_MAX - 1).chain(['…']).collect()
}

fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// `/items/2/price` as `items.2.price`.
pub(super) fn dotted(pointer: &str) -> String {
    segments(pointer).collect::<Vec<_>>().join(".")
}

fn segments(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"))
}

/// The properties declared beside the keyword that the pointer names.
fn declared<'s>(schema: &'s Json, keyword_pointer: &str) -> Vec<&'s str> {
    let mut here = schema;
    let path: Vec<String> = segments(keyword_pointer).collect();
    for segment in path.iter().take(path.len().saturating_sub(1)) {
        let next = match here {
            Json::Object(members) => members.get(segment),
            Json::List(items) => segment.parse().ok().and_then(|index: usize| items.get(index)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => None,
        };
        let Some(next) = next else { return Vec::new() };
        here = next;
    }
    let properties = here.get("properties").and_then(Json::as_object);
    properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
}

//! What is wrong with the params, as the rest of a sentence that starts with the field's name.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use kernel::evaluator::{SchemaFault, SchemaFaultKind};
use kernel::nearest::suggestion;
use serde_json::Value;
use values::count::counted;
use values::json::Json;

/// Longer values are cut in messages.
const QUOTED_CHARS_MAX: usize = 60;

/// Faults reported of one proposal. More would be a burden to write and to read.
const FAULTS_MAX: usize = 32;
/// Unknown fields for which the nearest known one is looked up: each is compared with every declared name.
const SUGGESTIONS_MAX: usize = 8;

/// The faults of one proposal, as far as they are reported.
#[derive(Default)]
pub(super) struct Report {
    faults: Vec<SchemaFault>,
    suggested: usize,
    /// Found, but not reported.
    more: usize,
}

impl Report {
    /// In the order of fields, and last how many more there are.
    pub(super) fn finish(mut self) -> Vec<SchemaFault> {
        self.faults.sort_by(|left, right| (&left.field, &left.problem).cmp(&(&right.field, &right.problem)));
        if self.more > 0 {
            let problem = format!("have {}", counted(self.more as u64, "more fault"));
            self.faults.push(invalid(String::new(), problem));
        }
        self.faults
    }

    /// Adds what one error of the validator stands for.
    pub(super) fn add(&mut self, error: &ValidationError<'_>, schema: &Json) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the validator's list of kinds is open; others are one fault"
        )]
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => self.add_unknown(error, unexpected, schema),
            _ if self.is_full() => self.more += 1,
            _ => self.push(fault(error)),
        }
    }

    fn add_unknown(&mut self, error: &ValidationError<'_>, names: &[String], schema: &Json) {
        if self.is_full() {
            self.more += names.len();
            return;
        }
        let field = dotted(error.instance_path().as_str());
        let known = declared(schema, error.schema_path().as_str());
        for name in names {
            if self.is_full() {
                self.more += 1;
                continue;
            }
            let suggests = self.suggested < SUGGESTIONS_MAX;
            self.suggested += usize::from(suggests);
            self.push(unknown(&field, name, if suggests { &known } else { &[] }));
        }
    }

    fn is_full(&self) -> bool {
        self.faults.len() >= FAULTS_MAX
    }

    /// Two keywords may say the same about a field.
    fn push(&mut self, fault: SchemaFault) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

fn fault(error: &ValidationError<'_>) -> SchemaFault {
    let field = dotted(error.instance_path().as_str());
    #[expect(clippy::wildcard_enum_match_arm, reason = "the validator's list of kinds is open; others share one arm")]
    match error.kind() {
        ValidationErrorKind::Required { property } => missing(&field, property.as_str().unwrap_or_default()),
        ValidationErrorKind::Type { .. } if error.instance().is_null() => {
            SchemaFault { field, kind: SchemaFaultKind::Missing, problem: "is null".to_owned() }
        }
        kind => invalid(field, problem(kind, error)),
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
fn problem(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    match kind {
        ValidationErrorKind::Custom { message, .. } => message.clone(),
        ValidationErrorKind::Type { kind } => format!("is {}, not {}", kind_of(error.instance()), wanted(kind)),
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

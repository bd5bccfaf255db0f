//! Short types of params (`money EUR`, `optional text`, `one of a, b`) and the closed schema they stand for.

use super::bare_names;
use super::{list, map, member, text};
use crate::cursor::{Report, Spot};
use crate::source::{Member, Node, Place, Value};
use kernel::contract::Script;
use kernel::nearest::nearest;
use std::collections::BTreeSet;
use values::ids;
use values::json::Json;

/// A type that `params` may name in one word or two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortType {
    /// How it is written.
    pub written: &'static str,
    /// What it stands for.
    pub meaning: &'static str,
    /// One that can be used as it stands.
    pub example: &'static str,
    /// A value, as JSON, that fits the example.
    pub fits: &'static str,
    /// A value, as JSON, that does not.
    pub refused: &'static str,
}

const fn short(
    written: &'static str,
    meaning: &'static str,
    example: &'static str,
    fits: &'static str,
    refused: &'static str,
) -> ShortType {
    ShortType { written, meaning, example, fits, refused }
}

/// Every short type. `optional` and `signed` may stand before one.
pub const SHORT_TYPES: &[ShortType] = &[
    short("text", "any text", "text", r#""hello""#, "5"),
    short(
        "id",
        "a name without blanks, at most 128 letters of one script: no look-alikes, full-width forms or invisible characters",
        "id",
        r#""AB-123456""#,
        r#""AB 123456""#,
    ),
    short("integer", "a whole number", "integer", "3", "3.5"),
    short("number", "a number", "number", "3.5", r#""3.5""#),
    short(
        "decimal",
        "a number as text, for more digits than JSON numbers keep",
        "decimal",
        r#""0.10000000000000000001""#,
        "0.1",
    ),
    short("boolean", "true or false", "boolean", "true", r#""true""#),
    short(
        "money CUR",
        "an amount in a currency or coin of 3 to 8 capital letters or digits",
        "money EUR",
        "12.5",
        r#"{"value":12.5,"unit":"USD"}"#,
    ),
    short("date", "a day", "date", r#""2026-01-31""#, r#""31.01.2026""#),
    short("url", "an address", "url", r#""https://pay.example/refunds""#, r#""pay""#),
    short("path", "a path, not empty", "path", r#""src/main.rs""#, r#""""#),
    short("object", "an object whose shape somebody else decides", "object", r#"{"any":"thing"}"#, r#""thing""#),
    short("list of TYPE", "a list of any of these", "list of text", r#"["a","b"]"#, r#""a""#),
    short("one of A, B", "one of these words", "one of late, lost", r#""late""#, r#""stolen""#),
];

/// Words other languages use for the same thing.
const ALIASES: &[(&str, &str)] = &[
    ("string", "text"),
    ("str", "text"),
    ("int", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("bool", "boolean"),
    ("money", "money EUR"),
    ("enum", "one of a, b"),
    ("array", "list of text"),
    ("uri", "url"),
    ("datetime", "text"),
    ("uuid", "id"),
    ("identifier", "id"),
];

/// What `params: { name: type }` stands for.
pub(super) struct ShortParams {
    /// The closed schema.
    pub schema: Node,
    /// Limits that follow from types.
    pub limits: Vec<Member>,
    /// Names expressions may use bare.
    pub names: BTreeSet<String>,
}

/// Whether `params` is a JSON Schema and not a map of short types.
pub(super) fn is_schema(params: &Node) -> bool {
    const STRUCTURAL: &[&str] =
        &["properties", "required", "additionalProperties", "$schema", "$ref", "allOf", "anyOf", "oneOf"];
    let Value::Map(members) = &params.value else { return true };
    members.iter().any(|member| match &member.node.value {
        Value::Scalar(Json::Text(kind)) => {
            member.key == "type" && matches!(kind.as_str(), "object" | "array" | "string" | "null")
                || member.key.starts_with('$')
        }
        Value::Scalar(_) | Value::List(_) | Value::Map(_) => STRUCTURAL.contains(&member.key.as_str()),
    })
}

/// Reads a map of short types.
pub(super) fn read(params: &Spot<'_>, report: &mut Report) -> ShortParams {
    let place = params.node.place;
    let mut short = ShortParams { schema: map(Vec::new(), place), limits: Vec::new(), names: BTreeSet::new() };
    let mut properties = Vec::new();
    let mut required = Vec::new();
    for (written, spot) in params.entries(report) {
        if bare_names::RESERVED.contains(&written.key.as_str()) {
            let message =
                format!("a param cannot be called `{}`, which means something else in expressions", written.key);
            spot.fail(report, message, Some("choose another name, or write `params` as a JSON Schema"));
            continue;
        }
        let Some(parsed) = spot.text(report).and_then(|written| parse(written, &spot, report)) else { continue };
        let place = spot.node.place;
        properties.push(Member { key: written.key.clone(), key_place: written.key_place, node: parsed.schema });
        if !parsed.optional {
            required.push(text(&written.key, written.key_place));
        }
        if !parsed.limit.is_empty() {
            short.limits.push(member(&written.key, place, map(parsed.limit, place)));
        }
        short.names.insert(written.key.clone());
    }
    short.schema = map(
        vec![
            member("type", place, text("object", place)),
            member("required", place, list(required, place)),
            member("additionalProperties", place, Node { value: Value::Scalar(Json::Bool(false)), place }),
            member("properties", place, map(properties, place)),
        ],
        place,
    );
    short
}

struct Parsed {
    optional: bool,
    schema: Node,
    limit: Vec<Member>,
}

fn parse(written: &str, spot: &Spot<'_>, report: &mut Report) -> Option<Parsed> {
    let (mut optional, mut signed, mut rest) = (false, false, written.trim());
    loop {
        if let Some(behind) = rest.strip_prefix("optional ") {
            (optional, rest) = (true, behind.trim_start());
        } else if let Some(behind) = rest.strip_prefix("signed ") {
            (signed, rest) = (true, behind.trim_start());
        } else {
            break;
        }
    }
    let place = spot.node.place;
    let mut limit = Vec::new();
    let is_number = matches!(rest, "integer" | "number" | "decimal") || rest.starts_with("money ");
    if signed && !is_number {
        spot.fail(report, format!("`{rest}` has no sign"), Some("leave `signed` out"));
        return None;
    }
    if signed {
        limit.push(member("signed", place, Node { value: Value::Scalar(Json::Bool(true)), place }));
    }
    if let Some(currency) = rest.strip_prefix("money ").map(str::trim).filter(|currency| is_currency(currency)) {
        limit.push(member("unit", place, text(currency, place)));
    }
    if matches!(rest, "id" | "list of id") {
        limit.push(member("script", place, text(Script::Single.word(), place)));
    }
    let Some(schema) = schema_of(rest) else {
        spot.fail(report, format!("`{rest}` is no type of a param"), Some(&suggestion(rest)));
        return None;
    };
    Some(Parsed { optional, schema: placed(&schema, place), limit })
}

fn schema_of(kind: &str) -> Option<Json> {
    let typed = |name: &str| Json::object([("type", Json::text(name))]);
    let with = |name: &str, key: &str, value: Json| Json::object([("type", Json::text(name)), (key, value)]);
    match kind {
        "text" => Some(typed("string")),
        "id" => Some(Json::object([
            ("type", Json::text("string")),
            ("maxLength", Json::from(ids::IDENTIFIER_BYTES_MAX as u64)),
            ("pattern", Json::text(r"^\S+$")),
        ])),
        "integer" => Some(typed("integer")),
        "number" => Some(typed("number")),
        "boolean" => Some(typed("boolean")),
        "date" => Some(with("string", "format", Json::text("date"))),
        "url" => Some(with("string", "format", Json::text("uri"))),
        "path" => Some(with("string", "minLength", Json::from(1_u64))),
        // Open: for values whose shape somebody else decides, such as the input of a tool.
        "object" => Some(typed("object")),
        // Limits and budgets know decimal text by its format; whether it has a sign is a limit's business.
        "decimal" => Some(with("string", "format", Json::text("decimal"))),
        _ => {
            if let Some(currency) = kind.strip_prefix("money ") {
                return is_currency(currency.trim()).then(|| typed("number"));
            }
            if let Some(item) = kind.strip_prefix("list of ") {
                return items_of(item.trim()).map(|items| with("array", "items", items));
            }
            let words: Vec<&str> = kind.strip_prefix("one of ")?.split(',').map(str::trim).collect();
            let distinct: BTreeSet<&str> = words.iter().copied().collect();
            let fits = !distinct.contains("") && distinct.len() == words.len();
            fits.then(|| with("string", "enum", Json::texts(words)))
        }
    }
}

/// No limit looks at the sign of decimal text inside a list, so the pattern does.
fn items_of(kind: &str) -> Option<Json> {
    let mut items = schema_of(kind)?;
    if let ("decimal", Json::Object(members)) = (kind, &mut items) {
        members.insert("pattern".to_owned(), Json::text(r"^[0-9]+(\.[0-9]+)?$"));
    }
    Some(items)
}

/// Three to eight capital letters or digits: `EUR`, `ETH`, `USDC`.
fn is_currency(text: &str) -> bool {
    (3..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn suggestion(kind: &str) -> String {
    let alias = ALIASES.iter().find(|(other, _)| other.eq_ignore_ascii_case(kind)).map(|(_, ours)| *ours);
    let known: Vec<&str> = SHORT_TYPES.iter().map(|short| short.written).collect();
    match alias.or_else(|| nearest(kind, known.iter().copied())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("types: {}; before them `optional` or `signed`", known.join(" · ")),
    }
}

fn placed(json: &Json, place: Place) -> Node {
    let mut node = Node::from_json(json);
    set_place(&mut node, place);
    node
}

fn set_place(node: &mut Node, place: Place) {
    node.place = place;
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::List(items) => items.iter_mut().for_each(|item| set_place(item, place)),
        Value::Map(members) => {
            for member in members {
                member.key_place = place;
                set_place(&mut member.node, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: &str) {
        let node = text(written, Place::default());
        let mut report = Report::default();
        let spot = Spot { node: &node, path: "p".to_owned() };
        let found = match parse(written, &spot, &mut report) {
            Some(parsed) => format!(
                "{}{} {}",
                if parsed.optional { "optional " } else { "" },
                parsed.schema.to_json().to_canonical(),
                map(parsed.limit, Place::default()).to_json().to_canonical()
            ),
            None => report.errors.iter().map(|error| format!("{error} / {:?}", error.help)).collect(),
        };
        assert_eq!(found, expected, "{written}");
    }

    #[test]
    fn short_types_stand_for_schemas() {
        check("text", r#"{"type":"string"} {}"#);
        check("optional text", r#"optional {"type":"string"} {}"#);
        let id = r#"{"maxLength":128,"pattern":"^\\S+$","type":"string"}"#;
        check("id", &format!(r#"{id} {{"script":"single"}}"#));
        check("list of id", &format!(r#"{{"items":{id},"type":"array"}} {{"script":"single"}}"#));
        check("money EUR", r#"{"type":"number"} {"unit":"EUR"}"#);
        check("signed optional money USDC", r#"optional {"type":"number"} {"signed":true,"unit":"USDC"}"#);
        check("signed integer", r#"{"type":"integer"} {"signed":true}"#);
        check("number", r#"{"type":"number"} {}"#);
        check("decimal", r#"{"format":"decimal","type":"string"} {}"#);
        check("optional decimal", r#"optional {"format":"decimal","type":"string"} {}"#);
        check("signed decimal", r#"{"format":"decimal","type":"string"} {"signed":true}"#);
        check(
            "list of decimal",
            r#"{"items":{"format":"decimal","pattern":"^[0-9]+(\\.[0-9]+)?$","type":"string"},"type":"array"} {}"#,
        );
        check("date", r#"{"format":"date","type":"string"} {}"#);
        check("path", r#"{"minLength":1,"type":"string"} {}"#);
        check("object", r#"{"type":"object"} {}"#);
        check("list of one of a, b c", r#"{"items":{"enum":["a","b c"],"type":"string"},"type":"array"} {}"#);
    }

    #[test]
    fn other_words_are_refused_with_a_suggestion() {
        check("string", "CONTRACT_INVALID: `string` is no type of a param / Some(\"did you mean `text`?\")");
        check("integr", "CONTRACT_INVALID: `integr` is no type of a param / Some(\"did you mean `integer`?\")");
        check("signed text", "CONTRACT_INVALID: `text` has no sign / Some(\"leave `signed` out\")");
        check("money eur", "CONTRACT_INVALID: `money eur` is no type of a param / Some(\"did you mean `money CUR`?\")");
        check(
            "one of a, a",
            "CONTRACT_INVALID: `one of a, a` is no type of a param / Some(\"did you mean `one of A, B`?\")",
        );
    }
}

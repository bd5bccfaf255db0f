//! What a schema may contain. A mistyped keyword would check nothing, so it is refused.

use crate::fault::CompileFault;
use kernel::nearest::{nearest, suggestion};
use values::json::{Json, Object, is_exact};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Formats that are asserted.
const FORMATS: &[&str] =
    &["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname", "regex", "decimal"];

/// Keywords whose value is no schema. `secret` is ours: the param enters records as a commitment only.
const PLAIN: &[&str] = &[
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "format",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$schema",
    "$ref",
    "$dynamicRef",
    "$anchor",
    "$dynamicAnchor",
    "$comment",
    "secret",
];

/// Keywords whose value is a schema.
pub(super) const ONE: &[&str] = &[
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "unevaluatedItems",
    "contains",
    "not",
    "if",
    "then",
    "else",
];

/// Keywords whose value is a list of schemas.
pub(super) const MANY: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value is an object of schemas.
pub(super) const NAMED: &[&str] = &["properties", "patternProperties", "dependentSchemas", "$defs"];

/// The first thing in the schema that is refused.
pub(super) fn check(schema: &Json) -> Result<(), CompileFault> {
    match schema {
        Json::Object(_) => check_at(schema, "", Level::Root).map_err(CompileFault::whole),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => {
            Err(CompileFault::whole(format!("the schema is {}, not an object", schema.kind())))
        }
    }
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    /// A top-level property: what the kernel calls a param.
    Param,
    Inside,
}

/// Recursion is bounded: contract documents are at most 32 deep.
fn check_at(schema: &Json, path: &str, level: Level) -> Result<(), String> {
    let Json::Object(members) = schema else { return Ok(()) };
    for (keyword, value) in members {
        let here = if path.is_empty() { keyword.clone() } else { format!("{path}.{keyword}") };
        check_keyword(keyword, value, &here)?;
        check_secret(keyword, value, &here, level)?;
        check_numbers(value, &here)?;
        check_children(keyword, value, &here, level)?;
    }
    Ok(())
}

fn check_keyword(keyword: &str, value: &Json, here: &str) -> Result<(), String> {
    match (keyword, value) {
        ("$schema", Json::Text(dialect)) if dialect.trim_end_matches('#') != DIALECT => {
            Err(format!("`{here}` must be `{DIALECT}`"))
        }
        ("$ref" | "$dynamicRef", Json::Text(target)) if !target.starts_with('#') => {
            Err(format!("`{here}` may only point inside the schema (`#/…`), not to `{target}`"))
        }
        ("format", Json::Text(format)) if !FORMATS.contains(&format.as_str()) => {
            let hint = suggestion(format, FORMATS.iter().copied());
            Err(format!("`{here}`: the format `{format}` is not checked by anything{hint}"))
        }
        ("pattern", Json::Text(pattern)) => check_pattern(pattern, here),
        ("patternProperties", Json::Object(patterns)) => {
            patterns.keys().try_for_each(|pattern| check_pattern(pattern, here))
        }
        _ if is_known(keyword) => Ok(()),
        _ => Err(unknown(keyword, here)),
    }
}

/// Only whole params are kept secret. Anywhere else the mark would promise what nobody does.
fn check_secret(keyword: &str, value: &Json, here: &str, level: Level) -> Result<(), String> {
    match (keyword, value, level) {
        ("secret", _, Level::Root | Level::Inside) => Err(format!(
            "`{here}`: only a param as a whole can be secret; write `secret: true` on a top-level property"
        )),
        ("secret", Json::Bool(true), Level::Param) => Ok(()),
        ("secret", _, Level::Param) => Err(format!("`{here}` can only be `true`")),
        _ => Ok(()),
    }
}

/// A number that no double holds would be compared as another one than the one written.
fn check_numbers(value: &Json, here: &str) -> Result<(), String> {
    match value {
        Json::Number(number) if !is_exact(*number) => {
            Err(format!("`{here}`: the number {number} cannot be held exactly; write fewer digits"))
        }
        Json::List(items) => items.iter().try_for_each(|item| check_numbers(item, here)),
        Json::Object(members) => members.values().try_for_each(|member| check_numbers(member, here)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => Ok(()),
    }
}

fn check_pattern(pattern: &str, here: &str) -> Result<(), String> {
    let look_around = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().any(|sign| pattern.contains(sign));
    match look_around {
        true => Err(format!("`{here}`: `{pattern}` cannot be used: look-around would not run in linear time")),
        false => Ok(()),
    }
}

fn is_known(keyword: &str) -> bool {
    [PLAIN, ONE, MANY, NAMED].into_iter().any(|group| group.contains(&keyword))
}

fn unknown(keyword: &str, here: &str) -> String {
    let known = [PLAIN, ONE, MANY, NAMED].into_iter().flatten().copied();
    let hint = match nearest(keyword, known) {
        Some(candidate) => format!("; did you mean `{candidate}`?"),
        None => String::new(),
    };
    format!("`{here}` is not a keyword of JSON Schema 2020-12{hint}")
}

fn check_children(keyword: &str, value: &Json, here: &str, level: Level) -> Result<(), String> {
    if ONE.contains(&keyword) {
        return check_at(value, here, Level::Inside);
    }
    if let (true, Json::List(schemas)) = (MANY.contains(&keyword), value) {
        let mut numbered = schemas.iter().enumerate();
        return numbered.try_for_each(|(index, schema)| check_at(schema, &format!("{here}.{index}"), Level::Inside));
    }
    if let (true, Json::Object(schemas)) = (NAMED.contains(&keyword), value) {
        let below = if level == Level::Root && keyword == "properties" { Level::Param } else { Level::Inside };
        return check_named(schemas, here, below);
    }
    Ok(())
}

fn check_named(schemas: &Object, here: &str, level: Level) -> Result<(), String> {
    schemas.iter().try_for_each(|(name, schema)| check_at(schema, &format!("{here}.{name}"), level))
}

//! Schemas of tools as schemas of params: what is harmless is left out, what cannot be kept is said.

use values::decimal::Decimal;
use values::json::{Json, Object, is_exact};

/// Documents are at most 32 deep, and params stand four deep in them.
const DEPTH_MAX: usize = 24;

const KINDS: &[&str] = &["string", "number", "integer", "boolean", "object", "array", "null"];

/// Formats that something checks.
const FORMATS: &[&str] =
    &["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname", "regex", "decimal"];

const COUNTS: &[&str] = &["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"];
const BOUNDS: &[&str] = &["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "multipleOf"];

/// The schema with nothing in it that would be refused, or the reason why there is none.
pub(super) fn cleaned(schema: &Object) -> Result<Object, String> {
    let clean = object(schema, 0)?;
    let root = Json::Object(clean.clone());
    check_refs(&root, &root)?;
    Ok(clean)
}

/// Whether every param is one plain value whose amount, if it is one, is a number.
pub(super) fn is_plain(params: &Object, is_amount: fn(&str) -> bool) -> bool {
    const ROOT: &[&str] = &["type", "properties", "required", "additionalProperties", "description"];
    let plain = |(param, schema): (&String, &Json)| {
        let kind = schema.get("type").and_then(Json::as_text).unwrap_or_default();
        let scalar = matches!(kind, "string" | "number" | "integer" | "boolean");
        let branches = ["$ref", "allOf", "anyOf", "oneOf", "not", "if"].iter().any(|key| schema.get(key).is_some());
        scalar && !branches && !(kind == "string" && is_amount(param))
    };
    let properties = params.get("properties").and_then(Json::as_object);
    params.keys().all(|key| ROOT.contains(&key.as_str())) && properties.into_iter().flatten().all(plain)
}

fn schema_of(schema: &Json, depth: usize) -> Result<Json, String> {
    match schema {
        Json::Object(members) => object(members, depth).map(Json::Object),
        Json::Bool(_) => Ok(schema.clone()),
        Json::Null | Json::Number(_) | Json::Text(_) | Json::List(_) => Err("a schema in it is no map".to_owned()),
    }
}

fn object(members: &Object, depth: usize) -> Result<Object, String> {
    if depth > DEPTH_MAX {
        return Err("its schema is nested too deeply".to_owned());
    }
    let mut clean = Object::new();
    for (keyword, value) in members {
        if let Some((keyword, value)) = member(keyword, value, depth)? {
            clean.insert(keyword, value);
        }
    }
    // Null stands for absent, so what may be null need not be there.
    let nullable = |name: &str| {
        let schema = members.get("properties").and_then(|properties| properties.get(name));
        schema.and_then(|schema| schema.get("nullable")) == Some(&Json::Bool(true))
    };
    if let Some(Json::List(required)) = clean.get_mut("required") {
        required.retain(|name| name.as_text().is_some_and(|name| !nullable(name)));
    }
    Ok(clean)
}

/// A keyword as it may stand in a contract; `None` leaves it out.
fn member(keyword: &str, value: &Json, depth: usize) -> Result<Option<(String, Json)>, String> {
    let odd = || Err(format!("`{keyword}` in its schema is not what JSON Schema 2020-12 means by it"));
    let clean = match (keyword, value) {
        ("type", _) => kinds(value)?,
        ("properties" | "$defs" | "definitions", Json::Object(named)) => named_schemas(keyword, named, depth)?,
        ("items" | "additionalProperties" | "not" | "contains" | "propertyNames", schema) => {
            schema_of(schema, depth + 1)?
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Json::List(schemas)) if !schemas.is_empty() => {
            Json::List(schemas.iter().map(|schema| schema_of(schema, depth + 2)).collect::<Result<_, _>>()?)
        }
        ("required", Json::List(names)) if names.iter().all(|name| name.as_text().is_some()) => distinct(names),
        // Older drafts mark the param itself.
        ("required", Json::Bool(_)) => return Ok(None),
        ("enum", Json::List(values)) if !values.is_empty() => distinct(values),
        ("description", Json::Text(_)) | ("const", _) => value.clone(),
        ("uniqueItems" | "secret", Json::Bool(_)) => value.clone(),
        ("format", Json::Text(format)) if FORMATS.contains(&format.as_str()) => value.clone(),
        ("$ref", Json::Text(target)) => Json::text(target.replacen("#/definitions/", "#/$defs/", 1)),
        (_, Json::Number(number)) if COUNTS.contains(&keyword) && number.is_integer() && !number.is_negative() => {
            value.clone()
        }
        ("multipleOf", Json::Number(number)) if *number <= Decimal::ZERO => return odd(),
        (_, Json::Number(_)) if BOUNDS.contains(&keyword) => value.clone(),
        ("if" | "then" | "else" | "dependentSchemas" | "dependentRequired" | "patternProperties", _) => {
            return Err(format!("`{keyword}` in its schema says more than a draft can keep"));
        }
        ("$dynamicRef" | "unevaluatedProperties" | "unevaluatedItems", _) => return odd(),
        ("properties" | "anyOf" | "oneOf" | "allOf" | "prefixItems" | "required" | "enum" | "$ref", _) => return odd(),
        _ if COUNTS.contains(&keyword) || BOUNDS.contains(&keyword) => return odd(),
        // Titles, defaults, examples, patterns, unknown keywords and formats: the tool itself still checks them.
        _ => return Ok(None),
    };
    if !numbers_fit(&clean) {
        return Err(format!("`{keyword}` in its schema holds a number that cannot be held exactly"));
    }
    Ok(Some((if keyword == "definitions" { "$defs".to_owned() } else { keyword.to_owned() }, clean)))
}

fn named_schemas(keyword: &str, named: &Object, depth: usize) -> Result<Json, String> {
    let mut schemas = Object::new();
    for (name, schema) in named {
        if let ("properties", Some(problem)) = (keyword, values::ids::identifier_problem(name)) {
            return Err(format!("the name of a param {problem}"));
        }
        schemas.insert(name.clone(), schema_of(schema, depth + 2)?);
    }
    Ok(Json::Object(schemas))
}

/// Types as other languages spell them.
fn kinds(value: &Json) -> Result<Json, String> {
    let kind = |value: &Json| {
        let word = value.as_text().unwrap_or_default().to_lowercase();
        let ours = match word.as_str() {
            "str" => "string",
            "int" => "integer",
            "float" | "double" => "number",
            "bool" => "boolean",
            "dict" => "object",
            "list" => "array",
            other => other,
        };
        KINDS.contains(&ours).then(|| Json::text(ours)).ok_or_else(|| format!("`{word}` in its schema is no type"))
    };
    if let Some(words) = value.as_list().filter(|words| !words.is_empty()) {
        let words: Vec<Json> = words.iter().map(kind).collect::<Result<_, _>>()?;
        return Ok(distinct(&words));
    }
    kind(value)
}

fn distinct(values: &[Json]) -> Json {
    let mut kept: Vec<Json> = Vec::with_capacity(values.len());
    for value in values {
        if !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    Json::List(kept)
}

fn numbers_fit(value: &Json) -> bool {
    match value {
        Json::Number(number) => is_exact(*number),
        Json::List(items) => items.iter().all(numbers_fit),
        Json::Object(members) => members.values().all(numbers_fit),
        Json::Null | Json::Bool(_) | Json::Text(_) => true,
    }
}

/// Only what is defined at the root can be pointed at.
fn check_refs(value: &Json, root: &Json) -> Result<(), String> {
    match value {
        Json::Object(members) => {
            if let Some(Json::Text(target)) = members.get("$ref") {
                let defined = target.strip_prefix("#/$defs/").and_then(|name| root.get("$defs")?.get(name));
                if defined.is_none() {
                    return Err(format!("`$ref` in its schema points to `{target}`"));
                }
            }
            members.values().try_for_each(|member| check_refs(member, root))
        }
        Json::List(items) => items.iter().try_for_each(|item| check_refs(item, root)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => Ok(()),
    }
}

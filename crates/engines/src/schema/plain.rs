//! Schemas of the plainest kind, without compiling them: types, properties, lists, choices of words.
//!
//! Compiling a schema costs a process that judges one call more than everything else it does. Most schemas say little
//! more than which fields there are, and most params are what they should be. Only that can be said here: what does not
//! surely conform, and what uses any other keyword, is for the compiled schema.

use values::json::{Json, Object};

/// Deeper schemas are compiled.
const DEPTH_MAX: usize = 32;

/// Whether params surely conform to a schema; no says nothing.
pub(crate) fn conforms(schema: &Json, params: &Object) -> bool {
    let Json::Object(schema) = schema else { return false };
    keywords(schema, &mut |keyword, said| match keyword {
        "type" => is_type(said, "object"),
        _ => members(schema, keyword, said, params, DEPTH_MAX),
    })
}

/// Whether every keyword is satisfied.
fn keywords(schema: &Object, satisfied: &mut dyn FnMut(&str, &Json) -> bool) -> bool {
    schema.iter().all(|(keyword, said)| match keyword.as_str() {
        "title" | "description" | "$comment" => true,
        keyword => satisfied(keyword, said),
    })
}

fn fits(schema: &Json, value: &Json, depth: usize) -> bool {
    let (Json::Object(schema), Some(depth)) = (schema, depth.checked_sub(1)) else {
        return *schema == Json::Bool(true);
    };
    keywords(schema, &mut |keyword, said| match (keyword, value) {
        ("type", Json::Null) => is_type(said, "null"),
        ("type", Json::Bool(_)) => is_type(said, "boolean"),
        ("type", Json::Number(_)) => is_type(said, "number"),
        ("type", Json::Text(_)) => is_type(said, "string"),
        ("type", Json::List(_)) => is_type(said, "array"),
        ("type", Json::Object(_)) => is_type(said, "object"),
        ("const", Json::Text(_)) => said == value,
        ("enum", Json::Text(_)) => matches!(said, Json::List(choices) if choices.contains(value)),
        ("items", Json::List(items)) => items.iter().all(|item| fits(said, item, depth)),
        (_, Json::Object(params)) => members(schema, keyword, said, params, depth),
        _ => false,
    })
}

/// One keyword about the members of an object.
fn members(schema: &Object, keyword: &str, said: &Json, params: &Object, depth: usize) -> bool {
    let named = schema.get("properties").and_then(Json::as_object);
    match (keyword, said) {
        ("properties", Json::Object(named)) => {
            params.iter().all(|(name, value)| named.get(name).is_none_or(|schema| fits(schema, value, depth)))
        }
        ("required", Json::List(names)) => {
            names.iter().all(|name| name.as_text().is_some_and(|name| params.get(name).is_some()))
        }
        ("additionalProperties", Json::Bool(true)) => true,
        ("additionalProperties", Json::Bool(false)) => {
            params.keys().all(|name| named.is_some_and(|named| named.get(name).is_some()))
        }
        _ => false,
    }
}

fn is_type(said: &Json, name: &str) -> bool {
    match said {
        Json::Text(only) => only == name,
        Json::List(names) => names.iter().any(|one| one.as_text() == Some(name)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::compile;
    use kernel::evaluator::SchemaEvaluator;
    use proptest::prelude::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn check(schema: &str, params: &str, expected: bool) {
        assert_eq!(conforms(&json(schema), json(params).as_object().unwrap()), expected, "{schema} {params}");
    }

    #[test]
    fn what_is_plain_is_seen_and_nothing_else() {
        let schema = r#"{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {
            "a": {"type": "string", "description": "a word"}, "b": {"type": ["number", "null"]},
            "c": {"type": "array", "items": {"enum": ["x", "y"]}}, "d": {"type": "integer"}, "e": {},
            "f": {"type": "object", "required": ["g"]}}}"#;
        for (params, expected) in [
            (r#"{"a": "x"}"#, true),
            (r#"{"a": "x", "b": null, "c": ["x", "y", "x"], "f": {"g": 1}}"#, true),
            (r#"{"a": "x", "b": 1.5, "e": [1]}"#, true),
            (r#"{}"#, false),
            (r#"{"a": 1}"#, false),
            (r#"{"a": "x", "z": 1}"#, false),
            (r#"{"a": "x", "b": "1"}"#, false),
            (r#"{"a": "x", "c": ["z"]}"#, false),
            (r#"{"a": "x", "d": 1}"#, false),
            (r#"{"a": "x", "f": {}}"#, false),
        ] {
            check(schema, params, expected);
        }
        for other in ["minLength", "pattern", "format", "allOf", "$ref", "if", "$schema", "unknown"] {
            check(&format!(r#"{{"properties": {{"a": {{"{other}": 1}}}}}}"#), r#"{"a": "x"}"#, false);
        }
        check("{}", r#"{"a": 1}"#, true);
        check("true", "{}", false);
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec!["null", "true", "1", "1.5", "\"x\"", "\"y\"", "[]", "{}"]);
        leaf.prop_map(str::to_owned).prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
                object(inner),
            ]
        })
    }

    fn object(inner: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
        prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner, 0..3).prop_map(|members| {
            let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        })
    }

    fn schema() -> impl Strategy<Value = String> {
        let types = ["null", "boolean", "number", "integer", "string", "array", "object"];
        let leaf = prop_oneof![
            Just("{}".to_owned()),
            Just("true".to_owned()),
            prop::sample::select(types.to_vec()).prop_map(|name| format!("{{\"type\":\"{name}\"}}")),
            Just("{\"type\":[\"string\",\"null\"]}".to_owned()),
            Just("{\"enum\":[\"x\",1]}".to_owned()),
            Just("{\"const\":\"y\"}".to_owned()),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let required = prop::sample::select(vec!["", ",\"required\":[\"a\"]", ",\"additionalProperties\":false"]);
            prop_oneof![
                inner.clone().prop_map(|items| format!("{{\"items\":{items}}}")),
                (object(inner), required).prop_map(|(named, more)| format!("{{\"properties\":{named}{more}}}")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn what_conforms_here_conforms_to_the_compiled_schema(
            schema in schema(), params in object(value())
        ) {
            let schema = json(&format!("{{\"properties\":{{\"a\":{schema}}}}}"));
            let params = json(&params);
            let params = params.as_object().unwrap();
            if conforms(&schema, params) {
                let faults = compile(&schema).unwrap().faults(params);
                prop_assert!(faults.is_empty(), "{faults:?}");
            }
        }
    }
}

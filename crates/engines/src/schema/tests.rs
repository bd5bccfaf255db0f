//! Rows: schema and params in, faults out.

use super::compile;
use kernel::evaluator::SchemaEvaluator;
use proptest::prelude::*;
use values::decimal::Decimal;
use values::json::Json;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn faults(schema: &str, params: &str) -> String {
    let schema = match compile(&json(schema)) {
        Ok(schema) => schema,
        Err(fault) => return fault.problem,
    };
    let params = json(params);
    let faults = schema.faults(params.as_object().unwrap());
    let lines = faults.iter().map(|fault| format!("{:?} `{}` {}", fault.kind, fault.field, fault.problem));
    lines.collect::<Vec<_>>().join("; ")
}

fn check(schema: &str, params: &str, expected: &str) {
    assert_eq!(faults(schema, params), expected, "{schema} {params}");
}

/// The schema of one field `x`.
fn check_field(schema: &str, value: &str, expected: &str) {
    check(&format!(r#"{{"properties": {{"x": {schema}}}}}"#), &format!(r#"{{"x": {value}}}"#), expected);
}

const REFUND: &str = r#"{"type": "object", "required": ["order_id", "amount"], "additionalProperties": false,
    "properties": {"order_id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$", "maxLength": 9},
        "amount": {"type": "number"}, "items": {"type": "array", "items": {"type": "object",
        "properties": {"price": {"type": "number"}}, "additionalProperties": false}},
        "category": {"enum": ["damaged", "late"]}}}"#;

#[test]
fn good_params_have_no_faults() {
    check(REFUND, r#"{"order_id": "AB-1", "amount": 12.50, "items": [{"price": 1}], "category": "late"}"#, "");
}

#[test]
fn every_fault_is_named() {
    check(REFUND, "{}", "Missing `amount` is missing; Missing `order_id` is missing");
    check(REFUND, r#"{"order_id": "AB-1", "amount": null}"#, "Missing `amount` is null");
    check(REFUND, r#"{"order_id": "AB-1", "amount": "12"}"#, "Invalid `amount` is text, not a number");
    check(
        REFUND,
        r#"{"order_id": "AB-1", "amount": 1, "amonut": 2}"#,
        "Invalid `amonut` is not a known field; did you mean `amount`?",
    );
    check(
        REFUND,
        r#"{"order_id": "ab-1234567", "amount": 1, "category": "x"}"#,
        "Invalid `category` is not one of damaged, late; Invalid `order_id` does not match ^[A-Z]{2}-[0-9]+$; \
         Invalid `order_id` is longer than 9 characters",
    );
    check(
        REFUND,
        r#"{"order_id": "AB-1", "amount": 1, "items": [{"price": 1}, {"price": true, "prise": 2}]}"#,
        "Invalid `items.1.price` is a boolean, not a number; \
         Invalid `items.1.prise` is not a known field; did you mean `price`?",
    );
}

#[test]
fn numbers_are_exact() {
    for (bound, good, bad, problem) in [
        (r#"{"multipleOf": 0.01}"#, "12.50", "12.505", "is not a multiple of 0.01"),
        (r#"{"multipleOf": 0.01}"#, "4.35", "4.351", "is not a multiple of 0.01"),
        (r#"{"multipleOf": 0.1}"#, "0.3", "0.35", "is not a multiple of 0.1"),
        (r#"{"multipleOf": 0.01}"#, "4503599627370.49", "4503599627370.495", "is not a multiple of 0.01"),
        (r#"{"maximum": 0.3}"#, "0.3", "0.30000000000000004", "is above 0.3"),
        (r#"{"minimum": 0.1}"#, "0.1", "0.09999999999999999", "is below 0.1"),
        (r#"{"exclusiveMaximum": 100}"#, "99.99999999999999", "100", "is not below 100"),
        (r#"{"exclusiveMinimum": 0}"#, "0.000001", "-0", "is not above 0"),
        (r#"{"maximum": 9007199254740991}"#, "9007199254740991", "9007199254740992", "is above 9007199254740991"),
        (r#"{"type": "number", "minimum": 0, "maximum": 0.3}"#, "0.3", "0.30000000000000004", "is above 0.3"),
        (r#"{"const": 0.1}"#, "0.1", "0.10000000000000002", "is not 0.1"),
        (r#"{"enum": [1.5, 2]}"#, "2.0", "2.0000000000000004", "is not one of 1.5, 2"),
        (r#"{"type": "integer"}"#, "5.0", "5.5", "is a number, not a whole number"),
    ] {
        check_field(bound, good, "");
        check_field(bound, bad, &format!("Invalid `x` {problem}"));
    }
}

#[test]
fn numbers_are_exact_wherever_they_stand() {
    let too_much = "0.30000000000000004";
    let price = r#"{"type": "number", "maximum": 0.3, "multipleOf": 0.1}"#;
    let problems = |field: &str| format!("Invalid `{field}` is above 0.3; Invalid `{field}` is not a multiple of 0.1");
    for (schema, value, field) in [
        (format!(r#"{{"type": "array", "items": {price}}}"#), format!("[0.3, {too_much}]"), "x.1"),
        (format!(r#"{{"type": "object", "additionalProperties": {price}}}"#), format!(r#"{{"a": {too_much}}}"#), "x.a"),
        (
            format!(r#"{{"type": "object", "patternProperties": {{"a": {price}}}}}"#),
            format!(r#"{{"a": {too_much}}}"#),
            "x.a",
        ),
        (format!(r#"{{"allOf": [{price}]}}"#), too_much.to_owned(), "x"),
    ] {
        check_field(&schema, &value, &problems(field));
    }
}

#[test]
fn inexact_numbers_in_a_schema_are_refused() {
    let maximum = Json::Number(Decimal::parse("0.10000000000000000001").unwrap());
    let fault = compile(&Json::object([("maximum", maximum)])).unwrap_err();
    assert_eq!(
        fault.problem,
        "`maximum`: the number 0.10000000000000000001 cannot be held exactly; write fewer digits"
    );
}

#[test]
fn formats_are_asserted() {
    for (format, good, bad) in [
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T10:00:00Z", "2026-02-28"),
        ("time", "10:00:00Z", "25:00:00Z"),
        ("email", "a@example.org", "a"),
        ("uri", "https://example.org/a", "not a uri"),
        ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8"),
        ("ipv4", "127.0.0.1", "256.0.0.1"),
        ("ipv6", "::1", "::g"),
        ("hostname", "example.org", "-a-"),
        ("regex", "^a+$", "("),
        ("decimal", "12.50", "1e1"),
    ] {
        let schema = format!(r#"{{"type": "string", "format": "{format}"}}"#);
        check_field(&schema, &format!("\"{good}\""), "");
        check_field(&schema, &format!("\"{bad}\""), &format!("Invalid `x` is not a valid {format}"));
    }
}

#[test]
fn other_keywords_have_their_sentence() {
    check_field(r#"{"minLength": 2}"#, r#""ö""#, "Invalid `x` is shorter than 2 characters");
    check_field(r#"{"maxItems": 1}"#, "[1, 2]", "Invalid `x` has more than 1 item");
    check_field(r#"{"uniqueItems": true}"#, "[1.0, 1]", "Invalid `x` has the same item twice");
    check_field(r#"{"type": ["string", "integer"]}"#, "true", "Invalid `x` is a boolean, not a whole number or text");
    check_field(
        r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#,
        "1",
        "Invalid `x` has none of the allowed forms",
    );
    check_field("false", "1", "Invalid `x` is not allowed");
    check_field(r##"{"$ref": "#/properties/y"}"##, "1", "`$ref` points to `#/properties/y`, where there is nothing");
    check(
        r##"{"$defs": {"short": {"maxLength": 1}}, "properties": {"x": {"$ref": "#/$defs/short"}}}"##,
        r#"{"x": "ab"}"#,
        "Invalid `x` is longer than 1 character",
    );
    check(r#"{"propertyNames": {"maxLength": 1}}"#, r#"{"ab": 1}"#, "Invalid `` has a field whose name is not allowed");
    check_field(
        &format!(r#"{{"const": "{}"}}"#, "a".repeat(100)),
        "1",
        &format!("Invalid `x` is not {}…", "a".repeat(59)),
    );
}

#[test]
fn what_would_check_nothing_is_refused() {
    let refused = |schema: &str, problem: &str| check(schema, "{}", problem);
    refused(r#"{"propertys": {}}"#, "`propertys` is not a keyword of JSON Schema 2020-12; did you mean `properties`?");
    refused(
        r#"{"properties": {"a": {"maxLenght": 3}}}"#,
        "`properties.a.maxLenght` is not a keyword of JSON Schema 2020-12; did you mean `maxLength`?",
    );
    refused(
        r#"{"$ref": "https://example.org/schema"}"#,
        "`$ref` may only point inside the schema (`#/…`), not to `https://example.org/schema`",
    );
    refused(
        r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
        "`$schema` must be `https://json-schema.org/draft/2020-12/schema`",
    );
    refused(
        r#"{"properties": {"a": {"pattern": "(?!x)"}}}"#,
        "`properties.a.pattern`: `(?!x)` cannot be used: look-around would not run in linear time",
    );
    refused(
        r#"{"properties": {"a": {"format": "datetime"}}}"#,
        "`properties.a.format`: the format `datetime` is not checked by anything; did you mean `date-time`?",
    );
    refused("[]", "the schema is a list, not an object");
}

const UNBOUNDED: &str = "such a schema cannot be judged in bounded time";

/// One definition after another, each made of the next by this template, and the last one `{}`.
fn chain(count: usize, link: &str) -> String {
    let definition = |index: usize| {
        let next = format!(r##"{{"$ref": "#/$defs/d{}"}}"##, index + 1);
        format!(r#""d{index}": {}"#, link.replace("NEXT", &next))
    };
    let definitions: Vec<String> = (0..count).map(definition).collect();
    format!(
        r##"{{"properties": {{"x": {{"$ref": "#/$defs/d0"}}}}, "$defs": {{{}, "d{count}": {{"type": "string"}}}}}}"##,
        definitions.join(", ")
    )
}

#[test]
fn schemas_without_bounds_are_refused() {
    let cycle = |schema: &str, reference: &str| {
        check(schema, "{}", &format!("`{reference}` refers to itself; {UNBOUNDED}"));
    };
    cycle(r##"{"$ref": "#"}"##, "#");
    cycle(r##"{"properties": {"x": {"$ref": "#"}}}"##, "#");
    cycle(r##"{"properties": {"x": {"$dynamicRef": "#a"}}, "$dynamicAnchor": "a"}"##, "#a");
    cycle(r##"{"$ref": "#/$defs/a%20b", "$defs": {"a b": {"items": {"$ref": "#/$defs/a%20b"}}}}"##, "#/$defs/a%20b");
    cycle(
        r##"{"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [
            {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 1}, {"type": "number"}]}}}"##,
        "#/$defs/n",
    );
    cycle(
        r##"{"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {
            "base": {"properties": {"children": {"items": {"$ref": "#/$defs/node"}}}},
            "node": {"oneOf": [{"allOf": [{"$ref": "#/$defs/base"}]}, {"allOf": [{"$ref": "#/$defs/base"}]}]}}}"##,
        "#/$defs/node",
    );
    let parts = format!("the schema expands to more than 5,000 parts with its references followed; {UNBOUNDED}");
    check(&chain(20, r#"{"anyOf": [NEXT, NEXT]}"#), "{}", &parts);
    check(&chain(20, r#"{"properties": {"a": NEXT, "b": NEXT}}"#), "{}", &parts);
    check(&chain(20, r#"{"allOf": [NEXT], "unevaluatedProperties": false}"#), "{}", &parts);
    let deep = format!("the schema nests more than 256 levels deep with its references followed; {UNBOUNDED}");
    check(&chain(1000, "NEXT"), "{}", &deep);
    check(&chain(100, "NEXT"), r#"{"x": 1}"#, "Invalid `x` is a number, not text");
    check(&chain(5, r#"{"anyOf": [NEXT, NEXT]}"#), r#"{"x": 1}"#, "Invalid `x` has none of the allowed forms");
    check(&chain(2, r#"{"allOf": [NEXT], "unevaluatedProperties": false}"#), r#"{"x": "a"}"#, "");
}

#[test]
fn references_lead_to_schemas() {
    let refused = |reference: &str, problem: &str| {
        let schema =
            format!(r#"{{"properties": {{"x": {{"$ref": "{reference}"}}, "a/b": {{"default": {{"$ref": "x"}}}}}}}}"#);
        check(&schema, "{}", problem);
    };
    refused("#/properties", "`$ref` points to `#/properties`, which is not a schema");
    refused("#/properties/a~1b/default", "`$ref` points to `#/properties/a~1b/default`, which is not a schema");
    refused("#/properties/a%2Fb", "`$ref` points to `#/properties/a%2Fb`, where there is nothing");
    refused("#nowhere", "`$ref` points to `#nowhere`, where there is nothing");
    refused("#/properties/a~1b", "");
    check(r#"{"$anchor": "a", "items": {"$anchor": "a"}}"#, "{}", "the anchor `a` stands twice");
}

#[test]
fn few_faults_are_reported_of_many() {
    let schema = compile(&json(REFUND)).unwrap();
    let unknown: Vec<String> = (0..9900).map(|index| format!(r#""amoun{index:04}": 1"#)).collect();
    let params = json(&format!("{{{}}}", unknown.join(", ")));
    let faults = schema.faults(params.as_object().unwrap());
    assert_eq!(faults.len(), 33);
    assert_eq!(faults.last().map(|fault| fault.problem.as_str()), Some("have 9870 more faults"));

    let near: Vec<String> = (0..20).map(|index| format!(r#""amount{index}": 1"#)).collect();
    let params = json(&format!(r#"{{"order_id": "AB-1", "amount": 1, {}}}"#, near.join(", ")));
    let faults = schema.faults(params.as_object().unwrap());
    assert_eq!(faults.len(), 20);
    assert_eq!(faults.iter().filter(|fault| fault.problem.contains("did you mean `amount`")).count(), 8);
}

/// Every item has an error in every branch; nobody wants to read 900,000 of them.
#[test]
fn errors_of_alternatives_are_not_collected_without_bounds() {
    let branches = (0..100).map(|index| format!(r#"{{"const": "{index}"}}"#)).collect::<Vec<_>>().join(", ");
    let schema = format!(r#"{{"properties": {{"x": {{"items": {{"anyOf": [{branches}]}}}}}}}}"#);
    let value = |count: usize| format!(r#"{{"x": [{}]}}"#, vec!["1"; count].join(", "));
    check(&schema, &value(1), "Invalid `x.0` has none of the allowed forms");
    check(
        &schema,
        &value(9000),
        "Invalid `` are not valid, and too large to say where: they fit none of the alternatives",
    );
}

#[test]
fn only_whole_params_are_secret() {
    let only = "only a param as a whole can be secret; write `secret: true` on a top-level property";
    let misplaced = |schema: &str, place: &str| check(schema, "{}", &format!("`{place}`: {only}"));
    check(r#"{"properties": {"pin": {"type": "string", "secret": true}}}"#, "{}", "");
    check(r#"{"properties": {"secret": {"type": "string"}}}"#, "{}", "");
    check(r#"{"properties": {"pin": {"secret": false}}}"#, "{}", "`properties.pin.secret` can only be `true`");
    check(r#"{"properties": {"pin": {"secret": "true"}}}"#, "{}", "`properties.pin.secret` can only be `true`");
    misplaced(r#"{"secret": true}"#, "secret");
    misplaced(
        r#"{"properties": {"a": {"properties": {"pin": {"secret": true}}}}}"#,
        "properties.a.properties.pin.secret",
    );
    misplaced(r#"{"properties": {"a": {"items": {"secret": true}}}}"#, "properties.a.items.secret");
    misplaced(r#"{"$defs": {"pin": {"secret": true}}}"#, "$defs.pin.secret");
    misplaced(r#"{"patternProperties": {"pin": {"secret": true}}}"#, "patternProperties.pin.secret");
    misplaced(r#"{"additionalProperties": {"secret": true}}"#, "additionalProperties.secret");
    misplaced(r#"{"allOf": [{"properties": {"pin": {"secret": true}}}]}"#, "allOf.0.properties.pin.secret");
}

#[test]
fn broken_schemas_are_refused() {
    for schema in [
        r#"{"type": "strin"}"#,
        r#"{"minimum": "1"}"#,
        r#"{"multipleOf": 0}"#,
        r#"{"properties": {"a": {"pattern": "("}}}"#,
        r#"{"properties": {"a": {"pattern": "(a)\\1"}}}"#,
        r#"{"required": "a"}"#,
    ] {
        assert!(compile(&json(schema)).is_err(), "{schema}");
    }
}

proptest! {
    /// Cents are multiples of a cent, and nothing between two cents is.
    #[test]
    fn every_amount_of_cents_is_a_multiple(cents in -10_000_000_i64..10_000_000, tenth in 1..10_u8) {
        let sign = if cents < 0 { "-" } else { "" };
        let (whole, rest) = (cents.abs() / 100, cents.abs() % 100);
        check_field(r#"{"multipleOf": 0.01}"#, &format!("{sign}{whole}.{rest:02}"), "");
        check_field(r#"{"multipleOf": 0.01}"#, &format!("{sign}{whole}.{rest:02}{tenth}"), "Invalid `x` is not a multiple of 0.01");
    }
}

//! Contracts as people write them: the normative files load as they stand, and errors point at the right place.

use contract::draft::draft;
use contract::read::{Reading, read};
use contract::source::Node;
use engines::yaml;
use kernel::contract::Origin;
use std::path::{Path, PathBuf};
use values::decimal::Decimal;
use values::json::Json;

/// A file of the shared cases, wherever above this crate they lie.
#[expect(clippy::disallowed_methods, reason = "a test reads its cases from disk")]
fn shared(name: &str) -> Option<String> {
    let mut places = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|above| above.join("shared").join(name));
    let found: Option<PathBuf> = places.find(|path| path.is_file());
    found.and_then(|path| std::fs::read_to_string(path).ok())
}

fn load(text: &str) -> Result<Reading, String> {
    let node = yaml::parse(text).map_err(|fault| fault.to_string())?;
    read(&node).map_err(|faults| faults.iter().map(|fault| format!("{fault}\n")).collect())
}

/// The reading of a shared contract, whose full form must be the same contract again.
#[expect(clippy::panic, clippy::expect_used, reason = "only tests call it")]
fn load_shared(name: &str) -> Option<Reading> {
    let Some(text) = shared(name) else {
        report_skipped();
        return None;
    };
    let reading = load(&text).unwrap_or_else(|faults| panic!("{faults}"));
    let again = read(&Node::from_json(&reading.contract.to_json())).expect("the full form loads");
    assert_eq!(again.contract, reading.contract);
    assert_eq!(again.contract.digest(), reading.contract.digest());
    Some(reading)
}

#[expect(clippy::disallowed_macros, reason = "a skipped test must say so")]
fn report_skipped() {
    println!("skipped: shared cases not present");
}

#[test]
fn the_small_contract_loads() {
    let Some(reading) = load_shared("contract-small.yaml") else { return };
    assert_eq!(reading.warnings, []);
    assert_eq!(reading.inert, []);
    let refund = &reading.contract.actions["issue_refund"];
    assert_eq!(refund.allow.as_deref(), Some("params.amount <= 25"));
    assert_eq!(refund.ask.rules()[0].when, "params.amount <= 50");
    assert_eq!(refund.limits["amount"].unit.as_deref(), Some("EUR"));
    assert_eq!(reading.contract.escalation.approvers, ["refund-desk"]);
    let tests = reading.tests.expect("it carries tests");
    assert_eq!(tests.rows.len(), 7);
    assert_eq!(tests.rows[1].expect.codes, ["NOT_ALLOWED"]);
}

#[test]
fn the_full_contract_loads() {
    let Some(reading) = load_shared("contract-example.yaml") else { return };
    assert_eq!(reading.warnings, []);
    let inert: Vec<(&str, usize)> = reading.inert.iter().map(|inert| (inert.path.as_str(), inert.place.line)).collect();
    assert_eq!(inert, [("priority", 11), ("wake_when", 23), ("monitors", 73)]);
    assert_eq!(reading.contract.version.to_string(), "1.4.0");
    assert_eq!(reading.contract.drift.len(), 2);
    assert_eq!(reading.tests.expect("it carries tests").rows.len(), 10);
}

#[test]
fn errors_point_at_what_was_written() {
    let check = |text: &str, expected: &[&str]| {
        let faults = load(text).err().unwrap_or_default();
        assert_eq!(faults.lines().collect::<Vec<_>>(), expected, "{text}");
    };
    check(
        "agent: bot\nactions:\n  pay:\n    parms: { a: text }\n    once: 'k:{a}'\n",
        &["CONTRACT_INVALID: unknown key `parms` in `actions.pay` (line 4, column 5)"],
    );
    check(
        "agent: bot\nactions:\n  pay:\n    params: { amount: money EUR }\n    budget: { sum: amont, max: 5, per: 24h }\n    limits: { amount: { min: 5, max: 1 } }\n",
        &[
            "CONTRACT_INVALID: the action has no param `amont` (line 5, column 15)",
            "CONTRACT_INVALID: `min` (5) is above `max` (1) (line 6, column 15)",
        ],
    );
    check(
        "agent: bot\nactions: [",
        &[
            "CONTRACT_INVALID: this is not YAML: while parsing a node, did not find expected node content (line 3, column 1)",
        ],
    );
}

fn serde(json: &Json) -> serde_json::Value {
    serde_json::from_str(&json.to_canonical()).unwrap_or_default()
}

/// The published schema has nothing against what the reader takes.
#[expect(clippy::expect_used, reason = "only tests call it")]
fn check_published(name: &str, json: &Json) {
    let schema = serde_json::from_str(contract::SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema compiles");
    let instance = serde(json);
    let faults: Vec<String> =
        validator.iter_errors(&instance).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{name}: {faults:#?}");
}

#[test]
fn the_published_schema_takes_both_forms() {
    for name in ["contract-small.yaml", "contract-example.yaml"] {
        let Some(text) = shared(name) else { return report_skipped() };
        let node = yaml::parse(&text).expect("it is YAML");
        check_published(name, &node.to_json());
        check_published(name, &read(&node).expect("it loads").contract.to_json());
    }
}

#[test]
fn the_published_schema_refuses_what_the_reader_refuses() {
    let schema = serde_json::from_str(contract::SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema compiles");
    for text in [
        "agent: a",
        "agent: a\nactions: {}\nlimts: {}",
        "agent: a\nactions: { x: { limts: {} } }",
        "agent: a\nactions: { x: { run: { http: x } } }",
        "agent: a\nactions: { x: { budget: { max: 1, per: 1h } } }",
        "agent: a\nactions: {}\nrole: BOSS",
        "agent: a\nactions: {}\nproposal: { ttl: { max: 5 } }",
    ] {
        let node = yaml::parse(text).expect("it is YAML");
        assert!(read(&node).is_err(), "the reader refuses {text}");
        assert!(!validator.is_valid(&serde(&node.to_json())), "the schema refuses {text}");
    }
}

#[test]
fn templates_load_without_a_warning() {
    for contract::Template { name, text, .. } in contract::TEMPLATES {
        let reading = load(text).unwrap_or_else(|faults| panic!("{name}: {faults}"));
        assert_eq!((reading.warnings, reading.inert), (Vec::new(), Vec::new()), "{name}");
        assert!(reading.tests.is_some_and(|tests| tests.rows.len() >= 5), "{name} carries tests");
        check_published(name, &yaml::parse(text).expect("it is YAML").to_json());
    }
}

#[test]
fn drafts_load_and_refuse_amounts() {
    let tools = [
        "cases/agentdojo/banking/tools.json",
        "cases/agentdojo/slack/tools.json",
        "cases/agentdojo/travel/tools.json",
        "cases/agentdojo/workspace/tools.json",
        "cases/tau/retail_tools.json",
        "cases/tau/airline_tools.json",
    ];
    for name in tools {
        let Some(text) = shared(name) else { return report_skipped() };
        let tools = Json::parse(text.as_bytes()).expect("tools are JSON");
        let drafted = draft(&tools, "my-agent").expect("tools can be drafted");
        let reading = load(&drafted).unwrap_or_else(|faults| panic!("{name}: {faults}\n{drafted}"));
        assert_eq!(Some(reading.contract.actions.len()), tools.as_list().map(<[Json]>::len), "{name}");
        check_published(name, &yaml::parse(&drafted).expect("it is YAML").to_json());
    }
}

#[test]
fn drafts_of_hostile_tools_load() {
    let check = |schema: &str, expected: &str| {
        let tools = format!(r#"[{{"name": "pay_all", "parameters": {schema}}}]"#);
        let drafted = draft(&Json::parse(tools.as_bytes()).expect("tools are JSON"), "bot").expect("it is drafted");
        let loaded = engines::load::load(&drafted).unwrap_or_else(|faults| panic!("{faults:#?}\n{drafted}"));
        let found = match loaded.compiled.contract.actions.get("pay_all") {
            None => "left out",
            Some(action) if action.ask.is_empty() => "passes",
            Some(_) => "asks",
        };
        assert_eq!(found, expected, "{drafted}");
    };
    let param = |schema: &str| format!(r#"{{"type": "object", "required": ["p"], "properties": {{"p": {schema}}}}}"#);
    for (schema, expected) in [
        (r#"{"type": "string", "nullable": true}"#, "passes"),
        (r#"{"type": "integer", "format": "int32", "x-order": 1}"#, "passes"),
        (r#"{"type": "STRING", "format": "phone", "required": true, "pattern": "("}"#, "passes"),
        (r#"{"type": "array", "items": {"type": "object"}}"#, "asks"),
        (r#"{"type": "object", "properties": {"amount": {"type": "number"}}}"#, "asks"),
        (r#"{"anyOf": [{"type": "number"}, {"type": "null"}]}"#, "asks"),
        (r#"{"type": "string", "anyOf": [{"type": "number"}]}"#, "asks"),
        ("{}", "asks"),
        (r#"{"$ref": "https://evil.example/s.json"}"#, "left out"),
        (r##"{"$ref": "#/definitions/none"}"##, "left out"),
        (r#"{"type": "thing"}"#, "left out"),
        (r#"{"type": "array", "items": [{"type": "string"}]}"#, "left out"),
        (r#"{"type": "number", "exclusiveMinimum": true}"#, "left out"),
        (r#"{"type": "number", "multipleOf": 0}"#, "left out"),
        (r#"{"type": "string", "enum": []}"#, "left out"),
    ] {
        check(&param(schema), expected);
    }
    check(r#"{"properties": {"": {"type": "string"}}}"#, "left out");
    check(r#"{"properties": {"amount": {"type": "string"}}}"#, "asks");
    check(r#"{"properties": {"amount": {"type": "number"}}}"#, "passes");
    let defined = r##"{"definitions": {"M": {"type": "number"}}, "properties": {"m": {"$ref": "#/definitions/M"}}}"##;
    check(defined, "asks");
    check(
        &format!(
            "{}{}",
            r#"{"properties": {"a": {"items": "#.to_owned() + &r#"{"items": "#.repeat(20),
            "{}".to_owned() + &"}".repeat(23)
        ),
        "asks",
    );
}

#[test]
fn the_banking_draft_guards_who_is_paid() {
    let Some(text) = shared("cases/agentdojo/banking/tools.json") else { return report_skipped() };
    let drafted =
        draft(&Json::parse(text.as_bytes()).expect("tools are JSON"), "my-agent").expect("tools can be drafted");
    let contract = load(&drafted).expect("it loads").contract;
    let reads: Vec<&str> =
        contract.actions.iter().filter(|(_, action)| action.reads).map(|(name, _)| name.as_str()).collect();
    let expected = [
        "get_balance",
        "get_iban",
        "get_most_recent_transactions",
        "get_scheduled_transactions",
        "get_user_info",
        "read_file",
    ];
    assert_eq!(reads, expected);
    let send = &contract.actions["send_money"];
    assert_eq!(send.from["recipient"], [Origin::User, Origin::State].into());
    assert_eq!(send.limits["amount"].max, Some(Decimal::ZERO));
    assert!(contract.actions["update_password"].from.contains_key("password"));
}

/// Judges the rows a contract carries through the real gates.
#[expect(clippy::panic, reason = "only tests call it")]
fn rehearse_rows(name: &str, text: &str, inert: &[&str]) {
    let loaded = engines::load::load(text).unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
    let found: Vec<&str> = loaded.inert.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(found, inert, "{name}: keys that do nothing yet");
    let contract = std::sync::Arc::new(loaded.compiled);
    let rows = loaded
        .tests
        .map(|tests| contract::rehearse::rehearse(&contract, &tests, &mut |asked| asked))
        .unwrap_or_default();
    assert!(!rows.is_empty(), "{name} carries no tests");
    for row in rows {
        assert!(row.passed(), "{name}: {}: {:#?}", row.name, row.result);
    }
}

#[test]
fn the_rows_of_the_normative_contracts_pass() {
    let inert = ["priority", "wake_when", "monitors"];
    let rows = [("contract-small.yaml", &[][..]), ("contract-example.yaml", &inert[..])];
    for (name, inert) in rows {
        match shared(name) {
            Some(text) => rehearse_rows(name, &text, inert),
            None => report_skipped(),
        }
    }
}

#[test]
fn every_short_type_takes_what_fits_and_nothing_else() {
    for short in contract::SHORT_TYPES {
        let contract = format!("agent: bot\nactions: {{ pay: {{ params: {{ x: \"{}\" }} }} }}\n", short.example);
        let loaded = engines::load::load(&contract).unwrap_or_else(|errors| panic!("{}: {errors:#?}", short.written));
        let contract = std::sync::Arc::new(loaded.compiled);
        let verdict = |value: &str| {
            let context =
                kernel::context::Context::from_json(&Json::parse(b"{}").expect("it is JSON")).expect("it reads");
            let line = format!(r#"{{"agent":"bot","action":"pay","params":{{"x":{value}}}}}"#);
            kernel::pure::PureRun::new(contract.clone(), context, None, true)
                .judge(1, line.as_bytes())
                .answer
                .verdict
                .word()
        };
        assert_eq!(verdict(short.fits), "ACCEPT", "{}", short.written);
        assert_eq!(verdict(short.refused), "REJECT", "{}", short.written);
    }
}

#[test]
fn the_rows_of_every_template_pass() {
    for contract::Template { name, text, .. } in contract::TEMPLATES {
        rehearse_rows(name, text, &[]);
    }
}

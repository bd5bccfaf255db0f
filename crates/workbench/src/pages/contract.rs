//! The keys of a contract, from the published schema.

use super::Page;
use anyhow::{Context, Result};
use contract::SHORT_TYPES;
use engines::cel::reference::{EXAMPLE_PARAMS, FUNCTIONS, MACROS, NAMES, OPERATORS};
use serde_json::Value;

/// The page of keys.
pub fn pages() -> Result<Vec<Page>> {
    let schema: Value = serde_json::from_str(contract::SCHEMA).context("the published schema is not JSON")?;
    let mut text = String::from(
        "# Contract keys\n\nGenerated from the published JSON Schema (`writkeeper contract schema`). Unknown keys are errors.\n",
    );
    section("The document", &schema, &mut text);
    let definitions = schema.get("$defs").and_then(Value::as_object);
    for (name, definition) in definitions.into_iter().flatten() {
        if definition.get("properties").is_some() {
            section(&format!("`{name}`"), definition, &mut text);
        }
    }
    Ok(vec![Page { file: "contract.md".to_owned(), text }, Page { file: "language.md".to_owned(), text: language() }])
}

/// Short types and everything an expression may use.
fn language() -> String {
    let mut text = String::from(
        "# Short types and expressions\n\nGenerated from the code; every example on this page is executed by a test.\n\n\
         ## Short types\n\n`params: { amount: money EUR, note: optional text }` closes the params and makes each one mandatory. \
         Before a type, `optional` lets a param be left out, and `signed` lets a number be negative.\n\n\
         | type | meaning | example | fits | refused |\n|---|---|---|---|---|\n",
    );
    for short in SHORT_TYPES {
        let cells = [short.written, short.meaning, short.example, short.fits, short.refused];
        let [written, meaning, example, fits, refused] = cells.map(|cell| cell.replace('|', "\\|"));
        text.push_str(&format!("| `{written}` | {meaning} | `{example}` | `{fits}` | `{refused}` |\n"));
    }
    text.push_str(
        "\n## Expressions\n\n`allow`, `ask`, `refuse` and `when` hold expressions in CEL's syntax. Numbers are exact decimals of one kind. \
         What is absent is a fault that names it, never a silent false: an expression that cannot be evaluated refuses.\n",
    );
    let sections = [("Names", NAMES), ("Operators", OPERATORS), ("Macros", MACROS), ("Functions", FUNCTIONS)];
    for (title, entries) in sections {
        text.push_str(&format!("\n### {title}\n\n| name | meaning | example that holds |\n|---|---|---|\n"));
        for entry in entries {
            let cells = [entry.name, entry.meaning, entry.example].map(|cell| cell.replace('|', "\\|"));
            let [name, meaning, example] = cells;
            text.push_str(&format!("| `{name}` | {meaning} | `{example}` |\n"));
        }
    }
    text.push_str(&format!("\nThe examples look at these params: `{EXAMPLE_PARAMS}`\n"));
    text
}

fn section(title: &str, schema: &Value, text: &mut String) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    text.push_str(&format!("\n## {title}\n\n"));
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        text.push_str(&format!("{description}\n\n"));
    }
    text.push_str("| key | meaning |\n|---|---|\n");
    for (key, property) in properties {
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        text.push_str(&format!("| `{key}` | {} |\n", description.replace('|', "\\|")));
    }
}

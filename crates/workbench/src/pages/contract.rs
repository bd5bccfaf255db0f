//! The keys of a contract, from the published schema.

use super::Page;
use anyhow::{Context, Result};
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
    Ok(vec![Page { file: "contract.md".to_owned(), text }])
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

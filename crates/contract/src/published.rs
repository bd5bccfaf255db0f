//! What contracts publish about themselves: the schema for editors and the templates to start from.

/// JSON Schema 2020-12 of a contract, both forms.
pub const SCHEMA: &str = include_str!("schema.json");

/// A contract to start from. Its text carries tests.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pub name: &'static str,
    pub summary: &'static str,
    /// The text of the contract.
    pub text: &'static str,
    /// Proposals to try it with, one JSON object a line.
    pub proposals: Option<&'static str>,
}

/// Every template.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "refunds",
        summary: "refunds up to a limit, larger ones asked, account numbers only from the user",
        text: include_str!("templates/refunds.yaml"),
        proposals: Some(include_str!("templates/refunds.jsonl")),
    },
    Template {
        name: "coding-agent",
        summary: "behind the hooks of its host: read and write the project freely, ask before losing things",
        text: include_str!("templates/coding-agent.yaml"),
        proposals: None,
    },
    Template {
        name: "finops",
        summary: "stop and resize cloud machines, never in production, never without a fresh look",
        text: include_str!("templates/finops.yaml"),
        proposals: None,
    },
    Template {
        name: "trading",
        summary: "orders within size, symbols and price, against a capital pool",
        text: include_str!("templates/trading.yaml"),
        proposals: None,
    },
    Template {
        name: "support",
        summary: "answer customers, give small credits, close accounts only with a person",
        text: include_str!("templates/support.yaml"),
        proposals: None,
    },
];

/// A template by its name.
pub fn template(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;
    use kernel::contract::{
        EffectClass, Impact, Matching, Mode, OnExhausted, Origin, ResourceKind, Role, Script, TimeoutAnswer, UndoKind,
    };
    use std::collections::BTreeSet;
    use values::json::{Bounds, Json};

    fn schema() -> Json {
        Json::parse_within(SCHEMA.as_bytes(), &Bounds::FILE).unwrap()
    }

    fn at(path: &[&str]) -> Json {
        let root = schema();
        path.iter().fold(root, |json, key| json.get(key).unwrap_or_else(|| panic!("{path:?} has no {key}")).clone())
    }

    #[test]
    fn the_schema_knows_the_keys_the_reader_knows() {
        for shape in keys::shapes() {
            let properties = at(&["$defs", shape.name, "properties"]);
            let published: BTreeSet<&str> = properties.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(published, shape.all().collect(), "{}", shape.name);
            assert_eq!(at(&["$defs", shape.name, "additionalProperties"]), Json::Bool(false), "{}", shape.name);
            for (key, property) in properties.as_object().unwrap() {
                let described = property.get("description").and_then(Json::as_text).unwrap_or_default();
                assert!(described.ends_with('.'), "{}.{key} is described", shape.name);
            }
        }
    }

    #[test]
    fn the_schema_knows_the_words_the_reader_knows() {
        let check = |shape: &str, key: &str, words: &[&str]| {
            let published = at(&["$defs", shape, "properties", key, "enum"]);
            assert_eq!(published, Json::texts(words.iter().copied()), "{shape}.{key}");
        };
        check("contract", "role", Role::WORDS);
        check("contract", "mode", Mode::WORDS);
        check("action", "impact", Impact::WORDS);
        check("run", "class", EffectClass::WORDS);
        check("undo", "kind", UndoKind::WORDS);
        check("limit", "match", Matching::WORDS);
        check("limit", "script", Script::WORDS);
        check("resource", "kind", ResourceKind::WORDS);
        check("escalation", "on_exhausted", OnExhausted::WORDS);
        check("escalation_timeout", "then", TimeoutAnswer::WORDS);
        let origins = at(&["$defs", "test_case", "properties", "provenance", "additionalProperties", "enum"]);
        assert_eq!(origins, Json::texts(Origin::WORDS.iter().copied()));
    }

    #[test]
    fn inert_keys_say_so() {
        for key in keys::INERT {
            let (definition, name) = key.property;
            let description = at(&["$defs", definition, "properties", name, "description"]);
            assert!(description.as_text().unwrap().contains("Not enforced yet"), "{}", key.path);
        }
    }

    #[test]
    fn templates_start_with_the_editor_line() {
        for Template { name, summary, text, .. } in TEMPLATES {
            let line = "# yaml-language-server: $schema=https://writkeeper.dev/contract/v1.json";
            assert_eq!(text.lines().next(), Some(line), "{name}");
            assert!(!summary.is_empty() && text.contains("\ntests:"), "{name}");
        }
    }
}

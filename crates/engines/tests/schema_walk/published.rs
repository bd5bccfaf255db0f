//! The published schema as a map of named properties, and what two documents differ in by those names.

use contract::SCHEMA;
use std::collections::BTreeSet;
use values::json::{Bounds, Json};

/// The published schema.
pub struct Published {
    root: Json,
}

impl Published {
    pub fn read() -> Published {
        Published { root: Json::parse_within(SCHEMA.as_bytes(), &Bounds::FILE).expect("the schema is JSON") }
    }

    /// Every property of every object, as `definition.key`; an object without a name is called by its place.
    pub fn properties(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        collect("root", &self.root, &mut names);
        names
    }

    /// The properties in which two documents differ: the innermost ones that hold the whole difference.
    pub fn differences(&self, left: &Json, right: &Json) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.compare(&self.root, "root", left, right, &mut names);
        names
    }

    /// Keys of which an object has exactly one, so that none can be left out alone.
    pub fn alternatives(&self, definition: &str) -> BTreeSet<String> {
        let alternatives = self.definition(definition).get("oneOf").and_then(Json::as_list).unwrap_or_default();
        let required = alternatives.iter().filter_map(|one| one.get("required")?.as_list()?.first()?.as_text());
        required.map(|key| format!("{definition}.{key}")).collect()
    }

    fn definition(&self, name: &str) -> &Json {
        self.root.get("$defs").and_then(|definitions| definitions.get(name)).expect("references lead somewhere")
    }

    /// The ways a value may be written, each with the name of its definition.
    fn forms<'a>(&'a self, schema: &'a Json, name: &'a str) -> Vec<(&'a str, &'a Json)> {
        if let Some(reference) = schema.get("$ref").and_then(Json::as_text) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            return self.forms(self.definition(name), name);
        }
        match schema.get("anyOf").and_then(Json::as_list) {
            Some(several) => several.iter().flat_map(|one| self.forms(one, name)).collect(),
            None => vec![(name, schema)],
        }
    }

    fn compare(&self, schema: &Json, property: &str, left: &Json, right: &Json, names: &mut BTreeSet<String>) {
        if left == right {
            return;
        }
        for (definition, form) in self.forms(schema, property) {
            match (left, right) {
                (Json::Object(left), Json::Object(right)) if knows_any(form, left.keys().chain(right.keys())) => {
                    let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
                    for key in keys {
                        let name = format!("{definition}.{key}");
                        let schema = form.get("properties").and_then(|known| known.get(key));
                        match (schema, left.get(key), right.get(key)) {
                            (Some(schema), Some(left), Some(right)) => self.compare(schema, &name, left, right, names),
                            _ => drop(names.insert(name)),
                        }
                    }
                    return;
                }
                (Json::Object(left), Json::Object(right)) if is_open_map(form) => {
                    let schema = form.get("additionalProperties").unwrap_or(&Json::Null);
                    if left.keys().ne(right.keys()) {
                        names.insert(property.to_owned());
                    }
                    for (key, left) in left {
                        let right = right.get(key).unwrap_or(left);
                        self.compare(schema, property, left, right, names);
                    }
                    return;
                }
                (Json::List(left), Json::List(right)) if form.get("items").is_some() && left.len() == right.len() => {
                    let schema = form.get("items").unwrap_or(&Json::Null);
                    left.iter().zip(right).for_each(|(left, right)| {
                        self.compare(schema, property, left, right, names);
                    });
                    return;
                }
                _ => {}
            }
        }
        names.insert(property.to_owned());
    }
}

/// Whether any key may stand in a map.
fn is_open_map(form: &Json) -> bool {
    form.get("additionalProperties").is_some_and(|schema| *schema != Json::Bool(false))
}

/// Of several maps a value may be, the one it is meant to be.
fn knows_any<'k>(form: &Json, mut keys: impl Iterator<Item = &'k String>) -> bool {
    form.get("properties").is_some_and(|known| keys.any(|key| known.get(key).is_some()))
}

fn collect(name: &str, schema: &Json, names: &mut BTreeSet<String>) {
    match schema {
        Json::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("$defs", Json::Object(definitions)) => {
                        definitions.iter().for_each(|(name, definition)| collect(name, definition, names));
                    }
                    ("properties", Json::Object(properties)) => {
                        for (property, schema) in properties {
                            let property = format!("{name}.{property}");
                            collect(&property, schema, names);
                            names.insert(property);
                        }
                    }
                    _ => collect(&format!("{name}/{key}"), value, names),
                }
            }
        }
        Json::List(items) => items.iter().for_each(|item| collect(name, item, names)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
}

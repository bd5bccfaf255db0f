//! The types policies see: what the schema of an action's params proves about the context, and nothing beyond it.

use std::collections::BTreeMap;
use values::json::{Json, Object};

/// What is known about a value before any proposal is seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Type {
    /// Nothing is declared, so nothing can be proven.
    Unknown,
    /// The value where it is the same for every proposal.
    Bool(Option<bool>),
    Long,
    Decimal,
    /// The text where it is the same for every proposal.
    Text(Option<String>),
    /// The entity where it is the same for every proposal.
    Entity(Option<String>),
    Set(Box<Type>),
    Record(Record),
}

/// A record's members, and whether there may be others.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Record {
    pub(super) members: BTreeMap<String, Member>,
    pub(super) open: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Member {
    pub(super) kind: Type,
    pub(super) presence: Presence,
}

/// Whether a member is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    Always,
    Optional,
    /// Other keywords of the schema may insist on it or forbid it.
    Unclear,
}

/// Keywords that say more about which members are there.
const UNCLEAR: [&str; 8] =
    ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentRequired", "dependentSchemas", "minProperties"];

impl Type {
    /// The kind alone, without what is known about the value.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Type::Unknown => "unknown",
            Type::Bool(_) => "true or false",
            Type::Long => "a whole number",
            Type::Decimal => "a decimal",
            Type::Text(_) => "text",
            Type::Entity(_) => "an entity",
            Type::Set(_) => "a list",
            Type::Record(_) => "an object",
        }
    }

    /// Whether no value can be of both.
    pub(super) fn differs(&self, other: &Type) -> bool {
        *self != Type::Unknown && *other != Type::Unknown && self.word() != other.word()
    }

    /// What holds of both.
    pub(super) fn common(self, other: Type) -> Type {
        if self == other {
            return self;
        }
        match (self, other) {
            (Type::Bool(_), Type::Bool(_)) => Type::Bool(None),
            (Type::Text(_), Type::Text(_)) => Type::Text(None),
            (Type::Entity(_), Type::Entity(_)) => Type::Entity(None),
            (Type::Set(left), Type::Set(right)) => Type::Set(Box::new(left.common(*right))),
            _ => Type::Unknown,
        }
    }
}

impl Record {
    pub(super) fn of<const N: usize>(members: [(&str, Type, Presence); N]) -> Record {
        let members = members.map(|(name, kind, presence)| (name.to_owned(), Member { kind, presence }));
        Record { members: members.into(), open: false }
    }

    /// The params of an action as its schema declares them.
    pub(super) fn of_params(schema: &Json) -> Record {
        record(schema, true)
    }
}

fn record(schema: &Json, top: bool) -> Record {
    let lists = |keyword: &str| schema.get(keyword).and_then(Json::as_list).unwrap_or_default();
    let required = |name: &str| lists("required").iter().any(|one| one.as_text() == Some(name));
    let unclear = UNCLEAR.iter().any(|keyword| schema.get(keyword).is_some());
    let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
    let members = properties.map(|(name, property)| {
        let presence = match (required(name), nullable(property)) {
            (true, Some(false)) => Presence::Always,
            // Null is absent to policies.
            (true, Some(true)) => Presence::Optional,
            (false, _) if !unclear => Presence::Optional,
            (true, None) | (false, _) => Presence::Unclear,
        };
        (name.clone(), Member { kind: kind(property, top), presence })
    });
    let closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    Record { members: members.collect(), open: !closed || schema.get("patternProperties").is_some() }
}

/// The types a schema names.
fn words(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::Text(one)) => vec![one],
        Some(Json::List(several)) => several.iter().filter_map(Json::as_text).collect(),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => Vec::new(),
    }
}

/// Whether null is a value of the schema, where it says.
fn nullable(schema: &Json) -> Option<bool> {
    let words = words(schema);
    if words.is_empty() { None } else { Some(words.contains(&"null")) }
}

/// Keywords of a schema only ever narrow it, so its `type` holds whatever else it says.
fn kind(schema: &Json, top: bool) -> Type {
    let words: Vec<&str> = words(schema).into_iter().filter(|word| *word != "null").collect();
    match words.as_slice() {
        ["boolean"] => Type::Bool(None),
        ["string"] => Type::Text(None),
        ["integer"] => Type::Long,
        // Only declared params become decimals whatever their value; inside lists and objects the value decides.
        ["number"] if top => Type::Decimal,
        ["array"] => Type::Set(Box::new(item(schema))),
        ["object"] if schema.get("properties").is_some_and(is_object) => Type::Record(record(schema, false)),
        ["object"] => Type::Record(Record { open: true, ..Record::default() }),
        _ => Type::Unknown,
    }
}

fn is_object(json: &Json) -> bool {
    json.as_object().map(Object::len).is_some()
}

fn item(schema: &Json) -> Type {
    match schema.get("items") {
        Some(items) if schema.get("prefixItems").is_none() => kind(items, false),
        Some(_) | None => Type::Unknown,
    }
}

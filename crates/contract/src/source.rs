//! The contract as it was written: values with the place they stand at, so that an error can point there.

use kernel::contract::attenuate::Widening;
use kernel::reasons::Reason;
use std::fmt;
use values::json::{Json, Object};

/// Where something stands: line and column from 1, and the byte range it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Line, from 1; 0 where there is no text (a contract built from JSON).
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// First byte.
    pub start: usize,
    /// Byte behind the last.
    pub end: usize,
}

/// A value and its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
}

/// What a node holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Null, boolean, number or text.
    Scalar(Json),
    /// Items in order.
    List(Vec<Node>),
    /// Members in the order they were written; keys are unique.
    Map(Vec<Member>),
}

/// A key with its place, and its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_place: Place,
    /// The value.
    pub node: Node,
}

/// One thing wrong with a contract, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Stable code: `CONTRACT_INVALID`, `NOT_ENFORCED_YET`, `CONTRACT_WIDENS_PARENT`, or a lint.
    pub code: &'static str,
    /// Whether the contract is unusable.
    pub severity: Severity,
    /// Path of keys: `actions.issue_refund.limits.amount`.
    pub path: String,
    /// Where.
    pub place: Place,
    /// What is wrong, with the user's own words in backticks.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The contract is unusable.
    Error,
    /// A key that does nothing yet: an error unless the operator allows it.
    Inert,
    /// Probably not what was meant.
    Warning,
}

impl Node {
    /// A node without a place, from a plain value.
    pub fn from_json(json: &Json) -> Node {
        Node::from(json.clone())
    }

    /// The plain value without places.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Scalar(scalar) => scalar.clone(),
            Value::List(items) => Json::List(items.iter().map(Node::to_json).collect()),
            Value::Map(members) => Json::Object(
                members.iter().map(|member| (member.key.clone(), member.node.to_json())).collect::<Object>(),
            ),
        }
    }

    /// The member of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(members) => members.iter().find(|member| member.key == key).map(|member| &member.node),
            Value::Scalar(_) | Value::List(_) => None,
        }
    }
}

impl From<Json> for Node {
    fn from(json: Json) -> Node {
        let member = |(key, value)| Member { key, key_place: Place::default(), node: Node::from(value) };
        let value = match json {
            Json::List(items) => Value::List(items.into_iter().map(Node::from).collect()),
            Json::Object(members) => Value::Map(members.into_iter().map(member).collect()),
            scalar @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_)) => Value::Scalar(scalar),
        };
        Node { value, place: Place::default() }
    }
}

impl Diagnostic {
    /// A child's contract that lies outside its parent's.
    pub fn widens_parent(widening: Widening) -> Diagnostic {
        Diagnostic {
            code: Reason::ContractWidensParent.code(),
            severity: Severity::Error,
            path: widening.path,
            place: Place::default(),
            message: widening.message,
            help: Some("narrow the child, or widen the parent first".to_owned()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code, self.message)?;
        if self.place.line > 0 {
            write!(formatter, " (line {}, column {})", self.place.line, self.place.column)?;
        }
        Ok(())
    }
}

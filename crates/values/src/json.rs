//! The strict JSON door: exact decimals, no duplicate keys, bounded; and the canonical bytes of RFC 8785.

mod canonical;
mod members;
mod parse;

use crate::decimal::Decimal;
use std::collections::BTreeMap;

pub use canonical::is_exact;
pub use canonical::write_object as write_members;
pub use members::Members;
pub use parse::{Bounds, Problem, Refusal};

/// Members of an object, in the order of their UTF-8 bytes.
pub type Object = BTreeMap<String, Json>;

/// A JSON value that came through the strict door, or was built by the kernel.
///
/// ```
/// use values::json::Json;
/// let value = Json::parse(br#"{"b": 1.50, "a": [true, null]}"#).unwrap();
/// assert_eq!(value.to_canonical(), r#"{"a":[true,null],"b":1.5}"#);
/// assert!(Json::parse(br#"{"a": 1, "a": 2}"#).is_err(), "duplicate keys are refused");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number whose canonical text denotes exactly this decimal.
    Number(Decimal),
    /// A string without U+0000 or lone surrogates.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Object),
}

impl Json {
    /// Reads one JSON document under the bounds of a proposal (256 KiB, depth 32, 10,000 nodes).
    pub fn parse(bytes: &[u8]) -> Result<Json, Refusal> {
        Json::parse_within(bytes, &Bounds::PROPOSAL)
    }

    /// Reads one JSON document under the given bounds.
    pub fn parse_within(bytes: &[u8], bounds: &Bounds) -> Result<Json, Refusal> {
        parse::document(bytes, bounds)
    }

    /// Reads back what the kernel wrote. Its own text is always readable, and a test reads every kind of it.
    pub fn parse_own(text: &str) -> Json {
        Json::parse_within(text.as_bytes(), &Bounds::OWN).unwrap_or_default()
    }

    /// The bytes of RFC 8785: equal values have equal text.
    pub fn to_canonical(&self) -> String {
        let mut text = String::with_capacity(256);
        canonical::write(self, &mut text);
        text
    }

    /// Appends the canonical text.
    pub fn write_canonical(&self, text: &mut String) {
        canonical::write(self, text);
    }

    /// A number as JSON: as it is if its canonical text is exact, else as text.
    ///
    /// Sums may have more digits than a double holds; writing them as numbers would change them.
    pub fn from_decimal(value: Decimal) -> Json {
        if is_exact(value) { Json::Number(value) } else { Json::Text(value.to_string()) }
    }

    /// An object from pairs.
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Text from anything printable.
    pub fn text(value: impl Into<String>) -> Json {
        Json::Text(value.into())
    }

    /// A list of texts.
    pub fn texts<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Json {
        Json::List(values.into_iter().map(|value| Json::Text(value.into())).collect())
    }

    /// The member of an object, if this is one and has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object().and_then(|members| members.get(key))
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Decimal> {
        if let Json::Number(number) = self { Some(*number) } else { None }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        if let Json::Object(members) = self { Some(members) } else { None }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Json]> {
        if let Json::List(items) = self { Some(items) } else { None }
    }

    /// What kind of value it is, in the words a person uses.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::Text(_) => "text",
            Json::List(_) => "a list",
            Json::Object(_) => "an object",
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Json {
        Json::Text(value)
    }
}

impl From<Decimal> for Json {
    fn from(value: Decimal) -> Json {
        Json::from_decimal(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Json {
        Json::from_decimal(Decimal::from(value))
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

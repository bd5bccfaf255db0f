//! The kernel's values as the validator sees them: borrowed, never converted on the way that counts.

use jsonschema::JsonType;
use jsonschema::json::{self, JsonNumber, Node, NodeIdentity};
use serde_json::{Number, Value};
use std::borrow::Cow;
use std::collections::btree_map;
use values::decimal::Decimal;
use values::json::{Json, Object};

/// Names our representation.
pub(super) struct KernelJson;

/// One value, the params as a whole, or the name of a property.
#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    Value(&'a Json),
    Members(&'a Object),
    Name(&'a str),
}

impl json::Json for KernelJson {
    type Node<'a> = View<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    // A lookup orders keys, so a pass over a small object is cheaper than many lookups.
    const KEYS_PER_LOOKUP: usize = 2;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(View<'_>) -> T) -> T {
        f(View::Name(string))
    }
}

impl<'a> Node<'a, KernelJson> for View<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = Exact;

    fn as_object(&self) -> Option<Members<'a>> {
        match *self {
            View::Members(members) | View::Value(Json::Object(members)) => Some(Members(members)),
            View::Value(_) | View::Name(_) => None,
        }
    }

    fn as_array(&self) -> Option<Items<'a>> {
        if let View::Value(Json::List(items)) = self { Some(Items(items)) } else { None }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            View::Value(Json::Text(text)) => Some(Cow::Borrowed(text)),
            View::Name(name) => Some(Cow::Borrowed(name)),
            View::Value(_) | View::Members(_) => None,
        }
    }

    fn as_number(&self) -> Option<Exact> {
        if let View::Value(Json::Number(number)) = self { Some(Exact(*number)) } else { None }
    }

    fn as_boolean(&self) -> Option<bool> {
        if let View::Value(Json::Bool(value)) = self { Some(*value) } else { None }
    }

    fn is_null(&self) -> bool {
        matches!(self, View::Value(Json::Null))
    }

    fn json_type(&self) -> JsonType {
        match self {
            View::Value(Json::Null) => JsonType::Null,
            View::Value(Json::Bool(_)) => JsonType::Boolean,
            View::Value(Json::Number(_)) => JsonType::Number,
            View::Value(Json::Text(_)) | View::Name(_) => JsonType::String,
            View::Value(Json::List(_)) => JsonType::Array,
            View::Value(Json::Object(_)) | View::Members(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match self {
            View::Value(json) => same(json, expected),
            View::Members(members) => same_members(members, expected),
            View::Name(name) => expected.as_str() == Some(name),
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(match self {
            View::Value(json) => to_value(json),
            View::Members(members) => members_to_value(members),
            View::Name(name) => Value::String((*name).to_owned()),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let address = match self {
            View::Value(json) => std::ptr::from_ref::<Json>(json).addr(),
            View::Members(members) => std::ptr::from_ref::<Object>(members).addr(),
            View::Name(name) => name.as_ptr().addr(),
        };
        Some(NodeIdentity::new(address))
    }
}

/// Members of an object.
pub(super) struct Members<'a>(&'a Object);

/// Members in the order of their names.
pub(super) struct MembersIter<'a>(btree_map::Iter<'a, String, Json>);

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, View<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str(), View::Value(value)))
    }
}

impl<'a> json::Object<'a, KernelJson> for Members<'a> {
    type Node = View<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<View<'a>> {
        self.0.get(key).map(View::Value)
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter(self.0.iter())
    }
}

/// Items of a list.
pub(super) struct Items<'a>(&'a [Json]);

/// Items in order.
pub(super) struct ItemsIter<'a>(std::slice::Iter<'a, Json>);

impl<'a> Iterator for ItemsIter<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        self.0.next().map(View::Value)
    }
}

impl<'a> json::Array<'a, KernelJson> for Items<'a> {
    type Node = View<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter(self.0.iter())
    }
}

/// An exact number.
pub(super) struct Exact(pub(super) Decimal);

impl JsonNumber for Exact {
    fn as_u64(&self) -> Option<u64> {
        if self.0.is_integer() { u64::try_from(self.0.mantissa()).ok() } else { None }
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.to_i64()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0.to_string().parse().ok()
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Owned(self.0.to_string())
    }

    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Owned(number(self.0))
    }

    fn is_integer(&self) -> bool {
        self.0.is_integer()
    }

    fn is_written_as_integer(&self) -> bool {
        self.0.is_integer()
    }
}

/// The validator's own representation, for schemas and for messages.
pub(super) fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(decimal) => Value::Number(number(*decimal)),
        Json::Text(text) => Value::String(text.clone()),
        Json::List(items) => Value::Array(items.iter().map(to_value).collect()),
        Json::Object(members) => members_to_value(members),
    }
}

fn members_to_value(members: &Object) -> Value {
    Value::Object(members.iter().map(|(name, value)| (name.clone(), to_value(value))).collect())
}

/// Exact: a number that came through the strict door is the shortest text of one double.
fn number(decimal: Decimal) -> Number {
    let exact = Exact(decimal);
    if let Some(whole) = exact.as_u64() {
        return Number::from(whole);
    }
    if let Some(whole) = exact.as_i64() {
        return Number::from(whole);
    }
    exact.as_f64().and_then(Number::from_f64).unwrap_or_else(|| Number::from(0))
}

/// The decimal a schema's number denotes.
pub(super) fn decimal(number: &Number) -> Option<Decimal> {
    if let Some(whole) = number.as_u64() {
        return Some(Decimal::from(whole));
    }
    if let Some(whole) = number.as_i64() {
        return Some(Decimal::from(whole));
    }
    number.as_f64().and_then(|double| Decimal::parse(&double.to_string()))
}

fn same(json: &Json, expected: &Value) -> bool {
    match (json, expected) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(left), Value::Bool(right)) => left == right,
        (Json::Number(left), Value::Number(right)) => decimal(right) == Some(*left),
        (Json::Text(left), Value::String(right)) => left == right,
        (Json::List(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Json::Object(members), _) => same_members(members, expected),
        _ => false,
    }
}

fn same_members(members: &Object, expected: &Value) -> bool {
    let Value::Object(expected) = expected else { return false };
    members.len() == expected.len()
        && members.iter().all(|(name, value)| expected.get(name).is_some_and(|expected| same(value, expected)))
}

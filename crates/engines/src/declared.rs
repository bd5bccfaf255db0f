//! What an action's schema declares about its params.

use std::collections::BTreeMap;
use values::json::{Json, Object};

/// Which numbers a schema declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    /// `integer`
    Whole,
    /// `number`
    Any,
}

fn properties(schema: &Json) -> Option<&Object> {
    schema.get("properties").and_then(Json::as_object)
}

/// The declared params.
pub(crate) fn names(schema: &Json) -> impl Iterator<Item = &str> {
    properties(schema).into_iter().flat_map(|properties| properties.keys().map(String::as_str))
}

/// Whether the param is not declared.
pub(crate) fn missing(schema: &Json, param: &str) -> bool {
    properties(schema).is_none_or(|properties| !properties.contains_key(param))
}

/// The types that a param may have; `null` counts as absent. Empty where the schema does not say, or says it elsewhere.
pub(crate) fn kinds<'s>(schema: &'s Json, param: &str) -> Vec<&'s str> {
    let Some(property) = properties(schema).and_then(|properties| properties.get(param)) else { return Vec::new() };
    let kinds = match property.get("type") {
        Some(Json::Text(kind)) => vec![kind.as_str()],
        Some(Json::List(kinds)) => kinds.iter().filter_map(Json::as_text).collect(),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => Vec::new(),
    };
    kinds.into_iter().filter(|kind| *kind != "null").collect()
}

/// Whether a param is a number that is sent as text.
pub(crate) fn is_decimal(schema: &Json, param: &str) -> bool {
    let property = properties(schema).and_then(|properties| properties.get(param));
    property.and_then(|property| property.get("format")).and_then(Json::as_text) == Some("decimal")
}

/// How the numbers of a value are declared, at any depth: through `properties`, `items`, `prefixItems` and local `$ref`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Shape {
    number: Option<Number>,
    members: BTreeMap<String, Shape>,
    first_items: Vec<Shape>,
    other_items: Option<Box<Shape>>,
}

impl Shape {
    /// The shape of an action's params.
    pub(crate) fn of(schema: &Json) -> Shape {
        let mut parts_left = PARTS_MAX;
        shape(schema, schema, 0, &mut parts_left)
    }

    /// Whether a number here is declared `integer`. All others, also those nothing is said about, are `number`s.
    pub(crate) fn is_whole(&self) -> bool {
        self.number == Some(Number::Whole)
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Shape> {
        self.members.get(name)
    }

    pub(crate) fn item(&self, index: usize) -> Option<&Shape> {
        self.first_items.get(index).or(self.other_items.as_deref())
    }

    /// What two schemas that both apply say. `number` wins, so that the answer never depends on which is read first.
    fn and(mut self, other: Shape) -> Shape {
        self.number = match (self.number, other.number) {
            (Some(Number::Any), _) | (_, Some(Number::Any)) => Some(Number::Any),
            (one, another) => one.or(another),
        };
        for (name, theirs) in other.members {
            let ours = self.members.remove(&name).unwrap_or_default();
            self.members.insert(name, ours.and(theirs));
        }
        let ours = std::mem::take(&mut self.first_items);
        let rest = (self.other_items.as_deref().cloned(), other.other_items.as_deref().cloned());
        let count = ours.len().max(other.first_items.len());
        let at = |items: &[Shape], rest: &Option<Shape>, index: usize| {
            items.get(index).cloned().or_else(|| rest.clone()).unwrap_or_default()
        };
        self.first_items =
            (0..count).map(|index| at(&ours, &rest.0, index).and(at(&other.first_items, &rest.1, index))).collect();
        self.other_items = match rest {
            (Some(one), Some(another)) => Some(Box::new(one.and(another))),
            (one, another) => one.or(another).map(Box::new),
        };
        self
    }
}

/// Schemas that are larger with all references followed are refused when they are compiled, and so are endless ones;
/// policies are compiled all the same, to report their mistakes too.
const PARTS_MAX: usize = 5_000;
const DEPTH_MAX: usize = 256;

fn shape(root: &Json, here: &Json, depth: usize, parts_left: &mut usize) -> Shape {
    if *parts_left == 0 || depth == DEPTH_MAX {
        return Shape::default();
    }
    *parts_left -= 1;
    let mut below = |schema: &Json| shape(root, schema, depth + 1, parts_left);
    let mut found = Shape { number: number(here), ..Shape::default() };
    for (name, property) in properties(here).into_iter().flatten() {
        found.members.insert(name.clone(), below(property));
    }
    for item in here.get("prefixItems").and_then(Json::as_list).into_iter().flatten() {
        found.first_items.push(below(item));
    }
    found.other_items = here.get("items").map(|items| Box::new(below(items)));
    match here.get("$ref").and_then(Json::as_text).and_then(|reference| target(root, reference)) {
        Some(target) => found.and(below(target)),
        None => found,
    }
}

/// What a local reference points to: `#`, `#/$defs/a`, or the name of an anchor.
pub(crate) fn target<'s>(root: &'s Json, reference: &str) -> Option<&'s Json> {
    let fragment = percent_decoded(reference.strip_prefix('#')?)?;
    if !fragment.is_empty() && !fragment.starts_with('/') {
        return anchored(root, &fragment);
    }
    let mut here = root;
    for segment in fragment.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        here = match here {
            Json::Object(members) => members.get(&segment)?,
            Json::List(items) => items.get(segment.parse::<usize>().ok()?)?,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => return None,
        };
    }
    Some(here)
}

fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut pieces = fragment.split('%');
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        let byte = u8::from_str_radix(code, 16).ok()?;
        // Readers disagree whether these then still have their meaning in a pointer.
        if matches!(byte, b'/' | b'~') {
            return None;
        }
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// Recursion is bounded: contract documents are at most 32 deep.
fn anchored<'s>(here: &'s Json, name: &str) -> Option<&'s Json> {
    match here {
        Json::Object(members) => {
            let named = |keyword: &str| members.get(keyword).and_then(Json::as_text) == Some(name);
            if named("$anchor") || named("$dynamicAnchor") {
                return Some(here);
            }
            members.values().find_map(|member| anchored(member, name))
        }
        Json::List(items) => items.iter().find_map(|item| anchored(item, name)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => None,
    }
}

fn number(property: &Json) -> Option<Number> {
    let is = |word: &str| match property.get("type") {
        Some(Json::Text(one)) => one == word,
        Some(Json::List(several)) => several.iter().any(|one| one.as_text() == Some(word)),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => false,
    };
    if is("number") {
        Some(Number::Any)
    } else if is("integer") {
        Some(Number::Whole)
    } else {
        None
    }
}

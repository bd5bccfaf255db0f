//! Which way each key of the full form points: the shapes say so, and JSON Schema's keywords for params.

use crate::contract::CONTRACT;
use crate::contract::shape::{Direction, Holds, Key, Shape};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

use Direction::{Closed, MoreNarrows, MoreWidens, Neutral, Presence, PresenceWidens, SetNarrows, SetWidens, Unclear};

/// Keywords of a JSON Schema.
const KEYWORDS: &[(&str, Direction)] = &[
    ("additionalProperties", Closed),
    ("required", SetNarrows),
    ("enum", SetWidens),
    ("description", Neutral),
    ("title", Neutral),
    ("examples", Neutral),
    ("maxLength", MoreWidens),
    ("maximum", MoreWidens),
    ("exclusiveMaximum", MoreWidens),
    ("maxItems", MoreWidens),
    ("minLength", MoreNarrows),
    ("minimum", MoreNarrows),
    ("exclusiveMinimum", MoreNarrows),
    ("minItems", MoreNarrows),
    ("pattern", Presence),
];

/// What the shapes say about a path. What none of them names is unclear.
pub(super) fn direction_of(path: &[String]) -> Direction {
    in_shape(&CONTRACT, path)
}

fn in_shape(shape: &Shape, path: &[String]) -> Direction {
    let Some((first, below)) = path.split_first() else { return Unclear };
    let Some(key) = shape.full.iter().find(|key| key.name == first) else { return Unclear };
    if below.is_empty() { key.direction } else { below_key(key, below) }
}

fn below_key(key: &Key, path: &[String]) -> Direction {
    match (key.holds, path) {
        (Holds::Map(shape), path) => in_shape(shape, path),
        (Holds::Each(entry, _), [_]) => entry,
        (Holds::Each(_, Some(shape)), [_, below @ ..]) => in_shape(shape, below),
        (Holds::Settings(direction), _) => direction,
        (Holds::Schema, path) => schema_direction(path, true),
        (Holds::Each(_, None) | Holds::Value, _) | (Holds::Each(..), []) => Unclear,
    }
}

/// Names of params can equal keywords, so the path is walked the way a schema is built.
fn schema_direction(path: &[String], at_root: bool) -> Direction {
    match path {
        [keyword, _] if keyword == "properties" && at_root => PresenceWidens,
        [keyword, _, rest @ ..] if keyword == "properties" && !rest.is_empty() => schema_direction(rest, false),
        [keyword, rest @ ..] if keyword == "items" && !rest.is_empty() => schema_direction(rest, false),
        [keyword] => KEYWORDS.iter().find(|(known, _)| known == keyword).map_or(Unclear, |(_, direction)| *direction),
        // Under `not`, `if` or `oneOf` more can mean less.
        _ => Unclear,
    }
}

/// A number or a length of time, for comparing.
pub(super) fn size(value: &Json) -> Option<Decimal> {
    match value {
        Json::Number(number) => Some(*number),
        Json::Text(text) => {
            Decimal::parse(text).or_else(|| Duration::parse(text).map(|length| Decimal::from(length.micros())))
        }
        Json::Null | Json::Bool(_) | Json::List(_) | Json::Object(_) => None,
    }
}

/// A word, or a truth value as a word.
pub(super) fn word(value: &Json) -> Option<String> {
    match value {
        Json::Text(text) => Some(text.clone()),
        Json::Bool(flag) => Some(flag.to_string()),
        Json::Null | Json::Number(_) | Json::List(_) | Json::Object(_) => None,
    }
}

//! Which way each key of the full form points, as a table.

use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

/// What more, or another value, means for what the agent may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    /// A bound from above: more is wider, and without it anything goes.
    MoreWidens,
    /// A bound from below: more is narrower, and without it anything goes.
    MoreNarrows,
    /// A list of what may be: longer is wider, and without it anything may be.
    SetWidens,
    /// A list of what may not be: longer is narrower.
    SetNarrows,
    /// Being there narrows; how a change moves it cannot be told.
    Presence,
    /// Being there widens; how a change moves it cannot be told.
    PresenceWidens,
    /// An expression that must hold.
    Condition,
    /// Text to which only restrictions can be added.
    Extension,
    /// Whether unknown params are refused: `false` is the narrow value, and without it they pass.
    Closed,
    /// How far something may have moved: `exact` is narrower than any tolerance.
    Tolerance,
    /// Words from narrow to wide.
    Words(&'static [&'static str]),
    /// Does not touch what may happen.
    Neutral,
    /// Cannot be told.
    Unclear,
}

use Direction::{
    Closed, Condition, Extension, MoreNarrows, MoreWidens, Neutral, Presence, PresenceWidens, SetNarrows, SetWidens,
    Tolerance, Unclear, Words,
};

/// First match wins; `*` is any one key, `**` any number of them. What no row names is unclear.
const TABLE: &[(&str, Direction)] = &[
    ("actions *", PresenceWidens),
    ("actions * once", Presence),
    ("actions * limits *", Presence),
    ("actions * limits * max", MoreWidens),
    ("actions * limits * min", MoreNarrows),
    ("actions * limits * signed", Words(&["false", "true"])),
    ("actions * limits * allowed", SetWidens),
    ("actions * limits * denied", SetNarrows),
    ("actions * limits * match", Words(&["substring", "exact"])),
    ("actions * limits * script", Presence),
    ("actions * limits * state", Presence),
    ("actions * limits * state tolerance", Tolerance),
    ("actions * limits * state tolerance *", MoreWidens),
    ("actions * refuse *", Presence),
    ("actions * allow", Condition),
    ("actions * ask *", Presence),
    ("actions * budgets *", Presence),
    ("actions * budgets * max", MoreWidens),
    ("actions * reserves *", Presence),
    ("actions * validators", SetNarrows),
    ("actions * judges", SetNarrows),
    ("actions * leases", Presence),
    ("actions * from *", SetWidens),
    ("actions * impact", Words(&["CRITICAL", "HIGH", "MEDIUM", "LOW"])),
    ("actions * run timeout", Neutral),
    ("actions * amendable *", PresenceWidens),
    ("actions * amendable * max ceiling", MoreWidens),
    ("actions * amendable * max floor", Neutral),
    ("actions * amendable * min floor", MoreNarrows),
    ("actions * amendable * min ceiling", Neutral),
    ("actions * amendable * ttl", MoreWidens),
    ("actions * amendable * *", PresenceWidens),
    ("budgets *", Presence),
    ("budgets * max", MoreWidens),
    // Detectors advise, and handlers never go beyond what was decided; what rules make of it stands in the actions.
    ("detectors", Neutral),
    ("detectors **", Neutral),
    ("drift *", Tolerance),
    ("drift * *", MoreWidens),
    ("enforcement", Unclear),
    ("enforcement **", Unclear),
    ("escalation approvers", SetWidens),
    ("escalation budget max", MoreWidens),
    ("escalation budget per", MoreNarrows),
    ("escalation quorum", MoreNarrows),
    ("escalation on_exhausted", Words(&["PASSIVE", "ABORT"])),
    ("escalation valid_after", MoreWidens),
    ("escalation signed", Presence),
    ("escalation timeout after", MoreWidens),
    ("escalation timeout remind", Neutral),
    // Whom a question is passed on to may answer it.
    ("escalation timeout reroute", PresenceWidens),
    ("escalation timeout to", PresenceWidens),
    ("handlers", Neutral),
    ("handlers *", Neutral),
    ("handlers * timeout", Neutral),
    ("id", Neutral),
    // A plug-in that no action asks does nothing; whom actions ask is compared with them.
    ("judges", Neutral),
    ("judges *", Neutral),
    ("judges * escalate_below", MoreNarrows),
    ("judges * timeout", Neutral),
    ("mission", Neutral),
    ("mode", Words(&["enforce", "observe"])),
    ("monitors", Presence),
    ("parent", Presence),
    ("policies", Extension),
    ("priority", Neutral),
    ("proposal confidence", Presence),
    ("proposal confidence *", MoreNarrows),
    ("proposal context_max_age", MoreWidens),
    ("proposal retries", MoreWidens),
    ("proposal spend *", MoreWidens),
    ("proposal ttl *", MoreWidens),
    ("resources *", Neutral),
    ("resources * capacity", MoreWidens),
    ("resources * kind", Words(&["stock", "slots"])),
    ("role", Words(&["INTERFACE", "MONITOR", "STRATEGIST", "EXECUTOR"])),
    ("validators", Neutral),
    ("validators *", Neutral),
    ("validators * timeout", Neutral),
    ("version", Neutral),
    ("wake_when", Neutral),
    ("witnesses", Presence),
    ("witnesses *", Presence),
    ("witnesses **", Unclear),
    ("writkeeper", Neutral),
];

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

/// What the tables say about a path.
pub(super) fn direction_of(path: &[String]) -> Direction {
    if let [first, _, third, schema @ ..] = path
        && first == "actions"
        && third == "params"
    {
        return schema_direction(schema, true);
    }
    TABLE.iter().find(|(pattern, _)| fits(pattern, path)).map_or(Unclear, |(_, direction)| *direction)
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

fn fits(pattern: &str, path: &[String]) -> bool {
    let pattern: Vec<&str> = pattern.split(' ').collect();
    fits_from(&pattern, path)
}

fn fits_from(pattern: &[&str], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            fits_from(rest, path) || path.split_first().is_some_and(|(_, behind)| fits_from(pattern, behind))
        }
        (Some((word, rest)), Some((key, behind))) => (*word == "*" || word == key) && fits_from(rest, behind),
        (None, Some(_)) | (Some(_), None) => false,
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

//! Bounds of one param.

use super::members::Members;
use super::shape::{Direction, Holds, shape};
use super::tolerance::{TOLERANCE, Tolerance};
use super::words;
use crate::template::Template;
use values::decimal::Decimal;
use values::json::Json;

shape! {
    /// Bounds of one param.
    LIMIT = "limit" {
        "min": Direction::MoreNarrows;
        "max": Direction::MoreWidens;
        "unit": Direction::Unclear;
        "signed": Direction::Words(&["false", "true"]);
        "allowed": Direction::SetWidens;
        "denied": Direction::SetNarrows;
        "match": Direction::Words(&["substring", "exact"]);
        "script": Direction::Presence;
        "state": Direction::Presence, Holds::Map(&STATE_MATCH);
    }
}

shape! {
    /// A param that must agree with state.
    STATE_MATCH = "state_match" {
        "key": Direction::Unclear;
        "tolerance": Direction::Tolerance, Holds::Map(&TOLERANCE);
    }
}

words! {
    /// How a denied text is looked for.
    Matching {
        /// The whole value, ignoring case.
        Exact = "exact",
        /// Anywhere inside, ignoring case.
        Substring = "substring",
    }
}

words! {
    /// Which letters an identifier may mix.
    Script {
        /// Those of one script.
        Single = "single",
    }
}

/// Bounds of one param.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Limit {
    /// Not below.
    pub min: Option<Decimal>,
    /// Not above.
    pub max: Option<Decimal>,
    /// The unit amounts are in.
    pub unit: Option<String>,
    /// Negative numbers are meant.
    pub signed: bool,
    /// Nothing else.
    pub allowed: Option<Vec<Json>>,
    /// None of these.
    pub denied: Vec<String>,
    /// How denied text is looked for.
    pub matching: Option<Matching>,
    /// Which letters it may mix; absent means any.
    pub script: Option<Script>,
    /// Must agree with this state.
    pub state: Option<StateMatch>,
}

impl Limit {
    /// Whether the limit bounds a number, which makes its param mandatory. `signed` alone bounds nothing.
    pub fn is_numeric(&self) -> bool {
        self.min.is_some() || self.max.is_some() || self.unit.is_some()
    }
}

impl Limit {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        object.put_some("min", self.min);
        object.put_some("max", self.max);
        object.put_some("unit", self.unit.as_deref());
        object.put("signed", Json::Bool(self.signed));
        object.put_some("allowed", self.allowed.clone().map(Json::List));
        if !self.denied.is_empty() {
            object.put("denied", Json::texts(self.denied.iter().map(String::as_str)));
        }
        object.put_some("match", self.matching.map(|matching| matching.word()));
        object.put_some("script", self.script.map(|script| script.word()));
        object.put_some(
            "state",
            self.state.as_ref().map(|state| {
                Json::object([("key", Json::text(state.key.as_str())), ("tolerance", state.tolerance.to_json())])
            }),
        );
        object.done()
    }
}

/// A param must agree with live state.
#[derive(Clone, PartialEq, Debug)]
pub struct StateMatch {
    /// The key, a template over params.
    pub key: Template,
    /// How far they may lie apart.
    pub tolerance: Tolerance,
}

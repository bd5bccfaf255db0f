//! How far two values may lie apart.

use super::shape::{Direction, shape};
use crate::template::Template;
use values::decimal::Decimal;
use values::json::Json;

shape! {
    /// How far two values may lie apart.
    TOLERANCE = "tolerance" { "percent": Direction::MoreWidens; "absolute": Direction::MoreWidens; }
}

/// How far two values may lie apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// Not at all.
    Exact,
    /// By so many percent of the older value.
    Percent(Decimal),
    /// By so much.
    Absolute(Decimal),
}

impl Tolerance {
    /// The full form.
    pub(super) fn to_json(self) -> Json {
        match self {
            Tolerance::Exact => Json::text("exact"),
            Tolerance::Percent(percent) => Json::object([("percent", percent.into())]),
            Tolerance::Absolute(absolute) => Json::object([("absolute", absolute.into())]),
        }
    }
}

/// A key of live state and how far it may have moved since the snapshot.
#[derive(Clone, PartialEq, Debug)]
pub struct DriftKey {
    /// The key, a template over params.
    pub key: Template,
    /// How far.
    pub tolerance: Tolerance,
}

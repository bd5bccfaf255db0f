//! A windowed budget.

use super::members::Members;
use super::shape::{Direction, shape};
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

shape! {
    /// A windowed budget.
    BUDGET = "budget" {
        "sum": Direction::Unclear;
        "count": Direction::Unclear;
        "max": Direction::MoreWidens;
        "per": Direction::Unclear;
    }
}

/// At most so much in any window of this length.
#[derive(Clone, PartialEq, Debug)]
pub struct Budget {
    /// The param that is summed; without one, decisions are counted.
    pub sum: Option<String>,
    /// The most a window may hold.
    pub max: Decimal,
    /// Length of the rolling window.
    pub per: Duration,
}

impl Budget {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        match &self.sum {
            Some(param) => object.put("sum", Json::text(param)),
            None => object.put("count", Json::Bool(true)),
        }
        object.put("max", self.max.into());
        object.put("per", Json::text(self.per.to_string()));
        object.done()
    }
}

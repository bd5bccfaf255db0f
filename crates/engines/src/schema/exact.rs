//! The numeric keywords on exact decimals: 12.50 is a multiple of 0.01, whatever a double makes of it.

use super::view::{self, KernelJson, View};
use jsonschema::{Keyword, Retrieve, ValidationError, ValidationOptions};
use serde_json::Value;
use std::sync::Arc;
use values::decimal::Decimal;
use values::json::Json;

type Options<'i> = ValidationOptions<'i, Arc<dyn Retrieve>, KernelJson>;

/// Takes the numeric keywords over.
pub(super) fn register(options: Options<'_>) -> Options<'_> {
    options
        .with_keyword("minimum", |_, value, _| bound(Relation::NotBelow, value))
        .with_keyword("maximum", |_, value, _| bound(Relation::NotAbove, value))
        .with_keyword("exclusiveMinimum", |_, value, _| bound(Relation::Above, value))
        .with_keyword("exclusiveMaximum", |_, value, _| bound(Relation::Below, value))
        .with_keyword("multipleOf", |_, value, _| bound(Relation::MultipleOf, value))
}

#[derive(Clone, Copy)]
enum Relation {
    NotBelow,
    NotAbove,
    Above,
    Below,
    MultipleOf,
}

struct Bound {
    relation: Relation,
    limit: Decimal,
}

fn bound<'v>(
    relation: Relation,
    value: &'v Value,
) -> Result<Box<dyn for<'i> Keyword<'i, KernelJson>>, ValidationError<'v>> {
    let limit = if let Value::Number(number) = value { view::decimal(number) } else { None };
    match limit {
        Some(limit) => Ok(Box::new(Bound { relation, limit })),
        None => Err(ValidationError::schema("a bound must be a number")),
    }
}

impl Bound {
    fn holds(&self, number: Decimal) -> bool {
        match self.relation {
            Relation::NotBelow => number >= self.limit,
            Relation::NotAbove => number <= self.limit,
            Relation::Above => number > self.limit,
            Relation::Below => number < self.limit,
            // What cannot be divided exactly is not a multiple.
            Relation::MultipleOf => number.checked_rem(self.limit).is_some_and(Decimal::is_zero),
        }
    }

    fn problem(&self) -> String {
        let relation = match self.relation {
            Relation::NotBelow => "is below",
            Relation::NotAbove => "is above",
            Relation::Above => "is not above",
            Relation::Below => "is not below",
            Relation::MultipleOf => "is not a multiple of",
        };
        format!("{relation} {}", self.limit)
    }
}

impl<'i> Keyword<'i, KernelJson> for Bound {
    fn validate(&self, instance: View<'i>) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) { Ok(()) } else { Err(ValidationError::custom(self.problem())) }
    }

    fn is_valid(&self, instance: View<'i>) -> bool {
        if let View::Value(Json::Number(number)) = instance { self.holds(*number) } else { true }
    }
}

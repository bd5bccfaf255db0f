//! Values during evaluation: borrowed from the proposal and the state wherever possible.

use super::tree::Comparison;
use kernel::evaluator::ExpressionFault;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;
use values::decimal::Decimal;
use values::json::{Json, Object};

pub(super) type Outcome<T> = Result<T, ExpressionFault>;

pub(super) fn fault<T>(problem: impl Into<String>) -> Outcome<T> {
    Err(ExpressionFault { problem: problem.into() })
}

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(Decimal),
    Text(Cow<'a, str>),
    List(List<'a>),
    Object(&'a Object),
}

/// A list that came in, or one that the expression made.
#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Given(&'a [Json]),
    Made(Rc<Vec<Value<'a>>>),
}

impl<'a> List<'a> {
    pub(super) fn made(items: Vec<Value<'a>>) -> List<'a> {
        List::Made(Rc::new(items))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            List::Given(items) => items.len(),
            List::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            List::Given(items) => items.get(index).map(Value::from),
            List::Made(items) => items.get(index).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'a> From<&'a Json> for Value<'a> {
    fn from(json: &'a Json) -> Value<'a> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => Value::Number(*number),
            Json::Text(text) => Value::Text(Cow::Borrowed(text)),
            Json::List(items) => Value::List(List::Given(items)),
            Json::Object(members) => Value::Object(members),
        }
    }
}

impl Value<'_> {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}

/// A bound on work, so that no expression can hold up the queue.
#[derive(Debug)]
pub(super) struct Fuel(u32);

impl Fuel {
    /// Far more than any sensible rule needs, and still well under ten milliseconds.
    pub(super) const STEPS_MAX: u32 = 100_000;
    /// Bytes of text that cost as much as one step.
    const BYTES_PER_STEP: usize = 64;

    pub(super) fn full() -> Fuel {
        Fuel(Fuel::STEPS_MAX)
    }

    pub(super) fn burn(&mut self, steps: usize) -> Outcome<()> {
        let left = u32::try_from(steps).ok().and_then(|steps| self.0.checked_sub(steps));
        // Nothing may run once the tank is empty: `||` absorbs faults, and must not absorb this one.
        self.0 = left.unwrap_or(0);
        match left {
            Some(_) => Ok(()),
            None => fault(format!("the expression takes more than {} steps", Fuel::STEPS_MAX)),
        }
    }

    pub(super) fn burn_text(&mut self, bytes: usize) -> Outcome<()> {
        self.burn(bytes / Fuel::BYTES_PER_STEP)
    }
}

/// CEL's equality: different kinds are unequal, numbers are equal if their values are.
pub(super) fn equal(left: &Value<'_>, right: &Value<'_>, fuel: &mut Fuel) -> Outcome<bool> {
    match (left, right) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Number(left), Value::Number(right)) => Ok(left == right),
        (Value::Text(left), Value::Text(right)) => {
            fuel.burn_text(left.len().min(right.len()))?;
            Ok(left == right)
        }
        (Value::List(left), Value::List(right)) => equal_lists(left, right, fuel),
        (Value::Object(left), Value::Object(right)) => equal_objects(left, right, fuel),
        _ => Ok(false),
    }
}

fn equal_lists(left: &List<'_>, right: &List<'_>, fuel: &mut Fuel) -> Outcome<bool> {
    if left.len() != right.len() {
        return Ok(false);
    }
    fuel.burn(left.len())?;
    for (left, right) in left.iter().zip(right.iter()) {
        if !equal(&left, &right, fuel)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_objects(left: &Object, right: &Object, fuel: &mut Fuel) -> Outcome<bool> {
    if left.len() != right.len() {
        return Ok(false);
    }
    fuel.burn(left.len())?;
    for ((left_key, left), (right_key, right)) in left.iter().zip(right) {
        if left_key != right_key || !equal(&Value::from(left), &Value::from(right), fuel)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares; an order between different kinds is a fault.
pub(super) fn compare(
    comparison: Comparison,
    left: &Value<'_>,
    right: &Value<'_>,
    fuel: &mut Fuel,
) -> Outcome<Option<bool>> {
    let ordering = match comparison {
        Comparison::Equal => return equal(left, right, fuel).map(Some),
        Comparison::NotEqual => return equal(left, right, fuel).map(|same| Some(!same)),
        Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
            match (left, right) {
                (Value::Number(left), Value::Number(right)) => left.cmp(right),
                (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
                (Value::Text(left), Value::Text(right)) => {
                    fuel.burn_text(left.len().min(right.len()))?;
                    left.as_ref().cmp(right.as_ref())
                }
                _ => return Ok(None),
            }
        }
    };
    Ok(Some(holds(comparison, ordering)))
}

fn holds(comparison: Comparison, ordering: Ordering) -> bool {
    match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::NotEqual => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    }
}

//! The functions an expression may call. All are total: an argument of the wrong kind is a fault.

use super::tree::Function;
use super::value::{Fuel, List, Outcome, Value, fault};
use std::borrow::Cow;
use values::decimal::Decimal;

/// Applies a function. The number of arguments was checked when the expression was compiled.
pub(super) fn call<'a>(function: Function, arguments: &[Value<'a>], fuel: &mut Fuel) -> Outcome<Value<'a>> {
    for argument in arguments {
        if let Value::Text(text) = argument {
            fuel.burn_text(text.len())?;
        }
    }
    match (function, arguments) {
        (Function::Size, [value]) => size(value),
        (Function::Contains, [Value::Text(text), Value::Text(part)]) => Ok(Value::Bool(text.contains(part.as_ref()))),
        (Function::StartsWith, [Value::Text(text), Value::Text(part)]) => {
            Ok(Value::Bool(text.starts_with(part.as_ref())))
        }
        (Function::EndsWith, [Value::Text(text), Value::Text(part)]) => Ok(Value::Bool(text.ends_with(part.as_ref()))),
        (Function::LowerAscii, [Value::Text(text)]) => Ok(owned(text.to_ascii_lowercase())),
        (Function::UpperAscii, [Value::Text(text)]) => Ok(owned(text.to_ascii_uppercase())),
        (Function::Trim, [Value::Text(text)]) => Ok(owned(text.trim().to_owned())),
        (Function::Split, [Value::Text(text), Value::Text(separator)]) => split(text, separator, fuel),
        (Function::Replace, [Value::Text(text), Value::Text(from), Value::Text(to)]) => replace(text, from, to, fuel),
        (Function::Substring, [Value::Text(text), Value::Number(start)]) => substring(text, *start, None),
        (Function::Substring, [Value::Text(text), Value::Number(start), Value::Number(end)]) => {
            substring(text, *start, Some(*end))
        }
        (Function::Abs, [Value::Number(number)]) => Ok(Value::Number(number.abs())),
        (Function::Floor, [Value::Number(number)]) => Ok(Value::Number(number.floor())),
        (Function::Ceil, [Value::Number(number)]) => Ok(Value::Number(number.ceil())),
        (Function::Round, [Value::Number(number)]) => Ok(Value::Number(number.round())),
        (Function::Min | Function::Max, [Value::List(items)]) => {
            fuel.burn(items.len())?;
            extreme(function, items.iter())
        }
        (Function::Min | Function::Max, values) => extreme(function, values.iter().cloned()),
        (Function::Int, [value]) => converted(function, value).map(|number| Value::Number(truncated(number))),
        (Function::Double, [value]) => converted(function, value).map(Value::Number),
        (Function::Text, [value]) => text_of(value),
        (function, arguments) => wrong_kinds(function, arguments),
    }
}

fn owned(text: String) -> Value<'static> {
    Value::Text(Cow::Owned(text))
}

fn size<'a>(value: &Value<'a>) -> Outcome<Value<'a>> {
    let count = match value {
        Value::Text(text) => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            return wrong_kinds(Function::Size, std::slice::from_ref(value));
        }
    };
    Ok(Value::Number(Decimal::from(count as u64)))
}

fn split<'a>(text: &str, separator: &str, fuel: &mut Fuel) -> Outcome<Value<'a>> {
    if separator.is_empty() {
        return fault("`split` needs a separator that is not empty");
    }
    let parts: Vec<Value<'a>> = text.split(separator).map(|part| owned(part.to_owned())).collect();
    fuel.burn(parts.len())?;
    Ok(Value::List(List::made(parts)))
}

fn replace<'a>(text: &str, from: &str, to: &str, fuel: &mut Fuel) -> Outcome<Value<'a>> {
    if from.is_empty() {
        return fault("`replace` needs a text to look for that is not empty");
    }
    // The result may be much longer than its parts, so it is paid for before it is built.
    let found = text.matches(from).count();
    fuel.burn_text(found.saturating_mul(to.len()))?;
    Ok(owned(text.replace(from, to)))
}

fn substring<'a>(text: &str, start: Decimal, end: Option<Decimal>) -> Outcome<Value<'a>> {
    let place = |number: Decimal| number.to_i64().and_then(|number| usize::try_from(number).ok());
    let count = text.chars().count();
    let (Some(start), Some(end)) = (place(start), end.map_or(Some(count), place)) else {
        return fault("`substring` needs whole positions that are not negative");
    };
    if start > end || end > count {
        return fault("`substring` lies outside its text");
    }
    Ok(owned(text.chars().skip(start).take(end - start).collect()))
}

fn extreme<'a>(function: Function, values: impl Iterator<Item = Value<'a>>) -> Outcome<Value<'a>> {
    let mut best: Option<Decimal> = None;
    for value in values {
        let Value::Number(number) = value else { return wrong_kinds(function, &[value]) };
        best = Some(match best {
            None => number,
            Some(best) if function == Function::Min => best.min(number),
            Some(best) => best.max(number),
        });
    }
    match best {
        Some(number) => Ok(Value::Number(number)),
        None => fault(format!("`{}` of an empty list", function.word())),
    }
}

fn converted(function: Function, value: &Value<'_>) -> Outcome<Decimal> {
    match value {
        Value::Number(number) => Ok(*number),
        Value::Text(text) => match Decimal::parse(text) {
            Some(number) if function == Function::Double || number.is_integer() => Ok(number),
            Some(_) | None => fault(format!("`{}` cannot read the text as a number", function.word())),
        },
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Object(_) => {
            fault(format!("`{}` takes a number or text, not {}", function.word(), value.kind()))
        }
    }
}

/// Towards zero, as CEL converts a double to an int.
fn truncated(number: Decimal) -> Decimal {
    if number.is_negative() { number.ceil() } else { number.floor() }
}

fn text_of<'a>(value: &Value<'a>) -> Outcome<Value<'a>> {
    match value {
        Value::Text(text) => Ok(Value::Text(text.clone())),
        Value::Number(number) => Ok(owned(number.to_string())),
        Value::Bool(value) => Ok(owned(value.to_string())),
        Value::Null | Value::List(_) | Value::Object(_) => fault(format!("`string` cannot write {}", value.kind())),
    }
}

fn wrong_kinds<T>(function: Function, arguments: &[Value<'_>]) -> Outcome<T> {
    let kinds: Vec<&str> = arguments.iter().map(Value::kind).collect();
    fault(format!("`{}` has no meaning for {}", function.word(), kinds.join(", ")))
}

//! Literals: numbers become exact decimals or are refused, never rounded.

use super::tree::Tree;
use cel::common::ast::{Expr, IdedExpr, LiteralValue, SourceInfo};
use std::ops::Range;
use values::decimal::Decimal;
use values::json::Json;

/// The constant a literal denotes, or why it denotes none.
pub(super) fn constant(value: &LiteralValue, source: &str) -> Result<Tree, String> {
    let json = match value {
        LiteralValue::Null => Json::Null,
        LiteralValue::Boolean(value) => Json::Bool(*value.inner()),
        LiteralValue::Int(value) => Json::Number(Decimal::from(*value.inner())),
        LiteralValue::UInt(value) => Json::Number(Decimal::from(*value.inner())),
        LiteralValue::Double(value) => Json::Number(double(*value.inner(), source)?),
        LiteralValue::String(value) => Json::Text(value.inner().to_owned()),
        LiteralValue::Bytes(_) => return Err("bytes are not supported".to_owned()),
    };
    Ok(Tree::Constant(json))
}

/// CEL has already read the literal as a double. Its shortest text is the number meant, unless the source has
/// more digits than a double holds: that one would be compared as another number than the one written.
fn double(value: f64, source: &str) -> Result<Decimal, String> {
    let refused = || format!("the number `{source}` cannot be held exactly; write fewer digits");
    let shortest = Decimal::parse(&value.to_string()).ok_or_else(refused)?;
    let written = written(source.trim_start_matches('-')).ok_or_else(refused)?;
    if written == shortest.abs() { Ok(shortest) } else { Err(refused()) }
}

/// The exact decimal of the source text, exponents applied.
fn written(source: &str) -> Option<Decimal> {
    let lower = source.to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    Decimal::from_parts(false, whole, fraction, exponent.parse().ok()?)
}

/// The text of a text literal.
pub(super) fn text(expression: &IdedExpr) -> Option<&str> {
    if let Expr::Literal(LiteralValue::String(text)) = &expression.expr { Some(text.inner()) } else { None }
}

/// The bytes of a node's token.
pub(super) fn span(info: &SourceInfo, id: u64) -> Range<usize> {
    info.offset_for(id).map_or(0..0, |(start, stop)| start as usize..(stop as usize).saturating_add(1))
}

/// The source text of a node's token.
pub(super) fn source<'t>(info: &SourceInfo, text: &'t str, id: u64) -> &'t str {
    info.offset_for(id).and_then(|(start, stop)| text.get(start as usize..=stop as usize)).unwrap_or("")
}

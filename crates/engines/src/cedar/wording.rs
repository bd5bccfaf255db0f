//! What is said about a policy that cannot be evaluated, and how to write it instead.

use super::decimal::DecimalMaker;
use super::types::Type;
use crate::fault::CompileFault;
use cedar_policy_core::ast::{BinaryOp, Expr, ExprKind, Literal};
use cedar_policy_core::parser::Loc;
use std::ops::Range;
use values::decimal::Decimal;

/// Parts of policies longer than this are not repeated in a sentence.
const SHOWN_CHARS_MAX: usize = 60;

type Side<'e> = (&'e Expr, &'e Type);

/// `<` between what has no order.
pub(super) fn no_order(whole: &Expr, left: Side<'_>, right: Side<'_>) -> CompileFault {
    let operator = operator(left.0, right.0);
    let (blamed, kind) = if *left.1 == Type::Long || *left.1 == Type::Unknown { right } else { left };
    let problem = format!("{} is {}, which `{operator}` cannot compare", shown(blamed), kind.word());
    let decimal = *left.1 == Type::Decimal || *right.1 == Type::Decimal;
    let help = match (decimal, method(operator), as_decimal(left), as_decimal(right)) {
        (true, Some(method), Some(left_text), Some(right_text)) => {
            let written = format!("numbers are decimals in policies: write `{left_text}.{method}({right_text})`");
            let param = [left.0, right.0].iter().any(|side| is_param(side));
            let other = if param { ", or declare the param as `integer` to compare it with whole numbers" } else { "" };
            format!("{written}{other}")
        }
        (true, ..) => "declare both as `number`, or both as `integer`".to_owned(),
        (false, ..) if is_param(blamed) => "declare the param as `integer` to compare with whole numbers".to_owned(),
        (false, ..) => "only whole numbers can be compared; for anything else there is `==`".to_owned(),
    };
    at(whole, problem).with_help(Some(help))
}

/// `==` between two kinds.
pub(super) fn never_equal(whole: &Expr, left: Side<'_>, right: Side<'_>) -> CompileFault {
    // In `[1, 2].contains(x)` the kind on the left is the one of the items.
    let listed = matches!(whole.expr_kind(), ExprKind::BinaryApp { op: BinaryOp::Contains, .. });
    let of = if listed { "every item of " } else { "" };
    let problem = format!(
        "{of}{} is {} and {} is {}: they are never equal",
        shown(left.0),
        left.1.word(),
        shown(right.0),
        right.1.word()
    );
    let numbers = [left.1, right.1].iter().all(|kind| matches!(kind, Type::Long | Type::Decimal));
    let written = [left, right].into_iter().find(|(expression, _)| is_long_literal(expression)).and_then(as_decimal);
    let help = match (numbers, written) {
        (true, Some(written)) => {
            format!("numbers are decimals in policies: write `{written}`, or declare the param as `integer`")
        }
        (true, None) => "declare both as `number`, or both as `integer`".to_owned(),
        (false, _) => "compare values of one kind".to_owned(),
    };
    at(whole, problem).with_help(Some(help))
}

/// An operand of the wrong kind.
pub(super) fn mismatch(expression: &Expr, kind: &Type, wanted: &Type) -> CompileFault {
    let problem = format!("{} is {}, not {}", shown(expression), kind.word(), wanted.word());
    let help = match (wanted, kind) {
        (Type::Decimal, Type::Long) if is_long_literal(expression) => {
            as_decimal((expression, kind)).map(|written| format!("write `{written}`"))
        }
        (Type::Decimal, Type::Long) => Some("compare whole numbers with `<`, `<=`, `>`, `>=`".to_owned()),
        (Type::Decimal, Type::Text(_)) if is_param(expression) => Some("declare the param as `number`".to_owned()),
        (Type::Entity(_), Type::Text(_)) => Some(
            "`in` and `is` are for `principal`, `action` and `resource`; for values write `[\"a\", \"b\"].contains(…)`"
                .to_owned(),
        ),
        _ => None,
    };
    at(expression, problem).with_help(help)
}

/// Arithmetic on what is no whole number.
pub(super) fn no_arithmetic(whole: &Expr, operand: &Expr, kind: &Type) -> CompileFault {
    let help = "policies compute with whole numbers only; write it as an expression under `refuse`";
    at(whole, format!("{} is {}, not {}", shown(operand), kind.word(), Type::Long.word()))
        .with_help(Some(help.to_owned()))
}

/// `decimal(…)` of what is none.
pub(super) fn no_decimal(whole: &Expr, argument: &Expr, kind: &Type) -> Option<CompileFault> {
    if let ExprKind::Lit(Literal::String(text)) = argument.expr_kind() {
        if DecimalMaker::new().ok()?.reads(text) {
            return None;
        }
        let meant = Decimal::parse(text).filter(|number| number.fraction_digits() <= 4);
        let help = match meant {
            Some(meant) => format!("write `{}`", literal(meant)),
            None => "write digits, a point and one to four digits behind it: `decimal(\"25.0\")`".to_owned(),
        };
        return Some(at(whole, format!("{} is no decimal", shown(whole))).with_help(Some(help)));
    }
    kind.differs(&Type::Text(None)).then(|| mismatch(argument, kind, &Type::Text(None)))
}

/// A member of what has no members.
pub(super) fn no_members(whole: &Expr, holder: &Expr, kind: &Type) -> CompileFault {
    at(whole, format!("{} is {} and has no members", shown(holder), kind.word()))
}

/// A member that is never there.
pub(super) fn absent(whole: &Expr, holder: &Expr, name: &str) -> CompileFault {
    let help = format!("name the actions that have it in the policy's head, or {}", guard(holder, name));
    at(whole, format!("{} is never there", shown(whole))).with_help(Some(help))
}

/// A member that may be absent.
pub(super) fn unguarded(whole: &Expr, holder: &Expr, name: &str) -> CompileFault {
    let problem = format!("{} is optional; where it is absent the policy errs and everything is refused", shown(whole));
    at(whole, problem).with_help(Some(guard(holder, name)))
}

fn guard(holder: &Expr, name: &str) -> String {
    let name = if is_plain(name) { name.to_owned() } else { format!("{name:?}") };
    format!("guard it: `{} has {name} && …`", source(holder).unwrap_or_else(|| "…".to_owned()))
}

fn at(expression: &Expr, problem: String) -> CompileFault {
    let Some(place) = expression.source_loc() else { return CompileFault::whole(problem) };
    let whole = span(place);
    // The beginning of `a.b.c` that is meant, where it is written as we would write it.
    let meant = source(expression).filter(|meant| place.snippet().is_some_and(|written| written.starts_with(meant)));
    let end = meant.map_or(whole.end, |meant| whole.start + meant.len());
    CompileFault::at(whole.start..end, problem)
}

pub(super) fn span(place: &Loc) -> Range<usize> {
    place.start()..place.end()
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|next| next.is_ascii_alphanumeric() || next == '_')
}

/// The expression as it was written. To Cedar every part of `a.b.c` stands where the whole does, so paths are
/// written out again.
fn source(expression: &Expr) -> Option<String> {
    if let ExprKind::Var(variable) = expression.expr_kind() {
        return Some(variable.to_string());
    }
    if let ExprKind::GetAttr { expr, attr } = expression.expr_kind() {
        let holder = source(expr)?;
        return Some(if is_plain(attr) { format!("{holder}.{attr}") } else { format!("{holder}[{attr:?}]") });
    }
    expression.source_loc().and_then(Loc::snippet).map(str::to_owned)
}

fn shown(expression: &Expr) -> String {
    match source(expression) {
        Some(text) if text.chars().count() <= SHOWN_CHARS_MAX && !text.contains('\n') => format!("`{text}`"),
        Some(_) | None => "this".to_owned(),
    }
}

/// The comparison as it was written: to Cedar `a > b` is `!(a <= b)`.
fn operator(left: &Expr, right: &Expr) -> &'static str {
    let between = || {
        let (left, right) = (left.source_loc()?, right.source_loc()?);
        left.src.get(left.end()..right.start())
    };
    let between = between().unwrap_or_default();
    ["<=", ">=", "<", ">"].into_iter().find(|operator| between.contains(operator)).unwrap_or("<")
}

fn method(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "<" => "lessThan",
        "<=" => "lessThanOrEqual",
        ">" => "greaterThan",
        ">=" => "greaterThanOrEqual",
        _ => return None,
    })
}

/// The side as a decimal, where it can be written as one.
fn as_decimal((expression, kind): Side<'_>) -> Option<String> {
    if let ExprKind::Lit(Literal::Long(number)) = expression.expr_kind() {
        return Some(literal(Decimal::from(*number)));
    }
    if *kind == Type::Decimal || *kind == Type::Unknown { source(expression) } else { None }
}

fn literal(number: Decimal) -> String {
    if number.is_integer() { format!("decimal(\"{number}.0\")") } else { format!("decimal(\"{number}\")") }
}

fn is_long_literal(expression: &Expr) -> bool {
    matches!(expression.expr_kind(), ExprKind::Lit(Literal::Long(_)))
}

fn is_param(expression: &Expr) -> bool {
    source(expression).is_some_and(|text| text.starts_with("context.params"))
}

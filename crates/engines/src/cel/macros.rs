//! CEL expands its macros while parsing; this recognises them again by the shape of the expansion.

use super::tree::LoopKind;
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};

/// A macro in the words of its writer.
pub(super) struct Parts<'e> {
    pub(super) kind: LoopKind,
    pub(super) body: &'e IdedExpr,
    pub(super) only_if: Option<&'e IdedExpr>,
}

/// The macro that was written, if the loop is the expansion of one we know.
pub(super) fn recognise(of: &ComprehensionExpr) -> Option<Parts<'_>> {
    let step = call(&of.loop_step)?;
    match (&of.accu_init.expr, step.func_name.as_str(), step.args.as_slice()) {
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND, [_, body]) => {
            Some(Parts { kind: LoopKind::All, body, only_if: None })
        }
        (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR, [_, body]) => {
            Some(Parts { kind: LoopKind::Exists, body, only_if: None })
        }
        (Expr::Literal(LiteralValue::Int(_)), operators::CONDITIONAL, [body, _, _]) => {
            Some(Parts { kind: LoopKind::ExistsOne, body, only_if: None })
        }
        (Expr::List(_), operators::ADD, _) => Some(Parts { kind: LoopKind::Map, body: appended(step)?, only_if: None }),
        (Expr::List(_), operators::CONDITIONAL, [only_if, append, _]) => {
            Some(Parts { kind: LoopKind::Map, body: appended(call(append)?)?, only_if: Some(only_if) })
        }
        _ => None,
    }
}

fn call(expression: &IdedExpr) -> Option<&CallExpr> {
    if let Expr::Call(call) = &expression.expr { Some(call) } else { None }
}

/// The element that `result + [element]` appends.
fn appended(append: &CallExpr) -> Option<&IdedExpr> {
    match append.args.get(1).map(|list| &list.expr) {
        Some(Expr::List(list)) => list.elements.first(),
        _ => None,
    }
}

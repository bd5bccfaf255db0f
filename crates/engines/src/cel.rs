//! Boolean expressions in CEL's syntax, evaluated by us on exact decimals (docs/design/0002).
//!
//! Names: `params`, `state`, `agent.id`, `agent.role`, `action`, `confidence`. All numbers are one kind.
//! What is absent is a fault that names it, never a silent false.

mod evaluate;
mod functions;
mod impossible;
mod literal;
mod lower;
mod macros;
mod names;
mod pattern;
pub mod reference;
pub(crate) mod state_keys;
mod tree;
mod value;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod tests;

pub use crate::fault::CompileFault;
use cel::common::ast::SourceInfo;
pub(crate) use impossible::{Impossible, impossible};
use kernel::evaluator::{ExpressionEvaluator, ExpressionFault, Reads, Scope};

/// Longest source text.
const SOURCE_BYTES_MAX: usize = 4 * 1024;

/// Deepest nesting the parser follows.
const PARSER_DEPTH_MAX: u16 = 64;

/// When patterns are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    Now,
    Asked,
}

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    root: tree::Tree,
    reads: Reads,
}

/// Compiles an expression.
///
/// ```
/// use engines::cel::compile;
/// let fault = compile("amount <= 25").unwrap_err();
/// assert_eq!(fault.problem, "`amount` is not known; if it is a param write `params.amount`");
/// assert!(compile("params.amount * 1.19 <= 25").is_ok());
/// ```
pub fn compile(text: &str) -> Result<Expression, CompileFault> {
    if text.len() > SOURCE_BYTES_MAX {
        return Err(CompileFault::whole(format!("is longer than {SOURCE_BYTES_MAX} bytes")));
    }
    if text.trim().is_empty() {
        return Err(CompileFault::whole("is empty"));
    }
    let parser = cel::parser::Parser::new().max_recursion_depth(PARSER_DEPTH_MAX).error_recovery_limit(0);
    let (parsed, info) = parser.parse_with_source_info(text).map_err(|errors| syntax_fault(text, &errors))?;
    let (root, reads) = lower::lower(&parsed, &info, text, When::Now)?;
    let expression = Expression { root, reads };
    match quickly(text) {
        Some(other) if !other.is_same(&expression) => Err(CompileFault::whole(TWO_MEANINGS)),
        Some(_) | None => Ok(expression),
    }
}

/// What somebody reads who wrote what nobody should have to read.
const TWO_MEANINGS: &str = "can be read in two ways; write it in simpler parts, with parentheses";

/// Compiles an expression that was compiled before, in a fraction of the time.
pub(crate) fn compile_known(text: &str) -> Result<Expression, CompileFault> {
    quickly(text).map_or_else(|| compile(text), Ok)
}

/// The library has two parsers of one language. The quicker one does not say where things stand, which only faults and
/// numbers with a fraction need. [`compile`] lets nothing through that it reads in another way.
fn quickly(text: &str) -> Option<Expression> {
    if text.len() > SOURCE_BYTES_MAX {
        return None;
    }
    let parser = cel::parser::PrattParser::new().max_recursion_depth(PARSER_DEPTH_MAX).error_recovery_limit(0);
    let parsed = parser.parse(text).ok()?;
    let (root, reads) = lower::lower(&parsed, &SourceInfo::default(), text, When::Asked).ok()?;
    Some(Expression { root, reads })
}

impl Expression {
    /// Whether two trees are one; they hold patterns, which only compare by how they are written.
    fn is_same(&self, other: &Expression) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl ExpressionEvaluator for Expression {
    fn holds(&self, scope: &Scope<'_>) -> Result<bool, ExpressionFault> {
        evaluate::holds(&self.root, scope)
    }

    fn reads(&self) -> &Reads {
        &self.reads
    }
}

fn syntax_fault(text: &str, errors: &cel::ParseErrors) -> CompileFault {
    let Some(first) = errors.errors.first() else { return CompileFault::whole("is not an expression") };
    let offset = offset_of(text, first.pos);
    let span = offset..offset;
    if first.msg.contains("has() macro") {
        return CompileFault::at(
            span,
            "`has` takes a field, such as `has(params.note)`; for a state key write `\"a/{b}\" in state`",
        );
    }
    let rest: String = text.get(offset..).unwrap_or("").chars().take(20).collect();
    let near = if rest.trim().is_empty() { "at its end".to_owned() } else { format!("near `{}`", rest.trim_end()) };
    CompileFault::at(span, format!("is not an expression: something is wrong {near}"))
}

/// The parser says line and column, both in characters from 1.
fn offset_of(text: &str, (line, column): (isize, isize)) -> usize {
    let lines_before = usize::try_from(line - 1).unwrap_or(0);
    let start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
    let here = text.get(start..).unwrap_or("");
    let inside = usize::try_from(column - 1).unwrap_or(0);
    start + here.char_indices().nth(inside).map_or(here.len(), |(byte, _)| byte)
}

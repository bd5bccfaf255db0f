//! JSON Schema 2020-12 over the kernel's own values: nothing is copied, numbers are compared as exact decimals.
//!
//! Only local references, a linear regular-expression engine, and no keyword that would do nothing.

mod exact;
mod lint;
pub(crate) mod plain;
mod sentence;
mod size;
mod view;

#[cfg(test)]
mod tests;

pub use crate::fault::CompileFault;
use jsonschema::{Draft, PatternOptions, Validator};
use kernel::evaluator::{SchemaEvaluator, SchemaFault, SchemaFaultKind};
use sentence::Report;
use size::Size;
use std::fmt;
use values::decimal::Decimal;
use values::json::{Json, Object};
use view::{KernelJson, View};

/// Compiled patterns larger than this are refused.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A compiled schema of an action's params.
pub struct Schema {
    validator: Validator<KernelJson>,
    /// As written, to find the nearest declared name when one is unknown.
    source: Json,
    size: Size,
}

/// More errors than this are not collected: every one of them is built before the first is seen.
const ERRORS_MAX: usize = 2_000_000;
/// The same of errors inside alternatives, where one proposal has all errors of all branches.
const BRANCH_ERRORS_MAX: usize = 200_000;

/// Compiles a schema.
///
/// ```
/// use engines::schema::compile;
/// use kernel::evaluator::SchemaEvaluator;
/// use values::json::Json;
/// let source = Json::parse(br#"{"type": "object", "properties": {"amount": {"type": "number", "multipleOf": 0.01}}}"#);
/// let schema = compile(&source.unwrap()).unwrap();
/// let params = Json::parse(br#"{"amount": 12.505}"#).unwrap();
/// let faults = schema.faults(params.as_object().unwrap());
/// assert_eq!(faults[0].field, "amount");
/// assert_eq!(faults[0].problem, "is not a multiple of 0.01");
/// ```
pub fn compile(schema: &Json) -> Result<Schema, CompileFault> {
    lint::check(schema)?;
    let size = size::measure(schema)?;
    let options = jsonschema::options_for::<KernelJson>()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .with_format("decimal", |text: &str| Decimal::parse(text).is_some())
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX));
    let options = exact::register(options);
    match options.build(&view::to_value(schema)) {
        Ok(validator) => Ok(Schema { validator, source: schema.clone(), size }),
        Err(error) => Err(CompileFault::whole(build_problem(&error))),
    }
}

fn build_problem(error: &jsonschema::ValidationError<'_>) -> String {
    let place = sentence::dotted(error.instance_path().as_str());
    let problem = error.to_string();
    if place.is_empty() { format!("schema: {problem}") } else { format!("schema: `{place}`: {problem}") }
}

impl SchemaEvaluator for Schema {
    fn faults(&self, params: &Object) -> Vec<SchemaFault> {
        let root = View::Members(params);
        // Nearly every proposal is well-formed, and saying so is much cheaper than saying what is wrong.
        if self.validator.is_valid(root) {
            return Vec::new();
        }
        if self.has_too_many_errors(params) {
            return vec![whole("are not valid, and too large to say where: they fit none of the alternatives")];
        }
        let mut report = Report::default();
        self.validator.iter_errors(root).for_each(|error| report.add(&error, &self.source));
        let mut faults = report.finish();
        if faults.is_empty() {
            // The two ways of asking must agree; should they ever not, the stricter answer counts.
            faults.push(whole("are not valid"));
        }
        faults
    }
}

impl Schema {
    fn has_too_many_errors(&self, params: &Object) -> bool {
        let nodes = params.values().map(nodes).fold(1, usize::saturating_add);
        self.size.parts.saturating_mul(nodes) > ERRORS_MAX
            || self.size.alternatives.saturating_mul(nodes) > BRANCH_ERRORS_MAX
    }
}

fn whole(problem: &str) -> SchemaFault {
    SchemaFault { field: String::new(), kind: SchemaFaultKind::Invalid, problem: problem.to_owned() }
}

/// Recursion is bounded: proposals are at most 32 deep.
fn nodes(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => 1,
        Json::List(items) => items.iter().map(nodes).fold(1, usize::saturating_add),
        Json::Object(members) => members.values().map(nodes).fold(1, usize::saturating_add),
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Schema").field("source", &self.source).finish_non_exhaustive()
    }
}

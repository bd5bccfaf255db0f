//! From the text of a contract to a compiled contract, with every error at its place.

use crate::compile::{Problem, compile_later, compile_noting};
use crate::locate::locate;
use crate::yaml;
use contract::read::{read, read_again};
use contract::source::Diagnostic;
use contract::tests::Tests;
use kernel::evaluator::Compiled;
use values::ids::Digest;
use values::json::Json;

/// A contract that compiles.
#[derive(Debug)]
pub struct Loaded {
    /// The compiled contract.
    pub compiled: Compiled,
    /// The tests it carries.
    pub tests: Option<Tests>,
    /// Probably not what was meant.
    pub warnings: Vec<Diagnostic>,
    /// Keys that do nothing yet.
    pub inert: Vec<Diagnostic>,
}

/// Reads and compiles a contract in either form, YAML or JSON.
pub fn load(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let node = yaml::parse(text).map_err(|diagnostic| vec![diagnostic])?;
    let reading = read(&node)?;
    // Engines know the path of what they refuse; the source knows where that path stands.
    let placed = |problems: Vec<Problem>| -> Vec<Diagnostic> {
        problems.into_iter().map(|problem| locate(problem, &node, text)).collect()
    };
    let mut noted = Vec::new();
    let compiled = compile_noting(reading.contract, &mut noted).map_err(placed)?;
    let mut warnings = reading.warnings;
    warnings.extend(placed(noted));
    warnings.sort_by_key(|warning| (warning.place.line, warning.place.column));
    Ok(Loaded { compiled, tests: reading.tests, warnings, inert: reading.inert })
}

/// A contract that was loaded before and kept by its digest. What is wrong with it was said then, so nothing is said here,
/// and its parts are compiled when they are first asked for. The caller knows that these are the bytes of the digest.
pub fn load_known(contract: Json, digest: Digest) -> Option<Compiled> {
    compile_later(read_again(contract)?, digest).ok()
}

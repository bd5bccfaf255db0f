//! From the text of a contract to a compiled contract, with every error at its place.

use crate::{compile, yaml};
use kernel::contract::read::{located, read};
use kernel::contract::source::Diagnostic;
use kernel::contract::tests::Tests;
use kernel::evaluator::Compiled;

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
    let placed = |errors: Vec<Diagnostic>| errors.into_iter().map(|error| located(error, &node)).collect::<Vec<_>>();
    let compiled = compile::compile(reading.contract).map_err(placed)?;
    Ok(Loaded { compiled, tests: reading.tests, warnings: reading.warnings, inert: reading.inert })
}

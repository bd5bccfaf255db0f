//! From the text of a contract to a compiled contract, with every error at its place.

use crate::{compile, yaml};
use kernel::contract::read::read;
use kernel::contract::source::{Diagnostic, Node, Place, Value};
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
    let compiled = compile::compile(reading.contract).map_err(|errors| locate(&node, errors))?;
    Ok(Loaded { compiled, tests: reading.tests, warnings: reading.warnings, inert: reading.inert })
}

/// Engines know the path of what they refuse; the source knows where that path stands.
fn locate(node: &Node, mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for error in errors.iter_mut().filter(|error| error.place == Place::default()) {
        error.place = place_of(node, &error.path);
    }
    errors
}

/// The place of the deepest part of the path that the text has: the short form spells fewer keys than the full one.
fn place_of(root: &Node, path: &str) -> Place {
    let mut node = root;
    let mut place = Place::default();
    for segment in path.split('.') {
        match &node.value {
            Value::Map(members) => {
                let Some(member) = members.iter().find(|member| member.key == segment) else { return place };
                place = member.key_place;
                node = &member.node;
            }
            Value::List(items) => {
                let item = segment.parse::<usize>().ok().and_then(|index| items.get(index));
                let Some(item) = item else { return place };
                place = item.place;
                node = item;
            }
            Value::Scalar(_) => return node.place,
        }
    }
    match node.value {
        Value::Scalar(_) => node.place,
        Value::List(_) | Value::Map(_) => place,
    }
}

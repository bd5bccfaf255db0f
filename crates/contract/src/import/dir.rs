//! Contracts of the Decision Intelligence Runtime for Python: nested, flat, or already a projection.
//!
//! They compile to rules on single fields there, and so they do here: a list of kinds becomes the actions, and every other
//! rule becomes a limit of each action that it applies to. [The guide](https://writkeeper.dev/guide/from-dir) has the table.

mod contract_text;
mod document;
mod keyed;
mod rule;

use super::Imported;
use crate::read::read;
use crate::source::Node;
use contract_text::Written;
use document::Document;
use values::json::Json;

/// The contract that judges as the reference's does; the errors name each part that cannot be carried over.
pub fn import(contract: &Json) -> Result<Imported, Vec<String>> {
    let Some(members) = contract.as_object() else { return Err(vec!["the contract is no object".to_owned()]) };
    let mut problems = Vec::new();
    let document = Document::read(members, &mut problems);
    let mut notes = document.notes.clone();
    let written = Written::of(&document, &mut notes, &mut problems);
    // A rule that applies to several actions is looked at once for each.
    let mut named = std::collections::BTreeSet::new();
    problems.retain(|problem| named.insert(problem.clone()));
    if !problems.is_empty() {
        return Err(problems);
    }
    // Names, versions and bounds have rules of their own; what the reader would refuse is said here.
    if let Err(found) = read(&Node::from_json(&written.to_json())) {
        return Err(found.iter().map(|diagnostic| format!("`{}`: {}", diagnostic.path, diagnostic.message)).collect());
    }
    Ok(Imported { text: written.to_text(), notes })
}

#[cfg(test)]
mod tests;

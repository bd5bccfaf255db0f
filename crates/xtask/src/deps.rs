//! The dependency arrow, the licences of everything that is linked, and that it is compiled once.

mod arrow;
mod graph;
mod licences;
mod once;
mod tree;

use crate::{process, repository};
use anyhow::Result;
use graph::Graph;

/// Prints everything that points the wrong way; whether there was nothing.
pub fn run() -> Result<bool> {
    let root = repository::root()?;
    let graph = Graph::read(&process::metadata(&root)?)?;
    let members = graph.members();
    let mut findings = Vec::new();
    for member in &members {
        findings.extend(arrow::findings(member, &members, &tree::below(&root, member)?));
    }
    findings.extend(licences::findings(&graph, &std::fs::read_to_string(root.join("deny.toml"))?));
    findings.extend(once::findings(&root)?);
    for finding in &findings {
        println!("deps: {finding}");
    }
    println!("deps: {} packages, {} findings", graph.packages.len(), findings.len());
    let mut clean = findings.is_empty();
    if process::answers(process::cargo(&root).args(["deny", "--version"])) {
        clean &= process::succeeds(process::cargo(&root).args(["deny", "check", "licenses", "bans"]))?;
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_arrow_and_the_licences_hold() {
        assert!(super::run().unwrap());
    }
}

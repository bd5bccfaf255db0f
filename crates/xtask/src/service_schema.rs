//! The service against its own document: schemathesis asks a real one everything that the document allows, and much that it
//! does not.

use crate::python::environment::{self, Environment};
use crate::suite::tally::{Outcome, Tally};
use crate::{process, repository};
use anyhow::{Context, Result};
use std::process::Command;

/// What asks, from PyPI.
const TOOLS: &[&str] = &["schemathesis==4.32.5"];

/// Where it is told how.
const FOLDER: &str = "crates/server/tests/schemathesis";

/// What its counts are called.
pub const FAMILY: &str = "service schema";

/// Runs it alone; whether nothing was found.
pub fn run() -> Result<bool> {
    process::built(&repository::root()?)?;
    let mut tally = Tally::default();
    test(&mut tally);
    println!("\n{tally}");
    Ok(tally.is_clean())
}

/// Runs it and counts: one for each operation of the document.
pub fn test(tally: &mut Tally) {
    if let Err(error) = tested(tally) {
        println!("{FAMILY}: {error:#}");
        tally.count(FAMILY, Outcome::Failed);
        tally.name_failure(format!("{FAMILY}: {error:#}"));
    }
}

fn tested(tally: &mut Tally) -> Result<()> {
    let interpreter = environment::python().context("missing: python3")?;
    let environment = Environment::cached("schemathesis", interpreter, TOOLS)?;
    let root = repository::root()?;
    let binary = process::target_folder(&root)?.join("debug/writkeeper");
    let mut command = Command::new(environment.python());
    command.arg(root.join(FOLDER).join("run.py")).arg(&binary).env("PYTHONDONTWRITEBYTECODE", "1");
    let mut counts = None;
    let succeeded = process::each_line(&mut command, |line| {
        println!("{line}");
        if let Some(failure) = line.strip_prefix("failed: ") {
            tally.name_failure(format!("{FAMILY}: {failure}"));
        }
        counts = closing(line).or(counts);
    })?;
    let (passed, failed) = counts.context("it ended without a count")?;
    (0..passed).for_each(|_| tally.count(FAMILY, Outcome::Passed));
    (0..failed.max(usize::from(!succeeded))).for_each(|_| tally.count(FAMILY, Outcome::Failed));
    Ok(())
}

/// The counts of a line such as `70 passed, 1 failed`.
fn closing(line: &str) -> Option<(usize, usize)> {
    let (passed, failed) = line.split_once(" passed, ")?;
    Some((passed.parse().ok()?, failed.strip_suffix(" failed")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_closing_line() {
        assert_eq!(super::closing("70 passed, 1 failed"), Some((70, 1)));
        assert_eq!(super::closing("70 passed in 3 s"), None);
    }
}

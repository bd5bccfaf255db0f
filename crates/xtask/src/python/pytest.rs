//! Runs pytest and reads its closing line.

use crate::suite::tally::{Outcome, Tally};
use crate::{process, repository};
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// How many tests ended how, as the closing line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Runs the tests in a folder and adds them to a family.
pub fn run(python: &Path, tests: &Path, words: &[&str], family: &str, tally: &mut Tally) -> Result<()> {
    let mut command = Command::new(python);
    // What is tested is what was installed, whatever lies beside the tests.
    command.args(["-P", "-m", "pytest", "-p", "no:cacheprovider", "-rfEs", "--color=no"]).args(words);
    command.current_dir(tests).env_remove("PYTHONPATH").env("PYTHONDONTWRITEBYTECODE", "1");
    // The test command has built it before; scenarios are compared with its bytes.
    let binary = process::target_folder(&repository::root()?)?.join("debug/writkeeper");
    if binary.is_file() {
        command.env("WRITKEEPER_BINARY", binary);
    }
    let mut counts = None;
    let succeeded = process::each_line(&mut command, |line| {
        println!("{line}");
        counts = closing(line).or(counts);
        if let Some(name) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            tally.name_failure(format!("{family} {}", name.split(" - ").next().unwrap_or(name)));
        }
    })?;
    let Counts { passed, failed, skipped } = counts.unwrap_or_default();
    for (count, outcome) in [(passed, Outcome::Passed), (failed, Outcome::Failed), (skipped, Outcome::Skipped)] {
        (0..count).for_each(|_| tally.count(family, outcome));
    }
    if counts.is_none() || !succeeded && failed == 0 {
        tally.count(family, Outcome::Failed);
        tally.name_failure(format!("{family}: the run itself"));
    }
    Ok(())
}

/// The counts of a line such as `2 failed, 170 passed, 1 skipped in 12.39s`.
fn closing(line: &str) -> Option<Counts> {
    let (counted, _) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    let mut counts = Counts::default();
    for part in counted.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: usize = number.parse().ok()?;
        match word {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            "skipped" | "xfailed" => counts.skipped += number,
            "xpassed" => counts.failed += number,
            "warning" | "warnings" | "deselected" => {}
            _ => return None,
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line() {
        let check = |line: &str, expected: Option<(usize, usize, usize)>| {
            let found = closing(line).map(|counts| (counts.passed, counts.failed, counts.skipped));
            assert_eq!(found, expected, "{line}");
        };
        check("174 passed in 12.39s", Some((174, 0, 0)));
        check("====== 2 failed, 170 passed, 1 skipped, 3 warnings in 12.39s (0:00:12) ======", Some((170, 2, 1)));
        check("1 error in 0.10s", Some((0, 1, 0)));
        check("no tests ran in 0.01s", None);
        check("test_life.py ..... [100%]", None);
        check("a sentence in a traceback", None);
    }
}

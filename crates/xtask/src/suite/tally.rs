//! What passed, failed and was skipped, by family.

use std::fmt;

/// How one test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// It did not hold, or could not be run.
    Failed,
    /// Nothing was tested, and that was said.
    Skipped,
}

/// What a test that passed says about what it did not test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice<'l> {
    /// `skipped: …`: it cannot be tested on this machine.
    Skipped(&'l str),
    /// `missing: …`: it could be tested here if something were installed or switched on.
    Missing(&'l str),
}

impl<'l> Notice<'l> {
    /// Reads a line that a test printed.
    pub fn read(line: &'l str) -> Option<Notice<'l>> {
        let line = line.trim_start();
        let skipped = line.strip_prefix("skipped: ").map(Notice::Skipped);
        skipped.or_else(|| line.strip_prefix("missing: ").map(Notice::Missing))
    }
}

/// Counts by family, in the order in which families appeared.
#[derive(Default, Debug)]
pub struct Tally {
    families: Vec<Family>,
    failures: Vec<String>,
}

#[derive(Default, Debug, Clone)]
struct Family {
    name: String,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// Adds one test to a family.
    pub fn count(&mut self, family: &str, outcome: Outcome) {
        let family = self.family(family);
        match outcome {
            Outcome::Passed => family.passed += 1,
            Outcome::Failed => family.failed += 1,
            Outcome::Skipped => family.skipped += 1,
        }
    }

    /// A test that passed turns out to have tested nothing; yields what a person needs to see. What is missing is a failure,
    /// because whoever runs the tests can change it.
    pub fn passed_without_testing(&mut self, family: &str, test: &str, notice: Notice<'_>) -> String {
        let counts = self.family(family);
        counts.passed = counts.passed.saturating_sub(1);
        match notice {
            Notice::Skipped(reason) => {
                counts.skipped += 1;
                format!("SKIPPED {family} {test}: {reason}")
            }
            Notice::Missing(what) => {
                counts.failed += 1;
                self.name_failure(format!("{family} {test}: this machine lacks {what}"));
                format!("MISSING {family} {test}: {what}")
            }
        }
    }

    /// Remembers the name of a failed test for the end.
    pub fn name_failure(&mut self, name: String) {
        self.failures.push(name);
    }

    /// Closes a run: a failure without a failed test, such as a build error, and a test that was not counted,
    /// are failures all the same.
    pub fn settle(&mut self, family: &str, succeeded: bool, is_complete: bool) {
        if !succeeded && self.failures.is_empty() {
            self.name_failure(format!("{family}: the run itself"));
            self.count(family, Outcome::Failed);
        } else if !is_complete {
            self.name_failure(format!("{family}: not every test was counted"));
            self.count(family, Outcome::Failed);
        }
    }

    /// Whether nothing failed and anything ran at all.
    pub fn is_clean(&self) -> bool {
        let total = self.total();
        total.failed == 0 && total.passed > 0
    }

    fn family(&mut self, name: &str) -> &mut Family {
        let index = self.families.iter().position(|family| family.name == name).unwrap_or_else(|| {
            self.families.push(Family { name: name.to_owned(), ..Family::default() });
            self.families.len() - 1
        });
        // INVARIANT: the index was found or made one line above.
        #[expect(clippy::indexing_slicing, reason = "the index was found or made just above")]
        &mut self.families[index]
    }

    fn total(&self) -> Family {
        self.families.iter().fold(Family::default(), |sum, family| Family {
            passed: sum.passed + family.passed,
            failed: sum.failed + family.failed,
            skipped: sum.skipped + family.skipped,
            ..sum
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.families.iter().map(|family| family.name.len()).max().unwrap_or(0).max("family".len());
        writeln!(formatter, "{:<width$}  {:>6}  {:>6}  {:>7}", "family", "passed", "failed", "skipped")?;
        for Family { name, passed, failed, skipped } in &self.families {
            writeln!(formatter, "{name:<width$}  {passed:>6}  {failed:>6}  {skipped:>7}")?;
        }
        for failure in &self.failures {
            writeln!(formatter, "failed: {failure}")?;
        }
        let total = self.total();
        write!(formatter, "{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_sum() {
        let mut tally = Tally::default();
        tally.count("format", Outcome::Passed);
        tally.count("kernel", Outcome::Passed);
        tally.count("kernel", Outcome::Passed);
        tally.count("kernel", Outcome::Skipped);
        tally.passed_without_testing("kernel", "a", Notice::Skipped("no case"));
        assert!(tally.is_clean());
        let expected = "family  passed  failed  skipped\nformat       1       0        0\nkernel       1       0        2\n2 passed, 0 failed, 2 skipped";
        assert_eq!(tally.to_string(), expected);
    }

    #[test]
    fn what_could_be_installed_is_a_failure() {
        let mut tally = Tally::default();
        tally.count("kernel", Outcome::Passed);
        tally.count("kernel", Outcome::Passed);
        tally.passed_without_testing("kernel", "a", Notice::read("    missing: python3").unwrap());
        assert!(!tally.is_clean());
        assert!(
            tally.to_string().ends_with("failed: kernel a: this machine lacks python3\n1 passed, 1 failed, 0 skipped"),
            "{tally}"
        );
    }

    #[test]
    fn a_run_that_breaks_before_its_tests_has_failed() {
        let mut tally = Tally::default();
        tally.count("clippy", Outcome::Failed);
        tally.settle("tests", false, false);
        assert!(tally.to_string().ends_with("0 passed, 2 failed, 0 skipped"));
        tally.settle("examples", true, false);
        assert!(tally.to_string().ends_with("0 passed, 3 failed, 0 skipped"));
        assert!(!tally.is_clean());
        assert!(!Tally::default().is_clean(), "nothing ran");
    }
}

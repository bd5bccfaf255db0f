//! Reads the status lines of cargo-nextest.

use super::tally::{Notice, Outcome, Tally};

/// What is known while lines arrive.
#[derive(Default)]
pub struct Reader {
    /// The test whose output is being printed.
    current: Option<Test>,
    counted: usize,
    /// How many tests nextest says it ran.
    announced: Option<usize>,
}

#[derive(Debug, PartialEq)]
struct Test {
    family: String,
    name: String,
    outcome: Outcome,
}

impl Reader {
    /// Counts the line if it is a status; yields what a person needs to see.
    pub fn line(&mut self, line: &str, tally: &mut Tally) -> Option<String> {
        if let Some(("Summary", rest)) = label(line) {
            self.announced = rest.split_once("] ").and_then(|(_, rest)| leading_number(rest));
        }
        if self.announced.is_some() {
            // What follows the summary repeats what was counted.
            return Some(line.to_owned());
        }
        if let Some(test) = status(line) {
            tally.count(&test.family, test.outcome);
            self.counted += usize::from(test.outcome != Outcome::Skipped);
            let test = self.current.insert(test);
            return match test.outcome {
                Outcome::Passed => None,
                Outcome::Skipped => Some(format!("SKIPPED {} {}", test.family, test.name)),
                Outcome::Failed => {
                    tally.name_failure(format!("{} {}", test.family, test.name));
                    Some(line.to_owned())
                }
            };
        }
        let Some(test) = &mut self.current else { return Some(line.to_owned()) };
        match (test.outcome, Notice::read(line)) {
            (Outcome::Passed, Some(notice)) => {
                test.outcome = Outcome::Skipped;
                Some(tally.passed_without_testing(&test.family, &test.name, notice))
            }
            (Outcome::Passed | Outcome::Skipped, _) => None,
            (Outcome::Failed, _) => Some(line.to_owned()),
        }
    }

    /// Whether every test that nextest ran was counted.
    pub fn is_complete(&self) -> bool {
        self.announced == Some(self.counted)
    }
}

/// Statuses stand right-aligned in twelve columns; what a test prints is indented otherwise.
fn label(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.split_at_checked(12)?;
    Some((label.trim_start(), rest.strip_prefix(" [")?))
}

fn leading_number(text: &str) -> Option<usize> {
    text.trim_start().split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// `PASS [   0.009s] ( 1/51) crate::binary test::name`; the count in parentheses may be missing.
fn status(line: &str) -> Option<Test> {
    let (word, rest) = label(line)?;
    let outcome = match word {
        "PASS" | "LEAK" => Outcome::Passed,
        "SKIP" => Outcome::Skipped,
        "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL" => Outcome::Failed,
        signal if signal.starts_with("SIG") => Outcome::Failed,
        _ => return None,
    };
    let (_, rest) = rest.split_once("] ")?;
    let rest = rest.trim_start();
    let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
    let (family, name) = rest.trim().split_once(' ')?;
    Some(Test { family: family.to_owned(), name: name.trim().to_owned(), outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines() {
        let check = |line: &str, expected: Option<(&str, &str, Outcome)>| {
            let expected =
                expected.map(|(family, name, outcome)| Test { family: family.into(), name: name.into(), outcome });
            assert_eq!(status(line), expected, "{line}");
        };
        check("        PASS [   0.009s] ( 1/51) kernel decimal::a", Some(("kernel", "decimal::a", Outcome::Passed)));
        check("        PASS [   0.009s] kernel::json_door a", Some(("kernel::json_door", "a", Outcome::Passed)));
        check("        FAIL [   0.009s] (12/51) kernel a", Some(("kernel", "a", Outcome::Failed)));
        check("            PASS [   0.009s] (12/51) printed by a test", None);
        check("     SIGABRT [   0.009s] (12/51) kernel a", Some(("kernel", "a", Outcome::Failed)));
        check("        SKIP [         ] (51/51) kernel a", Some(("kernel", "a", Outcome::Skipped)));
        check("    test decimal::a ... ok", None);
        check("        SLOW [> 60.000s] (─────) kernel a", None);
    }

    #[test]
    fn a_test_that_says_it_skipped_is_skipped() {
        let (mut reader, mut tally) = (Reader::default(), Tally::default());
        let lines = "        PASS [ 0.1s] (1/2) kernel a\n  stdout ───\n    skipped: shared cases not present\n        PASS [ 0.1s] (2/2) kernel b\n     Summary [ 0.4s] 2 tests run\n        FAIL [ 0.1s] (2/2) kernel b";
        lines.lines().for_each(|line| drop(reader.line(line, &mut tally)));
        assert!(tally.to_string().ends_with("1 passed, 0 failed, 1 skipped"));
        assert!(reader.is_complete());
    }

    #[test]
    fn a_test_that_was_not_counted_is_noticed() {
        let (mut reader, mut tally) = (Reader::default(), Tally::default());
        assert!(!reader.is_complete(), "nothing was announced");
        let lines = "        PASS [ 0.1s] (1/2) kernel a\n     Summary [ 0.4s] 2 tests run: 2 passed, 0 skipped";
        lines.lines().for_each(|line| drop(reader.line(line, &mut tally)));
        assert!(!reader.is_complete());
    }
}

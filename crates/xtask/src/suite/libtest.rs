//! Reads the output of `cargo test`: the documentation examples, and all tests where nextest is not installed.

use super::tally::{Notice, Outcome, Tally};

/// What is known while lines arrive.
#[derive(Default)]
pub struct Reader {
    /// The test binary that is running.
    family: String,
    /// The test whose output is being printed.
    current: Option<String>,
    /// Statuses come first; behind them stands what the tests printed.
    is_output: bool,
    counted: usize,
    announced: usize,
}

impl Reader {
    /// Counts the line if it is a status; yields what a person needs to see.
    pub fn line(&mut self, line: &str, tally: &mut Tally) -> Option<String> {
        if let Some(family) = family(line) {
            *self = Reader { family, counted: self.counted, announced: self.announced, ..Reader::default() };
            return None;
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.announced += announced(counts);
            return (!counts.starts_with("ok")).then(|| line.to_owned());
        }
        if line == "successes:" || line == "failures:" {
            self.is_output = true;
            return None;
        }
        if let Some((name, outcome)) = status(line).filter(|_| !self.is_output) {
            tally.count(&self.family, outcome);
            self.counted += 1;
            if outcome == Outcome::Failed {
                tally.name_failure(format!("{} {name}", self.family));
            }
            return (outcome == Outcome::Skipped).then(|| format!("SKIPPED {} {name}", self.family));
        }
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.current = Some(name.to_owned());
        } else if let Some(notice) = Notice::read(line)
            && let Some(name) = self.current.take()
        {
            return Some(tally.passed_without_testing(&self.family, &name, notice));
        }
        (!is_noise(line)).then(|| line.to_owned())
    }

    /// Whether every test that the binaries ran was counted.
    pub fn is_complete(&self) -> bool {
        self.announced == self.counted
    }
}

/// `ok. 4 passed; 0 failed; 1 ignored; 0 measured; …`: how many tests the line speaks of.
fn announced(counts: &str) -> usize {
    let words: Vec<&str> = counts.split([' ', ';']).collect();
    let number_before = |(number, word): (&&str, &&str)| match *word {
        "passed" | "failed" | "ignored" => number.parse::<usize>().ok(),
        _ => None,
    };
    words.iter().zip(words.iter().skip(1)).filter_map(number_before).sum()
}

/// `Running tests/json_door.rs (…/deps/json_door-0123abcd)` or `Doc-tests kernel`.
fn family(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("examples of {name}"));
    }
    let binary = line.strip_prefix("Running ")?.strip_suffix(')')?.rsplit(['/', '\\']).next()?;
    binary.rsplit_once('-').map(|(name, _)| name.to_owned())
}

/// `test name ... ok`; examples that must not compile say so before the dots.
fn status(line: &str) -> Option<(&str, Outcome)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    match result.split([',', ' ']).next()? {
        "ok" => Some((name, Outcome::Passed)),
        "FAILED" => Some((name, Outcome::Failed)),
        "ignored" => Some((name, Outcome::Skipped)),
        _ => None,
    }
}

fn is_noise(line: &str) -> bool {
    let starts = ["running ", "all doctests ran"];
    line.trim().is_empty() || starts.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        let check = |line: &str, expected: Option<&str>| assert_eq!(family(line).as_deref(), expected, "{line}");
        check("     Running unittests src/lib.rs (target/debug/deps/kernel-4281c7af39335016)", Some("kernel"));
        check("     Running tests/json_door.rs (/t/debug/deps/json_door-a6ca458c930b38e1)", Some("json_door"));
        check("   Doc-tests kernel", Some("examples of kernel"));
        check("test a ... ok", None);
    }

    #[test]
    fn a_whole_run() {
        let (mut reader, mut tally) = (Reader::default(), Tally::default());
        let run = "     Running tests/door.rs (target/debug/deps/door-1)\nrunning 4 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ignored, needs a network\ntest d ... ok\n\nsuccesses:\n\n---- d stdout ----\nskipped: shared cases not present\ntest e ... ok\n\ntest result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n   Doc-tests kernel\ntest src/json.rs - json::Json (line 3) - compile fail ... ok\ntest result: ok. 1 passed; 0 failed\n";
        run.lines().for_each(|line| drop(reader.line(line, &mut tally)));
        assert!(reader.is_complete());
        assert!(tally.to_string().ends_with("failed: door b\n2 passed, 1 failed, 2 skipped"), "{tally}");
    }
}

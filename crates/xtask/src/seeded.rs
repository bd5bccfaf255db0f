//! Seeded bugs: every fault of the correctness plan is switched on and must be noticed by a test.
//!
//! A test here passes only if it holds without the fault and fails with it, so "passed" means "caught".

use crate::{process, repository};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// A fault of the plan, the switch that brings it back, and the test that turns red.
struct Seeded {
    fault: &'static str,
    switch: &'static str,
    test: &'static str,
}

const HISTORY: &str = "seeded::every_seeded_fault_is_seen_in_the_history";
const MACHINE: &str = "every_safeguard_is_needed";

const SEEDED: &[Seeded] = &[
    Seeded { fault: "no fence on record", switch: "no_fence", test: HISTORY },
    Seeded { fault: "no fence on record", switch: "no_fence", test: MACHINE },
    Seeded { fault: "no IN_FLIGHT mark", switch: "no_in_flight_mark", test: HISTORY },
    Seeded { fault: "no IN_FLIGHT mark", switch: "no_in_flight_mark", test: MACHINE },
    Seeded { fault: "`now()` for expiry", switch: "expiry_at_creation", test: HISTORY },
    Seeded {
        fault: "sum of holds instead of a counter",
        switch: "w02_held_ignored",
        test: "races::decisions::w02_six_flows_of_forty_on_a_capacity_of_a_hundred",
    },
    Seeded { fault: "rows older than the lock (SUM at RR)", switch: "rows_older_than_lock", test: HISTORY },
    Seeded { fault: "sequence for the index", switch: "index_from_sequence", test: HISTORY },
    Seeded {
        fault: "suspend without lock",
        switch: "suspension_ignored",
        test: "races::registry::a_suspension_that_returned_holds_in_every_process",
    },
    Seeded { fault: "suspend without lock", switch: "start_unchecked", test: HISTORY },
    Seeded {
        fault: "key kept in a transaction of its own",
        switch: "w01_key_forgotten",
        test: "races::decisions::w01_one_key_is_decided_once_and_answered_alike",
    },
    Seeded { fault: "retry of an ambiguous commit", switch: "ambiguous_retried", test: HISTORY },
    Seeded { fault: "blind retry without a key", switch: "opaque_retried", test: HISTORY },
    Seeded { fault: "probe says absent, so retry", switch: "probe_believed", test: HISTORY },
    Seeded { fault: "time frees what is in flight", switch: "expiry_frees_in_flight", test: HISTORY },
    Seeded {
        fault: "budget per process",
        switch: "w03_questions_uncounted",
        test: "races::decisions::w03_ten_callers_on_a_budget_of_three_questions",
    },
    Seeded { fault: "negative after doubt final", switch: "negative_after_doubt_final", test: HISTORY },
    Seeded { fault: "negative after doubt final", switch: "negative_after_doubt_final", test: MACHINE },
    Seeded {
        fault: "sign before commit",
        switch: "sign_before_commit",
        test: "signing::nothing_is_signed_before_it_is_committed",
    },
    Seeded {
        fault: "tile off by one at 256",
        switch: "tile_off_by_one",
        test: "edge::tests::a_tile_that_is_off_by_one_is_noticed",
    },
    Seeded {
        fault: "approval not bound to what was shown",
        switch: "answer_unbound",
        test: "races::people::w15_an_answer_counts_only_for_the_bytes_that_were_shown",
    },
    Seeded {
        fault: "hooks that are gone go unnoticed",
        switch: "tampering_unnoticed",
        test: "seeded_faults::hooks_that_are_gone_are_noticed",
    },
    Seeded {
        fault: "bare interpreters free where typed into",
        switch: "typing_free",
        test: "seeded_faults::a_bare_interpreter_is_asked_about_where_a_host_types",
    },
    Seeded {
        fault: "what is written now and run next unread",
        switch: "files_unread",
        test: "seeded_faults::a_script_that_was_written_is_read_before_it_runs",
    },
    Seeded {
        fault: "hooks that a host does not trust",
        switch: "trust_assumed",
        test: "seeded_faults::hooks_that_nobody_trusted_are_not_called_trusted",
    },
    Seeded {
        fault: "what a judge says binds",
        switch: "judges_bind",
        test: "advice::tests::a_judge_advises_a_host_and_asks_nobody",
    },
];

/// Which of the tests have passed, as far as their lines were seen.
#[derive(Default)]
pub struct Table {
    passed: BTreeMap<&'static str, bool>,
}

impl Table {
    /// Takes a line of either runner.
    pub fn line(&mut self, line: &str) {
        if let Some((test, passed)) = outcome(line, SEEDED.iter().map(|seeded| seeded.test)) {
            // Where two tests have one name, both must pass.
            let known = self.passed.entry(test).or_insert(true);
            *known &= passed;
        }
    }

    /// Prints which fault was caught by which test; whether all were.
    pub fn print(&self) -> bool {
        let mut caught = 0;
        for Seeded { fault, switch, test } in SEEDED {
            let said = match self.passed.get(test) {
                Some(true) => "caught",
                Some(false) => "MISSED",
                None => "NOT RUN",
            };
            caught += usize::from(said == "caught");
            println!("{said:8} {fault:38} {switch:28} {test}");
        }
        println!("seeded bugs: {caught}/{} caught", SEEDED.len());
        caught == SEEDED.len()
    }
}

/// Runs only the tests of the table and prints it.
pub fn run() -> Result<bool> {
    let root = repository::root()?;
    let tests: BTreeSet<&str> = SEEDED.iter().map(|seeded| seeded.test).collect();
    let mut command = process::cargo(&root);
    let workspace = ["--workspace", "--locked", "--no-fail-fast", "--features", process::FEATURES];
    if process::answers(process::cargo(&root).args(["nextest", "--version"])) {
        let filter: Vec<String> = tests.iter().map(|test| format!("test(={test})")).collect();
        command.args(["nextest", "run"]).args(workspace).args(["-E", &filter.join(" + ")]);
        command.args(["--status-level", "all", "--final-status-level", "none"]);
    } else {
        // With targets named, cargo builds no examples.
        process::built(&root)?;
        command.args(["test", "--lib", "--bins", "--tests"]).args(workspace).args(["--", "--exact"]).args(&tests);
    }
    let mut table = Table::default();
    process::each_line(&mut command, |line| table.line(line))?;
    Ok(table.print())
}

/// The test a line of either runner speaks of, and whether it passed.
fn outcome<'t>(line: &str, mut tests: impl Iterator<Item = &'t str>) -> Option<(&'t str, bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, passed) = match words.as_slice() {
        ["test", name, "...", said] => (*name, *said == "ok"),
        [said @ ("PASS" | "FAIL" | "SIGABRT" | "TIMEOUT"), .., name] => (*name, *said == "PASS"),
        _ => return None,
    };
    tests.find(|test| *test == name).map(|test| (test, passed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_runners_are_understood() {
        let check = |line: &str, expected: Option<bool>| {
            assert_eq!(outcome(line, ["a::b"].into_iter()), expected.map(|passed| ("a::b", passed)), "{line}");
        };
        check("        PASS [   0.012s] (1/3) writkeeper-runtime::execution a::b", Some(true));
        check("        FAIL [   0.012s] (1/3) writkeeper-runtime::execution a::b", Some(false));
        check("test a::b ... ok", Some(true));
        check("test a::b ... FAILED", Some(false));
        check("        PASS [   0.012s] (1/3) writkeeper-runtime::execution a::c", None);
        check("running 1 test", None);
    }

    #[test]
    fn every_switch_exists() {
        let known: BTreeSet<&str> = values::bugs::Bug::ALL.iter().map(|bug| bug.name()).collect();
        for seeded in SEEDED {
            assert!(known.contains(seeded.switch), "{}", seeded.switch);
        }
    }
}

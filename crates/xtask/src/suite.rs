//! The test command: everything that must hold before a change is shared, and one table at the end.

mod libtest;
mod nextest;
pub mod tally;

use crate::{console, deps, docs, fuzz, installed, process, python, repository, seeded, service_schema, tidy};
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use tally::{Outcome, Tally};

/// How long the test command fuzzes.
const FUZZ_SECONDS: u32 = 60;

/// A verdict on a change must not hang on luck: here properties and fuzzing draw the same inputs every time.
///
/// `cargo nextest run` and `cargo xtask fuzz` draw fresh ones; what they find becomes a row.
const SEED: u64 = 1_794_789_015;

/// Runs every family, also after a failure, and prints what ran, failed and was skipped.
pub fn run() -> Result<bool> {
    let root = repository::root()?;
    let mut tally = Tally::default();
    one_check(&mut tally, "format", || {
        process::succeeds(process::cargo(&root).args(["fmt", "--all", "--check", "--", "--color", "never"]))
    });
    one_check(&mut tally, "clippy", || process::succeeds(&mut clippy(&root)));
    one_check(&mut tally, "tidy", tidy::run);
    one_check(&mut tally, "dependencies", deps::run);
    one_check(&mut tally, "reference pages", || docs::run(docs::Mode::Check));
    let seeded = run_tests(&root, &mut tally)?;
    one_check(&mut tally, "seeded bugs", || Ok(seeded.print()));
    run_doc_tests(&root, &mut tally)?;
    run_console(&mut tally);
    announce("python");
    python::test(&root, &mut tally);
    announce(service_schema::FAMILY);
    service_schema::test(&mut tally);
    one_check(&mut tally, "fuzz", || fuzz::run_blindly(FUZZ_SECONDS, SEED));
    println!("\n{tally}");
    Ok(tally.is_clean())
}

/// A family of a single check; one that cannot even run has failed.
fn one_check(tally: &mut Tally, family: &str, check: impl FnOnce() -> Result<bool>) {
    announce(family);
    match check() {
        Ok(true) => tally.count(family, Outcome::Passed),
        Ok(false) => tally.count(family, Outcome::Failed),
        Err(error) => {
            println!("{family}: {error:#}");
            tally.count(family, Outcome::Failed);
        }
    }
}

fn clippy(root: &Path) -> Command {
    let mut command = process::cargo(root);
    command.args(["clippy", "--quiet", "--workspace", "--all-targets", "--locked", "--features", process::FEATURES]);
    command.args(["--", "-D", "warnings"]);
    command
}

/// Unit and integration tests, by nextest where it is installed; says which seeded bugs they caught.
fn run_tests(root: &Path, tally: &mut Tally) -> Result<seeded::Table> {
    announce("tests");
    installed::demand_postgresql();
    installed::demand_newest_postgresql();
    installed::demand_nats();
    let mut command = process::cargo(root);
    command.env("PROPTEST_RNG_SEED", SEED.to_string());
    let mut seeded = seeded::Table::default();
    let workspace = ["--workspace", "--locked", "--no-fail-fast", "--features", process::FEATURES];
    if process::answers(process::cargo(root).args(["nextest", "--version"])) {
        command.args(["nextest", "run"]).args(workspace);
        command.args(["--status-level", "all", "--final-status-level", "none"]);
        // Output of passing tests is needed too: it says what they skipped.
        command.args(["--success-output", "immediate", "--failure-output", "immediate"]);
        let mut reader = nextest::Reader::default();
        let succeeded = process::each_line(&mut command, |line| {
            seeded.line(line);
            show(reader.line(line, tally));
        })?;
        tally.settle("tests", succeeded, reader.is_complete());
    } else {
        // With targets named, cargo builds no examples.
        process::built(root)?;
        command.args(["test", "--lib", "--bins", "--tests"]).args(workspace).args(["--", "--show-output"]);
        read_libtest(&mut command, "tests", tally, &mut seeded)?;
    }
    Ok(seeded)
}

fn run_doc_tests(root: &Path, tally: &mut Tally) -> Result<()> {
    announce("documentation examples");
    let mut command = process::cargo(root);
    command.args(["test", "--doc", "--workspace", "--locked", "--no-fail-fast", "--features", process::FEATURES]);
    read_libtest(&mut command, "documentation examples", tally, &mut seeded::Table::default())
}

fn read_libtest(command: &mut Command, family: &str, tally: &mut Tally, seeded: &mut seeded::Table) -> Result<()> {
    let mut reader = libtest::Reader::default();
    let succeeded = process::each_line(command, |line| {
        seeded.line(line);
        show(reader.line(line, tally));
    })?;
    tally.settle(family, succeeded, reader.is_complete());
    Ok(())
}

fn run_console(tally: &mut Tally) {
    let family = "console blocks";
    announce(family);
    match console::run_pages(console::Mode::Compare) {
        Ok(pages) => {
            (0..pages.passed).for_each(|_| tally.count(family, Outcome::Passed));
            (0..pages.failed).for_each(|_| tally.count(family, Outcome::Failed));
        }
        Err(error) => {
            println!("{family}: {error:#}");
            tally.count(family, Outcome::Failed);
        }
    }
}

fn show(line: Option<String>) {
    if let Some(line) = line {
        println!("{line}");
    }
}

fn announce(family: &str) {
    println!("── {family}");
}

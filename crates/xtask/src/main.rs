//! The repository's own machinery: `cargo xtask <task>`.

mod bench_hook;
mod console;
mod deps;
mod docs;
mod failover;
mod fuzz;
mod hosts;
mod installed;
mod kafka;
mod process;
mod python;
mod repository;
mod seeded;
mod service_schema;
mod soak;
mod static_binary;
mod suite;
mod tidy;

use anyhow::{Result, bail};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <task>

  test                           everything that must hold before a change is shared
  tidy                           the house rules a compiler does not know
  deps                           the dependency arrow and the licences
  bugs                           switches known faults on; each must be caught by a test
  console [--bless]              runs the console blocks of README.md and docs/guide
  docs [--check]                 writes docs/reference (--check: only compares)
  fuzz [--seconds N] [target]    fuzzes, guided by coverage where cargo-fuzz is installed
  measure [--json] [--seed N]    figures of the shell classifier on labelled cases
  measure --monitors [--json]    how often monitors are wrong and how soon they notice, over 1,000 seeded runs each
  dist [--out FILE]              builds the one binary that needs nothing else
  wheel [--out DIR] [--dev] [--interpreter NAME]
                                 builds the Python package; its path is the last line (NAME such as python3.14t)
  bench-python [--dev]           figures of the Python package beside Rust, in a fresh environment
  frameworks [NAME…]             drives agent frameworks from PyPI with a scripted model, guarded and not
  service-schema                 asks a real service everything its OpenAPI document allows, and more
  bench-hook [--json]            how long a hook takes, with a daemon and without (builds the binary of `dist`)
  hosts [--host NAME] [--case NAME] [--json] [--write]
                                 drives the real hosts from npm with a scripted model (`hosts --help`)
  soak [--minutes N] [--seeds N] [--from SEED]
                                 simulates fresh seeds and prints what that proves
  failover                       a PostgreSQL cluster led by Patroni loses its primary under load, again and again
  kafka                          hands events on to librdkafka's mock cluster (compiles librdkafka)
  disguise --seed N [COMMAND]    disguises of a dangerous command, with their class
  cases FILE…                    runs cases of enforcement; fails on a row that differs and is not meant to
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The tool runs in the root of the repository, so files are named from there on.
fn cases(files: &[&str]) -> Result<bool> {
    let absolute = |file: &&str| std::path::absolute(file).map(|path| path.to_string_lossy().into_owned());
    let files = files.iter().map(absolute).collect::<std::io::Result<Vec<String>>>()?;
    let words: Vec<&str> = std::iter::once("cases").chain(files.iter().map(String::as_str)).collect();
    process::workbench(&words)
}

/// `Ok(false)` means that the task ran and found something; what it found was printed.
fn run(words: &[&str]) -> Result<bool> {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(true)
        }
        ["test"] => suite::run(),
        ["service-schema"] => service_schema::run(),
        ["tidy"] => tidy::run(),
        ["deps"] => deps::run(),
        ["bugs"] => seeded::run(),
        ["console"] => console::run(console::Mode::Compare),
        ["console", "--bless"] => console::run(console::Mode::Bless),
        ["docs"] => docs::run(docs::Mode::Write),
        ["docs", "--check"] => docs::run(docs::Mode::Check),
        ["fuzz", options @ ..] => fuzz::run(options),
        ["measure" | "disguise", ..] => process::workbench(words),
        ["cases", files @ ..] => cases(files),
        ["soak", options @ ..] => soak::run(options),
        ["failover"] => failover::run(),
        ["kafka"] => kafka::run(),
        ["hosts", options @ ..] => hosts::run(options),
        ["dist", options @ ..] => static_binary::run(options),
        ["wheel", options @ ..] => python::wheel(options),
        ["bench-python", options @ ..] => python::bench(options),
        ["frameworks", names @ ..] => python::frameworks(names),
        ["bench-hook", options @ ..] => bench_hook::run(options),
        [task, ..] => bail!("`{task}` with these options is not a task\n\n{HELP}"),
    }
}

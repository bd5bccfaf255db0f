//! Tools of the repository that need the product's own code. `cargo xtask` builds this with everything else and runs it in
//! the root of the repository, so that `cargo xtask` itself builds in seconds.

mod cases;
mod disguise;
mod figures;
mod fuzz;
mod labelled;
mod monitor_figures;
mod pages;

use anyhow::{Result, bail};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("workbench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// `Ok(false)` means that the tool ran and found something; what it found was printed.
fn run(words: &[&str]) -> Result<bool> {
    match words {
        ["pages"] => pages::print(),
        ["fuzz", seconds, seed, targets @ ..] => fuzz::run(seconds.parse()?, seed.parse()?, targets),
        ["measure", "--monitors"] => monitor_figures::run(false),
        ["measure", "--monitors", "--json"] | ["measure", "--json", "--monitors"] => monitor_figures::run(true),
        ["measure", options @ ..] => figures::run(options),
        ["disguise", options @ ..] => disguise::run(options),
        ["cases", files @ ..] => cases::run(files),
        _ => bail!("`cargo xtask` runs this with `pages`, `fuzz`, `measure`, `disguise` or `cases`"),
    }
}

//! The real hosts, driven by a scripted model. The program that does it is `live-hosts`; here it gets what it needs.

use crate::{process, repository};
use anyhow::Result;
use std::process::Command;

/// The page that keeps the last table.
const PAGE: &str = "docs/reference/hosts-live.md";

/// `hosts [options]`: builds the binary under test unless one is named; whether no cell is worse than expected.
pub fn run(options: &[&str]) -> Result<bool> {
    let root = repository::root()?;
    let programs = process::built(&root)?;
    let mut command = Command::new(programs.join("live-hosts"));
    let is_help = options.iter().any(|option| matches!(*option, "--help" | "-h"));
    if !is_help && !options.contains(&"--binary") {
        command.arg("--binary").arg(programs.join("writkeeper"));
    }
    for option in options {
        match *option {
            "--write" => command.arg("--page").arg(root.join(PAGE)),
            option => command.arg(option),
        };
    }
    process::succeeds(&mut command)
}

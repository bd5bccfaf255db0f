//! The command line, as the binary itself explains it.

use super::Page;
use crate::{process, repository};
use anyhow::{Context, Result, bail};
use std::process::Command;

/// The page of commands.
pub fn pages() -> Result<Vec<Page>> {
    let root = repository::root()?;
    let mut command = Command::new(process::built(&root)?.join("writkeeper"));
    // The width of help must not depend on the terminal it was generated in.
    command.args(["help", "--all"]).env("COLUMNS", "100").env("NO_COLOR", "1");
    let output = command.output().context("running the binary")?;
    if !output.status.success() {
        bail!("`writkeeper help --all` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let help = String::from_utf8(output.stdout)?;
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let text = format!(
        "# Command line\n\nGenerated from `writkeeper help --all`.\n\n```text\n{}\n```\n",
        lines.join("\n").trim_end()
    );
    Ok(vec![Page { file: "command-line.md".to_owned(), text }])
}

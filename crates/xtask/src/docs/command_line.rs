//! The command line, as the binary itself explains it.

use super::Page;
use crate::{process, repository};
use anyhow::{Context, Result, bail};
use std::process::Command;

/// The page of commands, and the document of the service.
pub fn pages() -> Result<Vec<Page>> {
    let help = said(&["help", "--all"])?;
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let text = format!(
        "# Command line\n\nGenerated from `writkeeper help --all`.\n\n```text\n{}\n```\n",
        lines.join("\n").trim_end()
    );
    let document = Page { file: "openapi.json".to_owned(), text: said(&["serve", "--document"])? };
    Ok(vec![Page { file: "command-line.md".to_owned(), text }, document])
}

/// What the binary prints.
fn said(words: &[&str]) -> Result<String> {
    let mut command = Command::new(process::built(&repository::root()?)?.join("writkeeper"));
    // The width of help must not depend on the terminal it was generated in.
    command.args(words).env("COLUMNS", "100").env("NO_COLOR", "1");
    let output = command.output().context("running the binary")?;
    if !output.status.success() {
        bail!("`writkeeper {}` failed: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

//! Running other programs.

use crate::repository;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The features under which the whole workspace is built, tested and documented, so that it is built once.
pub const FEATURES: &str = "writkeeper-kernel/bugs,writkeeper-engines/bugs,writkeeper-runtime/bugs,writkeeper-adapters/bugs,writkeeper-guard/bugs";

/// The cargo that started us, in the repository, without a terminal.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).stdin(Stdio::null()).env("CARGO_TERM_COLOR", "never");
    command
}

/// Whether a program answers at all.
pub fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs to the end with its output passed on; whether it succeeded.
pub fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("starting {}", shown(command)))?;
    Ok(status.success())
}

/// Runs to the end, handing over every line of both outputs as it appears; whether it succeeded.
pub fn each_line(command: &mut Command, mut line_seen: impl FnMut(&str)) -> Result<bool> {
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("starting {}", shown(command)))?;
    // The command holds the writing ends; while it lives, reading would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        line_seen(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
        bytes.clear();
    }
    Ok(child.wait()?.success())
}

/// What cargo knows about the workspace.
pub fn metadata(root: &Path) -> Result<serde_json::Value> {
    let output = cargo(root)
        .args(["metadata", "--format-version", "1", "--locked"])
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo metadata")?;
    anyhow::ensure!(output.status.success(), "cargo metadata failed");
    serde_json::from_slice(&output.stdout).context("reading cargo metadata")
}

/// Builds every program and example as the test run does, and yields the folder that holds them. Tests start examples.
pub fn built(root: &Path) -> Result<PathBuf> {
    let mut command = cargo(root);
    command.args(["build", "--quiet", "--locked", "--workspace", "--bins", "--examples", "--features", FEATURES]);
    anyhow::ensure!(succeeds(&mut command)?, "the workspace does not build");
    Ok(target_folder(root)?.join("debug"))
}

/// The tool that knows the product's own code, in the repository.
pub fn workbench_command(root: &Path) -> Result<Command> {
    let mut command = Command::new(built(root)?.join("workbench"));
    command.current_dir(root).stdin(Stdio::null());
    Ok(command)
}

/// Runs that tool to the end with its output passed on; whether it found nothing.
pub fn workbench(words: &[&str]) -> Result<bool> {
    let root = repository::root()?;
    succeeds(workbench_command(&root)?.args(words))
}

/// Where cargo puts what it builds.
pub fn target_folder(root: &Path) -> Result<PathBuf> {
    let metadata = metadata(root)?;
    let folder = metadata.get("target_directory").and_then(serde_json::Value::as_str);
    folder.map(PathBuf::from).context("cargo metadata names no target folder")
}

fn shown(command: &Command) -> String {
    format!("`{}`", command.get_program().to_string_lossy())
}

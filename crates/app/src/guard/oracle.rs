//! "Done" is checked by somebody else: a command the contract names, and what git says.

use kernel::contract::{Executor, Run};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a running command is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Most of a command's output that is told.
const OUTPUT_BYTES_MAX: usize = 2_000;

/// What came of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Whether it passed.
    pub passed: bool,
    /// The command, and why it did not pass.
    pub said: String,
}

/// Runs the command of a contract, not longer than it says. `None` if the contract names no command.
pub fn check(run: &Run, workspace: &Path) -> Option<Checked> {
    let Executor::Command(argv) = &run.executor else { return None };
    let (program, arguments) = argv.split_first()?;
    let shown = argv.join(" ");
    let spawned = Command::new(program)
        .args(arguments)
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut process = match spawned {
        Ok(process) => process,
        Err(error) => return Some(Checked { passed: false, said: format!("`{shown}` cannot be run: {error}") }),
    };
    // Somebody has to read, or a talkative command would wait for ever.
    let reader = process.stdout.take().map(|mut output| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = output.read_to_end(&mut bytes);
            bytes
        })
    });
    let deadline = Instant::now() + Duration::from_micros(u64::try_from(run.timeout.micros()).unwrap_or(0));
    let status = loop {
        match process.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
            Ok(None) | Err(_) => {
                let _ = process.kill();
                let _ = process.wait();
                break None;
            }
        }
    };
    let Some(status) = status else {
        return Some(Checked { passed: false, said: format!("`{shown}` did not end within {}", run.timeout) });
    };
    let output = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let passed = status.success();
    let said = if passed { format!("`{shown}` passed") } else { format!("`{shown}` failed:\n{}", end_of(&output)) };
    Some(Checked { passed, said })
}

fn end_of(output: &[u8]) -> String {
    let start = output.len().saturating_sub(OUTPUT_BYTES_MAX);
    String::from_utf8_lossy(output.get(start..).unwrap_or_default()).trim().to_owned()
}

/// What git says of a workspace: the commit, and whether anything is not committed. Empty outside of repositories.
pub fn git(workspace: &Path) -> (String, bool) {
    if !workspace.join(".git").exists() {
        return (String::new(), false);
    }
    let ask = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(workspace).args(arguments).stdin(Stdio::null()).output();
        output.ok().filter(|output| output.status.success()).map(|output| output.stdout)
    };
    let head = ask(&["rev-parse", "HEAD"]).unwrap_or_default();
    let changes = ask(&["status", "--porcelain"]).unwrap_or_default();
    (String::from_utf8_lossy(&head).trim().to_owned(), !changes.is_empty())
}

//! A copy of a host's configuration from before the installer changed it, so that undoing brings back the same bytes; and a
//! mark that a person undid it on purpose, so that it is not taken for an attack.

use super::place::Guard;
use super::wiring::{self, Source};
use crate::hooks::Host;
use crate::whole_file::{read_text, write_whole};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of the copies, in the guard's folder. It stays on this machine: configurations may hold private data.
pub const FOLDER: &str = "before";

fn backup(guard: &Guard, host: Host) -> PathBuf {
    guard.folder.join(FOLDER).join(host.word)
}

fn mark(guard: &Guard, host: Host) -> PathBuf {
    guard.folder.join(format!("{}.undone", host.word))
}

/// Copies a configuration that holds nothing of ours yet; `None` is one that does not exist.
pub fn keep(guard: &Guard, host: Host, old: Option<&str>) -> anyhow::Result<()> {
    let backup = backup(guard, host);
    match old {
        Some(text) if !wiring::entries(host, text).is_empty() => Ok(()),
        Some(text) => Ok(write_private(&backup, text)?),
        None => Ok(remove(&backup)?),
    }
}

/// The copy, if a configuration without our entries still says the same.
pub fn original(guard: &Guard, host: Host, unwired: &str, source: &Source) -> Option<String> {
    let backup = backup(guard, host);
    let was = backup.is_file().then(|| read_text(&backup).ok()).flatten()?;
    let wired = wiring::wired(host, &was, Some(source)).ok()?;
    let again = wiring::wired(host, &wired, None).ok()?;
    is_same(&again, unwired).then_some(was)
}

fn is_same(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    one.trim_end() == other.trim_end() || value(one).is_some_and(|one| Some(one) == value(other))
}

/// Marks a host as no longer guarded because a person wanted it so.
pub fn mark_undone(guard: &Guard, host: Host) -> anyhow::Result<()> {
    if !guard.folder.is_dir() {
        return Ok(());
    }
    remove(&backup(guard, host))?;
    write_whole(&mark(guard, host), "")
}

/// Removes the mark.
pub fn unmark_undone(guard: &Guard, host: Host) -> anyhow::Result<()> {
    Ok(remove(&mark(guard, host))?)
}

/// Whether a person wanted the host not to be guarded.
pub fn is_undone(guard: &Guard, host: Host) -> bool {
    mark(guard, host).is_file()
}

/// Need not be atomic: the content is compared before it is used.
fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    remove(file)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}

fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Err(_) | Ok(()) => Ok(()),
    }
}

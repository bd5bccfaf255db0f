//! What a host's configuration was before `init` changed it, so that undoing brings back the same bytes; and that
//! somebody undid it on purpose, so that nobody takes it for an attack.

use super::place::Guard;
use super::wiring::{self, Source};
use crate::hooks::Host;
use crate::whole_file::{read_text, write_whole};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of what was, below the guard's. It is of this machine only: configurations may hold what is private.
pub const FOLDER: &str = "before";

fn kept(guard: &Guard, host: Host) -> PathBuf {
    guard.folder.join(FOLDER).join(host.word)
}

fn mark(guard: &Guard, host: Host) -> PathBuf {
    guard.folder.join(format!("{}.undone", host.word))
}

/// Keeps a configuration that holds nothing of ours yet; `None` is one that does not exist.
pub fn keep(guard: &Guard, host: Host, old: Option<&str>) -> anyhow::Result<()> {
    let kept = kept(guard, host);
    match old {
        Some(text) if !wiring::found(host, text).is_empty() => Ok(()),
        Some(text) => Ok(write_private(&kept, text)?),
        None => Ok(remove(&kept)?),
    }
}

/// What was kept, if a configuration without our entries says nothing else than it did.
pub fn restored(guard: &Guard, host: Host, unwired: &str, source: &Source) -> Option<String> {
    let kept = kept(guard, host);
    let was = kept.is_file().then(|| read_text(&kept).ok()).flatten()?;
    let wired = wiring::wired(host, &was, Some(source)).ok()?;
    let again = wiring::wired(host, &wired, None).ok()?;
    is_same(&again, unwired).then_some(was)
}

fn is_same(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    one.trim_end() == other.trim_end() || value(one).is_some_and(|one| Some(one) == value(other))
}

/// Remembers that a host is not guarded any more because somebody wanted it so.
pub fn undone(guard: &Guard, host: Host) -> anyhow::Result<()> {
    if !guard.folder.is_dir() {
        return Ok(());
    }
    remove(&kept(guard, host))?;
    write_whole(&mark(guard, host), "")
}

/// Forgets that it was undone.
pub fn guarded_again(guard: &Guard, host: Host) -> anyhow::Result<()> {
    Ok(remove(&mark(guard, host))?)
}

/// Whether somebody wanted that the host is not guarded.
pub fn is_undone(guard: &Guard, host: Host) -> bool {
    mark(guard, host).is_file()
}

/// Half a file is none: what it says is compared before it is used.
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

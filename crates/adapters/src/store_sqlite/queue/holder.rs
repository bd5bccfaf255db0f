//! Who holds a file lock, where the system tells.

use std::fs::File;

/// The process that holds a lock on a file, in words; `None` where nobody can say.
#[cfg(target_os = "linux")]
pub(super) fn of(file: &File) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let inode = file.metadata().ok()?.ino().to_string();
    let held = (0..LOOKS).find_map(|_| holding(&inode))?;
    let status = std::fs::read_to_string(format!("/proc/{held}/status")).unwrap_or_default();
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let name = line("Name:").map(|name| format!(" ({name})")).unwrap_or_default();
    let stopped = line("State:").is_some_and(|state| state.starts_with(['T', 't']));
    let stopped = if stopped { ", which is stopped," } else { "" };
    Some(format!("process {held}{name}{stopped}"))
}

/// The table of locks is read in parts, and where others come and go in between, a line may be missed.
#[cfg(target_os = "linux")]
const LOOKS: usize = 4;

#[cfg(target_os = "linux")]
fn holding(inode: &str) -> Option<u32> {
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // `12: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; lines with `->` are of those who wait.
    locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).find_map(|words| {
        let [_, "FLOCK", _, _, process, place, ..] = words.as_slice() else { return None };
        let same = place.rsplit(':').next() == Some(inode);
        process.parse::<u32>().ok().filter(|process| same && *process > 0)
    })
}

/// The process that holds a lock on a file, in words; `None` where nobody can say.
#[cfg(not(target_os = "linux"))]
pub(super) fn of(_file: &File) -> Option<String> {
    None
}

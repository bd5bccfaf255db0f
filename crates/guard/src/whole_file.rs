//! Files of hosts and of the guard: read whole within a bound, and replaced atomically.

use anyhow::Context;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest file that is read whole.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads a whole text file.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("cannot read `{}`", path.display());
    let mut text = String::new();
    let file = std::fs::File::open(path).with_context(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).with_context(failed)?;
    anyhow::ensure!(text.len() as u64 <= FILE_BYTES_MAX, "`{}` is larger than 16 MiB", path.display());
    Ok(text)
}

/// What a file of another program says; nothing if it is none. Reading a pipe might never end.
pub fn text_or_nothing(path: &Path) -> String {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= FILE_BYTES_MAX);
    is_file.then(|| std::fs::read_to_string(path).ok()).flatten().unwrap_or_default()
}

/// Writes a new file beside the old one and renames it, so that a reader never sees half of it.
pub fn write_whole(file: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write `{}`", file.display());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    // A link stays a link: what it leads to is replaced.
    let target = file.canonicalize().unwrap_or_else(|_| led_to(file));
    let beside = target.with_extension("writkeeper-new");
    std::fs::write(&beside, text).with_context(failed)?;
    if let Ok(old) = std::fs::metadata(&target) {
        let _ = std::fs::set_permissions(&beside, old.permissions());
    }
    std::fs::rename(&beside, &target).with_context(failed)
}

/// Where a link leads that leads to nothing yet; another path is itself.
fn led_to(file: &Path) -> PathBuf {
    let target = std::fs::read_link(file).unwrap_or_else(|_| file.to_path_buf());
    file.parent().map_or_else(|| target.clone(), |folder| folder.join(&target))
}

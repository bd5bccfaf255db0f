//! Where the repository is and which files belong to it.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold products, not sources.
const FOLDERS_SKIPPED: &[&str] = &["target", ".git", "node_modules", "artifacts"];

/// The folder that holds the workspace manifest.
pub fn root() -> Result<PathBuf> {
    // As cargo says now: clones that share a target folder may be handed a program that was built for another of them.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.ancestors().nth(2).map(Path::to_path_buf).context("the xtask crate lies in `crates/xtask`")
}

/// All files under a folder, in the order of their paths.
pub fn files_under(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("reading `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            let skipped = FOLDERS_SKIPPED.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && !skipped {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The path as people write it: from the root, with forward slashes.
pub fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

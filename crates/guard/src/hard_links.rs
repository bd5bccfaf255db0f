//! Hard links to leased files: writing to another name of a file writes to the file.

use kernel::lease::book::LeaseBook;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Entries of held folders looked at for one call.
const ENTRIES_MAX: usize = 8192;

/// Device and number of a file with more than one name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok().filter(|found| found.is_file() && found.nlink() > 1)?;
    Some((found.dev(), found.ino()))
}

/// Other names, in what is held, of files that are written. Only files with several names cost a look.
pub fn of(writes: &[String], book: impl FnOnce() -> Option<LeaseBook>) -> Vec<String> {
    let written: BTreeSet<(u64, u64)> = writes.iter().filter_map(|path| identity(Path::new(path))).collect();
    if written.is_empty() {
        return Vec::new();
    }
    let Some(book) = book() else { return Vec::new() };
    let (mut found, mut left) = (Vec::new(), ENTRIES_MAX);
    for region in book.leases().flat_map(|lease| lease.regions.iter()) {
        let Some(place) = on_disk(Path::new(&region.to_text())) else { continue };
        look(&place, &written, &mut left, &mut found);
    }
    if left == 0 {
        // What was not looked at may hold one: a text that names no place is asked about.
        found.push("a second name among many files".to_owned());
    }
    found
}

fn look(place: &Path, written: &BTreeSet<(u64, u64)>, left: &mut usize, found: &mut Vec<String>) {
    let mut places = vec![place.to_path_buf()];
    while let Some(place) = places.pop() {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        let Ok(metadata) = place.symlink_metadata() else { continue };
        if metadata.is_dir() {
            let Ok(entries) = std::fs::read_dir(&place) else { continue };
            places.extend(entries.flatten().take(ENTRIES_MAX).map(|entry| entry.path()));
        } else if metadata.nlink() > 1 && written.contains(&(metadata.dev(), metadata.ino())) {
            found.push(place.to_string_lossy().into_owned());
        }
    }
}

/// The path as it is spelled on disk: regions are kept without case.
pub fn on_disk(path: &Path) -> Option<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return Some(path.to_path_buf());
    }
    let folder = on_disk(path.parent()?)?;
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let mut entries = std::fs::read_dir(&folder).ok()?.flatten().take(ENTRIES_MAX);
    entries.find(|entry| entry.file_name().to_string_lossy().to_lowercase() == name).map(|entry| entry.path())
}

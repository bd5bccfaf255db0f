//! Files that are there in full or not at all, after a crash too.

use runtime::crash::around;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Replaces a file: written beside it, brought to the disk, renamed over it, and the rename brought to the disk.
///
/// An error while syncing ends the process. Afterwards nobody can know what is on the disk, and whoever goes on as if
/// it were there signs two histories.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| Error::from(ErrorKind::InvalidInput))?;
    let beside = folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let _ = std::fs::remove_file(&beside);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    // Half a file, perhaps of a private key, is of no use to anybody.
    let gone = |error| {
        let _ = std::fs::remove_file(&beside);
        error
    };
    around("file.write", || file.write_all(bytes)).map_err(gone)?;
    synced("file.sync", &file, &beside);
    around("file.rename", || std::fs::rename(&beside, path)).map_err(gone)?;
    synced("file.sync_folder", &File::open(folder)?, folder);
    Ok(())
}

/// Removes what [`replace`] left in a folder when its process died.
pub fn remove_leftovers(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let parts = name.to_str().and_then(|name| name.strip_prefix('.')).and_then(|name| name.rsplit_once('.'));
        if parts.is_some_and(|(_, process)| !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Makes a folder that only its owner sees, and those it lies in where there are none.
pub fn private_folder(path: &Path) -> Result<(), Error> {
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Thirty-two bytes that nobody can guess.
pub fn random_seed() -> Result<[u8; 32], Error> {
    let mut seed = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(seed)
}

fn synced(step: &str, file: &File, path: &Path) {
    let failed = std::env::var_os("WRITKEEPER_FSYNC_FAILS").filter(|_| cfg!(feature = "bugs"));
    let outcome = if failed.is_some() { Err(Error::other("made to fail")) } else { around(step, || file.sync_all()) };
    if let Err(error) = outcome {
        let _ = writeln!(std::io::stderr(), "error: `{}` cannot be brought to the disk: {error}", path.display());
        std::process::abort();
    }
}

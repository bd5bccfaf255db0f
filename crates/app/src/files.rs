//! Reading files with a bound and an error that names the file, and whether two names are one file.

use crate::exit::InvalidData;
use anyhow::Context;
use std::io::Read;
use std::path::Path;

/// Largest file a command reads whole.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads a whole file; `-` is standard input.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let reader: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?)
    };
    reader
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let problem = format!("`{}` is larger than {} MiB", path.display(), FILE_BYTES_MAX / 1024 / 1024);
        return Err(InvalidData(problem).into());
    }
    Ok(bytes)
}

/// Reads a whole text file.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| InvalidData(format!("`{}` is not UTF-8", path.display())).into())
}

/// Whether two paths lead to one file, by whatever names.
#[cfg(unix)]
pub fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| {
        let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some((found.dev(), found.ino()))
    };
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

/// Whether two paths lead to one file, by whatever names.
#[cfg(not(unix))]
pub fn is_same(_one: &Path, _other: &Path) -> bool {
    false
}

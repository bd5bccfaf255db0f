//! A store that is only looked at: no lock, no file beside it that we make, nothing that changes it.

use super::{connection, read, schema};
use kernel::world::KeySet;
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use std::path::{Path, PathBuf};

/// A store in a SQLite file, for readers: it waits for no writer, and nothing can be decided on it.
#[derive(Debug)]
pub struct SqliteView {
    path: PathBuf,
}

impl SqliteView {
    /// Looks at the store in a file; `None` if only a writer can bring the file to this version.
    pub fn open(path: impl AsRef<Path>) -> Result<Option<SqliteView>, StoreFault> {
        let path = path.as_ref().to_path_buf();
        is_not_emptied(&path)?;
        let connection = connection::reader(&path)?;
        let current = schema::is_current(&connection).map_err(|fault| unwritable(&path, fault))?;
        Ok(current.then_some(SqliteView { path }))
    }
}

impl Store for SqliteView {
    fn transact(&mut self, _batch: BatchId, _keys: &KeySet, _fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        Err(StoreFault::Unavailable("it was opened for reading only".to_owned()))
    }

    fn has_settled(&mut self, _batch: BatchId) -> Result<bool, StoreFault> {
        Err(StoreFault::Unavailable("it was opened for reading only".to_owned()))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(read::SqliteReader::of(&self.path)))
    }
}

/// SQLite would take an empty file for a new database, and what was in it would never be missed.
pub(super) fn is_not_emptied(path: &Path) -> Result<(), StoreFault> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() == 0 => Err(StoreFault::Refused(format!(
            "`{0}` is an empty file and no store; restore it from a copy, or remove `{0}` to start a new one",
            path.display()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A reader of a write-ahead log has to write its index beside the file.
fn unwritable(path: &Path, fault: StoreFault) -> StoreFault {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fixed = std::fs::metadata(folder).is_ok_and(|folder| folder.permissions().readonly());
    match fault {
        StoreFault::Unavailable(problem)
            if fixed || problem.contains("readonly") || problem.contains("unable to open") =>
        {
            StoreFault::Unavailable(format!(
                "{problem}: SQLite keeps an index beside the file while anyone reads, and `{}` cannot be written; copy \
                 the store into a folder of your own to look at it",
                folder.display()
            ))
        }
        other @ (StoreFault::Unavailable(_)
        | StoreFault::Conflict(_)
        | StoreFault::Ambiguous(_)
        | StoreFault::Refused(_)
        | StoreFault::Corrupt(_)) => other,
    }
}

//! A store that is only looked at: no lock, no file beside it that we make, nothing that changes it.

use super::queue::Queue;
use super::shared_connection::BetweenBatches;
use super::{connection, read, schema};
use kernel::world::Key;
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A tenant of a store in a SQLite file, for readers: it waits for no writer, and nothing can be decided on it.
#[derive(Debug)]
pub struct SqliteView {
    path: PathBuf,
    tenant: Arc<str>,
}

impl SqliteView {
    /// Looks at a tenant of the store in a file; `None` if only a writer can bring the file to this version.
    pub fn open(path: impl AsRef<Path>, tenant: &str) -> Result<Option<SqliteView>, StoreFault> {
        let path = path.as_ref().to_path_buf();
        is_no_folder(&path)?;
        is_not_emptied(&path)?;
        let was_a_store = Queue::is_beside(&path);
        let fault_of = |fault| if was_a_store { fault } else { not_a_database(&path, fault) };
        let connection = connection::reader(&path).map_err(fault_of)?;
        let current = schema::is_current(&connection, tenant)?;
        Ok(current.then(|| SqliteView { path, tenant: Arc::from(tenant) }))
    }
}

fn read_only<T>() -> Result<T, StoreFault> {
    Err(StoreFault::Unavailable("it was opened for reading only".to_owned()))
}

impl Store for SqliteView {
    fn tenant(&self) -> &Arc<str> {
        &self.tenant
    }

    fn transact(&mut self, _batch: BatchId, _keys: Vec<Key>, _fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        read_only()
    }

    fn has_settled(&mut self, _batch: BatchId) -> Result<bool, StoreFault> {
        read_only()
    }

    fn erase(&mut self, _from: u64, _to: u64) -> Result<u64, StoreFault> {
        read_only()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(read::SqliteReader::of(&self.path, &self.tenant, BetweenBatches::default())))
    }
}

/// Refuses a file that cannot be a store before anything is made beside it.
pub(super) fn may_be_a_store(path: &Path) -> Result<(), StoreFault> {
    is_not_emptied(path)?;
    if !path.exists() {
        return Ok(());
    }
    // Through SQLite: closing a file that this process has open as a database would give its locks away.
    let connection = connection::reader(path).map_err(|fault| not_a_database(path, fault))?;
    schema::known_version(&connection).map(|_| ()).map_err(|fault| not_a_database(path, fault))
}

/// A folder is no store.
pub(super) fn is_no_folder(path: &Path) -> Result<(), StoreFault> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(StoreFault::Refused(format!(
            "`{}` is a folder; name a file in it, such as `{}`",
            path.display(),
            path.join("writkeeper.db").display()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A file that is no database is somebody's own file, not a store that was damaged: a store keeps its first bytes.
fn not_a_database(path: &Path, fault: StoreFault) -> StoreFault {
    match fault {
        StoreFault::Corrupt(problem) if problem.contains("not a database") => StoreFault::Refused(format!(
            "`{}` is a file of another kind and no store; name another file",
            path.display()
        )),
        other @ (StoreFault::Conflict(_)
        | StoreFault::Unavailable(_)
        | StoreFault::Ambiguous(_)
        | StoreFault::Refused(_)
        | StoreFault::Corrupt(_)) => other,
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

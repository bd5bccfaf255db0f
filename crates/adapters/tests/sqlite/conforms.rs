//! The SQLite store does what every store must do.

use crate::folder::Folder;
use adapters::store_sqlite::SqliteStore;
use runtime::conformance::{Opened, check};
use runtime::memory::ManualClock;
use runtime::ports::store::{Store, StoreFault};
use std::sync::Arc;

struct InFolder {
    folder: Folder,
    clock: Arc<ManualClock>,
}

impl Opened for InFolder {
    fn open(&self) -> Result<Box<dyn Store>, StoreFault> {
        Ok(Box::new(SqliteStore::open(self.folder.path("store"), self.clock.clone())?))
    }

    fn erase(&self, index: u64) -> Result<(), StoreFault> {
        let fault = |error: rusqlite::Error| StoreFault::Unavailable(error.to_string());
        let other = rusqlite::Connection::open(self.folder.path("store")).map_err(fault)?;
        let sql = "UPDATE ledger SET body = NULL, salt = NULL WHERE idx = ?1";
        other.execute(sql, [i64::try_from(index).unwrap_or(-1)]).map(drop).map_err(fault)
    }
}

#[test]
fn the_sqlite_store_conforms() {
    let failures = check(&mut |clock: Arc<ManualClock>| Box::new(InFolder { folder: Folder::new(), clock }));
    assert_eq!(failures, []);
}

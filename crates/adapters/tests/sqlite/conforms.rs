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
    fn open(&self, tenant: &str) -> Result<Box<dyn Store>, StoreFault> {
        Ok(Box::new(SqliteStore::open_for(self.folder.path("store"), tenant, self.clock.clone())?))
    }
}

#[test]
fn the_sqlite_store_conforms() {
    let failures = check(&mut |clock: Arc<ManualClock>| Box::new(InFolder { folder: Folder::new(), clock }));
    assert_eq!(failures, []);
}

//! From a location to a store.

use crate::location::Location;
use crate::store_sqlite::{LogKeeper, QUEUE_WAIT, SqliteStore, SqliteView};
use runtime::memory::MemoryStore;
use runtime::ports::clock::Clock;
use runtime::ports::store::{Store, StoreFault};
use std::sync::Arc;
use std::time::Duration;

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// How long a writer stands in line behind others before it says that the store is unavailable.
    pub wait: Duration,
    /// Who keeps the log short. Who opens a store that nobody else has open reads the whole log first.
    pub log: LogKeeper,
    /// Whether the statements of an ordinary decision are prepared at once, for who has something else to do meanwhile.
    pub is_prepared: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { wait: QUEUE_WAIT, log: LogKeeper::USUAL, is_prepared: false }
    }
}

/// Opens a tenant of the store at a location, making it first where there is none.
pub fn open_store(
    location: &Location,
    tenant: &str,
    clock: Arc<dyn Clock>,
    options: OpenOptions,
) -> Result<Box<dyn Store>, StoreFault> {
    match location {
        Location::Memory => Ok(Box::new(MemoryStore::new(clock).tenant_named(tenant))),
        Location::Sqlite(path) => {
            let store = SqliteStore::open_waiting(path, tenant, clock, options.wait, options.log)?;
            if options.is_prepared {
                store.prepare()?;
            }
            Ok(Box::new(store))
        }
    }
}

/// Opens a tenant of the store at a location for looking only; one of an older version is brought to this one first.
pub fn view_store(
    location: &Location,
    tenant: &str,
    clock: Arc<dyn Clock>,
    options: OpenOptions,
) -> Result<Box<dyn Store>, StoreFault> {
    if let Location::Sqlite(path) = location
        && let Some(view) = SqliteView::open(path, tenant)?
    {
        return Ok(Box::new(view));
    }
    open_store(location, tenant, clock, options)
}

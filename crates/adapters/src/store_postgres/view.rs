//! A store that is only looked at: it makes no tables, takes no lock, and works on a standby.

use super::address::Address;
use super::{READ_PATIENCE, RETURN_WAIT, connect, read, schema, settings, waited_for};
use kernel::world::Key;
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use std::sync::Arc;
use std::time::Duration;

/// A tenant of a store in PostgreSQL, for readers: nothing can be decided on it.
#[derive(Debug)]
pub struct PostgresView {
    address: Address,
    tenant: Arc<str>,
}

impl PostgresView {
    /// Looks at a tenant of the store in a database; `None` if only a writer can make its tables or bring them to this
    /// version.
    pub fn open(address: &Address, tenant: &str, line: Duration) -> Result<Option<PostgresView>, StoreFault> {
        let connected = || connect(address, READ_PATIENCE, line, false);
        let (_, is_current) = waited_for(line, connected, |connection| {
            settings::Settings::read(connection)?.demand_usable()?;
            let is_current = schema::is_current(connection)?;
            if is_current {
                schema::demand_whole(connection, tenant)?;
            }
            Ok(is_current)
        })?;
        if !is_current {
            return Ok(None);
        }
        Ok(Some(PostgresView { address: address.clone(), tenant: Arc::from(tenant) }))
    }

    /// Whether there is a store in a database.
    pub fn exists(address: &Address) -> Result<bool, StoreFault> {
        let connected = || connect(address, READ_PATIENCE, RETURN_WAIT, false);
        let (_, is_there) = waited_for(RETURN_WAIT, connected, schema::is_there)?;
        Ok(is_there)
    }
}

fn read_only<T>() -> Result<T, StoreFault> {
    Err(StoreFault::Unavailable("it was opened for reading only".to_owned()))
}

impl Store for PostgresView {
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
        Ok(Box::new(read::PostgresReader::of(&self.address, &self.tenant)))
    }
}

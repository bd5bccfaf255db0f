//! The PostgreSQL store does what every store must do.

use crate::server::PostgresServer;
use adapters::store_postgres::{Address, PostgresStore};
use runtime::conformance::{Failure, Opened, check};
use runtime::memory::ManualClock;
use runtime::ports::store::{Store, StoreFault};
use std::sync::Arc;

struct InDatabase {
    address: Address,
    clock: Arc<ManualClock>,
}

impl Opened for InDatabase {
    fn open(&self, tenant: &str) -> Result<Box<dyn Store>, StoreFault> {
        Ok(Box::new(PostgresStore::open(&self.address, tenant, self.clock.clone())?))
    }
}

/// Every check on a database of its own, reached as `through` says.
pub fn failures_on(server: &PostgresServer, through: impl Fn(String) -> String) -> Vec<Failure> {
    let mut number = 0;
    check(&mut |clock: Arc<ManualClock>| {
        number += 1;
        let address = Address::parse(&through(server.database(&format!("check{number}")))).unwrap();
        Box::new(InDatabase { address, clock })
    })
}

#[test]
fn the_postgresql_store_conforms() {
    let Some(server) = PostgresServer::start() else { return };
    assert_eq!(failures_on(&server, |location| location), []);
}

#[test]
fn the_store_conforms_on_the_newest_postgresql() {
    let Some(server) = PostgresServer::start_newest() else { return };
    let version = String::from_utf8_lossy(&server.sql("postgres", "SHOW server_version_num").stdout).into_owned();
    assert!(version.starts_with("18"), "{version}");
    assert_eq!(failures_on(&server, |location| location), []);
}

//! A server that has no connection left: said in words with what to do, and over as soon as one is free.

use crate::lost::{count_once, open};
use crate::server::PostgresServer;
use adapters::store_postgres::{Address, PostgresStore};
use adapters::system_clock::SystemClock;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_server_without_a_free_connection_is_named_and_waited_for() {
    let settings = ["max_connections=6", "superuser_reserved_connections=0", "max_wal_senders=0"];
    let Some(server) = PostgresServer::start_with(&settings) else { return };
    let location = server.database("filled");
    let address = Address::parse(&location).unwrap();
    let mut store = open(&location);
    count_once(&mut store, "first", 1);
    let taken = |line| PostgresStore::open_waiting(&address, "default", Arc::new(SystemClock), line);
    let (mut others, refused) = loop_until_refused(|| taken(Duration::from_millis(200)));
    assert!(refused.contains("max_connections") && refused.contains("pooler"), "{refused}");
    assert!(others.len() < 6, "{} connections beside the first", others.len());
    // The first one loses its own, and somebody else takes it before it comes back.
    let ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'writkeeper' \
                 ORDER BY backend_start LIMIT 1";
    drop(others.pop());
    // Its place is free as soon as the server has noticed.
    let noticed = std::time::Instant::now() + Duration::from_secs(20);
    while !server.sql("filled", ended).status.success() {
        assert!(std::time::Instant::now() < noticed, "no connection became free");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (more, _) = loop_until_refused(|| taken(Duration::from_millis(200)));
    others.extend(more);
    let refusals = || server.log().matches("too many clients already").count();
    let before = refusals();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| count_once(&mut store, "second", 2));
        while refusals() == before {
            assert!(!waiting.is_finished(), "it decided although no connection was free");
            std::thread::sleep(Duration::from_millis(5));
        }
        others.clear();
        waiting.join().unwrap();
    });
    let size = runtime::ports::store::Store::reader(&store).unwrap().size().unwrap();
    assert_eq!(size, 2, "both are there, once each");
}

/// Opens stores until one is refused; those that were opened, and why.
fn loop_until_refused(
    mut next: impl FnMut() -> Result<PostgresStore, runtime::ports::store::StoreFault>,
) -> (Vec<PostgresStore>, String) {
    let mut opened = Vec::new();
    loop {
        match next() {
            Ok(store) => opened.push(store),
            Err(fault) => return (opened, fault.to_string()),
        }
    }
}

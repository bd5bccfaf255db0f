//! Servers that do not answer now: waited for as long as the guide says, whoever asks, and named if they stay away.

use crate::lost::{count_once, open};
use crate::server::PostgresServer;
use adapters::store_postgres::{Address, PostgresStore, PostgresView};
use adapters::system_clock::SystemClock;
use runtime::ports::store::{Store as _, StoreFault};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

fn address(location: &str) -> Address {
    Address::parse(location).unwrap()
}

/// Passes everything on, from now on.
fn pass(listener: TcpListener, port: u16) {
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        let _ended = std::io::copy(&mut from, &mut to);
        let _gone = to.shutdown(std::net::Shutdown::Both);
    };
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || pass(client, server));
            std::thread::spawn(move || pass(back.0, back.1));
        }
    });
}

#[test]
fn a_port_that_never_answers_is_named_with_how_long_it_was_waited_for() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = address(&format!("postgres://writkeeper@127.0.0.1:{port}/kept"));
    let said = format!("PostgreSQL at 127.0.0.1:{port} did not answer within 15 s");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| PostgresStore::open(&silent, "default", Arc::new(SystemClock)).map(|_| ()));
        let viewer = scope.spawn(|| PostgresView::exists(&silent).map(|_| ()));
        for opened in [writer, viewer] {
            let fault = opened.join().unwrap().unwrap_err();
            assert!(matches!(&fault, StoreFault::Unavailable(problem) if problem.contains(&said)), "{fault}");
        }
    });
}

#[test]
fn a_server_that_refuses_at_first_is_waited_for_by_whoever_opens_it() {
    let Some(server) = PostgresServer::start() else { return };
    server.database("late");
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let late = address(&server.location("late").replace(&server.port.to_string(), &port.to_string()));
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| PostgresStore::open(&late, "default", Arc::new(SystemClock)).map(|_| ()));
        // Long enough to be refused; a machine too busy for that proves less and fails nothing.
        std::thread::sleep(Duration::from_millis(500));
        assert!(!opening.is_finished(), "it gave up at once");
        pass(TcpListener::bind(("127.0.0.1", port)).unwrap(), server.port);
        opening.join().unwrap().unwrap();
    });
}

#[test]
fn a_reader_waits_for_a_free_connection_as_writers_do() {
    let settings = ["max_connections=3", "superuser_reserved_connections=0", "max_wal_senders=0"];
    let Some(server) = PostgresServer::start_with(&settings) else { return };
    let location = server.database("filled");
    let mut store = open(&location);
    count_once(&mut store, "first", 1);
    let mut taken = Vec::new();
    let refused = || server.log().matches("too many clients already").count();
    while refused() == 0 {
        let one = PostgresStore::open_waiting(&address(&location), "default", Arc::new(SystemClock), Duration::ZERO);
        taken.extend(one);
    }
    let before = refused();
    std::thread::scope(|scope| {
        let mut reader = store.reader().unwrap();
        let reading = scope.spawn(move || reader.size());
        while refused() == before {
            std::thread::yield_now();
        }
        taken.clear();
        assert_eq!(reading.join().unwrap(), Ok(1));
    });
}

#[test]
fn a_role_whose_statements_are_cut_short_makes_the_tables() {
    let Some(server) = PostgresServer::start() else { return };
    let location = server.database("short");
    // Long enough for every small question, and too short for all the tables behind somebody else's lock.
    let set = "ALTER DATABASE short SET statement_timeout = '300ms'";
    assert!(server.sql("postgres", set).status.success());
    let lock = "SET statement_timeout = 0; SELECT pg_advisory_lock(8606218390571083124), pg_sleep(2)";
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| server.sql("short", lock).status.success());
        let held = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'";
        while server.sql("postgres", held).stdout.is_empty() {}
        let opened = PostgresStore::open(&address(&location), "default", Arc::new(SystemClock)).map(|_| ());
        assert_eq!(opened, Ok(()));
        assert!(holder.join().unwrap());
    });
}

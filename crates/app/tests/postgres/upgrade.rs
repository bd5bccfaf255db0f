//! Processes of two versions on one database: the newer one renews the tables under the older one.

use super::desk::Desk;
use super::server::PostgresServer;
use super::standby::Decider;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// Makes a process a program that knows the tables of the version before this one.
const OLDER: [(&str, &str); 1] = [("WRITKEEPER_TABLES", "2")];

#[test]
fn an_older_process_goes_on_beside_a_newer_one_and_does_not_start_again() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("shared"));
    let version = || {
        let found = server.sql("shared", "SELECT value FROM writkeeper.meta WHERE name = 'schema'");
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    };
    let mut older = Decider::start_with(&desk, &store, &OLDER);
    let first = older.says("A");
    assert!(first.contains("ACCEPT") && version() == "2", "{first} {}", version());
    let mut newer = Decider::start(&desk, &store);
    let second = newer.says("B");
    assert!(second.contains("ACCEPT") && version() == "3", "{second} {}", version());
    // They see each other's decisions, by turns.
    assert_eq!(newer.says("A"), first);
    assert_eq!(older.says("B"), second);
    for order in ["C", "D"] {
        let told = older.says(order);
        assert!(told.contains("ACCEPT"), "{told}");
        assert_eq!(newer.says(order), told);
    }
    drop(older);
    let refused = desk.run_with(&OLDER, &format!("report --store {store}"), "");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(65), "{error}");
    assert!(error.contains("update this program"), "{error}");
    // Another one of the newer version beside it, and the ledger is one.
    assert_eq!(Decider::start(&desk, &store).says("D"), newer.says("D"));
    desk.says(&format!("ledger export --out shared.export --store {store}"), "", 0);
    desk.says("verify shared.export", "", 0);
}

/// Whoever reads the tables for long, a backup for example, holds off the newer program and not the decisions of the others.
#[test]
fn decisions_go_on_while_a_newer_process_waits_for_a_reader_of_the_tables() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("read"));
    let mut older = Decider::start_with(&desk, &store, &OLDER);
    let first = older.says("A");
    assert!(first.contains("ACCEPT"), "{first}");
    let mut reader = server.client("read");
    let mut words = reader.stdin.take().unwrap();
    words.write_all(b"BEGIN; LOCK TABLE writkeeper.entity IN ACCESS SHARE MODE;\n").unwrap();
    let count = |sql: &str| String::from_utf8_lossy(&server.sql("read", sql).stdout).trim().to_owned();
    let until = |sql: &str, expected: &str| {
        let begun = Instant::now();
        while count(sql) != expected {
            assert!(begun.elapsed() < Duration::from_secs(60), "{sql} never said {expected}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let locks = |mode: &str, granted: &str| {
        format!(
            "SELECT count(*) FROM pg_locks WHERE relation = 'writkeeper.entity'::regclass AND mode = '{mode}' AND {granted}"
        )
    };
    until(&locks("AccessShareLock", "granted"), "1");
    let mut newer = Decider::start(&desk, &store);
    newer.ask("B");
    // It has tried, and has stepped back at least once.
    until(&locks("AccessExclusiveLock", "NOT granted"), "1");
    until(&locks("AccessExclusiveLock", "NOT granted"), "0");
    for order in ["C", "D", "E"] {
        let told = older.says(order);
        assert!(told.contains("ACCEPT"), "{told}");
    }
    assert_eq!(count("SELECT value FROM writkeeper.meta WHERE name = 'schema'"), "2");
    words.write_all(b"COMMIT;\n").unwrap();
    drop(words);
    reader.wait().unwrap();
    let second = newer.answer();
    assert!(second.contains("ACCEPT"), "{second}");
    assert_eq!(newer.says("A"), first);
}

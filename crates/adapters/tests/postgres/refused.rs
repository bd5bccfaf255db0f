//! What is no store is refused in words, before anything is written.

use crate::server::PostgresServer;
use adapters::store_postgres::{Address, PostgresStore};
use adapters::system_clock::SystemClock;
use std::sync::Arc;

fn problem(location: &str) -> String {
    let address = Address::parse(location).unwrap();
    PostgresStore::open(&address, "default", Arc::new(SystemClock)).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_a_store_is_refused_with_what_to_do() {
    let Some(server) = PostgresServer::start_with(&["fsync=off"]) else { return };
    let rows = [
        ("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0", "latin", "ENCODING 'UTF8'"),
        (
            "postgres",
            "CREATE DATABASE still; ALTER DATABASE still SET default_transaction_read_only = on",
            "still",
            "name the primary",
        ),
        (
            "newer",
            "CREATE SCHEMA writkeeper; CREATE TABLE writkeeper.meta(name text, value text); INSERT INTO writkeeper.meta \
             VALUES('schema', '99')",
            "newer",
            "update this program",
        ),
        ("postgres", "SELECT 1", "absent", "does not exist"),
        ("postgres", "SELECT 1", "postgres?sslmode=require", "has no TLS"),
    ];
    server.database("newer");
    for (database, sql, name, words) in rows {
        for statement in sql.split_inclusive("; ") {
            let ran = server.sql(database, statement);
            assert!(ran.status.success(), "{statement}: {}", String::from_utf8_lossy(&ran.stderr));
        }
        let said = problem(&server.location(name));
        assert!(said.contains(words), "{name}: {said}");
    }
    let nobody = format!("postgres://writkeeper@127.0.0.1:{}/x", 1);
    let said = problem(&nobody);
    assert!(said.contains("refused"), "{said}");
}

#[test]
fn the_ledger_defends_itself_against_other_programs() {
    let Some(server) = PostgresServer::start_with(&["fsync=off"]) else { return };
    let address = Address::parse(&server.database("own")).unwrap();
    drop(PostgresStore::open(&address, "default", Arc::new(SystemClock)).unwrap());
    let fill = "INSERT INTO writkeeper.ledger(number, idx, leaf, salt, body) VALUES(1, 0, 'leaf', '\\x00', 'body')";
    assert!(server.sql("own", fill).status.success());
    for sql in [
        "DELETE FROM writkeeper.ledger",
        "TRUNCATE writkeeper.ledger",
        "UPDATE writkeeper.ledger SET leaf = 'other'",
        "UPDATE writkeeper.ledger SET body = 'other'",
        "UPDATE writkeeper.ledger SET idx = 1, body = NULL, salt = NULL",
    ] {
        let said = String::from_utf8_lossy(&server.sql("own", sql).stderr).into_owned();
        assert!(said.contains("append-only"), "{sql}: {said}");
    }
    // A ledger that is longer than its head says is damage, and nothing is decided on it.
    assert!(problem(&server.location("own")).contains("its head says 0"));
    assert!(server.sql("own", "UPDATE writkeeper.ledger SET body = NULL, salt = NULL").status.success());
}

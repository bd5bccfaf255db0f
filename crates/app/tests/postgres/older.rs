//! A database that comes back older under processes that go on: they know more than it does, and decide nothing.

use super::desk::Desk;
use super::server::PostgresServer;
use super::standby::Decider;

/// Puts one database in the place of another.
fn replace(server: &PostgresServer, name: &str, by: &str) {
    let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'writkeeper'";
    for attempt in 0.. {
        assert!(server.sql("postgres", ends).status.success());
        if server.sql("postgres", &format!("ALTER DATABASE {name} RENAME TO gone")).status.success() {
            break;
        }
        assert!(attempt < 50, "somebody holds the database");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(server.sql("postgres", &format!("ALTER DATABASE {by} RENAME TO {name}")).status.success());
}

#[test]
fn a_process_without_keys_notices_a_database_that_came_back_older() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("kept"));
    assert!(Decider::start(&desk, &store).says("A").contains("ACCEPT"));
    let copied = server.sql("postgres", "CREATE DATABASE older TEMPLATE kept");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let mut witness = Decider::start(&desk, &store);
    assert!(witness.says("B").contains("ACCEPT"));
    replace(&server, "kept", "older");
    // It accepted this a moment ago, and the database knows nothing of it.
    let told = witness.says("B");
    assert!(told.contains("UNAVAILABLE") && told.contains("came back older") && told.contains("it has seen"), "{told}");
    // Others who know nothing of it decide, until the ledger is longer than it was: it is another one all the same.
    let mut others = Decider::start(&desk, &store);
    for order in ["C", "D", "E"] {
        assert!(others.says(order).contains("ACCEPT"));
    }
    for _ in 0..2 {
        let told = witness.says("B");
        assert!(told.contains("UNAVAILABLE") && told.contains("another one than it wrote"), "{told}");
    }
    assert!(Decider::start(&desk, &store).says("B").contains("ACCEPT"), "a process that starts anew goes on");
}

//! Processes of two versions on one database: the newer one renews the tables under the older one.

use super::desk::Desk;
use super::server::PostgresServer;
use super::standby::Decider;

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

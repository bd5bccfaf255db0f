//! Backups, what happens when an older state comes back, and copies that were interrupted.

use super::desk::Desk;
use super::server::PostgresServer;

/// An accepted refund.
fn refund(order: &str) -> String {
    format!(
        "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-{order}\",\"idempotency_key\":\"k-{order}\",\
         \"params\":{{\"order_id\":\"{order}\",\"amount\":5}}}}\n"
    )
}

fn asks(desk: &Desk, store: &str, order: &str, code: i32) -> String {
    desk.says(&format!("decide --quiet --contract refunds.yaml --store {store}"), &refund(order), code)
}

/// A backup is a store; what comes back older than what was signed decides nothing until the loss is declared.
fn check(desk: &Desk, store: &str, restored: &str) {
    let first = asks(desk, store, "A", 0);
    desk.says(&format!("ledger checkpoint --store {store}"), "", 0);
    let told = desk.says(&format!("store backup kept.bak --json --store {store}"), "", 0);
    assert!(told.contains("\"default\":"), "{told}");
    let again = desk.run(&format!("store backup kept.bak --store {store}"), "");
    assert!(!again.status.success(), "a backup is never written over");
    assert!(desk.says("intents list --store kept.bak", "", 0).contains("refund:A"));
    // Decided and signed after the backup, and lost with the store.
    asks(desk, store, "B", 0);
    desk.says(&format!("ledger checkpoint --store {store}"), "", 0);
    let refused = desk.run(&format!("store restore kept.bak --store {store}"), "");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "a store with decisions is not written over: {error}");

    let keys = |store: &str| {
        let place: adapters::location::Location = store.parse().unwrap();
        match place.path() {
            Some(path) => desk.path().join(format!("{}.keys", path.display())),
            None => desk.path().join(".local/state/writkeeper").join(place.keys().unwrap().file_name().unwrap()),
        }
    };
    let moved = std::fs::rename(keys(store), keys(restored));
    assert!(moved.is_ok() || store == restored, "{moved:?}");
    let output = desk.run(&format!("store restore kept.bak --store {restored}"), "");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("came back from a backup") && error.contains("discontinue"), "{error}");
    // What was accepted since the backup would be accepted a second time.
    asks(desk, restored, "B", 65);
    desk.says(&format!("ledger discontinue --because restored --store {restored}"), "", 0);
    assert_eq!(asks(desk, restored, "A", 0), first, "what the backup knows is answered as before");
    asks(desk, restored, "C", 0);
}

#[test]
fn a_file_is_backed_up_and_restored() {
    let desk = Desk::new();
    check(&desk, "kept.db", "restored.db");
}

#[test]
fn a_database_is_backed_up_and_restored() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store, restored) = (Desk::new(), server.database("kept"), server.database("restored"));
    check(&desk, &store, &restored);
}

#[test]
fn an_interrupted_copy_goes_on_and_is_of_no_use_before() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("copied"));
    let lines: String = (0..2_600).map(|order| refund(&order.to_string())).collect();
    desk.says("decide --quiet --contract refunds.yaml --store kept.db", &lines, 0);
    // Rows and the end of the ledger are the last of four commits.
    for (from, to) in [("kept.db", store.as_str()), (store.as_str(), "back.db")] {
        let crash = [("WRITKEEPER_CRASH_AT", "store.transact.after:2")];
        let killed = desk.run_with(&crash, &format!("store copy {from} {to}"), "");
        assert_ne!(killed.status.code(), Some(0), "{killed:?}");
        let early = desk.run(&format!("decide --quiet --contract refunds.yaml --store {to}"), &refund("early"));
        let error = String::from_utf8_lossy(&early.stderr).into_owned();
        assert!(!early.status.success() && error.contains("has not ended"), "{error}");
        // What is erased meanwhile is not brought back.
        if from == "kept.db" {
            desk.says("ledger erase =p-7 --because asked --store kept.db", "", 0);
        }
        let told = desk.says(&format!("store copy {from} {to} --json"), "", 0);
        assert!(told.contains("\"resumed\":2000"), "{told}");
        assert_eq!(asks(&desk, to, "early", 0).matches("ACCEPT").count(), 1);
    }
    let erased = server.sql("copied", "SELECT count(*) FROM writkeeper.ledger WHERE body IS NULL");
    assert_eq!(String::from_utf8_lossy(&erased.stdout).trim(), "1");
}

/// A tenant that has not arrived yet must not look like one that nobody has used.
#[test]
fn an_interrupted_restore_of_several_tenants_goes_on_and_is_of_no_use_before() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store, used) = (Desk::new(), server.database("back"), server.database("used"));
    asks(&desk, "kept.db", "A", 0);
    desk.says("bench-writer kept.db --tenant acme --silent --in-flight 4 --count 40", "", 0);
    desk.says("store backup all.db --store kept.db", "", 0);
    // What is refused writes nothing, also nothing of the other tenant.
    asks(&desk, &used, "B", 0);
    let refused = desk.run(&format!("store restore all.db --store {used}"), "");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(65) && error.contains("is not empty: it has tenant `default`"), "{error}");
    let heads = server.sql("used", "SELECT count(*) FROM writkeeper.ledger WHERE number <> 1");
    assert_eq!(String::from_utf8_lossy(&heads.stdout).trim(), "0");
    // The commits: records of the one tenant, records of the other one, its end, the end of the first one.
    for crash in 1..=3 {
        let after = [("WRITKEEPER_CRASH_AT", "store.transact.after:1")];
        let killed = desk.run_with(&after, &format!("store restore all.db --store {store}"), "");
        assert!(!killed.status.success(), "{crash}: {killed:?}");
        for words in ["report", "store backup early.db", "serve --listen 127.0.0.1:0"] {
            let early = desk.run(&format!("{words} --store {store}"), "");
            let error = String::from_utf8_lossy(&early.stderr).into_owned();
            assert!(!early.status.success() && error.contains("has not ended"), "{crash}, {words}: {error}");
        }
    }
    let told = desk.says(&format!("store restore all.db --json --store {store}"), "", 0);
    assert!(told.contains("\"default\":3") && !told.contains("\"acme\":0"), "{told}");
    let again = desk.run(&format!("store restore all.db --store {store}"), "");
    assert_eq!(again.status.code(), Some(65), "{again:?}");
    desk.says(&format!("store backup again.db --store {store}"), "", 0);
    let sizes = server.sql("back", "SELECT tenant, size FROM writkeeper.head ORDER BY tenant");
    let sizes = String::from_utf8_lossy(&sizes.stdout).into_owned();
    assert!(sizes.contains("acme|") && sizes.contains("default|3"), "{sizes}");
}

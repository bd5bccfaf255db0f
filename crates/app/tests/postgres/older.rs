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

/// A store is put back to an older state by `back`, and grows where its keys are not.
fn grows_again(desk: &Desk, store: &str, keys: &str, back: impl Fn(bool)) {
    let (keys, away) = (desk.path().join(keys), desk.path().join("away.keys"));
    let decides = |order: &str, code: i32| {
        let line = format!(
            "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-{order}\",\
             \"params\":{{\"order_id\":\"{order}\",\"amount\":5}}}}\n"
        );
        let output = desk.run(&format!("decide --quiet --contract refunds.yaml --store {store}"), &line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{order}: {error}");
        error
    };
    decides("A", 0);
    desk.says(&format!("ledger checkpoint --store {store}"), "", 0);
    back(false);
    decides("B", 0);
    desk.says(&format!("ledger checkpoint --store {store}"), "", 0);
    back(true);
    std::fs::rename(&keys, &away).unwrap();
    for order in ["C", "D", "E", "F"] {
        decides(order, 0);
    }
    std::fs::rename(&away, &keys).unwrap();
    let error = decides("B", 65);
    assert!(error.contains("STORE_BEHIND") && error.contains("another one than was signed"), "{error}");
    if store.starts_with("postgres:") {
        let graded = desk.says(&format!("doctor --store {store}"), "", 1);
        assert!(graded.contains("another one than was signed"), "{graded}");
    }
    // Nor does anything else change it, wherever its keys are said to be.
    std::fs::rename(&keys, &away).unwrap();
    let upkeep = desk.run(&format!("ledger hold audit --because x --store {store} --keys {}", away.display()), "");
    let error = String::from_utf8_lossy(&upkeep.stderr).into_owned();
    assert!(upkeep.status.code() == Some(65) && error.contains("STORE_BEHIND"), "{error}");
    std::fs::rename(&away, &keys).unwrap();
    desk.says(&format!("ledger discontinue --because lost --store {store}"), "", 0);
    decides("G", 0);
    // The declaration goes into backups like everything else.
    desk.says(&format!("store backup after.db --store {store}"), "", 0);
    assert_eq!(desk.says("report --store after.db", "", 0), desk.says(&format!("report --store {store}"), "", 0));
}

#[test]
fn a_file_that_came_back_older_and_grew_decides_nothing() {
    let desk = Desk::new();
    grows_again(&desk, "kept.db", "kept.db.keys", |is_back| {
        if !is_back {
            desk.says("store backup older.db --store kept.db", "", 0);
            return;
        }
        let _gone = ["kept.db", "kept.db-wal", "kept.db-shm"].map(|name| std::fs::remove_file(desk.path().join(name)));
        std::fs::copy(desk.path().join("older.db"), desk.path().join("kept.db")).unwrap();
    });
}

#[test]
fn a_database_that_came_back_older_and_grew_decides_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("kept"));
    let keys = format!(".local/state/writkeeper/127.0.0.1_{}_kept.keys", server.port);
    grows_again(&desk, &store, &keys, |is_back| match is_back {
        false => assert!(server.sql("postgres", "CREATE DATABASE older TEMPLATE kept").status.success()),
        true => replace(&server, "kept", "older"),
    });
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

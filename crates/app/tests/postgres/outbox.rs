//! The view that connectors of message brokers read: one row an entry, in the columns that Debezium's outbox router knows.

use super::desk::Desk;
use super::server::PostgresServer;

#[test]
fn the_outbox_has_one_row_an_entry_in_the_columns_that_routers_know() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("outbox"));
    desk.decide(&store);
    desk.says(&format!("ledger erase p-D --because asked --store {store}"), "", 0);
    let ask = |sql: &str| {
        let found = server.sql("outbox", sql);
        assert!(found.status.success(), "{sql}: {}", String::from_utf8_lossy(&found.stderr));
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    };
    let entries = ask("SELECT size FROM writkeeper.head");
    let erased = ask("SELECT count(*) FROM writkeeper.ledger WHERE body IS NULL");
    assert_eq!(erased, "1");
    assert_eq!(
        ask("SELECT count(DISTINCT id) FROM writkeeper.outbox"),
        (entries.parse::<u64>().unwrap() - 1).to_string()
    );
    assert_eq!(ask("SELECT count(*) FROM writkeeper.outbox WHERE type = 'decision'"), "3");
    assert_eq!(ask("SELECT DISTINCT aggregatetype FROM writkeeper.outbox"), "writkeeper");
    // Everything of a flow has one key, which keeps its order in a broker.
    assert_eq!(ask("SELECT count(*) FROM writkeeper.outbox WHERE type = 'decision' AND aggregateid = 'default'"), "0");
    let next = ask("SELECT id FROM writkeeper.outbox WHERE tenant = 'default' AND idx >= 0 ORDER BY idx LIMIT 1");
    assert_eq!(next, "default/0");
}

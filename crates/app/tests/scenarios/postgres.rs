//! The same scenarios on PostgreSQL: the same bytes as without a store.

use crate::file::all;
use crate::server::PostgresServer;
use crate::stored::{through_the_runtime, without_ids};
use crate::{in_process, through_the_binary};
use adapters::store_postgres::{Address, PostgresStore};

/// Every step has a database of its own, and one more for the binary. Durability is not what is compared here.
#[test]
fn every_scenario_holds_on_postgresql() {
    let Some(server) = PostgresServer::start_with(&["fsync=off", "full_page_writes=off"]) else { return };
    let mut steps = 0;
    for scenario in &all() {
        for step in &scenario.steps {
            steps += 1;
            let expected = without_ids(step, &in_process(step));
            let same = |lines: Vec<String>, door: &str| {
                assert_eq!(expected, without_ids(step, &lines), "{}: {door} answers other bytes", scenario.name);
            };
            let address = Address::parse(&server.database(&format!("library{steps}"))).unwrap();
            let store = |clock| PostgresStore::open(&address, "default", clock).unwrap();
            same(through_the_runtime(step, |clock| Box::new(store(clock))), "PostgreSQL");
            let location = server.database(&format!("binary{steps}"));
            same(through_the_binary(step, Some(&location)), "the binary with PostgreSQL");
        }
    }
    assert!(steps >= 9, "samples 00 to 06, 08 and 12");
}

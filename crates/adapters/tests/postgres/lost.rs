//! Connections that end at the worst moment: nothing is there twice, and nothing acknowledged is missing.

use crate::server::PostgresServer;
use adapters::store_postgres::{Address, PostgresStore};
use adapters::system_clock::SystemClock;
use kernel::world::{Entity, Key, Row, StateRow, World};
use runtime::ports::store::{BatchId, Store, StoreFault, one_step};
use std::sync::Arc;
use values::json::Json;
use values::sealed::Sealed;

/// Batches of each writer.
const BATCHES: u128 = 60;

pub fn key() -> Key {
    Key { tenant: Arc::from("default"), entity: Entity::State("count".to_owned()) }
}

fn sealed(name: &str) -> Sealed {
    Sealed { leaf: format!("leaf {name}"), body: format!("{{\"name\":\"{name}\"}}"), salt: [7; 16] }
}

/// Opens a store; a backend that is ended meanwhile is no reason to give up.
pub fn open(location: &str) -> PostgresStore {
    let address = Address::parse(location).unwrap();
    for _ in 0..20 {
        match PostgresStore::open(&address, "default", Arc::new(SystemClock)) {
            Ok(store) => return store,
            Err(StoreFault::Unavailable(_)) => {}
            Err(fault) => panic!("{fault}"),
        }
    }
    panic!("the database cannot be reached");
}

fn increment(world: &mut World) {
    let version = world.state(&key()).map_or(0, |row| row.version) + 1;
    world.put(key(), Row::State(StateRow { value: Json::text("counted"), version }));
}

/// One batch as the sequencer does it: again after a conflict, and after a lost answer only if it did not happen.
pub fn count_once(store: &mut PostgresStore, name: &str, batch: u128) {
    for _ in 0..40 {
        let mut fold = one_step(|world, _| {
            increment(world);
            vec![sealed(name)]
        });
        match store.transact(BatchId(batch), vec![key()], &mut fold) {
            Ok(_) => return,
            Err(StoreFault::Ambiguous(_)) => loop {
                match store.has_settled(BatchId(batch)) {
                    Ok(true) => return,
                    Ok(false) => break,
                    Err(_) => std::thread::sleep(std::time::Duration::from_millis(50)),
                }
            },
            Err(StoreFault::Conflict(_) | StoreFault::Unavailable(_)) => {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            Err(fault) => panic!("{fault}"),
        }
    }
    panic!("the database did not come back");
}

/// A row that nobody asked for is taken for new. Where it is there all the same, the batch is done again and takes its place.
#[test]
fn a_row_that_was_taken_for_new_and_is_there_is_written_over() {
    let Some(server) = PostgresServer::start() else { return };
    let mut store = open(&server.database("fresh"));
    let put = |store: &mut PostgresStore, batch: u128, version: u64| {
        let mut fold = one_step(|world, _| {
            world.put(key(), Row::State(StateRow { value: Json::text("put"), version }));
            vec![sealed("put")]
        });
        store.transact(BatchId(batch), Vec::new(), &mut fold)
    };
    assert!(put(&mut store, 1, 1).is_ok());
    assert!(matches!(put(&mut store, 2, 2), Err(StoreFault::Conflict(_))), "a row was written that is there");
    assert!(put(&mut store, 3, 3).is_ok(), "done again, nothing is taken for new");
    let mut reader = store.reader().unwrap();
    let kept = reader.get(&key().entity).unwrap();
    assert_eq!((kept.as_ref().and_then(Row::as_state).map(|row| row.version), reader.size()), (Some(3), Ok(2)));
}

#[test]
fn backends_that_are_ended_lose_nothing_and_repeat_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    let location = server.database("counted");
    drop(open(&location));
    let writers: Vec<_> = (0..2_u128)
        .map(|writer| {
            let location = location.clone();
            std::thread::spawn(move || {
                let mut store = open(&location);
                for batch in 0..BATCHES {
                    count_once(&mut store, &format!("{writer} {batch}"), writer * 1_000 + batch + 1);
                }
            })
        })
        .collect();
    let end_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'writkeeper'";
    let mut ended = 0;
    while writers.iter().any(|writer| !writer.is_finished()) {
        let said = server.sql("counted", end_all);
        ended += String::from_utf8_lossy(&said.stdout).lines().count();
        std::thread::sleep(std::time::Duration::from_millis(7));
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut reader = open(&location).reader().unwrap();
    let records = reader.records(0, usize::MAX).unwrap();
    let mut names: Vec<String> = records.iter().map(|record| record.leaf.clone()).collect();
    names.sort();
    names.dedup();
    let expected = usize::try_from(2 * BATCHES).unwrap();
    assert_eq!((records.len(), names.len()), (expected, expected), "something is lost, or there twice");
    for (index, record) in (0..).zip(&records) {
        assert_eq!(record.index, index, "the ledger has a gap");
    }
    let Some(Row::State(row)) = reader.get(&key().entity).unwrap() else { panic!("nothing was counted") };
    assert_eq!(row.version, u64::try_from(2 * BATCHES).unwrap(), "the row and the ledger were not committed together");
    println!("{ended} backends ended, {expected} batches committed once each");
    assert!(ended > 0, "nothing was ended");
}

#[test]
fn a_server_that_crashes_is_waited_for() {
    let Some(mut server) = PostgresServer::start() else { return };
    let location = server.database("counted");
    let mut store = open(&location);
    for batch in 1..=5 {
        count_once(&mut store, &format!("before {batch}"), batch);
    }
    let away = server.crash();
    count_once(&mut store, "after", 100);
    let size = store.reader().unwrap().size().unwrap();
    assert_eq!(size, 6, "acknowledged before the crash");
    println!("the server was away for {} ms", away.as_millis());
}

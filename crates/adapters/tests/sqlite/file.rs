//! The file itself: how it is set, what is refused, what cannot be changed in it.

use crate::folder::Folder;
use adapters::measure::RawSqlite;
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::agent::AgentRow;
use kernel::world::{Entity, Key, KeySet, Loaded, Row};
use runtime::ports::store::{BatchId, Store, StoreFault};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use values::sealed::Sealed;

fn open(path: &Path) -> Result<SqliteStore, StoreFault> {
    SqliteStore::open(path, Arc::new(SystemClock))
}

fn sealed(text: &str) -> Sealed {
    Sealed { leaf: format!("leaf {text}"), body: text.to_owned(), salt: [7; 16] }
}

fn append(store: &mut SqliteStore, batch: u128, text: &str) {
    store.transact(BatchId(batch), &KeySet::new(), &mut |_, _| vec![sealed(text)]).unwrap();
}

#[test]
fn every_commit_reaches_the_disk() {
    let folder = Folder::new();
    let store = open(&folder.path("store")).unwrap();
    assert_eq!(store.durability().unwrap(), ("FULL".to_owned(), "wal".to_owned()));
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path("store");
    append(&mut open(&path).unwrap(), 1, "a");
    Connection::open(&path).unwrap().execute("UPDATE meta SET value = 99 WHERE name = 'schema'", []).unwrap();
    let fault = open(&path).err().unwrap();
    assert!(matches!(&fault, StoreFault::Refused(text) if text.contains("newer version (schema 99")), "{fault}");
}

#[test]
fn a_file_of_a_program_that_was_never_released_is_refused_and_left_alone() {
    let folder = Folder::new();
    let path = folder.path("store");
    let mut store = open(&path).unwrap();
    append(&mut store, 1, "a");
    drop(store);
    for schema in [1, 2] {
        let file = Connection::open(&path).unwrap();
        file.execute("UPDATE meta SET value = ?1 WHERE name = 'schema'", [schema]).unwrap();
        let fault = open(&path).err().unwrap();
        assert!(
            matches!(&fault, StoreFault::Refused(text) if text.contains("0.1, which was never released")),
            "{fault}"
        );
        let kept: i64 = file.query_row("SELECT value FROM meta WHERE name = 'schema'", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, schema);
    }
}

#[test]
fn what_is_no_store_is_left_alone() {
    let folder = Folder::new();
    let foreign = folder.path("foreign");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE songs(name)").unwrap();
    assert!(matches!(open(&foreign).err().unwrap(), StoreFault::Refused(_)));
    let text = folder.path("text");
    std::fs::write(&text, "this is certainly no database, it is plain text".repeat(100)).unwrap();
    assert!(matches!(open(&text).err().unwrap(), StoreFault::Corrupt(_)));
    assert!(matches!(open(&folder.path("no/such/folder")).err().unwrap(), StoreFault::Unavailable(_)));
}

#[test]
fn the_ledger_is_append_only_and_bodies_can_only_be_erased() {
    let folder = Folder::new();
    let path = folder.path("store");
    let mut store = open(&path).unwrap();
    append(&mut store, 1, "a");
    append(&mut store, 2, "b");
    let other = Connection::open(&path).unwrap();
    for sql in [
        "DELETE FROM ledger",
        "UPDATE ledger SET leaf = 'x' WHERE idx = 0",
        "UPDATE ledger SET idx = 7 WHERE idx = 0",
        "UPDATE ledger SET body = 'x' WHERE idx = 0",
        "UPDATE ledger SET salt = x'00' WHERE idx = 0",
    ] {
        assert!(other.execute(sql, []).is_err(), "{sql}");
    }
    assert_eq!(other.execute("UPDATE ledger SET body = NULL, salt = NULL WHERE idx = 0", []).unwrap(), 1);
    let records = store.reader().unwrap().records(0, 9).unwrap();
    assert_eq!(records.iter().map(|record| record.body.is_some()).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_ledger_with_a_cut_end_is_damage() {
    let folder = Folder::new();
    let path = folder.path("store");
    append(&mut open(&path).unwrap(), 1, "a");
    Connection::open(&path).unwrap().execute("UPDATE head SET size = 5", []).unwrap();
    assert!(matches!(open(&path).err().unwrap(), StoreFault::Corrupt(_)));
}

#[test]
fn an_unreadable_row_is_damage_and_never_absence() {
    let folder = Folder::new();
    let path = folder.path("store");
    let key = Key { tenant: Arc::from("t"), entity: Entity::Agent("bot".to_owned()) };
    let keys = KeySet::from([key.clone()]);
    let mut store = open(&path).unwrap();
    let put = |world: &mut kernel::world::World, _| {
        world.put(key.clone(), Row::Agent(Box::new(AgentRow::active())));
        vec![sealed("a")]
    };
    store.transact(BatchId(1), &keys, &mut { put }).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE agent SET body = '{}'", []).unwrap();
    let fault = store.transact(BatchId(2), &keys, &mut |_, _| Vec::new()).err().unwrap();
    assert!(matches!(fault, StoreFault::Corrupt(_)), "the commit of another connection was not noticed: {fault}");
    other.execute("DELETE FROM agent", []).unwrap();
    let mut seen = None;
    let look = &mut |world: &mut kernel::world::World, _| {
        seen = Some(matches!(world.get(&key), Loaded::Absent));
        Vec::new()
    };
    store.transact(BatchId(3), &keys, look).unwrap();
    assert_eq!(seen, Some(true));
}

#[test]
fn plain_inserts_are_measured_under_the_same_settings() {
    let folder = Folder::new();
    let mut raw = RawSqlite::open(folder.path("raw")).unwrap();
    assert_eq!(raw.durability().unwrap(), ("FULL".to_owned(), "wal".to_owned()));
    assert!(raw.insert(64, std::time::Duration::from_millis(20)).unwrap() > 0.0);
}

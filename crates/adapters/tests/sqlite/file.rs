//! The file itself: how it is set, what is refused, what cannot be changed in it.

use crate::folder::Folder;
use adapters::measure::RawSqlite;
use adapters::store_sqlite::{SqliteStore, SqliteView};
use adapters::system_clock::SystemClock;
use kernel::agent::AgentRow;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Loaded, Row};
use runtime::ports::store::{BatchId, Store, StoreFault, one_step};
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
    store.transact(BatchId(batch), Vec::new(), &mut one_step(|_, _| vec![sealed(text)])).unwrap();
}

#[test]
fn every_commit_reaches_the_disk() {
    let folder = Folder::new();
    let store = open(&folder.path("store")).unwrap();
    assert_eq!(store.durability().unwrap(), ("FULL".to_owned(), "wal".to_owned()));
}

#[test]
fn a_file_that_is_opened_while_it_is_written_is_whole() {
    let folder = Folder::new();
    let path = folder.path("store");
    let mut store = open(&path).unwrap();
    append(&mut store, 1, "first");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (2..400).for_each(|batch| append(&mut store, batch, "more"));
            is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
            SqliteView::open(&path, "default").unwrap();
        }
    });
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
fn a_file_from_before_the_first_release_is_refused_with_a_sentence() {
    let folder = Folder::new();
    let path = folder.path("store");
    append(&mut open(&path).unwrap(), 1, "a");
    for version in [1, 2] {
        let file = Connection::open(&path).unwrap();
        file.execute("UPDATE meta SET value = ?1 WHERE name = 'schema'", [version]).unwrap();
        let fault = open(&path).err().unwrap();
        assert!(matches!(&fault, StoreFault::Refused(text) if text.contains("before 0.2")), "{fault}");
    }
}

#[test]
fn a_file_of_release_0_2_gets_the_tables_that_came_later() {
    let folder = Folder::new();
    let path = folder.path("store");
    append(&mut open(&path).unwrap(), 1, "a");
    let older = "DROP TABLE monitor; DROP INDEX escalation_open; DROP INDEX escalation_agent; \
                 DROP INDEX escalation_agent_due; UPDATE meta SET value = 3 WHERE name = 'schema'";
    Connection::open(&path).unwrap().execute_batch(older).unwrap();
    assert!(SqliteView::open(&path, "default").unwrap().is_none(), "only a writer brings it to this version");
    let mut store = open(&path).unwrap();
    append(&mut store, 2, "b");
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.scan(Kind::Monitor, None, 9).unwrap(), []);
    assert_eq!(reader.records(0, 9).unwrap().len(), 2, "nothing is lost");
}

#[test]
fn leaves_are_packed_and_read_beside_plain_ones() {
    let folder = Folder::new();
    let path = folder.path("store");
    let digest = "3ca7b1bde584978f5054fac8d1785a228228b7024ce6e002cb1c22b8ed9144cd";
    let leaf = format!(
        r#"{{"at":"2026-01-01T00:00:00Z","body":"{digest}","kind":"decision","semantics":1,"tenant":"t","version":1}}"#
    );
    let leaves = ["a leaf of another form".to_owned(), leaf];
    let mut store = open(&path).unwrap();
    for (batch, leaf) in (1..).zip(&leaves) {
        let sealed = Sealed { leaf: leaf.clone(), body: "b".to_owned(), salt: [7; 16] };
        store.transact(BatchId(batch), Vec::new(), &mut one_step(|_, _| vec![sealed])).unwrap();
    }
    let read = store.reader().unwrap().records(0, 9).unwrap();
    assert_eq!(read.iter().map(|record| record.leaf.clone()).collect::<Vec<_>>(), leaves);
    let file = Connection::open(&path).unwrap();
    let stored = |index: i64| -> (String, i64) {
        let sql = "SELECT typeof(leaf), length(leaf) FROM ledger WHERE idx = ?1";
        file.query_row(sql, [index], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    assert_eq!(stored(0), ("text".to_owned(), leaves[0].len() as i64));
    assert_eq!((stored(1).0.as_str(), stored(1).1 * 2 < leaves[1].len() as i64), ("blob", true));
}

/// What lies in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_no_store_is_refused_and_nothing_is_left_beside_it() {
    let folder = Folder::new();
    let foreign = folder.path("foreign");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE songs(name)").unwrap();
    let text = folder.path("some.yaml");
    std::fs::write(&text, "agent: bot\n# this is certainly no database\n".repeat(100)).unwrap();
    let inside = folder.path("inside");
    std::fs::create_dir(&inside).unwrap();
    let (before, bytes) = (names(&folder.path("")), std::fs::read(&foreign).unwrap());
    for (path, said) in
        [(&foreign, "some other program"), (&text, "another kind and no store"), (&inside, "is a folder")]
    {
        for fault in [open(path).err(), SqliteView::open(path, "default").err()] {
            let fault = fault.unwrap();
            assert!(matches!(&fault, StoreFault::Refused(text) if text.contains(said)), "{}: {fault}", path.display());
        }
    }
    assert_eq!(names(&folder.path("")), before);
    assert!(names(&inside).is_empty());
    assert_eq!(std::fs::read(&foreign).unwrap(), bytes, "another program's database is as it was");
    assert!(matches!(open(&folder.path("no/such/folder")).err().unwrap(), StoreFault::Unavailable(_)));
}

#[test]
fn tenants_of_one_file_have_ledgers_of_their_own() {
    let folder = Folder::new();
    let path = folder.path("store");
    let clock = || Arc::new(SystemClock);
    let mut first = SqliteStore::open_for(&path, "first", clock()).unwrap();
    let mut second = SqliteStore::open_for(&path, "second", clock()).unwrap();
    for batch in 1..4 {
        append(&mut first, batch, "a");
        append(&mut second, 10 + batch, "b");
    }
    drop((first, second));
    // The end of one ledger is cut off, and only its tenant is affected.
    Connection::open(&path).unwrap().execute("UPDATE head SET size = 9 WHERE tenant = 'second'", []).unwrap();
    assert_eq!(SqliteStore::open_for(&path, "first", clock()).unwrap().reader().unwrap().size().unwrap(), 3);
    assert!(matches!(SqliteStore::open_for(&path, "second", clock()).err().unwrap(), StoreFault::Corrupt(_)));
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
    let key = Key { tenant: Arc::from("default"), entity: Entity::Agent("bot".to_owned()) };
    let keys = || vec![key.clone()];
    let mut store = open(&path).unwrap();
    let put = |world: &mut kernel::world::World, _| {
        world.put(key.clone(), Row::Agent(Box::new(AgentRow::active())));
        vec![sealed("a")]
    };
    store.transact(BatchId(1), keys(), &mut one_step(put)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE agent SET body = '{}'", []).unwrap();
    let fault = store.transact(BatchId(2), keys(), &mut |_, _| None).err().unwrap();
    assert!(matches!(fault, StoreFault::Corrupt(_)), "the commit of another connection was not noticed: {fault}");
    other.execute("DELETE FROM agent", []).unwrap();
    let mut seen = None;
    let mut look = one_step(|world, _| {
        seen = Some(matches!(world.get(&key), Loaded::Absent));
        Vec::new()
    });
    store.transact(BatchId(3), keys(), &mut look).unwrap();
    drop(look);
    assert_eq!(seen, Some(true));
}

#[test]
fn plain_inserts_are_measured_under_the_same_settings() {
    let folder = Folder::new();
    let mut raw = RawSqlite::open(folder.path("raw")).unwrap();
    assert_eq!(raw.durability().unwrap(), ("FULL".to_owned(), "wal".to_owned()));
    assert!(raw.insert(64, std::time::Duration::from_millis(20)).unwrap() > 0.0);
}

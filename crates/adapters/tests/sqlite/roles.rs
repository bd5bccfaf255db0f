//! What this program does when a test starts it as another process.

use adapters::store_sqlite::{SqliteStore, SqliteView};
use adapters::system_clock::SystemClock;
use kernel::agent::{AgentRow, AgentStatus, Restriction};
use kernel::world::{Entity, Key, Loaded, Row, StateRow, World};
use runtime::ports::store::{BatchId, Store, StoreFault, StoredRecord, one_step};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;
use values::json::Json;
use values::sealed::Sealed;
use values::time::Instant;

/// Names the role.
pub const ROLE: &str = "WRITKEEPER_TEST_ROLE";
/// Names the store.
pub const PLACE: &str = "WRITKEEPER_TEST_PLACE";
/// Increments of one counting process.
pub const COUNTS: u64 = 150;

pub fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Arc::new(SystemClock)).unwrap()
}

pub fn sealed(name: &str) -> Sealed {
    Sealed { leaf: name.to_owned(), body: format!("{name} {}", "x".repeat(500)), salt: [3; 16] }
}

pub fn name_of(record: &StoredRecord) -> String {
    record.leaf.clone()
}

fn key(entity: Entity) -> Key {
    Key { tenant: Arc::from("default"), entity }
}

pub fn counter_key() -> Key {
    key(Entity::State("counter".to_owned()))
}

pub fn agent_key() -> Key {
    key(Entity::Agent("bot".to_owned()))
}

fn batch() -> BatchId {
    BatchId(uuid::Uuid::now_v7().as_u128())
}

fn add(world: &mut World, amount: u64) -> u64 {
    let value = match world.get(&counter_key()) {
        Loaded::Present(Row::State(state)) => state.version,
        _ => 0,
    };
    let version = value + amount;
    world.put(counter_key(), Row::State(StateRow { value: Json::from(version), version }));
    version
}

#[test]
fn played_by_another_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = PathBuf::from(std::env::var_os(PLACE).unwrap());
    match role.as_str() {
        "count" => count(&path),
        "suspend" => suspend(&path),
        "append" => append(&path),
        "fill" => fill(&path),
        "look" => look(&path),
        other => panic!("no such role: {other}"),
    }
}

fn count(path: &Path) {
    let mut store = open(path);
    for _ in 0..COUNTS {
        let mut fold = one_step(|world, _| vec![sealed(&format!("count {}", add(world, 1)))]);
        store.transact(batch(), vec![counter_key()], &mut fold).unwrap();
    }
}

fn suspend(path: &Path) {
    let restriction = Restriction {
        status: AgentStatus::Suspended,
        by: "operator:ann".to_owned(),
        because: "noise".to_owned(),
        at: Instant::PURE_DEFAULT,
        actions: BTreeSet::new(),
    };
    let row = Row::Agent(Box::new(AgentRow { restrictions: vec![restriction], ..AgentRow::active() }));
    let mut fold = one_step(|world, _| {
        world.put(agent_key(), row);
        vec![sealed("suspend")]
    });
    open(path).transact(batch(), vec![agent_key()], &mut fold).unwrap();
}

/// Appends until it is killed, and says what is committed only once it is.
fn append(path: &Path) {
    let mut store = open(path);
    for round in 0.. {
        let names: Vec<String> =
            (0..=round % 5).map(|place| format!("{}-{round}-{place}", std::process::id())).collect();
        let mut fold = one_step(|world, _| {
            add(world, names.len() as u64);
            names.iter().map(|name| sealed(name)).collect()
        });
        let committed = store.transact(batch(), vec![counter_key()], &mut fold).unwrap();
        let said: String =
            (committed.first..).zip(&names).map(|(index, name)| format!("committed {index} {name} .\n")).collect();
        std::io::stdout().write_all(format!("\n{said}").as_bytes()).unwrap();
    }
}

/// Writes until the disk is full, makes room, and goes on.
fn fill(folder: &Path) {
    let ballast = folder.join("ballast");
    std::fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let path = folder.join("store");
    let mut store = open(&path);
    let write = |store: &mut SqliteStore| {
        let mut fold = one_step(|world, _| {
            add(world, 1);
            vec![sealed("fill")]
        });
        store.transact(batch(), vec![counter_key()], &mut fold)
    };
    let mut acknowledged = 0_u64;
    let fault = loop {
        match write(&mut store) {
            Ok(committed) => {
                assert_eq!(committed.first, acknowledged);
                acknowledged += 1;
            }
            Err(fault) => break fault,
        }
    };
    assert!(matches!(fault, StoreFault::Unavailable(_)), "{fault}");
    assert!(write(&mut store).is_err(), "a full disk took another batch");
    assert_eq!(store.reader().unwrap().size().unwrap(), acknowledged);
    std::fs::remove_file(&ballast).unwrap();
    let committed = write(&mut store).unwrap();
    assert_eq!(committed.first, acknowledged, "the ledger has a gap where the disk was full");
    drop(store);
    let file = rusqlite::Connection::open(&path).unwrap();
    let verdict: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let (records, counted): (u64, String) =
        (store_size(&path), file.query_row("SELECT body FROM state", [], |row| row.get(0)).unwrap());
    assert_eq!(records, acknowledged + 1);
    assert!(counted.contains(&format!("\"version\":{}", acknowledged + 1)), "{counted}");
    println!("\nfilled and went on after {acknowledged}: {fault}");
}

/// Reads without writing anything, and says how much there is or why not.
fn look(path: &Path) {
    let view = SqliteView::open(path, TENANT_DEFAULT);
    let size = view.and_then(|view| view.map_or(Ok(0), |view| view.reader()?.size()));
    let said = size.map_or_else(|fault| fault.to_string(), |size| format!("{size} records"));
    println!("\nlooked: {}", said.replace('\n', " "));
}

fn store_size(path: &Path) -> u64 {
    open(path).reader().unwrap().size().unwrap()
}

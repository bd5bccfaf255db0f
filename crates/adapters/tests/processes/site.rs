//! One store in a folder of its own, and short words for what the tests do with it.

use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::agent::Actor;
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::evaluator::Compiled;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::ports::store::{Reader, Store};
use runtime::{Answered, Arrival, Options, Runtime};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A folder with a store, removed when dropped.
pub struct Site(PathBuf);

impl Site {
    pub fn new() -> Site {
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("processes-{}-{number}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Site(folder)
    }

    /// A store whose agent acts under this contract.
    pub fn with(contract: &str) -> Site {
        let site = Site::new();
        enroll(&site.runtime(), contract);
        site
    }

    pub fn file(&self) -> PathBuf {
        self.0.join("store")
    }

    pub fn runtime(&self) -> Runtime {
        start(&self.file())
    }

    pub fn store(&self) -> SqliteStore {
        SqliteStore::open(self.file(), Arc::new(SystemClock)).unwrap()
    }

    pub fn reader(&self) -> Box<dyn Reader> {
        self.store().reader().unwrap()
    }

    pub fn row(&self, entity: Entity) -> Option<Row> {
        self.reader().get(&entity).unwrap()
    }

    pub fn rows(&self, kind: Kind) -> Vec<(Key, Row)> {
        self.reader().scan(kind, None, usize::MAX).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _left_behind = std::fs::remove_dir_all(&self.0);
    }
}

pub fn start(file: &Path) -> Runtime {
    let store = SqliteStore::open(file, Arc::new(SystemClock)).unwrap();
    Runtime::start(Box::new(store), Options::default()).unwrap()
}

pub fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

pub fn compiled(text: &str) -> Arc<Compiled> {
    Arc::new(engines::load::load(text).unwrap_or_else(|problems| panic!("{problems:?}")).compiled)
}

pub fn enroll(runtime: &Runtime, text: &str) {
    let contract = compiled(text);
    let registered = runtime.register(operator(), contract.clone(), None, None).wait();
    assert_eq!(said(&registered), "ACCEPT", "{}", registered.answer.to_line());
    let activated = runtime.activate(operator(), contract).wait();
    assert_eq!(said(&activated), "ACCEPT", "{}", activated.answer.to_line());
}

pub fn propose(runtime: &Runtime, text: &str) -> Answered {
    runtime.judge(text.as_bytes(), Arrival::through(door())).wait()
}

/// Flows are opened by the kernel, and what is accepted waits to be started.
pub fn door() -> Door {
    Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None }
}

/// The verdict, and its reasons where it is no acceptance.
pub fn said(answered: &Answered) -> String {
    match answered.answer.verdict.word() {
        "ACCEPT" => "ACCEPT".to_owned(),
        verdict => format!("{verdict} {}", answered.answer.reasons().join(", ")),
    }
}

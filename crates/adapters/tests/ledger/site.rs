//! A ledger to prove things about: a runtime on a store in memory, a signer in a folder, and its export.

use adapters::signer_file::FileSigner;
use kernel::agent::Actor;
use kernel::command::Door;
use ledger::export::{Header, LogHead};
use runtime::export::{lines, stated_size};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::signer::Signer;
use runtime::ports::store::{Reader, Store};
use runtime::seal::Seal;
use runtime::{Arrival, Options, Runtime};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const CONTRACT: &str = r"
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
approvers: [desk]
";

/// A folder that is removed again.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("writkeeper-ledger-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store in memory with decisions in it.
pub struct Desk {
    pub store: MemoryStore,
    pub runtime: Runtime,
}

impl Desk {
    pub fn new() -> Desk {
        let at = values::time::Instant::parse("2026-03-01T09:00:00Z").unwrap();
        let store = MemoryStore::new(Arc::new(ManualClock::at(at)));
        let runtime = Runtime::start(Box::new(store.clone()), Options::default()).unwrap();
        let contract = Arc::new(engines::load::load(CONTRACT).unwrap().compiled);
        let ann = || Actor::Operator("ann".to_owned());
        assert!(runtime.register(ann(), contract.clone(), None, None).wait().at.is_some());
        assert!(runtime.activate(ann(), contract).wait().at.is_some());
        Desk { store, runtime }
    }

    /// Proposals until the ledger has so many entries: mostly accepted, some refused, some for a person.
    pub fn fill(&self, entries: u64) {
        while self.runtime.size().unwrap() < entries {
            let from = self.runtime.size().unwrap();
            let pending: Vec<_> = (from..entries).map(|number| self.propose(number)).collect();
            for pending in pending {
                assert!(pending.wait().at.is_some());
            }
        }
    }

    pub fn propose(&self, number: u64) -> runtime::Pending {
        let amount = if number.is_multiple_of(7) { 60 } else { number % 23 + 1 };
        let text = format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"AB-{number}","amount":{amount}}}}}"#);
        self.runtime.judge(text.as_bytes(), Arrival::through(Door::PURE))
    }

    pub fn reader(&self) -> Box<dyn Reader> {
        self.store.reader().unwrap()
    }
}

/// Signs over what is committed and exports everything.
pub fn exported(desk: &Desk, signer: &mut FileSigner) -> Vec<u8> {
    let note = Seal::of(signer.from()).checkpoint(desk.reader().as_mut(), signer).unwrap();
    signer.publish().unwrap();
    let checkpoints = signer.published().unwrap();
    let mut logs: Vec<LogHead> = signer
        .earlier_logs()
        .unwrap()
        .into_iter()
        .map(|(from, keyring, checkpoints)| LogHead { keyring, from, checkpoints })
        .collect();
    logs.push(LogHead { keyring: signer.keyring().clone(), from: signer.from(), checkpoints });
    let header = Header { logs, size: signer.from() + stated_size(&note) };
    let mut bytes = Vec::new();
    let mut write = |line: &str| {
        bytes.extend(line.as_bytes());
        Ok(())
    };
    lines(desk.reader().as_mut(), &header, &mut write).unwrap();
    bytes
}

//! The line of writers, and those who only look.

use crate::folder::Folder;
use adapters::store_sqlite::{LogKeeper, SqliteStore, SqliteView, Waits};
use adapters::system_clock::SystemClock;
use runtime::memory::ManualClock;
use runtime::ports::store::{BatchId, Committed, Store, StoreFault, one_step};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use values::ids::TENANT_DEFAULT;
use values::sealed::Sealed;
use values::time::Instant;

fn open(path: &Path, wait: Duration) -> Result<SqliteStore, StoreFault> {
    SqliteStore::open_waiting(path, TENANT_DEFAULT, Arc::new(SystemClock), Waits::each(wait), LogKeeper::USUAL)
}

fn append(store: &mut SqliteStore, batch: u128) -> Result<Committed, StoreFault> {
    let sealed = Sealed { leaf: format!("leaf {batch}"), body: "{}".to_owned(), salt: [7; 16] };
    store.transact(BatchId(batch), Vec::new(), &mut one_step(|_, _| vec![sealed]))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

/// A process that is stopped in the middle of a batch holds the turn for as long as nobody lets it go on.
#[test]
fn nobody_waits_for_ever_for_someone_who_stands_still() {
    let folder = Folder::new();
    let path = folder.path("store");
    let (short, long) = (Duration::from_millis(50), Duration::from_secs(30));
    let mut hasty = open(&path, short).unwrap();
    let mut patient = open(&path, long).unwrap();
    for ending in ["-turn", "-queue"] {
        let held = File::open(beside(&path, ending)).unwrap();
        held.lock().unwrap();
        for batch in 0..3 {
            let fault = append(&mut hasty, batch).unwrap_err();
            let said = fault.to_string();
            assert!(matches!(fault, StoreFault::Unavailable(_)), "{said}");
            let who =
                if cfg!(target_os = "linux") { format!("process {}", std::process::id()) } else { "holds".into() };
            assert!(said.contains("50ms") && said.contains(&who), "{said}");
        }
        assert!(matches!(open(&path, short), Err(StoreFault::Unavailable(_))), "opening stands in line too");
        // Looking needs no turn.
        let view = SqliteView::open(&path, TENANT_DEFAULT).unwrap().unwrap();
        view.reader().unwrap().size().unwrap();
        held.unlock().unwrap();
        // Whoever gave up must not keep what it is given afterwards.
        for batch in 0..20 {
            append(&mut patient, batch).unwrap();
        }
        drop(open(&path, long).unwrap());
        std::thread::sleep(short);
        append(&mut hasty, 99).unwrap();
    }
}

#[test]
fn an_emptied_file_is_no_store_and_stays_as_it_is() {
    let folder = Folder::new();
    let path = folder.path("store");
    File::create(&path).unwrap();
    for fault in [open(&path, Duration::from_secs(5)).err(), SqliteView::open(&path, TENANT_DEFAULT).err()] {
        let said = fault.unwrap().to_string();
        assert!(said.contains("empty file and no store"), "{said}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    std::fs::remove_file(&path).unwrap();
    drop(open(&path, Duration::from_secs(5)).unwrap());
    assert!(std::fs::metadata(&path).unwrap().len() > 0, "a store that is there is never empty");
}

#[cfg(unix)]
#[test]
fn who_may_write_the_store_may_stand_in_its_line() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.path("store");
    drop(open(&path, Duration::from_secs(5)).unwrap());
    for mode in [0o660, 0o600] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        drop(open(&path, Duration::from_secs(5)).unwrap());
        for ending in ["-queue", "-turn"] {
            let found = std::fs::metadata(beside(&path, ending)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{ending}");
        }
    }
}

#[test]
fn looking_makes_no_file_of_the_line() {
    let folder = Folder::new();
    let path = folder.path("store");
    drop(open(&path, Duration::from_secs(5)).unwrap());
    for ending in ["-queue", "-turn"] {
        std::fs::remove_file(beside(&path, ending)).unwrap();
    }
    let mut view = SqliteView::open(&path, TENANT_DEFAULT).unwrap().unwrap();
    assert_eq!(view.reader().unwrap().size().unwrap(), 0);
    let fault = view.transact(BatchId(1), Vec::new(), &mut |_, _| None).unwrap_err();
    assert!(fault.to_string().contains("reading only"), "{fault}");
    assert!(!beside(&path, "-turn").exists() && !beside(&path, "-queue").exists());
}

/// What could not be read back is not written.
#[test]
fn a_clock_behind_the_end_of_decisions_writes_nothing() {
    let folder = Folder::new();
    let path = folder.path("store");
    let clock = Arc::new(ManualClock::at(Instant::DECISIONS_END));
    let mut store = SqliteStore::open(&path, clock.clone()).unwrap();
    let fault = append(&mut store, 1).unwrap_err();
    assert!(matches!(&fault, StoreFault::Unavailable(said) if said.contains("set the clock")), "{fault}");
    assert_eq!(store.reader().unwrap().size().unwrap(), 0);
    clock.set(Instant::PURE_DEFAULT);
    assert_eq!(append(&mut store, 2).unwrap().at, Instant::PURE_DEFAULT);
}

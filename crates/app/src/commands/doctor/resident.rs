//! The daemon of a guard, and how its store keeps what was decided.

use crate::terminal::{ATTENTION, FAINT, GOOD, paint, say};
use adapters::store_sqlite::{LogKeeper, SqliteStore, Waits};
use adapters::system_clock::SystemClock;
use guard::daemon::{DaemonFolder, client, start};
use guard::place::Guard;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use values::ids::TENANT_DEFAULT;

/// How long a store that others hold is waited for.
const STORE_WAIT: Duration = Duration::from_millis(200);

/// What is known about a guard's store and its daemon.
pub struct Resident {
    folder: PathBuf,
    /// What the daemon says of itself; the error says why it says nothing.
    daemon: Result<Option<serde_json::Value>, String>,
    on_demand: bool,
    /// `PRAGMA synchronous` and `PRAGMA journal_mode`, read back from a connection as hooks open it.
    durability: Option<(String, String)>,
}

impl Resident {
    /// Of a guard that did not answer in time.
    pub fn late(guard: &Guard) -> Resident {
        let daemon = Err("the store or the daemon did not answer in time".to_owned());
        Resident { folder: guard.folder.clone(), daemon, on_demand: false, durability: None }
    }
}

/// Asks the daemon and opens the store.
pub fn look(guard: &Guard) -> Resident {
    let place = DaemonFolder::of(guard);
    let daemon = match client::say(guard, b"status") {
        Ok(Some(fields)) => match fields.as_slice() {
            [word, status] if word == b"status" => serde_json::from_slice(status).map_err(|error| error.to_string()),
            _ => Err("what answers is no daemon".to_owned()),
        },
        Ok(None) => Ok(None),
        Err(error) => {
            let holder = place.holder().map_or_else(String::new, |holder| format!(" in process {}", holder.process));
            Err(format!("the daemon{holder} did not answer within {} s ({error})", client::PATIENCE.as_secs_f32()))
        }
    };
    // Holding the lock and not answering: it hangs, or it is of another version.
    let daemon = match (daemon, place.holder()) {
        (Ok(None), Some(holder)) if place.is_held() => Err(format!(
            "process {} (version {}) serves and is another program than this",
            holder.process, holder.version
        )),
        (daemon, _) => daemon,
    };
    let store = guard.store();
    let durability = store.is_file().then(|| opened(&store)).flatten();
    let durability = durability.and_then(|store| store.durability().ok());
    Resident { folder: guard.folder.clone(), daemon, on_demand: start::allowed(&place).is_some(), durability }
}

/// Says it.
pub fn tell(resident: &Resident) -> anyhow::Result<()> {
    let folder = paint(FAINT, resident.folder.display());
    let on_demand = if resident.on_demand { "; hooks start one when there is none" } else { "" };
    match &resident.daemon {
        Ok(None) => say!("daemon  none, every hook opens the store itself{on_demand}  {folder}"),
        Ok(Some(status)) => {
            let version = status["version"].as_str().unwrap_or_default();
            let (process, served) = (&status["process"], &status["served"]);
            say!(
                "daemon  {} version {version}, process {process}, {served} calls{on_demand}  {folder}",
                paint(GOOD, "answers")
            );
        }
        Err(problem) => say!("daemon  {} {problem}; hooks judge without it  {folder}", paint(ATTENTION, "note")),
    }
    if let Some((synchronous, journal)) = &resident.durability {
        say!("store   synchronous {synchronous}, journal {journal}");
    }
    Ok(())
}

/// For programs.
pub fn to_json(resident: &Resident) -> serde_json::Value {
    serde_json::json!({
        "folder": resident.folder,
        "daemon": match &resident.daemon {
            Ok(status) => status.clone().unwrap_or(serde_json::Value::Null),
            Err(problem) => serde_json::json!({ "problem": problem }),
        },
        "on_demand": resident.on_demand,
        "synchronous": resident.durability.as_ref().map(|(synchronous, _)| synchronous),
        "journal": resident.durability.as_ref().map(|(_, journal)| journal),
    })
}

/// The store as hooks open it; a store that is held is not waited for, because others are being tried out meanwhile.
fn opened(store: &Path) -> Option<SqliteStore> {
    let waits = Waits::each(STORE_WAIT);
    SqliteStore::open_waiting(store, TENANT_DEFAULT, Arc::new(SystemClock), waits, LogKeeper::USUAL).ok()
}

//! Where a store lies: what a person writes, read once; and how a store is opened there.

use crate::store_postgres::{Address, PostgresStore, PostgresView};
use crate::store_sqlite::{LogKeeper, QUEUE_WAIT, SqliteStore, SqliteView, Waits};
use runtime::memory::MemoryStore;
use runtime::ports::clock::Clock;
use runtime::ports::store::{Store, StoreFault};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Where a store lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// In a SQLite file.
    Sqlite(PathBuf),
    /// In a PostgreSQL database.
    Postgres(Address),
    /// In the memory of this process, for as long as it runs.
    Memory,
}

/// What SQLite and the line of writers keep beside the file.
const BESIDE: [&str; 4] = ["-wal", "-shm", "-queue", "-turn"];

impl Location {
    /// The file; a store in a database or in memory has none.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Location::Sqlite(path) => Some(path),
            Location::Postgres(_) | Location::Memory => None,
        }
    }

    /// Whether there is something at the location. A store in memory is always there, and so is one in a database that
    /// does not answer: why it does not is said by whoever opens it.
    pub fn exists(&self) -> bool {
        match self {
            Location::Sqlite(path) => path.exists(),
            Location::Postgres(_) => self.is_there().unwrap_or(true),
            Location::Memory => true,
        }
    }

    /// The same; a database that does not answer is an error.
    pub fn is_there(&self) -> Result<bool, StoreFault> {
        match self {
            Location::Sqlite(_) | Location::Memory => Ok(self.exists()),
            Location::Postgres(address) => PostgresView::exists(address),
        }
    }

    /// Every file that belongs to the store.
    pub fn files(&self) -> Vec<PathBuf> {
        let Some(path) = self.path() else { return Vec::new() };
        let beside = BESIDE.iter().map(|ending| ended(path, ending));
        std::iter::once(path.to_path_buf()).chain(beside).collect()
    }

    /// The folder that webhooks are delivered from: their key, and how far each endpoint has heard. A link to a store has
    /// none of its own; a store in memory has none at all. Of a database it is this machine's.
    pub fn webhooks(&self) -> Option<PathBuf> {
        if let Location::Postgres(address) = self {
            return Some(kept_here(address, ".webhooks"));
        }
        let path = self.path()?;
        Some(ended(&path.canonicalize().unwrap_or_else(|_| path.to_path_buf()), ".webhooks"))
    }

    /// The folder where the keys of the store are kept unless someone says otherwise; a store in memory has none. Of a
    /// database it is this machine's.
    pub fn keys(&self) -> Option<PathBuf> {
        if let Location::Postgres(address) = self {
            return Some(kept_here(address, ".keys"));
        }
        let path = self.path()?;
        let folder = ended(path, ".keys");
        // A link to a store has no keys of its own.
        let real = path.canonicalize().map(|real| ended(&real, ".keys"));
        Some(real.ok().filter(|real| !folder.exists() && real.exists()).unwrap_or(folder))
    }
}

/// What this machine keeps for a database, in the user's folder for state.
fn kept_here(address: &Address, ending: &str) -> PathBuf {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = named("XDG_STATE_HOME").or_else(|| named("HOME").map(|home| home.join(".local/state")));
    let folder = state.map(|state| state.join("writkeeper")).unwrap_or_default();
    folder.join(format!("{}{ending}", address.file_name()))
}

fn ended(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Location {
        Location::Sqlite(path)
    }
}

impl FromStr for Location {
    type Err = StoreFault;

    /// A path, `sqlite:PATH`, `postgres://USER@HOST:PORT/DATABASE`, or `memory:`.
    fn from_str(text: &str) -> Result<Location, StoreFault> {
        if text == "memory:" {
            return Ok(Location::Memory);
        }
        if Address::is_meant(text) {
            return Address::parse(text).map(Location::Postgres);
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        if path.contains("://") || path.starts_with("//") && text != path {
            return Err(StoreFault::Refused(format!(
                "`{text}` is no store this version knows; give a path, `sqlite:PATH`, \
                 `postgres://USER@HOST:PORT/DATABASE` or `memory:`"
            )));
        }
        // SQLite would make a database in memory of these, and nothing would be kept.
        if path.is_empty() || path.starts_with(':') || path.starts_with("file:") {
            return Err(StoreFault::Refused(format!(
                "`{text}` names no file; give a path, `sqlite:PATH` or `memory:`"
            )));
        }
        Ok(Location::Sqlite(PathBuf::from(path)))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Sqlite(path) => write!(formatter, "{}", path.display()),
            Location::Postgres(address) => address.fmt(formatter),
            Location::Memory => formatter.write_str("memory:"),
        }
    }
}

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// How long a writer waits for others before the store counts as unavailable.
    pub waits: Waits,
    /// Who keeps the WAL short: the first process to open a store reads the whole WAL.
    pub log: LogKeeper,
    /// Whether to prepare the statements of an ordinary decision at once.
    pub is_prepared: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { waits: Waits::each(QUEUE_WAIT), log: LogKeeper::USUAL, is_prepared: false }
    }
}

/// Opens a tenant of the store at a location, making it first where there is none.
pub fn open_store(
    location: &Location,
    tenant: &str,
    clock: Arc<dyn Clock>,
    options: OpenOptions,
) -> Result<Box<dyn Store>, StoreFault> {
    match location {
        Location::Memory => Ok(Box::new(MemoryStore::new(clock).tenant_named(tenant))),
        Location::Postgres(address) => {
            Ok(Box::new(PostgresStore::open_waiting(address, tenant, clock, options.waits.line)?))
        }
        Location::Sqlite(path) => {
            let store = SqliteStore::open_waiting(path, tenant, clock, options.waits, options.log)?;
            if options.is_prepared {
                store.prepare()?;
            }
            Ok(Box::new(store))
        }
    }
}

/// Opens a tenant of the store at a location for reading only; a store of an older version is migrated first.
pub fn view_store(
    location: &Location,
    tenant: &str,
    clock: Arc<dyn Clock>,
    options: OpenOptions,
) -> Result<Box<dyn Store>, StoreFault> {
    let view: Option<Box<dyn Store>> = match location {
        Location::Sqlite(path) => SqliteView::open(path, tenant)?.map(|view| Box::new(view) as Box<dyn Store>),
        Location::Postgres(address) => {
            PostgresView::open(address, tenant, options.waits.line)?.map(|view| Box::new(view) as Box<dyn Store>)
        }
        Location::Memory => None,
    };
    if let Some(view) = view {
        return Ok(view);
    }
    open_store(location, tenant, clock, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_store_is_refused_with_what_would_be_one() {
        for text in ["mysql://localhost/db", "https://a.example", "sqlite://x", "sqlite:", "", ":memory:", "file:x"] {
            let problem = text.parse::<Location>().map_err(|fault| fault.to_string());
            assert!(problem.as_ref().is_err_and(|problem| problem.contains("`sqlite:PATH`")), "{text}: {problem:?}");
        }
    }

    #[test]
    fn a_location_is_read_once_and_shows_what_it_is() {
        let read = |text: &str| text.parse::<Location>().unwrap();
        assert_eq!(read("memory:"), Location::Memory);
        assert_eq!(read("sqlite:a b.db"), read("a b.db"));
        assert_eq!(read("sqlite:/x/kept.db").to_string(), "/x/kept.db");
        let [store, wal, ..] = &read("/x/kept.db").files()[..] else { panic!("a store has files") };
        assert_eq!((store.to_str(), wal.to_str()), (Some("/x/kept.db"), Some("/x/kept.db-wal")));
        assert_eq!(read("/x/kept.db").keys(), Some(PathBuf::from("/x/kept.db.keys")));
        assert_eq!(read("postgres://a@b/c").to_string(), "postgres://a@b/c");
        assert_eq!(read("postgres://a@b/c").keys().unwrap().file_name().unwrap(), "b_5432_c.keys");
        assert!(read("postgres://a@b/c").files().is_empty());
        assert!(read("memory:").files().is_empty() && read("memory:").exists() && !read("/x/kept.db").exists());
    }
}

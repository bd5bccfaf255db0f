//! From what a person writes after `--store` to a store.

use crate::store_sqlite::{LogKeeper, QUEUE_WAIT, SqliteStore, SqliteView};
use runtime::memory::MemoryStore;
use runtime::ports::clock::Clock;
use runtime::ports::store::{Store, StoreFault};
use std::sync::Arc;
use std::time::Duration;

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// How long a writer stands in line behind others before it says that the store is unavailable.
    pub wait: Duration,
    /// Who keeps the log short. Who opens a store that nobody else has open reads the whole log first.
    pub log: LogKeeper,
    /// Whether the statements of an ordinary decision are prepared at once, for who has something else to do meanwhile.
    pub is_prepared: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { wait: QUEUE_WAIT, log: LogKeeper::USUAL, is_prepared: false }
    }
}

/// Opens the store at a location: a path or `sqlite:PATH`, or `memory:` for one that is forgotten.
pub fn open_store(location: &str, clock: Arc<dyn Clock>, options: OpenOptions) -> Result<Box<dyn Store>, StoreFault> {
    if location == "memory:" {
        return Ok(Box::new(MemoryStore::new(clock)));
    }
    let store = SqliteStore::open_waiting(path_of(location)?, clock, options.wait, options.log)?;
    if options.is_prepared {
        store.prepare()?;
    }
    Ok(Box::new(store))
}

/// Opens the store at a location for looking only; one of an older version is brought to this one first.
pub fn view_store(location: &str, clock: Arc<dyn Clock>, options: OpenOptions) -> Result<Box<dyn Store>, StoreFault> {
    if location != "memory:"
        && let Some(view) = SqliteView::open(path_of(location)?)?
    {
        return Ok(Box::new(view));
    }
    open_store(location, clock, options)
}

fn path_of(location: &str) -> Result<&str, StoreFault> {
    let path = location.strip_prefix("sqlite:").unwrap_or(location);
    if path.contains("://") || path.starts_with("//") && location != path {
        return Err(StoreFault::Refused(format!(
            "`{location}` is no store this version knows; give a path, `sqlite:PATH` or `memory:`"
        )));
    }
    // SQLite would make a database in memory of these, and nothing would be kept.
    if path.is_empty() || path.starts_with(':') || path.starts_with("file:") {
        return Err(StoreFault::Refused(format!(
            "`{location}` names no file; give a path, `sqlite:PATH` or `memory:`"
        )));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system_clock::SystemClock;

    #[test]
    fn what_is_no_store_is_refused_with_what_would_be_one() {
        for location in
            ["postgres://localhost/db", "https://a.example", "sqlite://x", "sqlite:", "", ":memory:", "file:x"]
        {
            let fault = open_store(location, Arc::new(SystemClock), OpenOptions::default())
                .err()
                .map(|fault| fault.to_string());
            assert!(fault.as_ref().is_some_and(|text| text.contains("`sqlite:PATH`")), "{location}: {fault:?}");
        }
        assert!(open_store("memory:", Arc::new(SystemClock), OpenOptions::default()).is_ok());
    }
}

//! What the disk and SQLite can do at best, as a ceiling to compare the store with.

use crate::store_sqlite::{configure, durability, fault};
use runtime::ports::store::StoreFault;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;
use std::time::{Duration, Instant};

/// A record with its leaf is about this long.
const ROW_BYTES: usize = 600;

/// What plain inserts reached.
#[derive(Clone, PartialEq, Debug)]
pub struct RawSqlite {
    /// Rows committed in a second.
    pub rows_per_s: f64,
    /// `PRAGMA synchronous` as read back.
    pub synchronous: String,
    /// `PRAGMA journal_mode` as read back.
    pub journal_mode: String,
}

/// Inserts rows of 600 bytes into a plain table of a new file for so long, so many in each commit, set as the store is
/// set. As long as the store is measured: the log is then taken into the file as often.
pub fn raw_sqlite(path: impl AsRef<Path>, rows_per_commit: usize, time: Duration) -> Result<RawSqlite, StoreFault> {
    let mut connection = Connection::open(path).map_err(fault)?;
    configure(&connection)?;
    let (synchronous, journal_mode) = durability(&connection)?;
    connection.execute_batch("CREATE TABLE raw(idx INTEGER PRIMARY KEY, body TEXT NOT NULL)").map_err(fault)?;
    let body = "x".repeat(ROW_BYTES);
    let started = Instant::now();
    let mut rows = 0_usize;
    while started.elapsed() < time {
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate).map_err(fault)?;
        let end = rows + rows_per_commit.max(1);
        {
            let mut statement =
                transaction.prepare_cached("INSERT INTO raw(idx, body) VALUES(?1, ?2)").map_err(fault)?;
            for index in rows..end {
                statement.execute((i64::try_from(index).unwrap_or(i64::MAX), &body)).map_err(fault)?;
            }
        }
        // no crash point: a figure is measured, and nothing is kept
        transaction.commit().map_err(fault)?;
        rows = end;
    }
    let seconds = started.elapsed().as_secs_f64();
    let rows_per_s = if seconds > 0.0 { rows as f64 / seconds } else { 0.0 };
    Ok(RawSqlite { rows_per_s, synchronous, journal_mode })
}

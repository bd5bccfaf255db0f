//! What the disk and SQLite can do at best, as a ceiling to compare the store with.

use crate::store_sqlite::{configure, durability, fault};
use runtime::ports::store::StoreFault;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;
use std::time::{Duration, Instant};

/// A record with its leaf is about this long.
const ROW_BYTES: usize = 600;

/// Plain inserts of 600 bytes into a table of a file of their own, set as the store is set.
#[derive(Debug)]
pub struct RawSqlite {
    connection: Connection,
    rows: i64,
    body: String,
}

impl RawSqlite {
    /// Makes the file.
    pub fn open(path: impl AsRef<Path>) -> Result<RawSqlite, StoreFault> {
        let connection = Connection::open(path).map_err(fault)?;
        configure(&connection)?;
        connection.execute_batch("CREATE TABLE raw(idx INTEGER PRIMARY KEY, body TEXT NOT NULL)").map_err(fault)?;
        Ok(RawSqlite { connection, rows: 0, body: "x".repeat(ROW_BYTES) })
    }

    /// `PRAGMA synchronous` and `PRAGMA journal_mode` as read back.
    pub fn durability(&self) -> Result<(String, String), StoreFault> {
        durability(&self.connection)
    }

    /// Inserts for so long, so many rows in each commit; says how many rows a second were committed.
    pub fn insert(&mut self, rows_per_commit: usize, time: Duration) -> Result<f64, StoreFault> {
        const SQL: &str = "INSERT INTO raw(idx, body) VALUES(?1, ?2)";
        let many = i64::try_from(rows_per_commit.max(1)).unwrap_or(i64::MAX);
        let (started, before) = (Instant::now(), self.rows);
        while started.elapsed() < time {
            let transaction = Transaction::new(&mut self.connection, TransactionBehavior::Immediate).map_err(fault)?;
            let end = self.rows.saturating_add(many);
            {
                let mut statement = transaction.prepare_cached(SQL).map_err(fault)?;
                for index in self.rows..end {
                    statement.execute((index, &self.body)).map_err(fault)?;
                }
            }
            transaction.commit().map_err(fault)?;
            self.rows = end;
        }
        Ok((self.rows - before) as f64 / started.elapsed().as_secs_f64().max(f64::MIN_POSITIVE))
    }
}

//! What the database can do at best, as a ceiling to compare the store with.

use super::address::Address;
use super::connection::Connection;
use super::fault::fault;
use super::value::{Column, Value};
use super::{RETURN_WAIT, TABLE_PATIENCE};
use runtime::ports::store::StoreFault;
use std::time::{Duration, Instant};

/// A record with its leaf is about this long.
const ROW_BYTES: usize = 600;

/// Plain inserts of 600 bytes into a table of their own, over a connection as the store has one.
pub struct RawPostgres {
    connection: Connection,
    rows: i64,
}

impl RawPostgres {
    /// Makes the table anew.
    pub fn open(address: &Address) -> Result<RawPostgres, StoreFault> {
        let mut connection = Connection::open(address, TABLE_PATIENCE, RETURN_WAIT).map_err(fault)?;
        let sql = "CREATE SCHEMA IF NOT EXISTS writkeeper_bench; DROP TABLE IF EXISTS writkeeper_bench.raw; \
                   CREATE TABLE writkeeper_bench.raw(idx bigint PRIMARY KEY, body text NOT NULL)";
        connection.run(sql).map_err(fault)?;
        Ok(RawPostgres { connection, rows: 0 })
    }

    /// Inserts for so long, so many rows in each commit; says how many rows a second were committed.
    pub fn insert(&mut self, rows_per_commit: usize, time: Duration) -> Result<f64, StoreFault> {
        const SQL: &str = "INSERT INTO writkeeper_bench.raw(idx, body) SELECT $1::int8 + place - 1, body FROM \
                           unnest($2::text[]) WITH ORDINALITY AS r(body, place)";
        let (many, body) = (rows_per_commit.max(1), "x".repeat(ROW_BYTES));
        let mut bodies = Column::texts();
        (0..many).for_each(|_| bodies.push(body.as_bytes()));
        let (started, before) = (Instant::now(), self.rows);
        while started.elapsed() < time {
            // no crash point: a figure is measured, and nothing is kept
            self.connection.query(SQL, &[Value::Int8(self.rows), Value::Column(&bodies)]).map_err(fault)?;
            self.rows = self.rows.saturating_add(i64::try_from(many).unwrap_or(i64::MAX));
        }
        Ok((self.rows - before) as f64 / started.elapsed().as_secs_f64().max(f64::MIN_POSITIVE))
    }

    /// Removes the table.
    pub fn end(mut self) -> Result<(), StoreFault> {
        self.connection.run("DROP SCHEMA writkeeper_bench CASCADE").map_err(fault)
    }
}

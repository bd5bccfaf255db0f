//! Connections: what every one of them is set to, read back before it is used.

use super::fault::{fault, open_fault};
use runtime::ports::store::StoreFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// Writers queue elsewhere; only a foreign program can be in the way for so long.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Pages of the log after which a commit takes it into the file.
const LOG_PAGES: u32 = 8_000;

/// Every statement of the store stays prepared.
const STATEMENTS_MAX: usize = 96;

/// A connection that writes, and makes the file where there is none.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| open_fault(path, error))?;
    configure(&connection)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreFault> {
    // Not opened read-only: a reader of a write-ahead log has to write into its index.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| open_fault(path, error))?;
    connection.busy_timeout(BUSY_WAIT).map_err(fault)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    keep_plans(&connection)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;").map_err(fault)?;
    Ok(connection)
}

/// A prepared statement stays prepared whatever it is asked with next. Otherwise each look at a range is planned anew.
fn keep_plans(connection: &Connection) -> Result<(), StoreFault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(fault)?;
    Ok(())
}

/// Sets what makes a commit durable and fast, and refuses to go on if it did not take.
pub(crate) fn configure(connection: &Connection) -> Result<(), StoreFault> {
    connection.busy_timeout(BUSY_WAIT).map_err(fault)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(fault)?;
    keep_plans(connection)?;
    // What a row no longer says must not stay in its page; `FAST` zeroes it without another write.
    // Where a plain sync does not reach the disk, `fullfsync` does; elsewhere it means nothing.
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA trusted_schema = OFF;
             PRAGMA secure_delete = FAST;
             PRAGMA cache_size = -65536;
             PRAGMA wal_autocheckpoint = {LOG_PAGES};",
        ))
        .map_err(fault)?;
    match durability(connection)? {
        (synchronous, journal) if synchronous == "FULL" && journal == "wal" => Ok(()),
        (synchronous, journal) => Err(StoreFault::Refused(format!(
            "the file system gives journal mode `{journal}` and synchronous `{synchronous}` where `wal` and `FULL` are \
             needed; a commit would not be durable"
        ))),
    }
}

/// `PRAGMA synchronous` and `PRAGMA journal_mode` as read back.
pub(crate) fn durability(connection: &Connection) -> Result<(String, String), StoreFault> {
    let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(fault)?;
    let journal: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(fault)?;
    let word = match synchronous {
        0 => "OFF".to_owned(),
        1 => "NORMAL".to_owned(),
        2 => "FULL".to_owned(),
        3 => "EXTRA".to_owned(),
        other => other.to_string(),
    };
    Ok((word, journal))
}

//! Connections: what every one of them is set to, read back before it is used.

use super::fault::{fault, open_fault};
use runtime::ports::store::StoreFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use std::fs::OpenOptions;
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
    writer_within(path, BUSY_WAIT)
}

/// The same, which waits so long for a foreign program.
pub(super) fn writer_within(path: &Path, wait: Duration) -> Result<Connection, StoreFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    make_private(path);
    let connection = Connection::open_with_flags(path, flags).map_err(|error| open_fault(path, error))?;
    configure_within(&connection, wait)?;
    Ok(connection)
}

/// A new file is for its owner alone, as are the files that SQLite puts beside it: it holds secret params for as long as they
/// are needed. Where that cannot be done SQLite says what is wrong.
fn make_private(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _there = options.open(path);
}

/// A connection that only reads.
///
/// A reader of a write-ahead log has to write into its index, so it is not opened read-only. Where neither the file nor its
/// folder can be written, and there is no log that the file lacks, the file is all there is and is read as it stands.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(BUSY_WAIT)?;
        // The index is opened by the first look.
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        Ok(connection)
    });
    let connection = match opened {
        Ok(connection) => connection,
        Err(error) if is_unwritable(&error) && path.is_file() => immutable(path, error)?,
        Err(error) => return Err(open_fault(path, error)),
    };
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    keep_plans(&connection)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;").map_err(fault)?;
    Ok(connection)
}

fn is_unwritable(error: &Error) -> bool {
    let codes = [ErrorCode::CannotOpen, ErrorCode::ReadOnly, ErrorCode::PermissionDenied, ErrorCode::SystemIoFailure];
    error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
}

/// Reads a file that nobody can change from here: no lock, no log, no index beside it.
fn immutable(path: &Path, why: Error) -> Result<Connection, StoreFault> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return Err(StoreFault::Unavailable(format!(
            "{why}: the latest commits are in the log `{}`, and SQLite keeps an index beside it while anyone reads, but `{}` \
             cannot be written; copy the store and its log into a folder of your own to look at it",
            Path::new(&log).display(),
            folder.display()
        )));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let Some(uri) = uri(path) else { return Err(open_fault(path, why)) };
    let opened = Connection::open_with_flags(format!("{uri}?immutable=1"), flags);
    let opened = opened.and_then(|connection| {
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        Ok(connection)
    });
    opened.map_err(|error| open_fault(path, error))
}

/// A path as SQLite reads it in a URI; `None` if it is not UTF-8.
fn uri(path: &Path) -> Option<String> {
    let mut uri = String::from("file:");
    for letter in path.to_str()?.chars() {
        match letter {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            other => uri.push(other),
        }
    }
    Some(uri)
}

/// A prepared statement stays prepared whatever it is asked with next. Otherwise each look at a range is planned anew.
fn keep_plans(connection: &Connection) -> Result<(), StoreFault> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(fault)?;
    Ok(())
}

/// Sets what makes a commit durable and fast, and refuses to go on if it did not take.
pub(crate) fn configure(connection: &Connection) -> Result<(), StoreFault> {
    configure_within(connection, BUSY_WAIT)
}

fn configure_within(connection: &Connection, wait: Duration) -> Result<(), StoreFault> {
    connection.busy_timeout(wait).map_err(fault)?;
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

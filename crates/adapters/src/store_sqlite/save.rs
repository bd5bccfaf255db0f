//! What a batch leaves behind, in key order: neighbours in an index are written together.

use super::fault::fault;
use super::packed::pack;
use super::{key, statements};
use kernel::record::Sealed;
use kernel::stored::Kind;
use kernel::time::Instant;
use kernel::world::{Changed, Row};
use runtime::ports::store::{BatchId, Records, StoreFault};
use rusqlite::Connection;

/// Processes whose last batch is remembered. A process asks only about a commit it has just made.
const WRITERS_MAX: i64 = 256;

/// Records from which on a second thread is worth its start.
const SHARED_FROM: usize = 48;

/// Saves what was changed and appends the records; `first` is the index of the first one. Records of a large batch are
/// waited for and packed by a second thread while rows are saved.
pub(super) fn batch(
    connection: &Connection,
    changes: &[Changed],
    records: Records,
    first: u64,
) -> Result<(), StoreFault> {
    let finish = |records: Records| {
        let packing = |sealed: Sealed| (pack(&sealed.body), sealed);
        records.wait().into_iter().map(packing).collect::<Vec<_>>()
    };
    if records.count() < SHARED_FROM {
        rows(connection, changes, first)?;
        return append(connection, &finish(records), first);
    }
    let sealed = std::thread::scope(|scope| {
        let other = scope.spawn(|| finish(records));
        rows(connection, changes, first)?;
        other.join().map_err(|fault| std::panic::resume_unwind(fault))
    })?;
    append(connection, &sealed, first)
}

/// Saves what was changed; `first` is the index of the batch's first record.
fn rows(connection: &Connection, changes: &[Changed], first: u64) -> Result<(), StoreFault> {
    // Changes come sorted by kind, so that each statement is fetched once for many rows.
    for run in changes.chunk_by(|one, next| one.key.entity.kind() == next.key.entity.kind()) {
        let Some(kind) = run.first().map(|changed| changed.key.entity.kind()) else { continue };
        if kind == Kind::Idempotency {
            answers(connection, run, first)?;
            continue;
        }
        let Some(statements) = statements::of(kind) else {
            return Err(StoreFault::Refused(format!("nothing of kind {} can be saved", kind.word())));
        };
        let mut statement = connection.prepare_cached(statements.put).map_err(fault)?;
        for changed in run {
            let key = key::encode(&changed.key)?;
            let body = changed.row.to_stored();
            if statements.due.is_some() {
                let due = changed.row.due().map(Instant::micros);
                let index = integer(first.saturating_add(changed.record as u64))?;
                statement.execute((key, body, &*changed.key.tenant, due, index)).map_err(fault)?;
            } else {
                statement.execute((key, body)).map_err(fault)?;
            }
        }
    }
    Ok(())
}

/// Puts a stored answer at a key.
pub(super) const PUT_ANSWER: &str = "INSERT INTO idempotency(key, fingerprint, idx) VALUES(?1, ?2, ?3) \
                    ON CONFLICT(key) DO UPDATE SET fingerprint = excluded.fingerprint, idx = excluded.idx";

/// Answers are kept as a fingerprint and the index of the record that holds them.
fn answers(connection: &Connection, changes: &[Changed], first: u64) -> Result<(), StoreFault> {
    let mut statement = connection.prepare_cached(PUT_ANSWER).map_err(fault)?;
    let mut rows = Vec::with_capacity(changes.len());
    for changed in changes {
        let Row::Idempotency(stored) = &changed.row else {
            return Err(StoreFault::Refused("what stands at an idempotency key is no answer".to_owned()));
        };
        let index = integer(first.saturating_add(changed.record as u64))?;
        rows.push((key::encode(&changed.key)?, stored.fingerprint.bytes(), index));
    }
    // Changes come by agent, the table goes by time: in its order each page is visited once.
    rows.sort_unstable();
    for row in rows {
        statement.execute(row).map_err(fault)?;
    }
    Ok(())
}

/// Appends a record.
pub(super) const APPEND: &str = "INSERT INTO ledger(idx, leaf, salt, body) VALUES(?1, ?2, ?3, ?4)";

/// Appends records from an index on.
fn append(connection: &Connection, records: &[(Option<Vec<u8>>, Sealed)], first: u64) -> Result<(), StoreFault> {
    let mut statement = connection.prepare_cached(APPEND).map_err(fault)?;
    for (index, (packed, sealed)) in (first..).zip(records) {
        let index = integer(index)?;
        let appended = match packed {
            Some(packed) => statement.execute((index, &sealed.leaf, sealed.salt, packed)),
            None => statement.execute((index, &sealed.leaf, sealed.salt, &sealed.body)),
        };
        appended.map_err(|error| match fault(error) {
            StoreFault::Refused(_) => StoreFault::Corrupt(format!("the ledger already holds a record {index}")),
            other @ (StoreFault::Conflict(_)
            | StoreFault::Unavailable(_)
            | StoreFault::Ambiguous(_)
            | StoreFault::Corrupt(_)) => other,
        })?;
    }
    Ok(())
}

/// Says where the ledger ends.
pub(super) const PUT_HEAD: &str = "UPDATE head SET size = ?1, last_instant = ?2";

/// Says where the ledger ends now.
pub(super) fn head(connection: &Connection, size: u64, last: Instant) -> Result<(), StoreFault> {
    let mut statement = connection.prepare_cached(PUT_HEAD).map_err(fault)?;
    statement.execute((integer(size)?, last.micros())).map_err(fault)?;
    Ok(())
}

/// Says which batch a process committed last.
pub(super) const PUT_WRITER: &str = "INSERT INTO writer(process, batch, first_idx) VALUES(?1, ?2, ?3) \
                    ON CONFLICT(process) DO UPDATE SET batch = excluded.batch, first_idx = excluded.first_idx";

/// Remembers the batch, so that a commit whose answer was lost can be looked up.
pub(super) fn writer(
    connection: &Connection,
    process: &[u8; 16],
    batch: BatchId,
    first: u64,
) -> Result<(), StoreFault> {
    let mut statement = connection.prepare_cached(PUT_WRITER).map_err(fault)?;
    statement.execute((process, batch.0.to_be_bytes(), integer(first)?)).map_err(fault)?;
    Ok(())
}

/// Forgets processes that committed nothing for longest: every short-lived one leaves a row.
pub(super) fn forget_old_writers(connection: &Connection) -> Result<(), StoreFault> {
    const SQL: &str = "DELETE FROM writer WHERE first_idx < \
                       (SELECT first_idx FROM writer ORDER BY first_idx DESC LIMIT 1 OFFSET ?1)";
    connection.execute(SQL, [WRITERS_MAX]).map_err(fault)?;
    Ok(())
}

/// Removes bodies and salts; leaves stay.
pub(super) fn erase(connection: &Connection, from: u64, to: u64) -> Result<u64, StoreFault> {
    const SQL: &str = "UPDATE ledger SET body = NULL, salt = NULL WHERE idx >= ?1 AND idx < ?2 AND body IS NOT NULL";
    let erased = connection.execute(SQL, (integer(from)?, integer(to)?)).map_err(fault)?;
    Ok(erased as u64)
}

/// Writes something, so that what an interrupted commit left at the end of the log is written over.
pub(super) fn fence(connection: &Connection, batch: BatchId) -> Result<(), StoreFault> {
    let written = connection.execute("UPDATE meta SET value = ?1 WHERE name = 'fence'", [batch.0.to_be_bytes()]);
    if written.map_err(fault)? == 1 {
        return Ok(());
    }
    Err(StoreFault::Corrupt("the fence of lost commits is missing".to_owned()))
}

fn integer(value: u64) -> Result<i64, StoreFault> {
    i64::try_from(value).map_err(|_| StoreFault::Refused("the ledger is full".to_owned()))
}

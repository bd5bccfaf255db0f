//! What a batch leaves behind: rows and records as bytes, and the statements that take them.

use super::fault::fault;
use super::place::Ledger;
use super::statements;
use crate::row_key as key;
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::ports::store::{BatchId, FORGET_AT_ONCE, Forgotten, StoreFault};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};
use std::ops::Range;
use std::sync::Arc;
use values::time::Instant;

/// Processes whose last batch is remembered. A process asks only about a commit it has just made.
const WRITERS_MAX: i64 = 256;

/// Rows as the tables take them. Their bytes stand together: whoever writes them out is mostly another thread than who
/// frees them, and one piece of memory is freed sooner than many.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Encoded>,
    bytes: Vec<u8>,
    /// Whether one of them takes the place of a row that may hold secrets: no free page may keep what that said.
    over_secrets: bool,
}

#[derive(Debug)]
struct Encoded {
    kind: Kind,
    key: Range<usize>,
    /// The body, or the fingerprint of a stored answer.
    body: Range<usize>,
    tenant: Arc<str>,
    due: Option<i64>,
    /// The record that says so.
    place: i64,
}

/// Text that is known to be text.
struct Text<'a>(&'a [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

impl Rows {
    /// Adds a row that the record at a place of the table changed.
    pub(super) fn push(&mut self, key: &Key, row: &Row, place: i64) -> Result<(), StoreFault> {
        let kind = key.entity.kind();
        let start = self.bytes.len();
        key::encode_into(key, &mut self.bytes)?;
        let middle = self.bytes.len();
        match (kind, row) {
            // Answers are kept as a fingerprint and the index of the record that holds them.
            (Kind::Idempotency, Row::Idempotency(stored)) => self.bytes.extend_from_slice(stored.fingerprint.bytes()),
            (Kind::Idempotency, _) => {
                return Err(StoreFault::Refused("what stands at an idempotency key is no answer".to_owned()));
            }
            (_, row) => self.bytes.extend_from_slice(row.to_stored().as_bytes()),
        }
        self.over_secrets |= withholds(row);
        let (tenant, due) = (key.tenant.clone(), row.due().map(Instant::micros));
        let (key, body) = (start..middle, middle..self.bytes.len());
        self.rows.push(Encoded { kind, key, body, tenant, due, place });
        Ok(())
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Saves them kind by kind, so that each statement is fetched once for many rows. Within a kind they stay in the order
    /// of their commands, which mostly is that of their keys.
    pub(super) fn save(self, connection: &Connection) -> Result<(), StoreFault> {
        if !self.over_secrets {
            return self.put(connection);
        }
        connection.execute_batch("PRAGMA secure_delete = ON").map_err(fault)?;
        let saved = self.put(connection);
        connection.execute_batch("PRAGMA secure_delete = FAST").map_err(fault)?;
        saved
    }

    fn put(mut self, connection: &Connection) -> Result<(), StoreFault> {
        let Rows { rows, bytes, .. } = &mut self;
        let at = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
        // Stable: of two changes of one row the later one counts.
        rows.sort_by_key(|row| row.kind);
        for run in rows.chunk_by(|one, next| one.kind == next.kind) {
            let Some(kind) = run.first().map(|row| row.kind) else { continue };
            let found = statements::of(kind);
            let sql = match (kind, found) {
                (Kind::Idempotency, _) => PUT_ANSWER,
                (_, Some(found)) => found.put,
                (_, None) => {
                    return Err(StoreFault::Refused(format!("nothing of kind {} can be saved", kind.word())));
                }
            };
            let mut statement = connection.prepare_cached(sql).map_err(fault)?;
            for row in run {
                let (key, body) = (at(&row.key), at(&row.body));
                let saved = match found {
                    None => statement.execute((key, body, row.place)),
                    Some(found) if found.due.is_some() => {
                        statement.execute((key, Text(body), &*row.tenant, row.due, row.place))
                    }
                    Some(_) => statement.execute((key, Text(body))),
                };
                saved.map_err(fault)?;
            }
        }
        Ok(())
    }
}

/// Whether a row is that of an intent with params that the ledger withholds.
fn withholds(row: &Row) -> bool {
    let Row::Intent(row) = row else { return false };
    row.running.as_ref().is_some_and(|running| running.order.withholds())
}

/// Puts a stored answer at a key.
pub(super) const PUT_ANSWER: &str = "INSERT INTO idempotency(key, fingerprint, idx) VALUES(?1, ?2, ?3) \
                    ON CONFLICT(key) DO UPDATE SET fingerprint = excluded.fingerprint, idx = excluded.idx";

/// Says where the ledger of a tenant ends.
pub(super) const PUT_HEAD: &str = "INSERT INTO head(number, tenant, size, last_instant) VALUES(?1, ?2, ?3, ?4) \
                    ON CONFLICT(number) DO UPDATE SET size = excluded.size, last_instant = excluded.last_instant";

/// Says where the ledger of a tenant ends now.
pub(super) fn head(
    connection: &Connection,
    tenant: &str,
    ledger: Ledger,
    size: u64,
    last: Instant,
) -> Result<(), StoreFault> {
    let mut statement = connection.prepare_cached(PUT_HEAD).map_err(fault)?;
    statement.execute((ledger.number(), tenant, integer(size)?, last.micros())).map_err(fault)?;
    Ok(())
}

/// Says which batch of a tenant a process committed last.
pub(super) const PUT_WRITER: &str = "INSERT INTO writer(number, process, batch, first_idx) VALUES(?1, ?2, ?3, ?4) \
                    ON CONFLICT(number, process) DO UPDATE SET batch = excluded.batch, first_idx = excluded.first_idx";

/// Remembers the batch, so that a commit whose answer was lost can be looked up.
pub(super) fn writer(
    connection: &Connection,
    ledger: Ledger,
    process: &[u8; 16],
    batch: BatchId,
    first: u64,
) -> Result<(), StoreFault> {
    let mut statement = connection.prepare_cached(PUT_WRITER).map_err(fault)?;
    statement.execute((ledger.number(), process, batch.0.to_be_bytes(), integer(first)?)).map_err(fault)?;
    Ok(())
}

/// Forgets processes that committed nothing for longest: every short-lived one leaves a row.
pub(super) fn forget_old_writers(connection: &Connection, ledger: Ledger) -> Result<(), StoreFault> {
    const SQL: &str = "DELETE FROM writer WHERE number = ?1 AND first_idx < \
                       (SELECT first_idx FROM writer WHERE number = ?1 ORDER BY first_idx DESC LIMIT 1 OFFSET ?2)";
    connection.execute(SQL, (ledger.number(), WRITERS_MAX)).map_err(fault)?;
    Ok(())
}

/// Removes bodies and salts; leaves stay.
pub(super) fn erase(connection: &Connection, ledger: Ledger, from: u64, to: u64) -> Result<u64, StoreFault> {
    const SQL: &str = "UPDATE ledger SET body = NULL, salt = NULL WHERE idx >= ?1 AND idx < ?2 AND body IS NOT NULL";
    let (first, end) = ledger.places();
    let place = |index: u64| ledger.place(index).unwrap_or(end).clamp(first, end);
    let erased = connection.execute(SQL, (place(from), place(to))).map_err(fault)?;
    Ok(erased as u64)
}

/// Removes stored answers of chosen keys that stand before an index, of the next rows after a place.
pub(super) fn forget(
    connection: &Connection,
    (ledger, tenant): (Ledger, &str),
    before: u64,
    after: Option<&[u8]>,
) -> Result<Forgotten, StoreFault> {
    const FIND: &str = "SELECT key, idx FROM idempotency WHERE key > ?1 AND key < ?2 ORDER BY key LIMIT ?3";
    let (start, end) = key::range(tenant, None)?;
    let mut statement = connection.prepare_cached(FIND).map_err(fault)?;
    let mut rows = statement.query((after.unwrap_or(&start), end, FORGET_AT_ONCE as i64)).map_err(fault)?;
    let (mut seen, mut last, mut old) = (0, None, Vec::new());
    while let Some(row) = rows.next().map_err(fault)? {
        let (name, place): (Vec<u8>, i64) = (row.get(0).map_err(fault)?, row.get(1).map_err(fault)?);
        let found = key::decode(Kind::Idempotency, &name);
        let is_old = ledger.index(place) < before && found.is_some_and(|key| key.entity.is_chosen_key());
        seen += 1;
        old.extend(is_old.then(|| name.clone()));
        last = Some(name);
    }
    let mut remove = connection.prepare_cached("DELETE FROM idempotency WHERE key = ?1").map_err(fault)?;
    for name in &old {
        remove.execute([name]).map_err(fault)?;
    }
    Ok(Forgotten { removed: old.len() as u64, next: last.filter(|_| seen == FORGET_AT_ONCE) })
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

//! A tenant of a file as another store takes it, and an empty one that takes what another store has.

use super::fault::{commit_fault, fault, start_fault};
use super::packed_records::Packed;
use super::place::Head;
use super::save::{self, PUT_ANSWER, Rows};
use super::shared_connection::SharedConnection;
use super::{SqliteStore, connection, load, read, schema};
use crate::row_key;
use crate::store_copy::{Contents, Filling, KeptAnswer};
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::crash::around;
use runtime::ports::clock::Clock;
use runtime::ports::store::{Reader, StoreFault, StoredRecord};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use values::ids::Digest;
use values::sealed::Sealed;
use values::time::Instant;

/// Whoever has a ledger in a file.
pub(crate) fn tenants(path: &Path) -> Result<Vec<String>, StoreFault> {
    let connection = connection::reader(path)?;
    let mut statement = connection.prepare("SELECT tenant FROM head WHERE size > 0 ORDER BY tenant").map_err(fault)?;
    let found = statement.query_map([], |row| row.get(0)).map_err(fault)?;
    found.collect::<Result<Vec<String>, _>>().map_err(fault)
}

/// Writes everything that is committed in a file, of all tenants and as of one commit, into a new file. Writers go on
/// meanwhile, and what was erased is not carried along.
pub(crate) fn write_whole(from: &Path, to: &Path) -> Result<(), StoreFault> {
    let connection = connection::reader(from)?;
    schema::known_version(&connection)?;
    // Nothing is written into this file, but SQLite counts the other one too.
    connection.execute_batch("PRAGMA query_only = OFF").map_err(fault)?;
    let text = to.to_str().ok_or_else(|| StoreFault::Refused(format!("`{}` is not UTF-8", to.display())))?;
    around("store.transact", || connection.execute("VACUUM INTO ?1", [text])).map_err(fault).map(|_| ())
}

/// A tenant of a file, as of one commit.
pub(crate) struct SqliteContents {
    reader: read::SqliteReader,
    /// At the same commit.
    connection: Connection,
    tenant: Arc<str>,
    head: Option<Head>,
}

impl SqliteContents {
    pub(crate) fn of(path: &Path, tenant: &str) -> Result<SqliteContents, StoreFault> {
        let tenant: Arc<str> = Arc::from(tenant);
        if super::SqliteView::open(path, &tenant)?.is_none() {
            return Err(StoreFault::Refused(
                "the file is of an older version; `writkeeper store migrate` renews it".to_owned(),
            ));
        }
        // Two connections may begin at two commits; then it is tried again.
        loop {
            let mut reader = read::SqliteReader::open_at_one_commit(path, &tenant)?;
            let connection = connection::reader(path)?;
            connection.execute_batch("BEGIN").map_err(fault)?;
            let head = load::head(&connection, &tenant)?;
            if reader.size()? == head.map_or(0, |head| head.size) {
                return Ok(SqliteContents { reader, connection, tenant, head });
            }
        }
    }
}

impl Contents for SqliteContents {
    fn reader(&mut self) -> &mut dyn Reader {
        &mut self.reader
    }

    fn last(&mut self) -> Result<Option<Instant>, StoreFault> {
        Ok(self.head.and_then(|head| head.last))
    }

    fn answers(&mut self, after: Option<&Key>, limit: usize) -> Result<Vec<KeptAnswer>, StoreFault> {
        const SQL: &str =
            "SELECT key, fingerprint, idx FROM idempotency WHERE key > ?1 AND key < ?2 ORDER BY key LIMIT ?3";
        let Some(head) = self.head else { return Ok(Vec::new()) };
        let (mut from, to) = row_key::range(&self.tenant, None)?;
        if let Some(after) = after {
            from = row_key::encode(after)?;
        }
        let mut statement = self.connection.prepare_cached(SQL).map_err(fault)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = statement.query((from, to, limit)).map_err(fault)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(fault)? {
            let bytes: Vec<u8> = row.get(0).map_err(fault)?;
            let key = row_key::decode(Kind::Idempotency, &bytes);
            let key = key.ok_or_else(|| StoreFault::Corrupt("an idempotency key cannot be read".to_owned()))?;
            let fingerprint: [u8; 32] = row.get(1).map_err(fault)?;
            found.push((key, Digest::from_bytes(fingerprint), head.ledger.index(row.get(2).map_err(fault)?)));
        }
        Ok(found)
    }
}

/// A tenant of a file that is being filled. Its head says that it is empty until the end, so that nobody can use it.
pub(crate) struct SqliteFilling {
    store: SqliteStore,
    head: Head,
    arrived: u64,
    is_over: bool,
}

impl SqliteFilling {
    pub(crate) fn of(path: &Path, tenant: &str, clock: Arc<dyn Clock>) -> Result<SqliteFilling, StoreFault> {
        let usual = (super::Waits::each(super::QUEUE_WAIT), super::LogKeeper::USUAL);
        let store = SqliteStore::opened(path.to_path_buf(), tenant, clock, usual, false)?;
        let (head, arrived) = begun(&store)?;
        Ok(SqliteFilling { store, head, arrived, is_over: false })
    }

    fn make_durable(&mut self) -> Result<(), StoreFault> {
        self.is_over = true;
        let connection = self.store.connection.lock();
        around("store.transact", || connection.execute_batch("COMMIT")).map_err(commit_fault)
    }

    fn connection(&self) -> &SharedConnection {
        &self.store.connection
    }
}

/// Begins the next transaction, and finds how many records are there. Somebody else may have decided on the empty tenant.
fn begun(store: &SqliteStore) -> Result<(Head, u64), StoreFault> {
    store.connection.lock().execute_batch("BEGIN IMMEDIATE").map_err(start_fault)?;
    let found = filled(&store.connection.lock(), store);
    if found.is_err() {
        store.connection.roll_back();
    }
    found
}

fn filled(connection: &Connection, store: &SqliteStore) -> Result<(Head, u64), StoreFault> {
    const FIRST: &str = "INSERT INTO head(number, tenant, size) VALUES(?1, ?2, 0)";
    const END: &str = "SELECT max(idx) FROM ledger WHERE idx >= ?1 AND idx < ?2";
    let head = match load::head(connection, &store.tenant)? {
        Some(head) if head.size > 0 => {
            return Err(StoreFault::Refused(format!("`{}` is not empty; name another file", store.path.display())));
        }
        Some(head) => head,
        None => {
            let head = load::new_head(connection)?;
            connection.execute(FIRST, (head.ledger.number(), &*store.tenant)).map_err(fault)?;
            head
        }
    };
    let last: Option<i64> = connection.query_row(END, head.ledger.places(), |row| row.get(0)).map_err(fault)?;
    Ok((head, last.map_or(0, |last| head.ledger.index(last) + 1)))
}

impl Filling for SqliteFilling {
    fn arrived(&self) -> u64 {
        self.arrived
    }

    fn records(&mut self, records: &[StoredRecord]) -> Result<(), StoreFault> {
        const ERASED: &str = "INSERT INTO ledger(idx, leaf, salt, body) VALUES(?1, ?2, NULL, NULL)";
        let connection = self.connection().lock();
        for record in records {
            let Some((body, salt)) = &record.body else {
                let place = self.head.ledger.place(record.index)?;
                connection.prepare_cached(ERASED).map_err(fault)?.execute((place, &record.leaf)).map_err(fault)?;
                continue;
            };
            let mut packed = Packed::default();
            packed.push(&Sealed { leaf: record.leaf.clone(), body: body.clone(), salt: *salt });
            packed.append(&connection, self.head.ledger, record.index)?;
        }
        Ok(())
    }

    fn keep(&mut self) -> Result<(), StoreFault> {
        self.make_durable()?;
        (self.head, self.arrived) = begun(&self.store)?;
        self.is_over = false;
        Ok(())
    }

    fn kept(&mut self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(read::SqliteReader::of(&self.store.path, &self.store.tenant, Default::default())))
    }

    fn erase(&mut self, index: u64) -> Result<(), StoreFault> {
        save::erase(&self.connection().lock(), self.head.ledger, index, index.saturating_add(1)).map(|_| ())
    }

    fn rows(&mut self, rows: &[(Key, Row)]) -> Result<(), StoreFault> {
        let (mut encoded, place) = (Rows::default(), self.head.ledger.place(0)?);
        rows.iter().try_for_each(|(key, row)| encoded.push(key, row, place))?;
        encoded.save(&self.connection().lock())
    }

    fn answers(&mut self, answers: &[KeptAnswer]) -> Result<(), StoreFault> {
        let connection = self.connection().lock();
        let mut statement = connection.prepare_cached(PUT_ANSWER).map_err(fault)?;
        for (key, fingerprint, index) in answers {
            let place = self.head.ledger.place(*index)?;
            statement.execute((row_key::encode(key)?, fingerprint.bytes(), place)).map_err(fault)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, size: u64, last: Option<Instant>) -> Result<(), StoreFault> {
        if let Some(last) = last {
            save::head(&self.store.connection.lock(), &self.store.tenant, self.head.ledger, size, last)?;
        }
        self.make_durable()
    }
}

impl Drop for SqliteFilling {
    fn drop(&mut self) {
        if !self.is_over {
            self.store.connection.roll_back();
        }
    }
}

//! A tenant of a file as another store takes it, and an empty one that takes what another store has.

use super::fault::{commit_fault, fault, start_fault};
use super::packed_records::Packed;
use super::place::Head;
use super::save::{self, PUT_ANSWER, Rows};
use super::shared_connection::SharedConnection;
use super::{SqliteStore, connection, load, read};
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

/// A tenant of a file that is being filled, in one transaction.
pub(crate) struct SqliteFilling {
    store: SqliteStore,
    head: Head,
    is_over: bool,
}

impl SqliteFilling {
    pub(crate) fn of(path: &Path, tenant: &str, clock: Arc<dyn Clock>) -> Result<SqliteFilling, StoreFault> {
        let store = SqliteStore::open_for(path, tenant, clock)?;
        let connection = store.connection.lock();
        connection.execute_batch("BEGIN IMMEDIATE").map_err(start_fault)?;
        let head = load::head(&connection, tenant)?;
        drop(connection);
        let head = match head {
            Some(head) if head.size > 0 => {
                store.connection.roll_back();
                return Err(StoreFault::Refused(format!("`{}` is not empty; name another file", path.display())));
            }
            Some(head) => head,
            None => load::new_head(&store.connection.lock())?,
        };
        Ok(SqliteFilling { store, head, is_over: false })
    }

    fn connection(&self) -> &SharedConnection {
        &self.store.connection
    }
}

impl Filling for SqliteFilling {
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
        self.is_over = true;
        let connection = self.store.connection.lock();
        if let Some(last) = last {
            save::head(&connection, &self.store.tenant, self.head.ledger, size, last)?;
        }
        around("store.transact", || connection.execute_batch("COMMIT")).map_err(commit_fault)
    }
}

impl Drop for SqliteFilling {
    fn drop(&mut self) {
        if !self.is_over {
            self.store.connection.roll_back();
        }
    }
}

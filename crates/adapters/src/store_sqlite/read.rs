//! Reading what is committed, beside the writer and without waiting for it.

use super::fault::fault;
use super::{connection, key, load, packed, packed_leaf, statements};
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::ports::store::{Reader, StoreFault, StoredRecord};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use values::time::Instant;

/// A connection that only reads, opened when it is first asked: not everybody who decides reads as well.
pub(super) struct SqliteReader {
    path: PathBuf,
    opened: Option<Connection>,
}

impl SqliteReader {
    pub(super) fn of(path: &Path) -> SqliteReader {
        SqliteReader { path: path.to_path_buf(), opened: None }
    }

    fn opened(&mut self) -> Result<&Connection, StoreFault> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => connection::reader(&self.path)?,
        };
        Ok(self.opened.insert(opened))
    }

    /// Sees only what is committed now.
    pub(super) fn open_at_one_commit(path: &Path) -> Result<SqliteReader, StoreFault> {
        let connection = connection::reader(path)?;
        connection.execute_batch("BEGIN").map_err(fault)?;
        // A transaction that only reads begins with its first look.
        load::head(&connection)?;
        Ok(SqliteReader { path: path.to_path_buf(), opened: Some(connection) })
    }
}

impl Reader for SqliteReader {
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        load::one(self.opened()?, key)
    }

    fn scan(
        &mut self,
        tenant: &str,
        kind: Kind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let Some(statements) = statements::of(kind) else { return Ok(Vec::new()) };
        let (from, to) = key::range(tenant, after)?;
        let mut statement = self.opened()?.prepare_cached(statements.scan).map_err(fault)?;
        load::many(&mut statement, kind, (from, to, count(limit)))
    }

    fn due(&mut self, tenant: &str, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        load::due(self.opened()?, tenant, kind, until, limit)
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        const SQL: &str = "SELECT idx, leaf, salt, body FROM ledger WHERE idx >= ?1 ORDER BY idx LIMIT ?2";
        let Ok(from) = i64::try_from(from) else { return Ok(Vec::new()) };
        let mut statement = self.opened()?.prepare_cached(SQL).map_err(fault)?;
        let mut rows = statement.query((from, count(limit))).map_err(fault)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(fault)? {
            let index: i64 = row.get(0).map_err(fault)?;
            let index = index.unsigned_abs();
            let salt: Option<[u8; 16]> = row.get(2).map_err(fault)?;
            let body = packed::column(row, 3, || format!("record {index}"))?;
            let body = match (body, salt) {
                (Some(body), Some(salt)) => Some((body, salt)),
                (None, None) => None,
                (Some(_), None) | (None, Some(_)) => {
                    return Err(StoreFault::Corrupt(format!("record {index} is erased by half")));
                }
            };
            let leaf = packed_leaf::unpack(row.get_ref(1).map_err(fault)?);
            let leaf = leaf.ok_or_else(|| StoreFault::Corrupt(format!("the leaf of record {index} cannot be read")))?;
            found.push(StoredRecord { index, leaf, body });
        }
        Ok(found)
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        load::head(self.opened()?).map(|head| head.size)
    }
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

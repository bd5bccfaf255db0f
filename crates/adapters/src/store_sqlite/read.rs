//! Reading what is committed, beside the writer and without waiting for it.

use super::fault::fault;
use super::place::Head;
use super::shared_connection::BetweenBatches;
use super::{connection, load, packed, packed_leaf, statements};
use crate::row_key as key;
use kernel::contract::Impact;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::ports::store::{Place, Reader, StoreFault, StoredRecord};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use values::time::Instant;

/// A connection that only reads, opened when it is first needed: not everybody who decides reads as well.
pub(super) struct SqliteReader {
    path: PathBuf,
    tenant: Arc<str>,
    /// The writer's connection, for a look at one row.
    shared: BetweenBatches,
    opened: Option<Connection>,
}

impl SqliteReader {
    pub(super) fn of(path: &Path, tenant: &Arc<str>, shared: BetweenBatches) -> SqliteReader {
        SqliteReader { path: path.to_path_buf(), tenant: tenant.clone(), shared, opened: None }
    }

    fn opened(&mut self) -> Result<&Connection, StoreFault> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => connection::reader(&self.path)?,
        };
        Ok(self.opened.insert(opened))
    }

    /// A look that is over at once: over the writer's connection as long as there is no own one and nothing is written.
    fn look<T>(&mut self, look: impl Fn(&Connection) -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        if self.opened.is_none()
            && let Some(seen) = self.shared.look(&look)
        {
            return seen;
        }
        look(self.opened()?)
    }

    /// Sees only what is committed now.
    pub(super) fn open_at_one_commit(path: &Path, tenant: &Arc<str>) -> Result<SqliteReader, StoreFault> {
        let connection = connection::reader(path)?;
        connection.execute_batch("BEGIN").map_err(fault)?;
        // A transaction that only reads begins with its first look.
        load::head(&connection, tenant)?;
        let opened = Some(connection);
        Ok(SqliteReader { opened, ..SqliteReader::of(path, tenant, BetweenBatches::default()) })
    }
}

impl Reader for SqliteReader {
    fn get(&mut self, entity: &Entity) -> Result<Option<Row>, StoreFault> {
        let key = Key { tenant: self.tenant.clone(), entity: entity.clone() };
        self.look(|connection| load::one(connection, &key))
    }

    fn scan(&mut self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let Some(statements) = statements::of(kind) else { return Ok(Vec::new()) };
        let (from, to) = key::range(&self.tenant, after)?;
        let mut statement = self.opened()?.prepare_cached(statements.scan).map_err(fault)?;
        load::many(&mut statement, kind, (from, to, count(limit)))
    }

    fn due(&mut self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let tenant = self.tenant.clone();
        load::due(self.opened()?, &tenant, kind, until, limit)
    }

    fn open_questions(
        &mut self,
        impact: Impact,
        behind: Place<'_>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let key = key::encode(&Key { tenant: self.tenant.clone(), entity: Entity::Escalation(behind.1.to_owned()) })?;
        let values = (&*self.tenant.clone(), impact.word(), behind.0.micros(), key, count(limit));
        let mut statement = self.opened()?.prepare_cached(statements::OPEN_QUESTIONS).map_err(fault)?;
        load::many(&mut statement, Kind::Escalation, values)
    }

    fn questions_of(&mut self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let (from, _) = key::range(&self.tenant, after)?;
        let values = (&*self.tenant.clone(), agent, from, count(limit));
        let mut statement = self.opened()?.prepare_cached(statements::QUESTIONS_OF).map_err(fault)?;
        load::many(&mut statement, Kind::Escalation, values)
    }

    fn due_questions_of(&mut self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let values = (&*self.tenant.clone(), agent, until.micros(), count(limit));
        let mut statement = self.opened()?.prepare_cached(statements::DUE_QUESTIONS_OF).map_err(fault)?;
        load::many(&mut statement, Kind::Escalation, values)
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        const SQL: &str = "SELECT idx, leaf, salt, body FROM ledger WHERE idx >= ?1 AND idx < ?2 ORDER BY idx LIMIT ?3";
        let tenant = self.tenant.clone();
        let connection = self.opened()?;
        let Some(Head { ledger, .. }) = load::head(connection, &tenant)? else { return Ok(Vec::new()) };
        let Ok(from) = ledger.place(from) else { return Ok(Vec::new()) };
        let mut statement = connection.prepare_cached(SQL).map_err(fault)?;
        let mut rows = statement.query((from, ledger.places().1, count(limit))).map_err(fault)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(fault)? {
            let index = ledger.index(row.get(0).map_err(fault)?);
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
        let tenant = self.tenant.clone();
        self.look(|connection| load::head(connection, &tenant)).map(|head| head.map_or(0, |head| head.size))
    }
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

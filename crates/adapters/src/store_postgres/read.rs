//! Reading what is committed, beside the writer and without waiting for it.

use super::address::Address;
use super::connection::Connection;
use super::fault::{Problem, fault};
use super::value::{Found, Value};
use super::{READ_PATIENCE, RETURN_WAIT, connect, load};
use crate::row_key;
use kernel::contract::Impact;
use kernel::stored::Kind;
use kernel::world::{Entity, Key, Row};
use runtime::ports::store::{Place, Reader, StoreFault, StoredRecord};
use std::sync::Arc;
use values::time::Instant;

const SCAN: &str = "SELECT name, body FROM writkeeper.entity WHERE number = $1::int4 AND kind = $2::text AND \
                    name >= $3::bytea ORDER BY name LIMIT $4::int8";

const OPEN_QUESTIONS: &str = "SELECT name, body FROM writkeeper.entity WHERE number = $1::int4 AND impact = $2::text \
                              AND asked IS NOT NULL AND due IS NOT NULL AND (asked, name) > ($3::int8, $4::bytea) \
                              ORDER BY asked, name LIMIT $5::int8";

const QUESTIONS_OF: &str = "SELECT name, body FROM writkeeper.entity WHERE number = $1::int4 AND asker = $2::text \
                            AND name >= $3::bytea ORDER BY name LIMIT $4::int8";

const DUE_QUESTIONS_OF: &str = "SELECT name, body FROM writkeeper.entity WHERE number = $1::int4 AND asker = $2::text \
                                AND due IS NOT NULL AND due <= $3::int8 ORDER BY due, name LIMIT $4::int8";

const RECORDS: &str = "SELECT idx, leaf, salt, body FROM writkeeper.ledger WHERE number = $1::int4 AND idx >= $2::int8 \
                       ORDER BY idx LIMIT $3::int8";

const SIZE: &str = "SELECT number, size FROM writkeeper.head WHERE tenant = $1::text";

/// Records that are fetched at once: their bodies may be long.
const RECORDS_AT_ONCE: usize = 4_096;

/// A connection that only reads, opened when it is first needed.
pub(super) struct PostgresReader {
    address: Address,
    tenant: Arc<str>,
    opened: Option<Connection>,
    /// The tenant's number, once it has one.
    number: Option<i32>,
    /// Whether it stays at one commit, which a new connection would not see.
    is_pinned: bool,
}

impl PostgresReader {
    pub(super) fn of(address: &Address, tenant: &Arc<str>) -> PostgresReader {
        PostgresReader {
            address: address.clone(),
            tenant: tenant.clone(),
            opened: None,
            number: None,
            is_pinned: false,
        }
    }

    /// Over a connection whose transaction stays at one commit.
    pub(super) fn over(connection: Connection, address: &Address, tenant: &Arc<str>) -> PostgresReader {
        PostgresReader { opened: Some(connection), is_pinned: true, ..PostgresReader::of(address, tenant) }
    }

    /// A look over the open connection. One that was lost since the last look is opened again, once.
    pub(super) fn look<T>(&mut self, look: impl Fn(&mut Connection) -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        let kept = self.opened.take().filter(|opened| !opened.is_broken());
        if self.is_pinned && kept.is_none() {
            return Err(StoreFault::Unavailable("the connection that stayed at one commit is lost".to_owned()));
        }
        let was_kept = kept.is_some() && !self.is_pinned;
        let mut connection = match kept {
            Some(connection) => connection,
            None => connect(&self.address, READ_PATIENCE, RETURN_WAIT, false)?,
        };
        let mut seen = look(&mut connection);
        // A server that stands still was waited for already.
        if seen.is_err() && was_kept && connection.is_broken() && !connection.is_silent() {
            connection = connect(&self.address, READ_PATIENCE, RETURN_WAIT, false)?;
            seen = look(&mut connection);
        }
        self.opened = Some(connection);
        seen
    }

    /// The number of the tenant and the size of its ledger; `None` if nothing was ever written for it.
    fn head(&mut self) -> Result<Option<(i32, u64)>, StoreFault> {
        let tenant = self.tenant.clone();
        let found = self.look(|connection| match connection.query(SIZE, &[Value::Text(&tenant)]) {
            // Nobody has made the tables yet.
            Err(Problem::Said(said)) if matches!(said.code.as_str(), "42P01" | "3F000") => Ok(Vec::new()),
            other => other.map_err(fault),
        })?;
        let Some(found) = found.first() else { return Ok(None) };
        let number = i32::try_from(found.integer(0).map_err(fault)?).ok();
        let size = u64::try_from(found.integer(1).map_err(fault)?).ok();
        let unread = || StoreFault::Corrupt("the head of the ledger cannot be read".to_owned());
        let head = number.zip(size).ok_or_else(unread)?;
        self.number = Some(head.0);
        Ok(Some(head))
    }

    pub(super) fn number(&mut self) -> Result<Option<i32>, StoreFault> {
        match self.number {
            Some(number) => Ok(Some(number)),
            None => Ok(self.head()?.map(|(number, _)| number)),
        }
    }
}

impl PostgresReader {
    /// Questions by a statement whose first value is the number of the tenant, and whose last says how many at most.
    fn questions(&mut self, sql: &str, values: &[Value<'_>], limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let Some(number) = self.number()? else { return Ok(Vec::new()) };
        let tenant = self.tenant.clone();
        let mut all = vec![Value::Int4(number)];
        all.extend_from_slice(values);
        all.push(count(limit));
        self.look(|connection| load::many(&tenant, Kind::Escalation, &connection.query(sql, &all).map_err(fault)?))
    }
}

impl Reader for PostgresReader {
    fn get(&mut self, entity: &Entity) -> Result<Option<Row>, StoreFault> {
        let Some(number) = self.number()? else { return Ok(None) };
        let key = Key { tenant: self.tenant.clone(), entity: entity.clone() };
        self.look(|connection| load::one(connection, number, &key))
    }

    fn scan(&mut self, kind: Kind, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        if kind == Kind::Idempotency {
            return Ok(Vec::new());
        }
        let Some(number) = self.number()? else { return Ok(Vec::new()) };
        let (from, tenant) = (row_key::name_after(after)?, self.tenant.clone());
        let values = [Value::Int4(number), Value::Text(kind.word()), Value::Bytes(&from), count(limit)];
        self.look(|connection| load::many(&tenant, kind, &connection.query(SCAN, &values).map_err(fault)?))
    }

    fn due(&mut self, kind: Kind, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let Some(number) = self.number()? else { return Ok(Vec::new()) };
        let tenant = self.tenant.clone();
        self.look(|connection| load::due(connection, &tenant, number, kind, until, limit))
    }

    fn open_questions(
        &mut self,
        impact: Impact,
        behind: Place<'_>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, StoreFault> {
        let name = row_key::encode_name(&Entity::Escalation(behind.1.to_owned()))?;
        let place = [Value::Text(impact.word()), Value::Int8(behind.0.micros()), Value::Bytes(&name)];
        self.questions(OPEN_QUESTIONS, &place, limit)
    }

    fn questions_of(&mut self, agent: &str, after: Option<&str>, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        let from = row_key::name_after(after)?;
        self.questions(QUESTIONS_OF, &[Value::Text(agent), Value::Bytes(&from)], limit)
    }

    fn due_questions_of(&mut self, agent: &str, until: Instant, limit: usize) -> Result<Vec<(Key, Row)>, StoreFault> {
        self.questions(DUE_QUESTIONS_OF, &[Value::Text(agent), Value::Int8(until.micros())], limit)
    }

    fn records(&mut self, from: u64, limit: usize) -> Result<Vec<StoredRecord>, StoreFault> {
        let Some(number) = self.number()? else { return Ok(Vec::new()) };
        let mut records = Vec::new();
        while records.len() < limit {
            let Ok(next) = i64::try_from(from.saturating_add(records.len() as u64)) else { break };
            let most = RECORDS_AT_ONCE.min(limit - records.len());
            let values = [Value::Int4(number), Value::Int8(next), count(most)];
            let found = self.look(|connection| connection.query(RECORDS, &values).map_err(fault))?;
            let is_last = found.len() < most;
            for found in found {
                records.push(record(&found)?);
            }
            if is_last {
                break;
            }
        }
        Ok(records)
    }

    fn size(&mut self) -> Result<u64, StoreFault> {
        Ok(self.head()?.map_or(0, |(_, size)| size))
    }
}

fn record(found: &Found) -> Result<StoredRecord, StoreFault> {
    let index = u64::try_from(found.integer(0).map_err(fault)?).unwrap_or_default();
    let by_half = || StoreFault::Corrupt(format!("record {index} is erased by half"));
    let body = match (found.bytes(2), found.bytes(3)) {
        (Some(salt), Some(_)) => {
            let salt = salt.try_into().map_err(|_| by_half())?;
            Some((found.text(3).map_err(fault)?.to_owned(), salt))
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return Err(by_half()),
    };
    Ok(StoredRecord { index, leaf: found.text(1).map_err(fault)?.to_owned(), body })
}

fn count(limit: usize) -> Value<'static> {
    Value::Int8(i64::try_from(limit).unwrap_or(i64::MAX))
}

//! A tenant of a database as another store takes it, and an empty one that takes what another store has.

use super::address::Address;
use super::connection::Connection;
use super::fault::{commit_fault, fault};
use super::read::PostgresReader;
use super::save::{Piece, integer};
use super::value::Value;
use super::{RETURN_WAIT, TABLE_PATIENCE, schema};
use crate::row_key;
use crate::store_copy::{Contents, Filling, KeptAnswer, unfinished};
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::crash::around;
use runtime::ports::store::{Reader, StoreFault, StoredRecord};
use std::sync::Arc;
use values::ids::Digest;
use values::time::Instant;

const KEEP_TABLES: &str = "LOCK TABLE writkeeper.meta, writkeeper.head, writkeeper.ledger, writkeeper.entity, \
                           writkeeper.idempotency IN ACCESS SHARE MODE";

const HEAD: &str = "SELECT number, size, last_instant FROM writkeeper.head WHERE tenant = $1::text";

/// Whoever has a ledger in a database.
pub(crate) fn tenants(address: &Address) -> Result<Vec<String>, StoreFault> {
    const SQL: &str = "SELECT tenant FROM writkeeper.head WHERE size > 0 ORDER BY tenant";
    let mut connection = Connection::open(address, TABLE_PATIENCE, RETURN_WAIT).map_err(fault)?;
    let found = connection.query(SQL, &[]).map_err(fault)?;
    found.iter().map(|found| Ok(found.text(0).map_err(fault)?.to_owned())).collect()
}

/// Refuses a database in which a copy has not ended: whoever backs it up would leave something out.
pub(crate) fn demand_finished(address: &Address) -> Result<(), StoreFault> {
    const SQL: &str = "SELECT max(l.idx) + 1 FROM writkeeper.ledger l JOIN writkeeper.head h ON h.number = l.number \
                       WHERE h.size = 0";
    let mut connection = Connection::open(address, TABLE_PATIENCE, RETURN_WAIT).map_err(fault)?;
    let found = connection.query(SQL, &[]).map_err(fault)?;
    let end = found.first().map(|found| found.optional(0)).transpose().map_err(fault)?.flatten();
    match end.and_then(|end| u64::try_from(end).ok()) {
        Some(end) => Err(unfinished(end)),
        None => Ok(()),
    }
}

/// A tenant of a database, as of one commit.
pub(crate) struct PostgresContents {
    reader: PostgresReader,
    tenant: Arc<str>,
}

impl PostgresContents {
    pub(crate) fn of(address: &Address, tenant: &str) -> Result<PostgresContents, StoreFault> {
        let tenant: Arc<str> = Arc::from(tenant);
        let mut connection = Connection::open(address, TABLE_PATIENCE, RETURN_WAIT).map_err(fault)?;
        // Everything is seen as of the first look. Who makes the tables anew meanwhile would leave nothing in them that can
        // be seen from before, so nobody does until this ends.
        connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").map_err(fault)?;
        connection.run(KEEP_TABLES).map_err(fault)?;
        if !schema::is_current(&mut connection)? {
            return Err(StoreFault::Refused(format!(
                "the tables of `{address}` are of an older version; run `writkeeper store migrate` first"
            )));
        }
        Ok(PostgresContents { reader: PostgresReader::over(connection, address, &tenant), tenant })
    }
}

impl Contents for PostgresContents {
    fn reader(&mut self) -> &mut dyn Reader {
        &mut self.reader
    }

    fn last(&mut self) -> Result<Option<Instant>, StoreFault> {
        let tenant = self.tenant.clone();
        let found = self.reader.look(|connection| connection.query(HEAD, &[Value::Text(&tenant)]).map_err(fault))?;
        let last = found.first().map(|found| found.optional(2)).transpose().map_err(fault)?.flatten();
        Ok(last.map(Instant::from_micros))
    }

    fn answers(&mut self, after: Option<&Key>, limit: usize) -> Result<Vec<KeptAnswer>, StoreFault> {
        const SQL: &str = "SELECT name, fingerprint, idx FROM writkeeper.idempotency WHERE number = $1::int4 AND \
                           name > $2::bytea ORDER BY name LIMIT $3::int8";
        let Some(number) = self.reader.number()? else { return Ok(Vec::new()) };
        let mut from = Vec::new();
        if let Some(after) = after {
            row_key::encode_name_into(&after.entity, &mut from)?;
        }
        let limit = Value::Int8(i64::try_from(limit).unwrap_or(i64::MAX));
        let values = [Value::Int4(number), Value::Bytes(&from), limit];
        let found = self.reader.look(|connection| connection.query(SQL, &values).map_err(fault))?;
        let unread = || StoreFault::Corrupt("a stored answer cannot be read".to_owned());
        let read = |found: &super::value::Found| {
            let entity = found.bytes(0).and_then(|bytes| row_key::decode_name(Kind::Idempotency, bytes));
            let fingerprint: [u8; 32] = found.bytes(1).and_then(|bytes| bytes.try_into().ok()).ok_or_else(unread)?;
            let index = u64::try_from(found.integer(2).map_err(fault)?).map_err(|_| unread())?;
            let key = Key { tenant: self.tenant.clone(), entity: entity.ok_or_else(unread)? };
            Ok((key, Digest::from_bytes(fingerprint), index))
        };
        found.iter().map(read).collect()
    }
}

/// A tenant of a database that is being filled. Its head says that it is empty until the end, so that nobody can use it.
pub(crate) struct PostgresFilling {
    address: Address,
    tenant: Arc<str>,
    connection: Connection,
    number: i32,
    arrived: u64,
    is_over: bool,
}

impl PostgresFilling {
    pub(crate) fn of(address: &Address, tenant: &str) -> Result<PostgresFilling, StoreFault> {
        let connection = super::prepared(address, tenant, super::QUEUE_WAIT, |_| Ok(()))?;
        let (address, tenant) = (address.clone(), Arc::from(tenant));
        let mut filling = PostgresFilling { address, tenant, connection, number: 0, arrived: 0, is_over: true };
        filling.begin()?;
        Ok(filling)
    }

    /// The next transaction. Somebody else may have decided on the empty tenant, or have begun to fill it.
    fn begin(&mut self) -> Result<(), StoreFault> {
        const END: &str = "SELECT max(idx) + 1 FROM writkeeper.ledger WHERE number = $1::int4";
        self.connection.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").map_err(fault)?;
        self.is_over = false;
        let found =
            self.connection.query(&format!("{HEAD} FOR UPDATE"), &[Value::Text(&self.tenant)]).map_err(fault)?;
        let missing = || StoreFault::Corrupt("the head of the ledger is missing".to_owned());
        let found = found.first().ok_or_else(missing)?;
        self.number = i32::try_from(found.integer(0).map_err(fault)?).map_err(|_| missing())?;
        if found.integer(1).map_err(fault)? > 0 {
            return Err(StoreFault::Refused(format!("`{}` is not empty; name another database", self.address)));
        }
        let end = self.connection.query(END, &[Value::Int4(self.number)]).map_err(fault)?;
        let end = end.first().map(|found| found.optional(0)).transpose().map_err(fault)?.flatten();
        self.arrived = u64::try_from(end.unwrap_or_default()).map_err(|_| missing())?;
        Ok(())
    }

    fn make_durable(&mut self) -> Result<(), StoreFault> {
        self.is_over = true;
        around("store.transact", || self.connection.run("COMMIT")).map_err(commit_fault)
    }

    fn fill(&mut self, piece: &Piece, first: u64) -> Result<(), StoreFault> {
        if piece.is_empty() {
            return Ok(());
        }
        piece.state(&mut self.connection, self.number, first)?;
        self.connection.ask().map(|_| ()).map_err(fault)
    }
}

impl Filling for PostgresFilling {
    fn arrived(&self) -> u64 {
        self.arrived
    }

    fn keep(&mut self) -> Result<(), StoreFault> {
        self.make_durable()?;
        self.begin()
    }

    fn kept(&mut self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(PostgresReader::of(&self.address, &self.tenant)))
    }

    fn erase(&mut self, index: u64) -> Result<(), StoreFault> {
        const SQL: &str =
            "UPDATE writkeeper.ledger SET body = NULL, salt = NULL WHERE number = $1::int4 AND idx = $2::int8";
        let values = [Value::Int4(self.number), Value::Int8(integer(index)?)];
        self.connection.query(SQL, &values).map(|_| ()).map_err(fault)
    }

    fn records(&mut self, records: &[StoredRecord]) -> Result<(), StoreFault> {
        let mut piece = Piece::new();
        records.iter().for_each(|record| piece.push_stored(record));
        self.fill(&piece, records.first().map_or(0, |record| record.index))
    }

    fn rows(&mut self, rows: &[(Key, Row)]) -> Result<(), StoreFault> {
        let mut piece = Piece::new();
        rows.iter().try_for_each(|(key, row)| piece.push_row(key, row, 0))?;
        self.fill(&piece, 0)
    }

    fn answers(&mut self, answers: &[KeptAnswer]) -> Result<(), StoreFault> {
        let mut piece = Piece::new();
        answers.iter().try_for_each(|(key, fingerprint, index)| piece.push_answer(key, fingerprint, *index))?;
        self.fill(&piece, 0)
    }

    fn finish(mut self: Box<Self>, size: u64, last: Option<Instant>) -> Result<(), StoreFault> {
        const SQL: &str = "UPDATE writkeeper.head SET size = $2::int8, last_instant = $3::int8, batch = $4::bytea \
                           WHERE number = $1::int4";
        if let Some(last) = last {
            // Whoever has the empty tenant open notices that its head is another.
            let batch = uuid::Uuid::now_v7().into_bytes();
            let size = Value::Int8(integer(size)?);
            let values = [Value::Int4(self.number), size, Value::Int8(last.micros()), Value::Bytes(&batch)];
            self.connection.query(SQL, &values).map_err(fault)?;
        }
        self.make_durable()
    }
}

impl Drop for PostgresFilling {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.roll_back();
        }
    }
}

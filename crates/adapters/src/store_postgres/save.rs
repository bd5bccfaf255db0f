//! What some steps of a batch leave behind, as columns: one statement takes all rows of a table.

use super::connection::Connection;
use super::value::{Column, Value};
use crate::row_key;
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::ports::store::{StoreFault, StoredRecord};
use values::ids::Digest;
use values::sealed::Sealed;
use values::time::Instant;

/// Appends records from an index on.
const APPEND: &str = "INSERT INTO writkeeper.ledger(number, idx, leaf, salt, body) SELECT $1::int4, $2::int8 + place - 1, \
                      leaf, salt, body FROM unnest($3::text[], $4::bytea[], $5::text[]) WITH ORDINALITY AS \
                      r(leaf, salt, body, place)";

/// Adds rows that are not there. Twice as fast as [`PUT_OVER`], which looks for a row before it makes one.
const ADD: &str = "INSERT INTO writkeeper.entity(number, kind, name, due, idx, body) SELECT $1::int4, kind, name, due, idx, \
                   body FROM unnest($2::text[], $3::bytea[], $4::int8[], $5::int8[], $6::text[]) AS \
                   r(kind, name, due, idx, body)";

/// The rest of [`ADD`] for rows that may be there. The index of the record that made one stays: there its first words are
/// found.
const PUT_OVER: &str = " ON CONFLICT (number, kind, name) DO UPDATE SET body = excluded.body, due = excluded.due";

/// Adds stored answers: a fingerprint, and the index of the record that holds the answer.
const ADD_ANSWERS: &str = "INSERT INTO writkeeper.idempotency(number, name, fingerprint, idx) SELECT $1::int4, name, \
                           fingerprint, idx FROM unnest($2::bytea[], $3::bytea[], $4::int8[]) AS \
                           r(name, fingerprint, idx)";

/// The same for stored answers.
const PUT_ANSWERS_OVER: &str = " ON CONFLICT (number, name) DO UPDATE SET fingerprint = excluded.fingerprint, \
                                idx = excluded.idx";

/// What some steps leave behind.
#[derive(Debug)]
pub(super) struct Piece {
    leaves: Column,
    salts: Column,
    bodies: Column,
    fresh: Rows,
    changed: Rows,
}

/// Rows, and stored answers, which have a table of their own.
#[derive(Debug)]
struct Rows {
    kinds: Column,
    names: Column,
    dues: Column,
    indices: Column,
    bodies: Column,
    answer_names: Column,
    fingerprints: Column,
    answer_indices: Column,
}

impl Rows {
    fn new() -> Rows {
        let (bytes, integers, texts) = (Column::bytes, Column::integers, Column::texts);
        Rows {
            kinds: texts(),
            names: bytes(),
            dues: integers(),
            indices: integers(),
            bodies: texts(),
            answer_names: bytes(),
            fingerprints: bytes(),
            answer_indices: integers(),
        }
    }

    fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.answer_names.is_empty()
    }

    fn push_answer(&mut self, key: &Key, fingerprint: &Digest, index: u64) -> Result<(), StoreFault> {
        let mut name = Vec::with_capacity(64);
        row_key::encode_name_into(&key.entity, &mut name)?;
        self.answer_names.push(&name);
        self.fingerprints.push(fingerprint.bytes());
        self.answer_indices.push_integer(Some(integer(index)?));
        Ok(())
    }

    fn push(&mut self, key: &Key, row: &Row, index: u64) -> Result<(), StoreFault> {
        match (key.entity.kind(), row) {
            (Kind::Idempotency, Row::Idempotency(stored)) => self.push_answer(key, &stored.fingerprint, index)?,
            (Kind::Idempotency, _) => {
                return Err(StoreFault::Refused("what stands at an idempotency key is no answer".to_owned()));
            }
            (kind, row) => {
                let mut name = Vec::with_capacity(64);
                row_key::encode_name_into(&key.entity, &mut name)?;
                self.kinds.push(kind.word().as_bytes());
                self.names.push(&name);
                self.dues.push_integer(row.due().map(Instant::micros));
                self.indices.push_integer(Some(integer(index)?));
                self.bodies.push(row.to_stored().as_bytes());
            }
        }
        Ok(())
    }

    fn state(&self, connection: &mut Connection, number: Value<'_>, [over, answers_over]: [&str; 2]) {
        let column = Value::Column;
        if !self.kinds.is_empty() {
            let values = [&self.kinds, &self.names, &self.dues, &self.indices, &self.bodies].map(column);
            connection.statement(&format!("{ADD}{over}"), &[&[number], values.as_slice()].concat());
        }
        if !self.answer_names.is_empty() {
            let values = [&self.answer_names, &self.fingerprints, &self.answer_indices].map(column);
            connection.statement(&format!("{ADD_ANSWERS}{answers_over}"), &[&[number], values.as_slice()].concat());
        }
    }
}

impl Piece {
    pub(super) fn new() -> Piece {
        let (bytes, texts) = (Column::bytes, Column::texts);
        Piece { leaves: texts(), salts: bytes(), bodies: texts(), fresh: Rows::new(), changed: Rows::new() }
    }

    /// Whether it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.fresh.is_empty() && self.changed.is_empty()
    }

    /// Adds a record.
    pub(super) fn push_record(&mut self, sealed: &Sealed) {
        self.leaves.push(sealed.leaf.as_bytes());
        self.salts.push(&sealed.salt);
        self.bodies.push(sealed.body.as_bytes());
    }

    /// Adds a record as a store holds it, which may be erased.
    pub(super) fn push_stored(&mut self, record: &StoredRecord) {
        self.leaves.push(record.leaf.as_bytes());
        match &record.body {
            Some((body, salt)) => {
                self.salts.push(salt);
                self.bodies.push(body.as_bytes());
            }
            None => {
                self.salts.push_null();
                self.bodies.push_null();
            }
        }
    }

    /// Adds a stored answer, which stands in the record at an index.
    pub(super) fn push_answer(&mut self, key: &Key, fingerprint: &Digest, index: u64) -> Result<(), StoreFault> {
        self.changed.push_answer(key, fingerprint, index)
    }

    /// Adds a row that the record at an index changed.
    pub(super) fn push_row(&mut self, key: &Key, row: &Row, index: u64) -> Result<(), StoreFault> {
        self.changed.push(key, row, index)
    }

    /// Adds a row that the record at an index made: the database has none of its name.
    pub(super) fn push_fresh(&mut self, key: &Key, row: &Row, index: u64) -> Result<(), StoreFault> {
        self.fresh.push(key, row, index)
    }

    /// Adds the statements that save it; its first record gets this index.
    pub(super) fn state(&self, connection: &mut Connection, number: i32, first: u64) -> Result<(), StoreFault> {
        let number = Value::Int4(number);
        let column = Value::Column;
        if !self.leaves.is_empty() {
            let first = Value::Int8(integer(first)?);
            let values = [number, first, column(&self.leaves), column(&self.salts), column(&self.bodies)];
            connection.statement(APPEND, &values);
        }
        self.fresh.state(connection, number, ["", ""]);
        self.changed.state(connection, number, [PUT_OVER, PUT_ANSWERS_OVER]);
        Ok(())
    }
}

/// A size or an index as the tables keep it.
pub(super) fn integer(value: u64) -> Result<i64, StoreFault> {
    i64::try_from(value).map_err(|_| StoreFault::Refused("the ledger is full".to_owned()))
}

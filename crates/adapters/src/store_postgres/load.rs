//! From rows to a slice of the world. What cannot be read is damage, never absence.

use super::connection::{Connection, IN_FLIGHT};
use super::fault::fault;
use super::value::{Column, Found, Value};
use crate::row_cache::RowCache;
use crate::row_key;
use kernel::apply::touched_by_calling_off;
use kernel::stored::Kind;
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer};
use runtime::ports::store::{StoreFault, erased_answer};
use std::sync::Arc;
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Stamped with the batch that the head names.
pub(super) type PostgresCache = RowCache<Vec<u8>>;

/// Entities and what was found of them: `None` where there is none.
pub(super) type Rows = Vec<(Key, Option<Row>)>;

/// Rows by kind and name. Each is looked up by itself, whatever the planner thinks of the table.
const GET: &str = "SELECT k.place, e.body FROM unnest($2::text[], $3::bytea[]) WITH ORDINALITY AS k(kind, name, place) \
                   CROSS JOIN LATERAL (SELECT body FROM writkeeper.entity e WHERE e.number = $1::int4 \
                   AND e.kind = k.kind AND e.name = k.name LIMIT 1) e";

/// The answer stands in the record that the row points at. Where it was erased, the leaf says when it was given, and the
/// tenant's row whether such keys are forgotten.
const GET_ANSWERS: &str = "SELECT k.place, i.fingerprint, l.idx, l.body, CASE WHEN l.body IS NULL THEN l.leaf END, \
                           CASE WHEN l.body IS NULL THEN (SELECT e.body FROM writkeeper.entity e WHERE \
                           e.number = $1::int4 AND e.kind = 'tenant' AND e.name = '') END FROM unnest($2::bytea[]) WITH ORDINALITY AS \
                           k(name, place) CROSS JOIN LATERAL (SELECT fingerprint, idx FROM writkeeper.idempotency i \
                           WHERE i.number = $1::int4 AND i.name = k.name LIMIT 1) i LEFT JOIN LATERAL (SELECT idx, leaf, body \
                           FROM writkeeper.ledger l WHERE l.number = $1::int4 AND l.idx = i.idx LIMIT 1) l ON true";

/// Rows of a kind by what is due soonest.
const DUE: &str = "SELECT name, body FROM writkeeper.entity WHERE number = $1::int4 AND kind = $2::text AND due IS NOT NULL \
                   AND due <= $3::int8 ORDER BY due, name LIMIT $4::int8";

/// What is asked for together: rows by kind and name, and stored answers by name.
#[derive(Debug)]
pub(super) struct Asked {
    kinds: Column,
    names: Column,
    rows: Vec<Key>,
    answer_names: Column,
    answers: Vec<Key>,
}

impl Asked {
    /// Everything of some keys; ranges have no row of their own.
    pub(super) fn of(keys: Vec<Key>) -> Result<Asked, StoreFault> {
        let (kinds, names, answer_names) = (Column::texts(), Column::bytes(), Column::bytes());
        let mut asked = Asked { kinds, names, rows: Vec::new(), answer_names, answers: Vec::new() };
        let mut name = Vec::with_capacity(64);
        for key in keys {
            name.clear();
            row_key::encode_name_into(&key.entity, &mut name)?;
            let kind = key.entity.kind();
            if kind == Kind::Idempotency {
                asked.answer_names.push(&name);
                asked.answers.push(key);
            } else if key.entity != Entity::DueIntents {
                asked.kinds.push(kind.word().as_bytes());
                asked.names.push(&name);
                asked.rows.push(key);
            }
        }
        Ok(asked)
    }

    /// Whether it can go out behind something else without waiting for an answer.
    pub(super) fn is_small(&self) -> bool {
        self.kinds.len() + self.names.len() + self.answer_names.len() < IN_FLIGHT / 2
    }

    /// Adds the statements that ask for it.
    pub(super) fn state(&self, connection: &mut Connection, number: i32) {
        if !self.kinds.is_empty() {
            connection.statement(GET, &[Value::Int4(number), Value::Column(&self.kinds), Value::Column(&self.names)]);
        }
        if !self.answer_names.is_empty() {
            connection.statement(GET_ANSWERS, &[Value::Int4(number), Value::Column(&self.answer_names)]);
        }
    }

    /// What the statements found.
    pub(super) fn read(self, mut found: impl Iterator<Item = Vec<Found>>, rows: &mut Rows) -> Result<(), StoreFault> {
        let of_rows = if self.kinds.is_empty() { Vec::new() } else { found.next().unwrap_or_default() };
        let of_answers = if self.answer_names.is_empty() { Vec::new() } else { found.next().unwrap_or_default() };
        place_all(self.rows, &of_rows, rows, |key, found| body(key.entity.kind(), found, 1).map(Some))?;
        place_all(self.answers, &of_answers, rows, |key, found| stored_answer(&key.entity, found))
    }

    /// Asks, and waits for the answer.
    pub(super) fn fetch(self, connection: &mut Connection, number: i32, rows: &mut Rows) -> Result<(), StoreFault> {
        if self.kinds.is_empty() && self.answer_names.is_empty() {
            return Ok(());
        }
        self.state(connection, number);
        let answers = connection.ask().map_err(fault)?;
        self.read(answers.found.into_iter(), rows)
    }
}

/// Puts what was found at its place, and nothing everywhere else.
fn place_all(
    keys: Vec<Key>,
    found: &[Found],
    rows: &mut Rows,
    read: impl Fn(&Key, &Found) -> Result<Option<Row>, StoreFault>,
) -> Result<(), StoreFault> {
    let start = rows.len();
    rows.extend(keys.into_iter().map(|key| (key, None)));
    for found in found {
        let place = usize::try_from(found.integer(0).map_err(fault)?).ok().and_then(|place| place.checked_sub(1));
        let slot = place.and_then(|place| rows.get_mut(start + place));
        let (key, row) = slot.ok_or_else(|| StoreFault::Corrupt("a row was found that nobody asked for".to_owned()))?;
        *row = read(key, found)?;
    }
    Ok(())
}

/// Splits keys into those whose rows are cached, with their rows, and those to ask for.
pub(super) fn split(keys: Vec<Key>, cache: &PostgresCache, rows: &mut Rows) -> Vec<Key> {
    let mut asked = Vec::with_capacity(keys.len());
    for key in keys {
        match cache.get(&key) {
            Some(row) => rows.push((key, row.clone())),
            None => asked.push(key),
        }
    }
    asked
}

/// One entity.
pub(super) fn one(connection: &mut Connection, number: i32, key: &Key) -> Result<Option<Row>, StoreFault> {
    let mut rows = Rows::new();
    Asked::of(vec![key.clone()])?.fetch(connection, number, &mut rows)?;
    Ok(rows.pop().and_then(|(_, row)| row))
}

/// Keys and rows of a kind that a statement over names and bodies found.
pub(super) fn many(tenant: &Arc<str>, kind: Kind, found: &[Found]) -> Result<Vec<(Key, Row)>, StoreFault> {
    let unread = || StoreFault::Corrupt(format!("a key of kind {} cannot be read", kind.word()));
    let read = |found: &Found| {
        let entity = found.bytes(0).and_then(|bytes| row_key::decode_name(kind, bytes)).ok_or_else(unread)?;
        Ok((Key { tenant: tenant.clone(), entity }, body(kind, found, 1)?))
    };
    found.iter().map(read).collect()
}

/// What is due of a kind up to an instant, soonest first.
pub(super) fn due(
    connection: &mut Connection,
    tenant: &Arc<str>,
    number: i32,
    kind: Kind,
    until: Instant,
    limit: usize,
) -> Result<Vec<(Key, Row)>, StoreFault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = [Value::Int4(number), Value::Text(kind.word()), Value::Int8(until.micros()), Value::Int8(limit)];
    many(tenant, kind, &connection.query(DUE, &values).map_err(fault)?)
}

/// Loads the intents that are due soonest and what calling them off touches; gives back their names.
pub(super) fn due_intents(
    connection: &mut Connection,
    tenant: &Arc<str>,
    number: i32,
    rows: &mut Rows,
) -> Result<Vec<String>, StoreFault> {
    let whenever = Instant::from_micros(i64::MAX);
    let due = due(connection, tenant, number, Kind::Intent, whenever, DUE_INTENTS_MAX)?;
    let names = due.iter().map(|(key, _)| key.entity.parts().0.to_owned()).collect();
    let mut touched = KeySet::new();
    for (key, row) in due {
        if let Row::Intent(row) = &row {
            touched.extend(touched_by_calling_off(tenant, row));
        }
        rows.push((key, Some(row)));
    }
    Asked::of(touched.into_iter().collect())?.fetch(connection, number, rows)?;
    Ok(names)
}

fn body(kind: Kind, found: &Found, column: usize) -> Result<Row, StoreFault> {
    let row = Row::from_stored(kind, found.text(column).map_err(fault)?);
    row.ok_or_else(|| StoreFault::Corrupt(format!("a row of kind {} cannot be read", kind.word())))
}

fn stored_answer(entity: &Entity, found: &Found) -> Result<Option<Row>, StoreFault> {
    let damaged = || StoreFault::Corrupt("a stored answer cannot be read".to_owned());
    let fingerprint: [u8; 32] = found.bytes(1).and_then(|bytes| bytes.try_into().ok()).ok_or_else(damaged)?;
    if found.bytes(2).is_none() {
        return Err(damaged());
    }
    let Some(text) = found.bytes(3) else {
        let tenant = found.bytes(5).map(|_| body(Kind::Tenant, found, 5)).transpose()?;
        return erased_answer(entity, found.text(4).map_err(fault)?, tenant.as_ref().and_then(Row::as_tenant));
    };
    let json = Json::parse_within(text, &Bounds::OWN).ok();
    let stored = json.as_ref().and_then(|body| StoredAnswer::from_record(Digest::from_bytes(fingerprint), body));
    Ok(Some(Row::Idempotency(Box::new(stored.ok_or_else(damaged)?))))
}

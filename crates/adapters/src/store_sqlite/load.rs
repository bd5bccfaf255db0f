//! From rows to a slice of the world. What cannot be read is damage, never absence.

use super::fault::fault;
use super::place::{Head, Ledger};
use super::{SqliteCache, packed, packed_leaf, statements};
use crate::row_key as key;
use kernel::apply::touched_by_calling_off;
use kernel::stored::Kind;
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer};
use runtime::ports::store::{StoreFault, erased_answer};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use values::bugs::{self, Bug};
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Keys from which on a look at their range is worth it.
const RANGE_FROM: usize = 4;

/// Entities and what was found of them: `None` where there is none.
pub(super) type Found = Vec<(Key, Option<Row>)>;

/// Finds where the ledger of a tenant ends.
pub(super) const GET_HEAD: &str = "SELECT number, size, last_instant FROM head WHERE tenant = ?1";

/// Where the ledger of a tenant ends; `None` if nothing was ever committed for it.
pub(super) fn head(connection: &Connection, tenant: &str) -> Result<Option<Head>, StoreFault> {
    let mut statement = connection.prepare_cached(GET_HEAD).map_err(fault)?;
    let found: Option<(i64, i64, Option<i64>)> =
        statement.query_row([tenant], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional().map_err(fault)?;
    let Some((number, size, last)) = found else { return Ok(None) };
    let number = u64::try_from(number).ok().and_then(Ledger::numbered);
    let ledger = number.ok_or_else(|| StoreFault::Corrupt("a tenant has a number that none can have".to_owned()))?;
    let size = u64::try_from(size).map_err(|_| StoreFault::Corrupt("the ledger has a negative size".to_owned()))?;
    let size = if bugs::on(Bug::IndexFromSequence) { next_of_sequence(size) } else { size };
    Ok(Some(Head { ledger, size, last: last.map(Instant::from_micros) }))
}

/// A number that changes when another connection has committed.
pub(super) fn data_version(connection: &Connection) -> Result<i64, StoreFault> {
    let mut statement = connection.prepare_cached("PRAGMA data_version").map_err(fault)?;
    statement.query_row([], |row| row.get(0)).map_err(fault)
}

/// The head of a tenant that has none yet.
pub(super) fn new_head(connection: &Connection) -> Result<Head, StoreFault> {
    const SQL: &str = "SELECT ifnull(max(number) + 1, 0) FROM head";
    let number: i64 = connection.query_row(SQL, [], |row| row.get(0)).map_err(fault)?;
    let ledger = u64::try_from(number).ok().and_then(Ledger::numbered);
    let ledger = ledger.ok_or_else(|| StoreFault::Refused("the file holds as many tenants as it can".to_owned()))?;
    Ok(Head { ledger, size: 0, last: None })
}

/// Never the same twice, whether or not the first was used.
fn next_of_sequence(size: u64) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.load(Ordering::SeqCst).max(size);
    NEXT.store(next + 1, Ordering::SeqCst);
    next
}

/// The rows of entities, `None` where there is none. With the intents that are due also what calling them off touches, and
/// their names.
pub(super) fn rows(
    connection: &Connection,
    mut keys: Vec<Key>,
    cache: &mut SqliteCache,
) -> Result<(Found, Option<Vec<String>>), StoreFault> {
    let mut rows = Vec::with_capacity(keys.len());
    // Under pressure every command asks for it.
    let range = keys.extract_if(.., |key| key.entity == Entity::DueIntents).last();
    load(connection, keys, cache, &mut rows)?;
    let Some(range) = range else { return Ok((rows, None)) };
    let (names, touched) = due_intents(connection, &range.tenant, &mut rows)?;
    load(connection, touched.into_iter().collect(), cache, &mut rows)?;
    Ok((rows, Some(names)))
}

fn load(
    connection: &Connection,
    mut keys: Vec<Key>,
    cache: &mut SqliteCache,
    rows: &mut Found,
) -> Result<(), StoreFault> {
    // By kind, so that each statement is fetched once for many rows.
    keys.sort_by_key(|key| key.entity.kind());
    let mut keys = keys.into_iter().peekable();
    while let Some(kind) = keys.peek().map(|key| key.entity.kind()) {
        let of_kind = std::iter::from_fn(|| keys.next_if(|key| key.entity.kind() == kind));
        if kind.is_shared() {
            remembered(connection, kind, of_kind, cache, rows)?;
        } else {
            searched(connection, kind, of_kind.collect(), rows)?;
        }
    }
    Ok(())
}

/// Rows that nearly every batch needs.
fn remembered(
    connection: &Connection,
    kind: Kind,
    keys: impl Iterator<Item = Key>,
    cache: &mut SqliteCache,
    rows: &mut Found,
) -> Result<(), StoreFault> {
    for key in keys {
        let row = match cache.get(&key) {
            Some(row) => row.clone(),
            None => {
                let mut statement = connection.prepare_cached(get(kind)).map_err(fault)?;
                let row = found(&mut statement, &key::encode(&key)?, &key.entity)?;
                cache.remember(&key, &row);
                row
            }
        };
        rows.push((key, row));
    }
    Ok(())
}

/// Rows of which there are many. New ones arrive in order of time behind all there are, so one look at the range from
/// the first to the last mostly shows that none of them exists.
fn searched(connection: &Connection, kind: Kind, keys: Vec<Key>, rows: &mut Found) -> Result<(), StoreFault> {
    let (mut bytes, mut places) = (Vec::with_capacity(keys.len() * 64), Vec::with_capacity(keys.len()));
    for key in keys {
        let start = bytes.len();
        key::encode_into(&key, &mut bytes)?;
        places.push((start..bytes.len(), key));
    }
    let at = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
    let encoded = || places.iter().map(|(range, _)| at(range));
    if let (Some(first), Some(last)) = (encoded().min(), encoded().max())
        && places.len() >= RANGE_FROM
        && !connection.prepare_cached(any(kind)).map_err(fault)?.exists((first, last)).map_err(fault)?
    {
        rows.extend(places.into_iter().map(|(_, key)| (key, None)));
        return Ok(());
    }
    // In the order of the table, so that each of its pages is visited once.
    let mut statement = connection.prepare_cached(get(kind)).map_err(fault)?;
    places.sort_by(|(one, _), (other, _)| at(one).cmp(at(other)));
    places.dedup_by(|(one, _), (other, _)| at(one) == at(other));
    for (range, key) in places {
        let row = found(&mut statement, at(&range), &key.entity)?;
        rows.push((key, row));
    }
    Ok(())
}

/// One entity.
pub(super) fn one(connection: &Connection, key: &Key) -> Result<Option<Row>, StoreFault> {
    if key.entity == Entity::DueIntents {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(get(key.entity.kind())).map_err(fault)?;
    found(&mut statement, &key::encode(key)?, &key.entity)
}

/// The statement that finds an entity of a kind; a range has no row of its own.
pub(super) fn get(kind: Kind) -> &'static str {
    statements::of(kind).map_or(STORED_ANSWER, |statements| statements.get)
}

/// The statement that finds any entity of a kind in a range.
fn any(kind: Kind) -> &'static str {
    statements::of(kind).map_or(ANY_ANSWER, |statements| statements.any)
}

/// What the statement of its kind finds of an entity.
fn found(statement: &mut CachedStatement<'_>, key: &[u8], entity: &Entity) -> Result<Option<Row>, StoreFault> {
    let mut rows = statement.query([key]).map_err(fault)?;
    let Some(row) = rows.next().map_err(fault)? else { return Ok(None) };
    let kind = entity.kind();
    if kind == Kind::Idempotency {
        return stored_answer(entity, row);
    }
    body(kind, row.get_ref(0).map_err(fault)?).map(Some)
}

/// Keys and rows that a statement over keys and bodies finds.
pub(super) fn many(
    statement: &mut CachedStatement<'_>,
    kind: Kind,
    params: impl Params,
) -> Result<Vec<(Key, Row)>, StoreFault> {
    let mut found = Vec::new();
    let mut rows = statement.query(params).map_err(fault)?;
    while let Some(row) = rows.next().map_err(fault)? {
        let bytes = row.get_ref(0).map_err(fault)?.as_blob().ok();
        let key = bytes.and_then(|bytes| key::decode(kind, bytes));
        let key = key.ok_or_else(|| StoreFault::Corrupt(format!("a key of kind {} cannot be read", kind.word())))?;
        found.push((key, body(kind, row.get_ref(1).map_err(fault)?)?));
    }
    Ok(found)
}

/// What is due of a kind up to an instant, soonest first.
pub(super) fn due(
    connection: &Connection,
    tenant: &str,
    kind: Kind,
    until: Instant,
    limit: usize,
) -> Result<Vec<(Key, Row)>, StoreFault> {
    let Some(sql) = statements::of(kind).and_then(|statements| statements.due) else { return Ok(Vec::new()) };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    many(&mut connection.prepare_cached(sql).map_err(fault)?, kind, (tenant, until.micros(), limit))
}

/// Loads the intents that are due soonest, and names what calling them off touches.
fn due_intents(
    connection: &Connection,
    tenant: &Arc<str>,
    rows: &mut Found,
) -> Result<(Vec<String>, KeySet), StoreFault> {
    let whenever = Instant::from_micros(i64::MAX);
    let due = due(connection, tenant, Kind::Intent, whenever, DUE_INTENTS_MAX)?;
    let names = due.iter().map(|(key, _)| key.entity.parts().0.to_owned()).collect();
    let mut touched = KeySet::new();
    for (key, row) in due {
        if let Row::Intent(row) = &row {
            touched.extend(touched_by_calling_off(tenant, row));
        }
        rows.push((key, Some(row)));
    }
    Ok((names, touched))
}

fn body(kind: Kind, value: ValueRef<'_>) -> Result<Row, StoreFault> {
    let row = value.as_str().ok().and_then(|text| Row::from_stored(kind, text));
    row.ok_or_else(|| StoreFault::Corrupt(format!("a row of kind {} cannot be read", kind.word())))
}

const ANY_ANSWER: &str = "SELECT 1 FROM idempotency WHERE key BETWEEN ?1 AND ?2 LIMIT 1";

/// The answer stands in the record that the row points at. Where it was erased, the leaf says when it was given, and the
/// tenant's row whether such keys are forgotten: keys begin with the tenant, which alone is the key of its row.
const STORED_ANSWER: &str = "SELECT i.fingerprint, l.idx, l.body, CASE WHEN l.body IS NULL THEN l.leaf END, \
                             CASE WHEN l.body IS NULL THEN (SELECT body FROM tenant t WHERE \
                             t.key = substr(i.key, 1, instr(i.key, x'00'))) END \
                             FROM idempotency i LEFT JOIN ledger l ON l.idx = i.idx WHERE i.key = ?1";

fn stored_answer(entity: &Entity, row: &rusqlite::Row<'_>) -> Result<Option<Row>, StoreFault> {
    let damaged = || StoreFault::Corrupt("a stored answer cannot be read".to_owned());
    let fingerprint: [u8; 32] = row.get(0).map_err(fault)?;
    let text = match (row.get_ref(1).map_err(fault)?, row.get_ref(2).map_err(fault)?) {
        (ValueRef::Integer(_), body @ (ValueRef::Text(_) | ValueRef::Blob(_))) => {
            packed::unpack(body).ok_or_else(damaged)?
        }
        (ValueRef::Integer(_), ValueRef::Null) => {
            let leaf = packed_leaf::unpack(row.get_ref(3).map_err(fault)?).ok_or_else(damaged)?;
            let found = row.get_ref(4).map_err(fault)?;
            let tenant = (found != ValueRef::Null).then(|| body(Kind::Tenant, found)).transpose()?;
            return erased_answer(entity, &leaf, tenant.as_ref().and_then(Row::as_tenant));
        }
        _ => return Err(damaged()),
    };
    let json = Json::parse_within(text.as_bytes(), &Bounds::OWN).ok();
    let stored = json.as_ref().and_then(|body| StoredAnswer::from_record(Digest::from_bytes(fingerprint), body));
    Ok(Some(Row::Idempotency(Box::new(stored.ok_or_else(damaged)?))))
}

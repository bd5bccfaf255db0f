//! From rows to a slice of the world. What cannot be read is damage, never absence.

use super::fault::fault;
use super::hot::HotRows;
use super::{Head, key, packed, statements};
use kernel::apply::touched_by_calling_off;
use kernel::bugs::{self, Bug};
use kernel::ids::Digest;
use kernel::json::{Bounds, Json};
use kernel::outcome::Answer;
use kernel::stored::Kind;
use kernel::time::Instant;
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer, World};
use runtime::ports::store::StoreFault;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Params};
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys from which on a look at their range is worth it.
const RANGE_FROM: usize = 4;

/// Finds where the ledger ends.
pub(super) const GET_HEAD: &str = "SELECT size, last_instant FROM head";

/// Where the ledger ends.
pub(super) fn head(connection: &Connection) -> Result<Head, StoreFault> {
    let mut statement = connection.prepare_cached(GET_HEAD).map_err(fault)?;
    let (size, last): (i64, Option<i64>) =
        statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(fault)?;
    let size = u64::try_from(size).map_err(|_| StoreFault::Corrupt("the ledger has a negative size".to_owned()))?;
    let size = if bugs::on(Bug::IndexFromSequence) { next_of_sequence(size) } else { size };
    Ok(Head { size, last: last.map(Instant::from_micros) })
}

/// Never the same twice, whether or not the first was used.
fn next_of_sequence(size: u64) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.load(Ordering::SeqCst).max(size);
    NEXT.store(next + 1, Ordering::SeqCst);
    next
}

/// The entities named, and with what is due also what calling it off touches.
pub(super) fn world(connection: &Connection, keys: &KeySet, hot: &mut HotRows) -> Result<World, StoreFault> {
    let mut rows = Vec::with_capacity(keys.len());
    load(connection, keys, hot, &mut |key, row| rows.push((key, row)))?;
    let mut world = World::load_in_order(rows.into_iter());
    let mut touched = KeySet::new();
    for key in keys.iter().filter(|key| key.entity == Entity::DueIntents) {
        touched.extend(due_intents(connection, key, &mut world)?);
    }
    let missing = world.missing(&touched);
    load(connection, &missing, hot, &mut |key, row| world.load(key, row))?;
    Ok(world)
}

fn load(
    connection: &Connection,
    keys: &KeySet,
    hot: &mut HotRows,
    put: &mut dyn FnMut(Key, Option<Row>),
) -> Result<(), StoreFault> {
    // Keys come sorted by kind, so that each statement is fetched once for many rows.
    let keys: Vec<&Key> = keys.iter().filter(|key| key.entity != Entity::DueIntents).collect();
    for run in keys.chunk_by(|one, next| one.entity.kind() == next.entity.kind() && one.tenant == next.tenant) {
        let Some(kind) = run.first().map(|key| key.entity.kind()) else { continue };
        if HotRows::is_for(kind) {
            remembered(connection, kind, run, hot, put)?;
        } else {
            searched(connection, kind, run, put)?;
        }
    }
    Ok(())
}

/// Rows that nearly every batch needs.
fn remembered(
    connection: &Connection,
    kind: Kind,
    keys: &[&Key],
    hot: &mut HotRows,
    put: &mut dyn FnMut(Key, Option<Row>),
) -> Result<(), StoreFault> {
    for key in keys {
        if let Some(row) = hot.get(key) {
            put((*key).clone(), row.clone());
            continue;
        }
        let row = found(&mut connection.prepare_cached(get(kind)).map_err(fault)?, &key::encode(key)?, kind)?;
        hot.remember(key, &row);
        put((*key).clone(), row);
    }
    Ok(())
}

/// Rows of which there are many. New ones arrive in order of time behind all there are, so one look at the range from
/// the first to the last of a run mostly shows that none of them exists.
fn searched(
    connection: &Connection,
    kind: Kind,
    keys: &[&Key],
    put: &mut dyn FnMut(Key, Option<Row>),
) -> Result<(), StoreFault> {
    let mut statement = connection.prepare_cached(get(kind)).map_err(fault)?;
    for run in keys.chunk_by(|one, next| is_beside(&one.entity, &next.entity)) {
        let encoded = run.iter().map(|key| key::encode(key)).collect::<Result<Vec<_>, _>>()?;
        // Bytes have an order of their own where some keys are UUIDs and some are not.
        let is_empty = match (encoded.iter().min(), encoded.iter().max()) {
            (Some(first), Some(last)) if run.len() >= RANGE_FROM => {
                let mut any = connection.prepare_cached(any(kind)).map_err(fault)?;
                !any.exists((first, last)).map_err(fault)?
            }
            _ => false,
        };
        for (key, bytes) in run.iter().zip(&encoded) {
            let row = if is_empty { None } else { found(&mut statement, bytes, kind)? };
            put((*key).clone(), row);
        }
    }
    Ok(())
}

/// Idempotency keys of all agents come in order of time; other names of one agent stand beside those of another.
fn is_beside(one: &Entity, next: &Entity) -> bool {
    if one.kind() == Kind::Idempotency {
        return true;
    }
    match (one.parts(), next.parts()) {
        ((agent, Some(_)), (other, Some(_))) => agent == other,
        ((_, None | Some(_)), (_, None | Some(_))) => true,
    }
}

/// One entity.
pub(super) fn one(connection: &Connection, key: &Key) -> Result<Option<Row>, StoreFault> {
    if key.entity == Entity::DueIntents {
        return Ok(None);
    }
    let kind = key.entity.kind();
    found(&mut connection.prepare_cached(get(kind)).map_err(fault)?, &key::encode(key)?, kind)
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
fn found(statement: &mut CachedStatement<'_>, key: &[u8], kind: Kind) -> Result<Option<Row>, StoreFault> {
    let mut rows = statement.query([key]).map_err(fault)?;
    let Some(row) = rows.next().map_err(fault)? else { return Ok(None) };
    if kind == Kind::Idempotency {
        return stored_answer(row).map(Some);
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
fn due_intents(connection: &Connection, range: &Key, world: &mut World) -> Result<KeySet, StoreFault> {
    let whenever = Instant::from_micros(i64::MAX);
    let due = due(connection, &range.tenant, Kind::Intent, whenever, DUE_INTENTS_MAX)?;
    let names = due.iter().map(|(key, _)| key.entity.parts().0.to_owned()).collect();
    let mut touched = KeySet::new();
    for (key, row) in due {
        if let Row::Intent(row) = &row {
            touched.extend(touched_by_calling_off(&range.tenant, row));
        }
        world.load(key, Some(row));
    }
    world.load(range.clone(), Some(Row::DueIntents(names)));
    Ok(touched)
}

fn body(kind: Kind, value: ValueRef<'_>) -> Result<Row, StoreFault> {
    let row = value.as_str().ok().and_then(|text| Row::from_stored(kind, text));
    row.ok_or_else(|| StoreFault::Corrupt(format!("a row of kind {} cannot be read", kind.word())))
}

const ANY_ANSWER: &str = "SELECT 1 FROM idempotency WHERE key BETWEEN ?1 AND ?2 LIMIT 1";

/// The answer stands in the record that the row points at.
const STORED_ANSWER: &str = "SELECT i.fingerprint, l.idx, l.body FROM idempotency i LEFT JOIN ledger l \
                             ON l.idx = i.idx WHERE i.key = ?1";

fn stored_answer(row: &rusqlite::Row<'_>) -> Result<Row, StoreFault> {
    let damaged = || StoreFault::Corrupt("a stored answer cannot be read".to_owned());
    let fingerprint: [u8; 32] = row.get(0).map_err(fault)?;
    let text = match (row.get_ref(1).map_err(fault)?, row.get_ref(2).map_err(fault)?) {
        (ValueRef::Integer(_), body @ (ValueRef::Text(_) | ValueRef::Blob(_))) => {
            packed::unpack(body).ok_or_else(damaged)?
        }
        // Erased on purpose: whoever asks again can have no answer, everyone else can.
        (ValueRef::Integer(_), ValueRef::Null) => {
            return Err(StoreFault::Refused("the answer to this idempotency key was erased".to_owned()));
        }
        _ => return Err(damaged()),
    };
    let json = Json::parse_within(text.as_bytes(), &Bounds::OWN).ok();
    let answer = json.as_ref().and_then(Answer::from_record).ok_or_else(damaged)?;
    Ok(Row::Idempotency(Box::new(StoredAnswer { fingerprint: Digest::from_bytes(fingerprint), answer })))
}

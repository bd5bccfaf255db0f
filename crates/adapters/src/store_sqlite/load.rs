//! From rows to a slice of the world. What cannot be read is damage, never absence.

use super::fault::fault;
use super::hot::HotRows;
use super::{Head, key, statements};
use kernel::apply::touched_by_calling_off;
use kernel::ids::Digest;
use kernel::json::{Bounds, Json};
use kernel::outcome::Answer;
use kernel::stored::Kind;
use kernel::time::Instant;
use kernel::world::{DUE_INTENTS_MAX, Entity, Key, KeySet, Row, StoredAnswer, World};
use runtime::ports::store::StoreFault;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Params};

/// Where the ledger ends.
pub(super) fn head(connection: &Connection) -> Result<Head, StoreFault> {
    let mut statement = connection.prepare_cached("SELECT size, last_instant FROM head").map_err(fault)?;
    let (size, last): (i64, Option<i64>) =
        statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(fault)?;
    let size = u64::try_from(size).map_err(|_| StoreFault::Corrupt("the ledger has a negative size".to_owned()))?;
    Ok(Head { size, last: last.map(Instant::from_micros) })
}

/// The entities named, and with what is due also what calling it off touches.
pub(super) fn world(connection: &Connection, keys: &KeySet, hot: &mut HotRows) -> Result<World, StoreFault> {
    let mut world = World::slice();
    let mut touched = KeySet::new();
    for key in keys.iter().filter(|key| key.entity == Entity::DueIntents) {
        touched.extend(due_intents(connection, key, &mut world)?);
    }
    load(connection, keys, hot, &mut world)?;
    let missing = world.missing(&touched);
    load(connection, &missing, hot, &mut world)?;
    Ok(world)
}

fn load(connection: &Connection, keys: &KeySet, hot: &mut HotRows, world: &mut World) -> Result<(), StoreFault> {
    // Keys come sorted by kind, so that each statement is fetched once for many rows.
    let mut fetched: Option<(Kind, CachedStatement<'_>)> = None;
    for key in keys.iter().filter(|key| key.entity != Entity::DueIntents) {
        if let Some(remembered) = hot.get(key) {
            world.load(key.clone(), remembered.clone());
            continue;
        }
        let kind = key.entity.kind();
        let mut statement = match fetched.take() {
            Some((of, statement)) if of == kind => statement,
            Some(_) | None => connection.prepare_cached(get(kind)).map_err(fault)?,
        };
        let row = found(&mut statement, key)?;
        fetched = Some((kind, statement));
        hot.remember(key, &row);
        world.load(key.clone(), row);
    }
    Ok(())
}

/// One entity.
pub(super) fn one(connection: &Connection, key: &Key) -> Result<Option<Row>, StoreFault> {
    if key.entity == Entity::DueIntents {
        return Ok(None);
    }
    found(&mut connection.prepare_cached(get(key.entity.kind())).map_err(fault)?, key)
}

/// The statement that finds an entity of a kind; a range has no row of its own.
fn get(kind: Kind) -> &'static str {
    statements::of(kind).map_or(STORED_ANSWER, |statements| statements.get)
}

/// What the statement of its kind finds of an entity.
fn found(statement: &mut CachedStatement<'_>, key: &Key) -> Result<Option<Row>, StoreFault> {
    let kind = key.entity.kind();
    let mut rows = statement.query([key::encode(key)?]).map_err(fault)?;
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

/// The answer stands in the record that the row points at.
const STORED_ANSWER: &str = "SELECT i.fingerprint, l.idx, l.body FROM idempotency i LEFT JOIN ledger l \
                             ON l.idx = i.idx WHERE i.key = ?1";

fn stored_answer(row: &rusqlite::Row<'_>) -> Result<Row, StoreFault> {
    let damaged = || StoreFault::Corrupt("a stored answer cannot be read".to_owned());
    let fingerprint: [u8; 32] = row.get(0).map_err(fault)?;
    let text = match (row.get_ref(1).map_err(fault)?, row.get_ref(2).map_err(fault)?) {
        (ValueRef::Integer(_), ValueRef::Text(text)) => text,
        // Erased on purpose: whoever asks again can have no answer, everyone else can.
        (ValueRef::Integer(_), ValueRef::Null) => {
            return Err(StoreFault::Refused("the answer to this idempotency key was erased".to_owned()));
        }
        _ => return Err(damaged()),
    };
    let json = Json::parse_within(text, &Bounds::FILE).ok();
    let answer = json.as_ref().and_then(Answer::from_record).ok_or_else(damaged)?;
    Ok(Row::Idempotency(Box::new(StoredAnswer { fingerprint: Digest::from_bytes(fingerprint), answer })))
}

//! The statements of an ordinary decision, prepared before there is one: a process that decides once can do it while it
//! does something else.

use super::fault::fault;
use super::{load, packed_records, save, statements};
use kernel::stored::Kind;
use runtime::ports::store::StoreFault;
use rusqlite::Connection;

/// What a proposal looks at.
const LOOKED_AT: [Kind; 7] =
    [Kind::Tenant, Kind::Agent, Kind::Idempotency, Kind::Flow, Kind::Effect, Kind::Budget, Kind::State];

/// What an acceptance changes.
const CHANGED: [Kind; 3] = [Kind::Flow, Kind::Intent, Kind::Effect];

/// Prepares them.
pub(super) fn prepare(connection: &Connection) -> Result<(), StoreFault> {
    let rows = CHANGED.into_iter().filter_map(statements::of).map(|statements| statements.put);
    let ledger = [load::GET_HEAD, save::PUT_ANSWER, packed_records::APPEND, save::PUT_HEAD, save::PUT_WRITER];
    for sql in LOOKED_AT.into_iter().map(load::get).chain(rows).chain(ledger) {
        // Back into the cache of the connection at once.
        connection.prepare_cached(sql).map_err(fault)?;
    }
    Ok(())
}

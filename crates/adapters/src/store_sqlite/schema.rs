//! Tables, and how a file of an older version becomes one of this version.

use super::fault::fault;
use super::load;
use super::place::Head;
use crate::store_copy::unfinished;
use runtime::crash::around;
use runtime::ports::store::StoreFault;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

/// The schema before the first step: what lies below was never released.
const BEFORE: usize = 2;

/// Version n of the schema is reached from n - 1 by the step at n - 1 - [`BEFORE`]. A released step never changes.
const STEPS: &[&str] = &[FIRST, MONITORS, QUESTIONS];

/// The version of this program.
const VERSION: usize = BEFORE + STEPS.len();

/// Narrow tables are kept in their index alone; wide rows would make that index deep. `REPLACE` deletes without asking
/// the trigger for deletions, so a record that is there is also defended against being inserted again.
const FIRST: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta(name, value) VALUES('schema', 0), ('fence', NULL);

CREATE TABLE ledger(idx INTEGER PRIMARY KEY, leaf TEXT NOT NULL, salt BLOB, body BLOB);
CREATE TABLE head(number INTEGER PRIMARY KEY, tenant TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, last_instant INTEGER);
CREATE TABLE writer(
    number INTEGER NOT NULL, process BLOB NOT NULL, batch BLOB NOT NULL, first_idx INTEGER NOT NULL,
    PRIMARY KEY (number, process)
) WITHOUT ROWID;

CREATE TABLE tenant(key BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE idempotency(key BLOB PRIMARY KEY, fingerprint BLOB NOT NULL, idx INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE agent(key BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL);
CREATE TABLE contract(key BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL);
CREATE TABLE flow(key BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE escalation(
    key BLOB PRIMARY KEY NOT NULL, tenant TEXT NOT NULL, due INTEGER, idx INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE TABLE intent(
    key BLOB PRIMARY KEY, tenant TEXT NOT NULL, due INTEGER, idx INTEGER NOT NULL, body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE asked(key BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE effect(key BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE resource(key BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE budget(key BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL);
CREATE TABLE state(key BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL);
CREATE TABLE session(key BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL);
CREATE TABLE snapshot(key BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL);

CREATE INDEX escalation_due ON escalation(tenant, due, key) WHERE due IS NOT NULL;
CREATE INDEX intent_due ON intent(tenant, due, key) WHERE due IS NOT NULL;

CREATE TRIGGER ledger_is_never_deleted BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_never_replaced BEFORE INSERT ON ledger
WHEN EXISTS (SELECT 1 FROM ledger WHERE idx = NEW.idx)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_leaves_never_change BEFORE UPDATE OF idx, leaf ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_bodies_are_only_erased BEFORE UPDATE OF body, salt ON ledger
WHEN NEW.body IS NOT NULL OR NEW.salt IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a record can only be erased'); END;
";

/// Monitors came after release 0.2.0.
const MONITORS: &str = "
CREATE TABLE monitor(key BLOB PRIMARY KEY NOT NULL, body TEXT NOT NULL);
";

/// Questions are listed by urgency and by agent. Both stand in the row for good, so the index is over its text.
const QUESTIONS: &str = "
CREATE INDEX escalation_open ON escalation(tenant, body ->> '$.impact', body ->> '$.asked_at', key) WHERE due IS NOT NULL;
CREATE INDEX escalation_agent ON escalation(tenant, body ->> '$.agent', key);
CREATE INDEX escalation_agent_due ON escalation(tenant, body ->> '$.agent', due, key) WHERE due IS NOT NULL;
";

/// Brings the file to this version in one transaction, and checks that the ledger of a tenant is whole; that of one which
/// is being filled (`None`) cannot be yet.
pub(super) fn migrate(connection: &mut Connection, tenant: Option<&str>) -> Result<(), StoreFault> {
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate).map_err(fault)?;
    let found = known_version(&transaction)?;
    let steps = STEPS.get(found.saturating_sub(BEFORE)..).unwrap_or_default();
    if steps.is_empty() {
        tenant.map_or(Ok(()), |tenant| is_whole(&transaction, tenant))?;
        // Most openings change nothing, and a commit would cost a sync.
        return transaction.rollback().map_err(fault);
    }
    for step in steps {
        transaction.execute_batch(step).map_err(fault)?;
    }
    let version = i64::try_from(VERSION).unwrap_or(i64::MAX);
    transaction.execute("UPDATE meta SET value = ?1 WHERE name = 'schema'", [version]).map_err(fault)?;
    tenant.map_or(Ok(()), |tenant| is_whole(&transaction, tenant))?;
    around("store.migrate", || transaction.commit()).map_err(fault)
}

/// Whether the file is of this version already; one that this program cannot use is refused.
pub(super) fn is_current(connection: &Connection, tenant: &str) -> Result<bool, StoreFault> {
    if known_version(connection)? < VERSION {
        return Ok(false);
    }
    // In one transaction: between two reads of their own another process may commit.
    let snapshot = connection.unchecked_transaction().map_err(fault)?;
    is_whole(&snapshot, tenant)?;
    Ok(true)
}

/// The version of a file that this program can use, 0 for one that is empty; every other file is refused.
pub(super) fn known_version(connection: &Connection) -> Result<usize, StoreFault> {
    let found = version(connection)?;
    if found > VERSION {
        return Err(StoreFault::Refused(format!(
            "the file was written by a newer version (schema {found}, this program knows {VERSION}); update this program"
        )));
    }
    if found > 0 && found <= BEFORE {
        return Err(StoreFault::Refused(format!(
            "the file was written by a version before 0.2 (schema {found}), which was never released and is not read any \
             more; keep it with the program that wrote it, and start a new store"
        )));
    }
    Ok(found)
}

fn version(connection: &Connection) -> Result<usize, StoreFault> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(fault);
    if count("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(0);
    }
    let foreign = || StoreFault::Refused("the file is a database of some other program".to_owned());
    if count("SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'ledger', 'head') AND type = 'table'")? != 3 {
        return Err(foreign());
    }
    let value: Option<i64> = connection
        .query_row("SELECT value FROM meta WHERE name = 'schema'", [], |row| row.get(0))
        .optional()
        .map_err(fault)?;
    value.and_then(|value| usize::try_from(value).ok()).filter(|value| *value > 0).ok_or_else(foreign)
}

/// The head must say what the ledger holds, or a record would be written over another or leave a gap.
fn is_whole(connection: &Connection, tenant: &str) -> Result<(), StoreFault> {
    const LAST: &str = "SELECT max(idx) FROM ledger WHERE idx >= ?1 AND idx < ?2";
    let Some(Head { ledger, size, .. }) = load::head(connection, tenant)? else { return Ok(()) };
    let last: Option<i64> = connection.query_row(LAST, ledger.places(), |row| row.get(0)).map_err(fault)?;
    let behind = last.map_or(0, |last| ledger.index(last) + 1);
    if size == behind {
        return Ok(());
    }
    if size == 0 {
        return Err(unfinished(behind));
    }
    Err(StoreFault::Corrupt(format!("the ledger ends at {behind} and its head says {size}")))
}

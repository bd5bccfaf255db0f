//! Tables, and how a file of an older version becomes one of this version.

use super::fault::fault;
use runtime::crash::around;
use runtime::ports::store::StoreFault;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

/// The schema of the first release, 0.2.0. Programs that wrote lower numbers were never released.
const FIRST_RELEASED: usize = 3;

/// The first step makes a new file, each further one the next version. A released step never changes.
const STEPS: &[&str] = &[FIRST];

/// The schema this program writes.
const KNOWN: usize = FIRST_RELEASED + STEPS.len() - 1;

/// Narrow tables are kept in their index alone; wide rows would make that index deep. `REPLACE` deletes without asking
/// the trigger for deletions, so a record that is there is also defended against being inserted again.
const FIRST: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta(name, value) VALUES('schema', 0), ('fence', NULL);

CREATE TABLE ledger(idx INTEGER PRIMARY KEY, leaf TEXT NOT NULL, salt BLOB, body BLOB);
CREATE TABLE head(one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL, last_instant INTEGER);
INSERT INTO head(one, size, last_instant) VALUES(1, 0, NULL);
CREATE TABLE writer(process BLOB PRIMARY KEY, batch BLOB NOT NULL, first_idx INTEGER NOT NULL) WITHOUT ROWID;

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

/// Brings the file to this version in one transaction, and checks that it is whole.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreFault> {
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate).map_err(fault)?;
    let found = version(&transaction)?;
    let done = if found == 0 { 0 } else { found.saturating_sub(FIRST_RELEASED) + 1 };
    let Some(steps) = STEPS.get(done..) else {
        return Err(newer(found));
    };
    if steps.is_empty() {
        is_whole(&transaction)?;
        // Most openings change nothing, and a commit would cost a sync.
        return transaction.rollback().map_err(fault);
    }
    for step in steps {
        transaction.execute_batch(step).map_err(fault)?;
    }
    let known = i64::try_from(KNOWN).unwrap_or(i64::MAX);
    transaction.execute("UPDATE meta SET value = ?1 WHERE name = 'schema'", [known]).map_err(fault)?;
    is_whole(&transaction)?;
    around("store.migrate", || transaction.commit()).map_err(fault)
}

/// Whether the file is of this version already; one of a newer version is refused.
pub(super) fn is_current(connection: &Connection) -> Result<bool, StoreFault> {
    let found = version(connection)?;
    if found > KNOWN {
        return Err(newer(found));
    }
    if found < KNOWN {
        return Ok(false);
    }
    is_whole(connection)?;
    Ok(true)
}

fn newer(found: usize) -> StoreFault {
    StoreFault::Refused(format!(
        "the file was written by a newer version (schema {found}, this program knows {KNOWN}); update this program"
    ))
}

fn unreleased(found: usize) -> StoreFault {
    StoreFault::Refused(format!(
        "the file was written by 0.1, which was never released (schema {found}); keep it for what it tells, and start \
         another one"
    ))
}

fn version(transaction: &Connection) -> Result<usize, StoreFault> {
    let count = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(fault);
    if count("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(0);
    }
    let foreign = || StoreFault::Refused("the file is a database of some other program".to_owned());
    if count("SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'ledger', 'head') AND type = 'table'")? != 3 {
        return Err(foreign());
    }
    let value: Option<i64> = transaction
        .query_row("SELECT value FROM meta WHERE name = 'schema'", [], |row| row.get(0))
        .optional()
        .map_err(fault)?;
    let value = value.and_then(|value| usize::try_from(value).ok()).filter(|value| *value > 0);
    match value.ok_or_else(foreign)? {
        found @ ..FIRST_RELEASED => Err(unreleased(found)),
        found => Ok(found),
    }
}

/// The head must say what the ledger holds, or a record would be written over another or leave a gap.
fn is_whole(transaction: &Connection) -> Result<(), StoreFault> {
    let (size, behind): (i64, i64) = transaction
        .query_row("SELECT size, (SELECT ifnull(max(idx) + 1, 0) FROM ledger) FROM head", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(fault)?;
    if size == behind {
        return Ok(());
    }
    Err(StoreFault::Corrupt(format!("the ledger ends at {behind} and its head says {size}")))
}

//! Tables, and how a database of an older version becomes one of this version.

use super::connection::Connection;
use super::fault::{Problem, fault};
use crate::store_copy::unfinished;
use runtime::crash::{around, versions_known};
use runtime::ports::store::StoreFault;
use std::time::{Duration, Instant};

/// Version n of the schema is reached from n - 1 by the step at n - 1. A released step never changes.
const STEPS: &[&str] = &[FIRST, MACHINES, QUESTIONS];

/// The steps that this program knows.
fn steps() -> &'static [&'static str] {
    STEPS.get(..versions_known(STEPS.len())).unwrap_or(STEPS)
}

/// Two processes that make the tables at once would trip over each other; the lock ends with the transaction.
const ONE_AT_A_TIME: &str = "SELECT pg_advisory_xact_lock(8606218390571083124)";

/// What the role or the database bounds is meant for questions, and not for making tables or for waiting until another
/// process has made them.
const UNBOUND: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
                       SET LOCAL idle_in_transaction_session_timeout = 0";

/// Everything stands in a schema of its own, so that it may share a database with other programs. Heads and writers change
/// with every batch: their pages have room for it.
const FIRST: &str = r#"
CREATE SCHEMA IF NOT EXISTS writkeeper;
CREATE TABLE writkeeper.meta(name text PRIMARY KEY, value text NOT NULL);
INSERT INTO writkeeper.meta(name, value) VALUES('schema', '0');

CREATE TABLE writkeeper.head(
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text COLLATE "C" NOT NULL UNIQUE,
    size bigint NOT NULL DEFAULT 0, last_instant bigint, batch bytea
) WITH (fillfactor = 20);
CREATE TABLE writkeeper.writer(
    number integer NOT NULL, process bytea NOT NULL, batch bytea NOT NULL, first_idx bigint NOT NULL,
    PRIMARY KEY (number, process)
) WITH (fillfactor = 20);
CREATE TABLE writkeeper.ledger(
    number integer NOT NULL, idx bigint NOT NULL, leaf text NOT NULL, salt bytea, body text,
    PRIMARY KEY (number, idx)
);
CREATE TABLE writkeeper.entity(
    number integer NOT NULL, kind text COLLATE "C" NOT NULL, name bytea NOT NULL, due bigint, idx bigint NOT NULL,
    body text NOT NULL, PRIMARY KEY (number, kind, name)
) WITH (fillfactor = 85);
CREATE TABLE writkeeper.idempotency(
    number integer NOT NULL, name bytea NOT NULL, fingerprint bytea NOT NULL, idx bigint NOT NULL,
    PRIMARY KEY (number, name)
);
CREATE INDEX entity_due ON writkeeper.entity(number, kind, due, name) WHERE due IS NOT NULL;

CREATE FUNCTION writkeeper.ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.number = OLD.number AND NEW.idx = OLD.idx AND NEW.leaf = OLD.leaf
        AND NEW.body IS NULL AND NEW.salt IS NULL THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the ledger is append-only';
END $$;
CREATE TRIGGER ledger_rows_stay BEFORE UPDATE OR DELETE ON writkeeper.ledger
    FOR EACH ROW EXECUTE FUNCTION writkeeper.ledger_is_append_only();
CREATE TRIGGER ledger_stays BEFORE TRUNCATE ON writkeeper.ledger
    FOR EACH STATEMENT EXECUTE FUNCTION writkeeper.ledger_is_append_only();
"#;

/// Who signs for a tenant, and the last checkpoint that was kept under its epoch. And a view in the columns that the outbox
/// routers of message brokers know; what happened in one flow has one key there.
const MACHINES: &str = r#"
CREATE TABLE writkeeper.sealer(
    number integer PRIMARY KEY, owner text NOT NULL, epoch bigint NOT NULL, until timestamptz NOT NULL,
    entries bigint, note text
) WITH (fillfactor = 20);
CREATE VIEW writkeeper.outbox AS
    SELECT h.tenant || '/' || l.idx AS id, 'writkeeper' AS aggregatetype,
        coalesce(l.body::json ->> 'flow', h.tenant) AS aggregateid, l.body::json ->> 'kind' AS type,
        l.body AS payload, h.tenant, l.idx
    FROM writkeeper.ledger l JOIN writkeeper.head h ON h.number = l.number WHERE l.body IS NOT NULL;
"#;

/// Questions are listed by urgency and by agent. Both stand in the row for good: an index over columns that no change of a
/// body touches leaves changes of all other rows as cheap as they were, which one over the body would not.
const QUESTIONS: &str = r#"
ALTER TABLE writkeeper.entity
    ADD COLUMN asker text COLLATE "C" GENERATED ALWAYS AS
        (CASE WHEN kind = 'escalation' THEN body::json ->> 'agent' END) STORED,
    ADD COLUMN impact text COLLATE "C" GENERATED ALWAYS AS
        (CASE WHEN kind = 'escalation' THEN body::json ->> 'impact' END) STORED,
    ADD COLUMN asked bigint GENERATED ALWAYS AS
        (CASE WHEN kind = 'escalation' THEN (body::json ->> 'asked_at')::bigint END) STORED;
CREATE INDEX entity_open ON writkeeper.entity(number, impact, asked, name) WHERE asked IS NOT NULL AND due IS NOT NULL;
CREATE INDEX entity_asker ON writkeeper.entity(number, asker, name) WHERE asker IS NOT NULL;
CREATE INDEX entity_asker_due ON writkeeper.entity(number, asker, due, name) WHERE asker IS NOT NULL AND due IS NOT NULL;
"#;

/// How long making the tables anew may take, or waiting until another process has made them: a table of many millions of
/// rows takes its time, and whoever gave up would begin from nothing the next time. That the server's machine is gone is
/// noticed all the same.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the tables are asked for at a time. Whoever stands in line for a whole table holds up everybody behind: other
/// processes would decide nothing for as long as somebody else reads it, a backup for example.
const TABLES_LINE: &str = "SET LOCAL lock_timeout = '2s'";

/// So long decisions of other processes go before the next attempt.
const TABLES_PAUSE: Duration = Duration::from_secs(1);

/// How long the tables are tried to get.
const TABLES_WAIT: Duration = Duration::from_secs(15 * 60);

const LOCK_TABLES: &str = "LOCK TABLE writkeeper.entity IN ACCESS EXCLUSIVE MODE";

/// Brings the database to this version in one transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreFault> {
    if known_version(connection)? == steps().len() {
        return Ok(());
    }
    let patience = connection.wait_for(MIGRATION_PATIENCE).map_err(fault)?;
    let migrated = migrate_alone(connection);
    if migrated.is_err() {
        connection.roll_back();
    }
    migrated?;
    connection.wait_for(patience).map_err(fault)?;
    Ok(())
}

fn migrate_alone(connection: &mut Connection) -> Result<(), StoreFault> {
    connection.run("BEGIN").map_err(fault)?;
    connection.run(UNBOUND).map_err(fault)?;
    connection.query(ONE_AT_A_TIME, &[]).map_err(fault)?;
    let found = known_version(connection)?;
    if (1..steps().len()).contains(&found) {
        lock_tables(connection)?;
    }
    for step in steps().get(found..).unwrap_or_default() {
        connection.run(step).map_err(fault)?;
    }
    let version = steps().len();
    let put = format!("UPDATE writkeeper.meta SET value = '{version}' WHERE name = 'schema'");
    connection.run(&put).map_err(fault)?;
    around("store.migrate", || connection.run("COMMIT")).map_err(fault)
}

/// Takes the tables for itself as soon as nobody reads them.
fn lock_tables(connection: &mut Connection) -> Result<(), StoreFault> {
    let end = Instant::now() + TABLES_WAIT;
    connection.run(TABLES_LINE).map_err(fault)?;
    connection.run("SAVEPOINT untaken").map_err(fault)?;
    loop {
        match connection.run(LOCK_TABLES) {
            Ok(()) => break,
            Err(Problem::Said(said)) if said.is_lock_wait() && Instant::now() < end => {
                connection.run("ROLLBACK TO SAVEPOINT untaken").map_err(fault)?;
                std::thread::sleep(TABLES_PAUSE);
            }
            Err(Problem::Said(said)) if said.is_lock_wait() => {
                return Err(StoreFault::Unavailable(format!(
                    "the tables have to be made anew and somebody has read them for {} min; try again when that is over",
                    TABLES_WAIT.as_secs() / 60
                )));
            }
            Err(problem) => return Err(fault(problem)),
        }
    }
    connection.run(UNBOUND).map_err(fault)
}

/// Whether there are tables of this version; one that this program cannot use is refused.
pub(super) fn is_current(connection: &mut Connection) -> Result<bool, StoreFault> {
    Ok(known_version(connection)? == steps().len())
}

/// Whether there are tables of ours, of any version.
pub(super) fn is_there(connection: &mut Connection) -> Result<bool, StoreFault> {
    Ok(version(connection).map_err(fault)? > 0)
}

/// The version of a database that this program can use, 0 for one without tables of ours; every other one is refused.
fn known_version(connection: &mut Connection) -> Result<usize, StoreFault> {
    let found = version(connection).map_err(fault)?;
    let known = steps().len();
    if found > known {
        return Err(StoreFault::Refused(format!(
            "the database was written by a newer version (schema {found}, this program knows {known}); update this program"
        )));
    }
    Ok(found)
}

fn version(connection: &mut Connection) -> Result<usize, Problem> {
    // By the catalogue's tables: a name that was looked up before may be remembered as missing, also behind the lock.
    const THERE: &str = "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                         WHERE n.nspname = 'writkeeper' AND c.relname = 'meta'";
    let there = connection.query(THERE, &[])?;
    if there.is_empty() {
        return Ok(0);
    }
    let found = connection.query("SELECT value FROM writkeeper.meta WHERE name = 'schema'", &[])?;
    let unread = || Problem::Unreadable("the version of the tables cannot be read".to_owned());
    found.first().ok_or_else(unread)?.text(0)?.parse().map_err(|_| unread())
}

/// The head must say what the ledger holds, or a record would leave a gap.
pub(super) fn demand_whole(connection: &mut Connection, tenant: &str) -> Result<(), StoreFault> {
    const SQL: &str = "SELECT h.size, (SELECT max(idx) + 1 FROM writkeeper.ledger l WHERE l.number = h.number) \
                       FROM writkeeper.head h WHERE h.tenant = $1::text";
    let found = connection.query(SQL, &[super::value::Value::Text(tenant)]).map_err(fault)?;
    let Some(found) = found.first() else { return Ok(()) };
    let (size, behind) = (found.integer(0).map_err(fault)?, found.optional(1).map_err(fault)?.unwrap_or(0));
    if size == behind {
        return Ok(());
    }
    if size == 0 {
        return Err(unfinished(u64::try_from(behind).unwrap_or_default()));
    }
    Err(StoreFault::Corrupt(format!("the ledger ends at {behind} and its head says {size}")))
}

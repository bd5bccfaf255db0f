//! The file itself under someone's hands.

use super::{CONTRACT, PROCESSES, demand};
use crate::crew::Crew;
use crate::ledger::Ledger;
use crate::site::Site;
use rusqlite::Connection;

/// What someone with a shell may try.
const ATTEMPTS: &[&str] = &[
    "DELETE FROM ledger",
    "DELETE FROM ledger WHERE idx = (SELECT max(idx) FROM ledger)",
    "UPDATE ledger SET leaf = 'x' WHERE idx = 0",
    "UPDATE ledger SET body = '{}' WHERE idx = 0",
    "UPDATE ledger SET salt = zeroblob(16) WHERE idx = 0",
    "UPDATE ledger SET idx = idx + 1000",
    "UPDATE OR REPLACE ledger SET idx = 1 WHERE idx = 0",
    "REPLACE INTO ledger(idx, leaf, salt, body) VALUES(0, 'x', zeroblob(16), '{}')",
    "INSERT INTO ledger(idx, leaf) VALUES(0, 'x') ON CONFLICT(idx) DO UPDATE SET leaf = excluded.leaf",
];

/// Tries everything, and deletes every row that is not the ledger.
fn attack(without_triggers: bool) -> Result<(), String> {
    let site = Site::with(CONTRACT);
    Crew::run("one_key", &site, PROCESSES, None, "");
    let before = Ledger::of(site.reader().as_mut())?;
    let connection = Connection::open(site.file()).unwrap();
    if without_triggers {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'trigger'";
        let mut statement = connection.prepare(sql).unwrap();
        let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        for name in names {
            connection.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
        }
    }
    let succeeded: Vec<_> = ATTEMPTS.iter().filter(|sql| connection.execute(sql, []).is_ok()).collect();
    demand(succeeded.is_empty(), || format!("not refused: {succeeded:?}"))?;
    connection
        .execute_batch("PRAGMA foreign_keys = ON; DELETE FROM flow; DELETE FROM agent; DELETE FROM intent;")
        .unwrap();
    let after = Ledger::of(site.reader().as_mut())?;
    demand(after.records == before.records, || "the ledger changed".to_owned())
}

#[test]
fn w16_the_ledger_is_append_only_and_nothing_cascades_into_it() {
    assert_eq!(attack(false), Ok(()));
    assert!(attack(true).is_err(), "the triggers are gone and nobody noticed");
}

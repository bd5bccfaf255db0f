//! Rows of a replay that do not fit into memory: the latest stay there, the rest goes to a file nobody else sees.

use kernel::intent::IntentRow;
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::ports::store::StoreFault;
use runtime::replay::rows::{Rows, stored_answer};
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;
use values::ids::Digest;
use values::time::Instant;

use crate::store_sqlite::fault;

/// Rows held in memory before they are written out; at about a kilobyte each this is some 60 MB.
const HELD_MAX: usize = 65_536;

/// Rows that spill over into a temporary file, which the system removes with the process.
pub struct SpilledRows {
    held: BTreeMap<Key, Row>,
    most: usize,
    file: Option<Connection>,
}

impl Default for SpilledRows {
    fn default() -> SpilledRows {
        SpilledRows::holding(HELD_MAX)
    }
}

impl SpilledRows {
    /// Holds so many rows in memory.
    pub fn holding(most: usize) -> SpilledRows {
        SpilledRows { held: BTreeMap::new(), most, file: None }
    }

    fn spill(&mut self) -> Result<(), StoreFault> {
        let file = match self.file.take() {
            Some(file) => file,
            None => opened()?,
        };
        file.execute_batch("BEGIN").map_err(fault)?;
        {
            const SQL: &str = "INSERT INTO rows(key, kind, name, body) VALUES(?1, ?2, ?3, ?4) \
                               ON CONFLICT(key) DO UPDATE SET body = excluded.body";
            let mut statement = file.prepare_cached(SQL).map_err(fault)?;
            for (key, row) in std::mem::take(&mut self.held) {
                let (kind, name) = (key.entity.kind().word(), key.entity.parts().0);
                statement.execute((key_text(&key), kind, name, spilled(&row))).map_err(fault)?;
            }
        }
        file.execute_batch("COMMIT").map_err(fault)?;
        self.file = Some(file);
        Ok(())
    }
}

impl Rows for SpilledRows {
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        if let Some(row) = self.held.get(key) {
            return Ok(Some(row.clone()));
        }
        let Some(file) = &self.file else { return Ok(None) };
        let mut statement = file.prepare_cached("SELECT body FROM rows WHERE key = ?1").map_err(fault)?;
        let body: Option<String> = statement.query_row([key_text(key)], |row| row.get(0)).optional().map_err(fault)?;
        let Some(body) = body else { return Ok(None) };
        let kind = key.entity.kind();
        let row = if kind == Kind::Idempotency { answered(&body) } else { Row::from_stored(kind, &body) };
        row.map(Some)
            .ok_or_else(|| StoreFault::Corrupt(format!("a spilled row of kind {} cannot be read", kind.word())))
    }

    fn put(&mut self, key: Key, row: Row) -> Result<(), StoreFault> {
        self.held.insert(key, row);
        if self.held.len() > self.most { self.spill() } else { Ok(()) }
    }

    fn intents(&mut self, show: &mut dyn FnMut(&str, &IntentRow)) -> Result<(), StoreFault> {
        if self.file.is_some() {
            self.spill()?;
        }
        for (key, row) in &self.held {
            if let Row::Intent(intent) = row {
                show(key.entity.parts().0, intent);
            }
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut statement = file.prepare_cached("SELECT name, body FROM rows WHERE kind = 'intent'").map_err(fault)?;
        let mut rows = statement.query([]).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            let (name, body): (String, String) = (row.get(0).map_err(fault)?, row.get(1).map_err(fault)?);
            if let Some(Row::Intent(intent)) = Row::from_stored(Kind::Intent, &body) {
                show(&name, &intent);
            }
        }
        Ok(())
    }
}

/// What the file keeps of a row: of a stored answer what a replay looks at, of others what a store keeps.
fn spilled(row: &Row) -> String {
    match row.as_stored_answer() {
        Some(stored) => format!("{} {}", stored.fingerprint, stored.at.micros()),
        None => row.to_stored(),
    }
}

fn answered(body: &str) -> Option<Row> {
    let (fingerprint, at) = body.split_once(' ')?;
    Some(stored_answer(Digest::parse(fingerprint)?, Instant::from_micros(at.parse().ok()?)))
}

/// An empty name is a database that SQLite keeps in a file of its own and removes.
fn opened() -> Result<Connection, StoreFault> {
    let file = Connection::open("").map_err(fault)?;
    file.execute_batch(
        "PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         PRAGMA cache_size = -32768;
         PRAGMA temp_store = FILE;
         CREATE TABLE rows(key BLOB PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;",
    )
    .map_err(fault)?;
    Ok(file)
}

/// Kind first: rows of one kind lie together. U+0000 is in no name.
fn key_text(key: &Key) -> Vec<u8> {
    let (first, second) = key.entity.parts();
    let parts = [key.entity.kind().word(), &key.tenant, first, second.unwrap_or_default()];
    parts.join("\0").into_bytes()
}

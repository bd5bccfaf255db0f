//! Rows of a replay that do not fit into memory: the latest stay there, the rest goes to a file nobody else sees.

use kernel::intent::IntentRow;
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::ports::store::StoreFault;
use runtime::replay::rows::{Rows, stored_answer};
use rusqlite::{Connection, OptionalExtension};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use values::ids::Digest;
use values::time::Instant;

use crate::store_sqlite::fault;

/// Rows held in memory before they are written out; at about a kilobyte each this is some 60 MB.
const HELD_MAX: usize = 65_536;

/// Bits of the filter in front of the file, 16 MiB: with ten million rows one key of fifty is looked up in vain.
const FILTER_BITS: u64 = 1 << 27;

/// Bits that a key sets.
const FILTER_PROBES: u64 = 4;

/// Rows that spill over into a temporary file, which the system removes with the process.
pub struct SpilledRows {
    /// By the bytes of their keys: comparing keys part by part on the way down a tree costs more than anything else here.
    held: HashMap<Vec<u8>, Row>,
    most: usize,
    file: Option<Spilled>,
}

/// What was written out. Most keys that a replay looks up are those of new rows, which are in no file.
struct Spilled {
    connection: Connection,
    filter: Filter,
}

/// A Bloom filter: what it does not know was never put in.
struct Filter(Vec<u64>);

impl Filter {
    fn new() -> Filter {
        Filter(vec![0; usize::try_from(FILTER_BITS / 64).unwrap_or_default()])
    }

    /// The words of a key, each with the bit in it.
    fn places(key: &[u8]) -> impl Iterator<Item = (usize, u64)> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        (0..FILTER_PROBES).map(move |probe| {
            let bit = hash.wrapping_add(probe.wrapping_mul(hash.rotate_left(32) | 1)) % FILTER_BITS;
            (usize::try_from(bit / 64).unwrap_or_default(), 1 << (bit % 64))
        })
    }

    fn put(&mut self, key: &[u8]) {
        for (word, bit) in Filter::places(key) {
            if let Some(word) = self.0.get_mut(word) {
                *word |= bit;
            }
        }
    }

    fn may_have(&self, key: &[u8]) -> bool {
        Filter::places(key).all(|(word, bit)| self.0.get(word).is_some_and(|word| word & bit != 0))
    }
}

impl Default for SpilledRows {
    fn default() -> SpilledRows {
        SpilledRows::holding(HELD_MAX)
    }
}

impl SpilledRows {
    /// Holds so many rows in memory.
    pub fn holding(most: usize) -> SpilledRows {
        SpilledRows { held: HashMap::new(), most, file: None }
    }

    fn spill(&mut self) -> Result<(), StoreFault> {
        let mut spilled = match self.file.take() {
            Some(spilled) => spilled,
            None => Spilled { connection: opened()?, filter: Filter::new() },
        };
        let file = &spilled.connection;
        file.execute_batch("BEGIN").map_err(fault)?;
        {
            const SQL: &str = "REPLACE INTO rows(key, body) VALUES(?1, ?2)";
            let mut statement = file.prepare_cached(SQL).map_err(fault)?;
            // In order of their keys they go to few places of the tree.
            let mut rows: Vec<(Vec<u8>, Row)> = self.held.drain().collect();
            rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            for (key, row) in rows {
                spilled.filter.put(&key);
                statement.execute((&key, row_text(&row))).map_err(fault)?;
            }
        }
        file.execute_batch("COMMIT").map_err(fault)?;
        self.file = Some(spilled);
        Ok(())
    }
}

impl Rows for SpilledRows {
    fn get(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        let text = key_text(key);
        if let Some(row) = self.held.get(&text) {
            return Ok(Some(row.clone()));
        }
        let Some(Spilled { connection, .. }) = self.file.as_ref().filter(|spilled| spilled.filter.may_have(&text))
        else {
            return Ok(None);
        };
        let mut statement = connection.prepare_cached("SELECT body FROM rows WHERE key = ?1").map_err(fault)?;
        let body: Option<String> = statement.query_row([text], |row| row.get(0)).optional().map_err(fault)?;
        let Some(body) = body else { return Ok(None) };
        let kind = key.entity.kind();
        let row = if kind == Kind::Idempotency { answered(&body) } else { Row::from_stored(kind, &body) };
        row.map(Some)
            .ok_or_else(|| StoreFault::Corrupt(format!("a spilled row of kind {} cannot be read", kind.word())))
    }

    fn put(&mut self, key: Key, row: Row) -> Result<(), StoreFault> {
        self.held.insert(key_text(&key), row);
        if self.held.len() > self.most { self.spill() } else { Ok(()) }
    }

    fn intents(&mut self, show: &mut dyn FnMut(&str, &IntentRow)) -> Result<(), StoreFault> {
        if self.file.is_some() {
            self.spill()?;
        }
        let mut held: Vec<(&Vec<u8>, &Row)> = self.held.iter().collect();
        held.sort_unstable_by_key(|(key, _)| *key);
        for (key, row) in held {
            if let Row::Intent(intent) = row {
                show(&name_in(key), intent);
            }
        }
        let Some(Spilled { connection, .. }) = &self.file else { return Ok(()) };
        const SQL: &str = "SELECT key, body FROM rows WHERE key >= ?1 AND key < ?2";
        let kind = Kind::Intent.word();
        let mut statement = connection.prepare_cached(SQL).map_err(fault)?;
        let bounds = (format!("{kind}\0").into_bytes(), format!("{kind}\u{1}").into_bytes());
        let mut rows = statement.query(bounds).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            let (key, body): (Vec<u8>, String) = (row.get(0).map_err(fault)?, row.get(1).map_err(fault)?);
            if let Some(Row::Intent(intent)) = Row::from_stored(Kind::Intent, &body) {
                show(&name_in(&key), &intent);
            }
        }
        Ok(())
    }
}

/// What the file keeps of a row: of a stored answer what a replay looks at, of others what a store keeps.
fn row_text(row: &Row) -> String {
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
         CREATE TABLE rows(key BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;",
    )
    .map_err(fault)?;
    Ok(file)
}

/// Kind first: rows of one kind lie together. U+0000 is in no name.
fn key_text(key: &Key) -> Vec<u8> {
    let (first, second) = key.entity.parts();
    let parts = [key.entity.kind().word(), &key.tenant, first, second.unwrap_or_default()];
    let mut text = Vec::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
    for (place, part) in parts.into_iter().enumerate() {
        if place > 0 {
            text.push(0);
        }
        text.extend_from_slice(part.as_bytes());
    }
    text
}

/// The first name in what [`key_text`] made.
fn name_in(key: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(key.split(|byte| *byte == 0).nth(2).unwrap_or_default())
}

//! The row cache: rows that nearly every batch needs, as they were read.
//!
//! They are right only as long as nobody else has committed, which is asked after the write lock is taken.

use super::fault::fault;
use kernel::world::{Key, Row, RowChange};
use runtime::ports::store::StoreFault;
use rusqlite::Connection;
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use values::bugs::{self, Bug};

/// Agents, budgets and contracts of a busy tenant; beyond that it starts again.
const ROWS_MAX: usize = 4096;

/// Remembered rows; `None` is remembered absence.
#[derive(Debug, Default)]
pub(super) struct RowCache {
    /// Under a seed that is drawn anew in every process.
    rows: HashMap<Key, Option<Row>>,
    data_version: Option<i64>,
}

impl RowCache {
    /// Forgets everything if another connection has committed since; says whether none has.
    pub(super) fn validate(&mut self, connection: &Connection) -> Result<bool, StoreFault> {
        let mut statement = connection.prepare_cached("PRAGMA data_version").map_err(fault)?;
        let found: i64 = statement.query_row([], |row| row.get(0)).map_err(fault)?;
        let is_older = self.data_version != Some(found) && !bugs::on(Bug::RowsOlderThanLock);
        if is_older || self.rows.len() > ROWS_MAX {
            self.rows.clear();
            self.data_version = Some(found);
        }
        Ok(!is_older)
    }

    /// A number nobody outside can know, to hash names under that agents chose.
    pub(super) fn seed(&self) -> u64 {
        self.rows.hasher().hash_one(0_u8)
    }

    /// What is remembered of an entity, if anything.
    pub(super) fn get(&self, key: &Key) -> Option<&Option<Row>> {
        self.rows.get(key)
    }

    /// Remembers what was read, if it is of a kind worth it.
    pub(super) fn remember(&mut self, key: &Key, row: &Option<Row>) {
        if key.entity.kind().is_shared() {
            self.rows.insert(key.clone(), row.clone());
        }
    }

    /// Remembers what was committed.
    pub(super) fn take_over(&mut self, changes: Vec<RowChange>) {
        for changed in changes {
            if changed.key.entity.kind().is_shared() {
                self.rows.insert(changed.key, Some(changed.row));
            }
        }
    }
}

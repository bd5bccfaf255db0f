//! The row cache: rows that nearly every batch needs, as they were read.
//!
//! They are right only as long as nobody else has committed, which is asked after the write lock is taken.

use kernel::world::{Key, Row, RowChange};
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use values::bugs::{self, Bug};

/// Agents, budgets and contracts of a busy tenant; beyond that it starts again.
const ROWS_MAX: usize = 4096;

/// Remembered rows; `None` is remembered absence.
#[derive(Debug)]
pub(crate) struct RowCache<Stamp> {
    /// Under a seed that is drawn anew in every process.
    rows: HashMap<Key, Option<Row>>,
    /// By what the store tells that somebody else has committed.
    stamp: Option<Stamp>,
}

impl<Stamp> Default for RowCache<Stamp> {
    fn default() -> RowCache<Stamp> {
        RowCache { rows: HashMap::new(), stamp: None }
    }
}

impl<Stamp: PartialEq> RowCache<Stamp> {
    /// Forgets everything if somebody else has committed since, which another stamp says; says whether nobody has.
    pub(crate) fn validate(&mut self, found: Stamp) -> bool {
        let is_older = self.stamp.as_ref() != Some(&found) && !bugs::on(Bug::RowsOlderThanLock);
        if is_older || self.rows.len() > ROWS_MAX {
            self.rows.clear();
            self.stamp = Some(found);
        }
        !is_older
    }

    /// Says by what the own commit is known, where that is another stamp.
    pub(crate) fn stamp(&mut self, own: Stamp) {
        self.stamp = Some(own);
    }

    /// A number nobody outside can know, to hash names under that agents chose.
    pub(crate) fn seed(&self) -> u64 {
        self.rows.hasher().hash_one(0_u8)
    }

    /// What is remembered of an entity, if anything.
    pub(crate) fn get(&self, key: &Key) -> Option<&Option<Row>> {
        self.rows.get(key)
    }

    /// Remembers what was read, if it is of a kind worth it.
    pub(crate) fn remember(&mut self, key: &Key, row: &Option<Row>) {
        if key.entity.kind().is_shared() {
            self.rows.insert(key.clone(), row.clone());
        }
    }

    /// Remembers what was committed.
    pub(crate) fn take_over(&mut self, changes: Vec<RowChange>) {
        for changed in changes {
            if changed.key.entity.kind().is_shared() {
                self.rows.insert(changed.key, Some(changed.row));
            }
        }
    }
}

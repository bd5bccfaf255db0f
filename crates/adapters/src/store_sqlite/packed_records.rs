//! Records on their way into the ledger, packed where that makes them shorter.

use super::fault::fault;
use super::place::Ledger;
use super::{packed, packed_leaf};
use runtime::ports::store::StoreFault;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};
use std::ops::Range;
use values::sealed::Sealed;

/// Several records. Their bytes stand together: one piece of memory is freed sooner than many.
#[derive(Debug, Default)]
pub(super) struct Packed {
    records: Vec<Places>,
    bytes: Vec<u8>,
}

/// Where the parts of a record stand.
#[derive(Debug)]
struct Places {
    leaf: Place,
    body: Place,
    salt: [u8; 16],
}

#[derive(Debug)]
struct Place {
    range: Range<usize>,
    is_packed: bool,
}

/// What was packed, or the text where it was not.
struct PackedOrText<'a> {
    bytes: &'a [u8],
    is_packed: bool,
}

impl ToSql for PackedOrText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = if self.is_packed { ValueRef::Blob(self.bytes) } else { ValueRef::Text(self.bytes) };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

/// Appends a record.
pub(super) const APPEND: &str = "INSERT INTO ledger(idx, leaf, salt, body) VALUES(?1, ?2, ?3, ?4)";

impl Packed {
    /// Adds a record.
    pub(super) fn push(&mut self, sealed: &Sealed) {
        let leaf = self.place(&sealed.leaf, packed_leaf::pack_onto);
        let body = self.place(&sealed.body, packed::pack_onto);
        self.records.push(Places { leaf, body, salt: sealed.salt });
    }

    fn place(&mut self, text: &str, pack_onto: impl FnOnce(&str, &mut Vec<u8>) -> bool) -> Place {
        let start = self.bytes.len();
        let is_packed = pack_onto(text, &mut self.bytes);
        if !is_packed {
            self.bytes.extend_from_slice(text.as_bytes());
        }
        Place { range: start..self.bytes.len(), is_packed }
    }

    /// Appends them to a ledger from an index on.
    pub(super) fn append(&self, connection: &Connection, ledger: Ledger, first: u64) -> Result<(), StoreFault> {
        if self.records.is_empty() {
            return Ok(());
        }
        let mut statement = connection.prepare_cached(APPEND).map_err(fault)?;
        let part = |Place { range, is_packed }: &Place| PackedOrText {
            bytes: self.bytes.get(range.clone()).unwrap_or_default(),
            is_packed: *is_packed,
        };
        for (index, Places { leaf, body, salt }) in (first..).zip(&self.records) {
            let appended = statement.execute((ledger.place(index)?, part(leaf), salt, part(body)));
            appended.map_err(|error| match fault(error) {
                StoreFault::Refused(_) => StoreFault::Corrupt(format!("the ledger already holds a record {index}")),
                other @ (StoreFault::Conflict(_)
                | StoreFault::Unavailable(_)
                | StoreFault::Ambiguous(_)
                | StoreFault::Corrupt(_)) => other,
            })?;
        }
        Ok(())
    }
}

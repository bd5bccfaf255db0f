//! What a process has seen of a ledger, so that a database which comes back older is noticed also where no keys are.

use super::fault::{early_fault, fault};
use super::open_batch::OpenBatch;
use super::save::integer;
use super::value::Value;
use runtime::ports::store::StoreFault;

const LEAF: &str = "SELECT leaf FROM writkeeper.ledger WHERE number = $1::int4 AND idx = $2::int8";

/// The end of the ledger as it was when this process looked last, and the last record that it wrote itself.
#[derive(Default)]
pub(super) struct Remembered {
    size: u64,
    last: Option<(u64, String)>,
}

impl Remembered {
    /// Refuses a ledger that lost what this process has seen. The record is looked at once for each connection: another
    /// history can only come with another server.
    pub(super) fn demand_continued(&mut self, open: &mut OpenBatch<'_>) -> Result<(), StoreFault> {
        let found = open.head.size;
        if found < self.size {
            return Err(came_back_older(&format!("it has seen {} entries, and there are {found}", self.size)));
        }
        if !open.connection.is_examined
            && let Some((index, known)) = &self.last
        {
            let values = [Value::Int4(open.head.number), Value::Int8(integer(*index)?)];
            let found = open.connection.query(LEAF, &values).map_err(early_fault)?;
            let leaf = found.first().map(|found| found.text(0)).transpose().map_err(fault)?;
            if leaf != Some(known.as_str()) {
                return Err(came_back_older(&format!("entry {index} is another one than it wrote")));
            }
        }
        open.connection.is_examined = true;
        self.size = found;
        Ok(())
    }

    /// So many entries are committed; the leaf is of the last one.
    pub(super) fn note(&mut self, size: u64, leaf: Option<String>) {
        self.size = size;
        if let Some((leaf, index)) = leaf.zip(size.checked_sub(1)) {
            self.last = Some((index, leaf));
        }
    }
}

/// Not damage: whoever looks decides whether the loss is declared, and processes that start after that go on.
fn came_back_older(what: &str) -> StoreFault {
    StoreFault::Unavailable(format!(
        "the database came back older than this process knows it: {what}; what was lost would be done again, so nothing is \
         decided until the loss is declared and the process starts anew"
    ))
}

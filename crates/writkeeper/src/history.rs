//! The records of a store in order, page by page; memory stays bounded however long the ledger is.

use crate::error::Error;
use runtime::Runtime;
use runtime::ports::store::StoredRecord;
use std::collections::VecDeque;
use values::json::{Bounds, Json};
use values::time::Instant;

/// Records read at once.
const PAGE: usize = 512;

/// Records of a store, oldest first.
pub struct History<'r> {
    runtime: &'r Runtime,
    next: u64,
    page: VecDeque<StoredRecord>,
    /// Records read at once.
    size: usize,
}

impl<'r> History<'r> {
    /// From the first record at or after an instant; instants never decrease along a ledger.
    pub fn since(runtime: &'r Runtime, since: Option<Instant>) -> Result<History<'r>, Error> {
        let next = match since {
            Some(since) => runtime.first_at(since)?,
            None => 0,
        };
        Ok(History { runtime, next, page: VecDeque::new(), size: PAGE })
    }

    /// Reads so many records at once: fewer where what is looked for stands at the beginning.
    pub fn by(self, size: usize) -> History<'r> {
        History { size: size.max(1), ..self }
    }

    /// The body of the next record that was not erased.
    pub fn next_body(&mut self) -> Result<Option<Json>, Error> {
        Ok(self.next_entry()?.map(|(_, body)| body))
    }

    /// The same, with the index of the record in the ledger.
    pub fn next_entry(&mut self) -> Result<Option<(u64, Json)>, Error> {
        loop {
            let Some(record) = self.page.pop_front() else {
                self.page = self.runtime.records(self.next, self.size)?.into();
                match self.page.back() {
                    Some(last) => self.next = last.index + 1,
                    None => return Ok(None),
                }
                continue;
            };
            let body = record.body.and_then(|(body, _)| Json::parse_within(body.as_bytes(), &Bounds::OWN).ok());
            if let Some(body) = body {
                return Ok(Some((record.index, body)));
            }
        }
    }
}

/// When the record of a leaf was made.
pub fn instant_of(leaf: &str) -> Option<Instant> {
    Instant::parse(Json::parse(leaf.as_bytes()).ok()?.get("at")?.as_text()?)
}

//! Carries a tenant from one store into another, empty one, in one transaction, and compares what arrived.

use crate::location::{Location, OpenOptions, view_store};
use crate::store_postgres::{PostgresContents, PostgresFilling};
use crate::store_sqlite::{SqliteContents, SqliteFilling};
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use runtime::ports::clock::Clock;
use runtime::ports::store::{Reader, StoreFault, StoredRecord};
use std::sync::Arc;
use values::ids::Digest;
use values::sealed::Sealed;
use values::time::Instant;

/// Records, rows or answers carried at once.
const PAGE: usize = 1_000;

/// A stored answer as stores keep it: its key, the fingerprint, and the index of the record that holds it.
pub(crate) type KeptAnswer = (Key, Digest, u64);

/// Everything of a tenant, as of one commit.
pub(crate) trait Contents {
    /// Records and rows.
    fn reader(&mut self) -> &mut dyn Reader;

    /// The instant of the last decision.
    fn last(&mut self) -> Result<Option<Instant>, StoreFault>;

    /// Stored answers in the order of their keys, after a key.
    fn answers(&mut self, after: Option<&Key>, limit: usize) -> Result<Vec<KeptAnswer>, StoreFault>;
}

/// An empty tenant that is being filled; dropped before its end, it stays empty.
pub(crate) trait Filling {
    /// Appends records, which follow each other.
    fn records(&mut self, records: &[StoredRecord]) -> Result<(), StoreFault>;

    /// Puts rows.
    fn rows(&mut self, rows: &[(Key, Row)]) -> Result<(), StoreFault>;

    /// Puts stored answers.
    fn answers(&mut self, answers: &[KeptAnswer]) -> Result<(), StoreFault>;

    /// Makes it durable.
    fn finish(self: Box<Self>, size: u64, last: Option<Instant>) -> Result<(), StoreFault>;
}

/// What was carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Copied {
    /// Records.
    pub records: u64,
    /// Rows of all kinds, without stored answers.
    pub rows: u64,
    /// Stored answers.
    pub answers: u64,
    /// Records that the first store has got meanwhile, which the copy lacks.
    pub behind: u64,
}

/// Copies a tenant of a store into an empty one; `heard` is told how many records of how many were carried.
pub fn copy(
    (from, to): (&Location, &Location),
    tenant: &str,
    clock: Arc<dyn Clock>,
    heard: &mut dyn FnMut(u64, u64),
) -> Result<Copied, StoreFault> {
    if from == to {
        return Err(StoreFault::Refused(format!("`{from}` cannot be copied onto itself")));
    }
    let mut contents: Box<dyn Contents> = match from {
        Location::Sqlite(path) => Box::new(SqliteContents::of(path, tenant)?),
        Location::Postgres(address) => Box::new(PostgresContents::of(address, tenant)?),
        Location::Memory => return Err(forgotten()),
    };
    let size = contents.reader().size()?;
    let last = contents.last()?;
    let mut filling: Box<dyn Filling> = match to {
        Location::Sqlite(path) => Box::new(SqliteFilling::of(path, tenant, clock.clone())?),
        Location::Postgres(address) => Box::new(PostgresFilling::of(address, tenant, clock.clone())?),
        Location::Memory => return Err(forgotten()),
    };
    let mut copied = Copied::default();
    while copied.records < size {
        let page = contents.reader().records(copied.records, PAGE)?;
        if page.is_empty() {
            return Err(StoreFault::Corrupt(format!("record {} is missing", copied.records)));
        }
        filling.records(&page)?;
        copied.records += page.len() as u64;
        heard(copied.records, size);
    }
    for kind in Kind::ALL {
        copied.rows += carry_rows(contents.as_mut(), filling.as_mut(), *kind)?;
    }
    copied.answers = carry_answers(contents.as_mut(), filling.as_mut())?;
    filling.finish(size, last)?;
    compare((contents.as_mut(), to), tenant, clock.clone(), size)?;
    let now = view_store(from, tenant, clock, OpenOptions::default())?.reader()?.size()?;
    copied.behind = now.saturating_sub(size);
    Ok(copied)
}

fn forgotten() -> StoreFault {
    StoreFault::Refused("a store in memory ends with its process; name a file or a database".to_owned())
}

fn carry_rows(contents: &mut dyn Contents, filling: &mut dyn Filling, kind: Kind) -> Result<u64, StoreFault> {
    let (mut after, mut carried): (Option<String>, u64) = (None, 0);
    loop {
        let mut page = contents.reader().scan(kind, after.as_deref(), PAGE)?;
        let is_last = page.len() < PAGE;
        // A page may end among names with the same first part; the next one begins behind that part.
        if !is_last {
            let end = page.last().map(|(key, _)| key.entity.parts().0.to_owned());
            let whole = page.iter().take_while(|(key, _)| Some(key.entity.parts().0) != end.as_deref()).count();
            if whole > 0 {
                page.truncate(whole);
            } else {
                page = contents.reader().scan(kind, after.as_deref(), usize::MAX)?;
                let same = page.iter().take_while(|(key, _)| Some(key.entity.parts().0) == end.as_deref()).count();
                page.truncate(same);
            }
        }
        after = page.last().map(|(key, _)| key.entity.parts().0.to_owned());
        filling.rows(&page)?;
        carried += page.len() as u64;
        if is_last {
            return Ok(carried);
        }
    }
}

fn carry_answers(contents: &mut dyn Contents, filling: &mut dyn Filling) -> Result<u64, StoreFault> {
    let (mut after, mut carried): (Option<Key>, u64) = (None, 0);
    loop {
        let page = contents.answers(after.as_ref(), PAGE)?;
        let Some((last, ..)) = page.last() else { return Ok(carried) };
        after = Some(last.clone());
        filling.answers(&page)?;
        carried += page.len() as u64;
    }
}

/// Every leaf arrived as it was, and every body fits its leaf.
fn compare(
    (contents, to): (&mut dyn Contents, &Location),
    tenant: &str,
    clock: Arc<dyn Clock>,
    size: u64,
) -> Result<(), StoreFault> {
    let mut arrived = view_store(to, tenant, clock, OpenOptions::default())?.reader()?;
    let other =
        |index: u64| StoreFault::Corrupt(format!("record {index} did not arrive as it was; do not use the copy"));
    if arrived.size()? != size {
        return Err(other(size));
    }
    let mut index = 0;
    while index < size {
        let (sent, got) = (contents.reader().records(index, PAGE)?, arrived.records(index, PAGE)?);
        if sent.is_empty() || sent != got {
            return Err(other(index));
        }
        for record in got {
            let Some((body, salt)) = record.body else { continue };
            if !(Sealed { leaf: record.leaf, body, salt }).is_consistent() {
                return Err(StoreFault::Corrupt(format!("the body of record {} does not fit its leaf", record.index)));
            }
        }
        index += sent.len() as u64;
    }
    Ok(())
}

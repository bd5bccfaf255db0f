//! Carries a tenant from one store into another, empty one, page by page, and compares what arrived.

use crate::location::{Location, OpenOptions, view_store};
use crate::store_postgres::{PostgresContents, PostgresFilling};
use crate::store_sqlite::{SqliteContents, SqliteFilling};
use kernel::stored::Kind;
use kernel::world::{Key, Row};
use ledger::discontinuity::Discontinuity;
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

/// An empty tenant that is being filled. Nobody can use it before the end: its head says that it is empty, and records lie
/// behind it.
pub(crate) trait Filling {
    /// How many records an earlier, interrupted copy has left.
    fn arrived(&self) -> u64;

    /// Appends records, which follow each other.
    fn records(&mut self, records: &[StoredRecord]) -> Result<(), StoreFault>;

    /// Makes durable what is there so far.
    fn keep(&mut self) -> Result<(), StoreFault>;

    /// Reads the records that were kept.
    fn kept(&mut self) -> Result<Box<dyn Reader>, StoreFault>;

    /// Erases the body of a record.
    fn erase(&mut self, index: u64) -> Result<(), StoreFault>;

    /// Puts rows.
    fn rows(&mut self, rows: &[(Key, Row)]) -> Result<(), StoreFault>;

    /// Puts stored answers.
    fn answers(&mut self, answers: &[KeptAnswer]) -> Result<(), StoreFault>;

    /// Makes everything durable, and the tenant usable.
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
    /// Records that an earlier, interrupted copy had carried.
    pub resumed: u64,
    /// Records that the first store has got meanwhile, which the copy lacks.
    pub behind: u64,
}

/// Copies a tenant of a store into an empty one, or goes on where an earlier copy was interrupted; `heard` is told how many
/// records of how many were carried.
pub fn copy(
    places: (&Location, &Location),
    tenant: &str,
    clock: Arc<dyn Clock>,
    heard: &mut dyn FnMut(u64, u64),
) -> Result<Copied, StoreFault> {
    Arrived::of(places, tenant, clock, heard)?.finish()
}

/// A tenant that has arrived as a whole. Nobody can use it before it is finished.
pub(crate) struct Arrived<'p> {
    places: (&'p Location, &'p Location),
    tenant: String,
    clock: Arc<dyn Clock>,
    filling: Box<dyn Filling>,
    size: u64,
    last: Option<Instant>,
    copied: Copied,
}

impl<'p> Arrived<'p> {
    /// Carries everything, and compares what arrived.
    pub(crate) fn of(
        places: (&'p Location, &'p Location),
        tenant: &str,
        clock: Arc<dyn Clock>,
        heard: &mut dyn FnMut(u64, u64),
    ) -> Result<Arrived<'p>, StoreFault> {
        let (from, to) = places;
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
            Location::Postgres(address) => Box::new(PostgresFilling::of(address, tenant)?),
            Location::Memory => return Err(forgotten()),
        };
        let mut copied = Copied { resumed: filling.arrived(), ..Copied::default() };
        if copied.resumed > size {
            return Err(StoreFault::Refused(format!("`{to}` holds the beginning of another store; name an empty one")));
        }
        copied.records = copied.resumed;
        while copied.records < size {
            let page = contents.reader().records(copied.records, PAGE)?;
            if page.is_empty() {
                return Err(StoreFault::Corrupt(format!("record {} is missing", copied.records)));
            }
            filling.records(&page)?;
            // Records never change, so an interrupted copy goes on behind the last page.
            filling.keep()?;
            copied.records += page.len() as u64;
            heard(copied.records, size);
        }
        compare(contents.as_mut(), filling.as_mut(), size)?;
        for kind in Kind::ALL {
            copied.rows += carry_rows(contents.as_mut(), filling.as_mut(), *kind)?;
        }
        copied.answers = carry_answers(contents.as_mut(), filling.as_mut())?;
        Ok(Arrived { places, tenant: tenant.to_owned(), clock, filling, size, last, copied })
    }

    /// Lets it be used.
    pub(crate) fn finish(self) -> Result<Copied, StoreFault> {
        let Arrived { places: (from, to), tenant, clock, filling, size, last, mut copied } = self;
        filling.finish(size, last)?;
        if size_of(to, &tenant, &clock)? != size {
            return Err(StoreFault::Corrupt(format!("`{to}` does not hold what was written; do not use the copy")));
        }
        copied.behind = size_of(from, &tenant, &clock)?.saturating_sub(size);
        Ok(copied)
    }
}

/// How many records a usable tenant has.
pub(crate) fn size_of(place: &Location, tenant: &str, clock: &Arc<dyn Clock>) -> Result<u64, StoreFault> {
    view_store(place, tenant, clock.clone(), OpenOptions::default())?.reader()?.size()
}

/// Whether two stores hold as many records of a tenant, and the same last one.
pub(crate) fn is_same(
    places: (&Location, &Location),
    tenant: &str,
    clock: &Arc<dyn Clock>,
) -> Result<bool, StoreFault> {
    let end = |place: &Location| {
        let mut reader = view_store(place, tenant, clock.clone(), OpenOptions::default())?.reader()?;
        let size = reader.size()?;
        let last = reader.records(size.saturating_sub(1), 1)?.pop();
        Ok((size, last.map(|record| record.leaf)))
    };
    Ok(end(places.0)? == end(places.1)?)
}

/// Reads the whole ledger of a tenant; every body must fit its leaf. How many records there are.
pub(crate) fn demand_consistent(location: &Location, tenant: &str, clock: Arc<dyn Clock>) -> Result<u64, StoreFault> {
    let mut reader = view_store(location, tenant, clock, OpenOptions::default())?.reader()?;
    let (size, mut index) = (reader.size()?, 0);
    while index < size {
        let page = reader.records(index, PAGE)?;
        if page.first().is_none_or(|record| record.index != index) {
            return Err(StoreFault::Corrupt(format!("record {index} is missing")));
        }
        index += page.len() as u64;
        for record in page {
            demand_fitting(record)?;
        }
    }
    Ok(size)
}

fn demand_fitting(record: StoredRecord) -> Result<(), StoreFault> {
    let StoredRecord { index, leaf, body: Some((body, salt)) } = record else { return Ok(()) };
    // The declaration that a log goes on after a loss is signed as it is, so its body is the leaf.
    let declares = leaf == body && Discontinuity::parse(leaf.as_bytes()).is_ok();
    if declares || (Sealed { leaf, body, salt }).is_consistent() {
        return Ok(());
    }
    Err(StoreFault::Corrupt(format!("the body of record {index} does not fit its leaf")))
}

/// Every tenant that has a ledger in a store, by name.
pub fn tenants(location: &Location) -> Result<Vec<String>, StoreFault> {
    match location {
        Location::Sqlite(path) => crate::store_sqlite::tenants(path),
        Location::Postgres(address) => crate::store_postgres::tenants(address),
        Location::Memory => Err(forgotten()),
    }
}

/// Why a tenant cannot be used while it is being filled.
pub(crate) fn unfinished(end: u64) -> StoreFault {
    StoreFault::Refused(format!(
        "the ledger ends at {end} and its head says 0: a copy into this store has not ended; run the same \
         `writkeeper store copy` or `store restore` again"
    ))
}

pub(crate) fn forgotten() -> StoreFault {
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

/// Every leaf arrived as it was, and every body fits its leaf. What was erased since an earlier attempt is erased.
fn compare(contents: &mut dyn Contents, filling: &mut dyn Filling, size: u64) -> Result<(), StoreFault> {
    let other =
        |index: u64| StoreFault::Corrupt(format!("record {index} did not arrive as it was; name another, empty store"));
    let mut arrived = filling.kept()?;
    let mut index = 0;
    while index < size {
        let (sent, got) = (contents.reader().records(index, PAGE)?, arrived.records(index, PAGE)?);
        if sent.is_empty() || sent.len() != got.len() {
            return Err(other(index));
        }
        for (sent, got) in sent.iter().zip(got) {
            if (sent.index, &sent.leaf) != (got.index, &got.leaf) || sent.body.is_some() && sent.body != got.body {
                return Err(other(sent.index));
            }
            if sent.body.is_none() && got.body.is_some() {
                filling.erase(got.index)?;
            }
            demand_fitting(got)?;
        }
        index += sent.len() as u64;
    }
    Ok(())
}

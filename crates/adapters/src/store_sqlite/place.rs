//! Where a record stands: every tenant has a ledger of its own, and all of them lie in one table.
//!
//! The key of that table is one integer, the tenant's number and the index of the record: records of a tenant lie together
//! in their order, a table by integers is the one SQLite appends to fastest, and the first tenant's places are its indices.

use runtime::ports::store::StoreFault;
use values::time::Instant;

/// Bits of an index: some 10^12 records a tenant.
const INDEX_BITS: u32 = 40;

/// Tenants a file can hold: some four million.
const LEDGERS_MAX: u64 = 1 << 22;

/// The ledger of a tenant, by the number that the file gave the tenant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ledger(u64);

impl Ledger {
    /// `None` if no tenant can have this number.
    pub(super) fn numbered(number: u64) -> Option<Ledger> {
        (number < LEDGERS_MAX).then_some(Ledger(number))
    }

    /// The number, as the file keeps it.
    pub(super) fn number(self) -> i64 {
        self.0.cast_signed()
    }

    /// The place of a record.
    pub(super) fn place(self, index: u64) -> Result<i64, StoreFault> {
        let full = || StoreFault::Refused("the ledger is full".to_owned());
        let index = (index < 1 << INDEX_BITS).then_some(index).ok_or_else(full)?;
        Ok(((self.0 << INDEX_BITS) | index).cast_signed())
    }

    /// The first place, and the first behind the last.
    pub(super) fn places(self) -> (i64, i64) {
        ((self.0 << INDEX_BITS).cast_signed(), ((self.0 + 1) << INDEX_BITS).cast_signed())
    }

    /// The index of a place of this ledger.
    pub(super) fn index(self, place: i64) -> u64 {
        place.cast_unsigned().saturating_sub(self.0 << INDEX_BITS)
    }
}

/// Where the ledger of a tenant ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) ledger: Ledger,
    pub(super) size: u64,
    pub(super) last: Option<Instant>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_two_tenants_never_meet() {
        let [first, second] = [0, 1].map(|number| Ledger::numbered(number).unwrap());
        let last = (1 << INDEX_BITS) - 1;
        assert_eq!((first.place(7), first.index(7)), (Ok(7), 7), "the first tenant's places are its indices");
        assert!(first.place(last).unwrap() < second.place(0).unwrap());
        assert_eq!(second.index(second.place(last).unwrap()), last);
        assert_eq!(second.places(), (second.place(0).unwrap(), second.place(last).unwrap() + 1));
        assert!(second.place(last + 1).is_err(), "a full ledger does not run into the next one");
        let end = Ledger::numbered(LEDGERS_MAX - 1).unwrap();
        assert!(end.places().1 > end.places().0 && Ledger::numbered(LEDGERS_MAX).is_none());
    }
}

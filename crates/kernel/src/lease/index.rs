//! Finds what overlaps a region without looking at every lease.
//!
//! What lies around a region has one of its prefixes as key: a handful of lookups. What lies inside of it stands
//! behind it in the order of keys: one range. Shared and exclusive leases are kept apart, because who asks to share
//! need not look at those who share.

use super::Mode;
use super::fence::Fence;
use super::region::Region;
use std::collections::BTreeMap;
use std::ops::Bound;
use values::time::Instant;

/// What a decision has to know about a lease; a look into the lease itself would cost as much as all the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub fence: Fence,
    /// The holder's number in the book.
    pub holder: u64,
    pub expires_at: Instant,
}

/// The leases on each region, in the order of their numbers.
type ByRegion = BTreeMap<Box<str>, Vec<Entry>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    shared: ByRegion,
    exclusive: ByRegion,
}

impl Index {
    pub fn insert(&mut self, region: &Region, mode: Mode, entry: Entry) {
        let entries = self.of_mode(mode).entry(region.key().into()).or_default();
        let position = entries.partition_point(|other| other.fence < entry.fence);
        entries.insert(position, entry);
    }

    pub fn remove(&mut self, region: &Region, mode: Mode, fence: Fence) {
        let by_region = self.of_mode(mode);
        let Some(entries) = by_region.get_mut(region.key()) else { return };
        entries.retain(|entry| entry.fence != fence);
        if entries.is_empty() {
            by_region.remove(region.key());
        }
    }

    pub fn renew(&mut self, region: &Region, mode: Mode, fence: Fence, expires_at: Instant) {
        let entries = self.of_mode(mode).get_mut(region.key());
        for entry in entries.into_iter().flatten().filter(|entry| entry.fence == fence) {
            entry.expires_at = expires_at;
        }
    }

    /// The leases on exactly this region.
    pub fn on(&self, region: &Region, mode: Mode) -> impl Iterator<Item = &Entry> {
        let by_region = match mode {
            Mode::Shared => &self.shared,
            Mode::Exclusive => &self.exclusive,
        };
        by_region.get(region.key()).into_iter().flatten()
    }

    /// The leases that a lease of this mode on this region cannot stand beside, whoever has them.
    pub fn against<'i>(&'i self, region: &'i Region, mode: Mode) -> impl Iterator<Item = &'i Entry> {
        let sharers = match mode {
            Mode::Shared => None,
            Mode::Exclusive => Some(&self.shared),
        };
        [Some(&self.exclusive), sharers].into_iter().flatten().flat_map(|by_region| overlapping(by_region, region))
    }

    fn of_mode(&mut self, mode: Mode) -> &mut ByRegion {
        match mode {
            Mode::Shared => &mut self.shared,
            Mode::Exclusive => &mut self.exclusive,
        }
    }
}

fn overlapping<'i>(by_region: &'i ByRegion, region: &'i Region) -> impl Iterator<Item = &'i Entry> {
    let around = region.keys_around().filter_map(|key| by_region.get(key));
    // Both ends of the range are found once, so that no key in between has to be read.
    let end = region.key_behind();
    let inside = by_region.range::<str, _>((Bound::Excluded(region.key()), Bound::Excluded(end.as_str())));
    around.chain(inside.map(|(_, entries)| entries)).flatten()
}

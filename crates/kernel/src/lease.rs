//! Leases: who may touch which part of the tree, or which named thing, and until when.
//!
//! Regions are canonical ([`region`]), a book of leases decides by an index ([`book`]), and every lease carries a
//! number that only grows ([`fence`]), so that whoever lost a lease is recognised wherever it still writes.
//!
//! Nothing here expires by a timer. A lease that was not renewed in time stays until somebody else asks for what it
//! holds; then it gives way. Its holder may renew it until that happens, and no longer.

pub mod book;
pub mod fence;
mod index;
pub mod kept;
pub mod region;

use crate::contract::words;
use fence::Fence;
use region::Region;
use std::collections::BTreeSet;
use std::fmt;
use values::ids;
use values::time::{Duration, Instant};

/// Regions one lease may name; who needs more needs a common folder.
pub const REGIONS_MAX: usize = 64;

/// Shorter leases would be lost between two calls.
pub const TTL_MIN: Duration = Duration::from_secs(1);

/// Longer leases outlive the people who could say what they were for.
pub const TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

words! {
    /// How a region is held.
    Mode {
        /// Beside others who hold it in the same way.
        Shared = "shared",
        /// Alone.
        Exclusive = "exclusive",
    }
}

impl Mode {
    /// Whether two holders may overlap.
    pub fn is_compatible(self, other: Mode) -> bool {
        self == Mode::Shared && other == Mode::Shared
    }
}

/// The name of a holder or an operator. Whose name it is, the door has proved.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Party(String);

impl Party {
    /// Reads a name; what is wrong with it otherwise.
    pub fn parse(text: &str) -> Result<Party, &'static str> {
        match ids::identifier_problem(text) {
            Some(problem) => Err(problem),
            None => Ok(Party(text.to_owned())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Party {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What somebody asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    holder: Party,
    mode: Mode,
    regions: BTreeSet<Region>,
    ttl: Duration,
}

impl Request {
    /// A request that makes sense by itself.
    pub fn new(
        holder: Party,
        mode: Mode,
        regions: impl IntoIterator<Item = Region>,
        ttl: Duration,
    ) -> Result<Request, RequestFault> {
        let regions: BTreeSet<Region> = regions.into_iter().collect();
        if regions.is_empty() || regions.len() > REGIONS_MAX {
            return Err(RequestFault::Regions(regions.len()));
        }
        if ttl < TTL_MIN || ttl > TTL_MAX {
            return Err(RequestFault::Ttl(ttl));
        }
        Ok(Request { holder, mode, regions, ttl })
    }

    /// Who asks.
    pub fn holder(&self) -> &Party {
        &self.holder
    }
}

/// Why a request makes no sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestFault {
    /// None, which could mean anything, or more than [`REGIONS_MAX`].
    Regions(usize),
    /// Shorter than [`TTL_MIN`] or longer than [`TTL_MAX`].
    Ttl(Duration),
}

impl fmt::Display for RequestFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestFault::Regions(count) => write!(formatter, "{count} regions, but a lease has 1 to {REGIONS_MAX}"),
            RequestFault::Ttl(ttl) => write!(formatter, "a lease of {ttl}, but it lasts {TTL_MIN} to {TTL_MAX}"),
        }
    }
}

impl std::error::Error for RequestFault {}

/// A lease that was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Its number, by which it is called everywhere.
    pub fence: Fence,
    /// Who has it.
    pub holder: Party,
    /// How it is held.
    pub mode: Mode,
    /// What it covers.
    pub regions: BTreeSet<Region>,
    /// How long it lasts from one heartbeat to the next.
    pub ttl: Duration,
    /// When it was given.
    pub acquired_at: Instant,
    /// From when on it gives way to others.
    pub expires_at: Instant,
}

impl Lease {
    /// Whether it gives way to whoever asks.
    pub fn is_expired(&self, at: Instant) -> bool {
        at > self.expires_at
    }

    /// Whether a region lies wholly inside one of the lease's regions.
    pub fn covers(&self, region: &Region) -> bool {
        self.regions.iter().any(|held| held.covers(region))
    }
}

/// How a lease ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Its holder gave it back.
    Released,
    /// It had run out when somebody else asked.
    GaveWay,
    /// An operator took it away.
    Evicted {
        /// Who.
        operator: Party,
        /// Why.
        reason: String,
    },
    /// An operator gave it to somebody else, under a new number.
    Adopted {
        /// Who.
        operator: Party,
        /// The number it has now.
        fence: Fence,
    },
}

/// A lease that is no more, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedLease {
    /// The lease as it was.
    pub lease: Lease,
    /// How it ended.
    pub end: End,
}

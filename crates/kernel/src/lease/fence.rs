//! Numbers that only grow: who comes with an old one has lost its lease, whatever it believes.

use std::fmt;

/// The number of a lease. A later lease always has a higher one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// Before the first.
    pub const NONE: Fence = Fence(0);

    /// A number that was written down somewhere.
    pub const fn from_number(number: u64) -> Fence {
        Fence(number)
    }

    /// The number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The next one, as long as there is one.
    pub fn next(self) -> Option<Fence> {
        self.0.checked_add(1).map(Fence)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

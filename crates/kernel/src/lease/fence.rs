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

/// What the receiving side of one region remembers: the highest number it has seen.
///
/// ```
/// use kernel::lease::fence::{Fence, FenceGate};
/// let mut gate = FenceGate::default();
/// assert!(gate.admit(Fence::from_number(7)));
/// assert!(gate.admit(Fence::from_number(7)), "the same holder comes again");
/// assert!(gate.admit(Fence::from_number(9)));
/// assert!(!gate.admit(Fence::from_number(7)), "its lease went to somebody else");
/// assert!(!FenceGate::default().admit(Fence::NONE), "no lease, no entry");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceGate {
    highest: Fence,
}

impl Default for FenceGate {
    fn default() -> FenceGate {
        FenceGate { highest: Fence::NONE }
    }
}

impl FenceGate {
    /// Lets in whoever has the highest number so far, or a higher one.
    pub fn admit(&mut self, fence: Fence) -> bool {
        let is_current = fence >= self.highest && fence > Fence::NONE;
        if is_current {
            self.highest = fence;
        }
        is_current
    }
}

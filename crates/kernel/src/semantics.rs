//! Versions of the judging rules. A record names the version it was judged under, and is replayed under that one: a
//! change of the rules never changes what was decided before it.

use values::sealed::FIRST_SEMANTICS;

/// A version of the judging rules that this program knows: under the same one the same inputs are judged alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Semantics(u64);

impl Semantics {
    /// Of the first release, 0.2.0.
    pub const FIRST: Semantics = Semantics(FIRST_SEMANTICS);

    /// What this program judges new commands under.
    pub const CURRENT: Semantics = Semantics::FIRST;

    /// What a program must know that goes on where idempotency keys were forgotten or monitors are in force. It judges as
    /// the first version does, but that one would drop what it does not know from the rows that it writes.
    pub const NEWER_ROWS: Semantics = Semantics(FIRST_SEMANTICS + 1);

    /// A version that exists in tests only, so that they can carry a store over to it: here a duplicate counts as a
    /// failed attempt.
    #[cfg(feature = "bugs")]
    pub const NEXT: Semantics = Semantics(FIRST_SEMANTICS + 2);

    /// The version of a number; `None` if this program does not know it.
    pub fn of(number: u64) -> Option<Semantics> {
        Semantics::KNOWN.iter().copied().find(|known| known.0 == number)
    }

    #[cfg(not(feature = "bugs"))]
    const KNOWN: &'static [Semantics] = &[Semantics::FIRST];
    #[cfg(feature = "bugs")]
    const KNOWN: &'static [Semantics] = &[Semantics::FIRST, Semantics::NEXT];

    /// Its number, as records hold it.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Whether a duplicate counts as a failed attempt.
    pub(crate) fn counts_duplicates(self) -> bool {
        self > Semantics::NEWER_ROWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_program_judges_under_is_what_it_knows_last_outside_of_tests() {
        assert_eq!(Semantics::of(Semantics::CURRENT.number()), Some(Semantics::CURRENT));
        assert_eq!((Semantics::of(0), Semantics::of(99)), (None, None));
    }
}

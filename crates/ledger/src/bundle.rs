//! Entry bundles: up to 256 entries, each behind its length in two bytes.

use super::tile_path::TILE_WIDTH;
use std::fmt;
use values::count::{counted, is};

/// Longest entry: its length has two bytes. What is longer, or may have to be erased, enters by commitment.
pub const ENTRY_BYTES_MAX: usize = u16::MAX as usize;

/// Why entries are no bundle, or bytes are not the bundle they should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BundleProblem {
    /// A bundle has 1 to 256 entries.
    WrongCount {
        /// How many were given.
        found: usize,
    },
    /// An entry is longer than two bytes can say.
    EntryTooLong {
        /// Which one, from 0.
        at: usize,
        /// Its length.
        bytes: usize,
    },
    /// The bytes end inside of an entry or before the last one.
    CutOff {
        /// Entries that were whole.
        whole: usize,
    },
    /// Bytes are left over.
    LeftOver {
        /// How many.
        bytes: usize,
    },
}

impl fmt::Display for BundleProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BundleProblem::WrongCount { found } => write!(formatter, "a bundle has 1 to 256 entries, not {found}"),
            BundleProblem::EntryTooLong { at, bytes } => {
                write!(formatter, "entry {at} has {bytes} bytes; the longest may have {ENTRY_BYTES_MAX}")
            }
            BundleProblem::CutOff { whole } => {
                write!(formatter, "the bundle is cut off behind {}", counted(*whole as u64, "entry"))
            }
            BundleProblem::LeftOver { bytes } => {
                let bytes = *bytes as u64;
                write!(formatter, "{} {} left over behind the last entry", counted(bytes, "byte"), is(bytes))
            }
        }
    }
}

impl std::error::Error for BundleProblem {}

/// The bytes of a bundle.
///
/// ```
/// use ledger::bundle;
/// let bytes = bundle::to_bytes(&[b"one".as_slice(), b""]).unwrap();
/// assert_eq!(bytes, b"\x00\x03one\x00\x00");
/// assert_eq!(bundle::read(&bytes, 2).unwrap(), [b"one".as_slice(), b""]);
/// ```
pub fn to_bytes(entries: &[impl AsRef<[u8]>]) -> Result<Vec<u8>, BundleProblem> {
    demand_count(entries.len())?;
    let mut bytes = Vec::with_capacity(entries.iter().map(|entry| entry.as_ref().len() + 2).sum());
    for (at, entry) in entries.iter().enumerate() {
        let entry = entry.as_ref();
        let length = u16::try_from(entry.len());
        let length = length.map_err(|_| BundleProblem::EntryTooLong { at, bytes: entry.len() })?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(entry);
    }
    Ok(bytes)
}

/// Reads a bundle that must hold exactly this many entries.
pub fn read(bytes: &[u8], width: u16) -> Result<Vec<&[u8]>, BundleProblem> {
    demand_count(usize::from(width))?;
    let mut entries = Vec::with_capacity(usize::from(width));
    let mut rest = bytes;
    while entries.len() < usize::from(width) {
        let cut_off = BundleProblem::CutOff { whole: entries.len() };
        let Some((length, behind)) = rest.split_first_chunk::<2>() else { return Err(cut_off) };
        let length = usize::from(u16::from_be_bytes(*length));
        let Some((entry, behind)) = behind.split_at_checked(length) else { return Err(cut_off) };
        entries.push(entry);
        rest = behind;
    }
    if rest.is_empty() { Ok(entries) } else { Err(BundleProblem::LeftOver { bytes: rest.len() }) }
}

fn demand_count(found: usize) -> Result<(), BundleProblem> {
    if (1..=usize::from(TILE_WIDTH)).contains(&found) { Ok(()) } else { Err(BundleProblem::WrongCount { found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_lengths_at_their_edges() {
        let none: [&[u8]; 0] = [];
        assert_eq!(to_bytes(&none), Err(BundleProblem::WrongCount { found: 0 }));
        assert_eq!(to_bytes(&[b""; 257]), Err(BundleProblem::WrongCount { found: 257 }));
        assert_eq!(read(&[], 0), Err(BundleProblem::WrongCount { found: 0 }));
        assert_eq!(read(&[0; 514], 257), Err(BundleProblem::WrongCount { found: 257 }));
        assert_eq!(read(&[0; 512], 256).map(|entries| entries.len()), Ok(256));
        let longest = vec![7; ENTRY_BYTES_MAX];
        let bytes = to_bytes(&[&longest]).unwrap();
        assert_eq!(read(&bytes, 1), Ok(vec![longest.as_slice()]));
        let longer = vec![7; ENTRY_BYTES_MAX + 1];
        let expected = BundleProblem::EntryTooLong { at: 1, bytes: 65_536 };
        assert_eq!(to_bytes(&[&longest, &longer]), Err(expected));
    }

    #[test]
    fn bytes_missing_or_left_over_are_refused() {
        let bytes = to_bytes(&[b"one", b"two"]).unwrap();
        for length in 0..bytes.len() {
            let whole = if length < 5 { 0 } else { 1 };
            assert_eq!(read(&bytes[..length], 2), Err(BundleProblem::CutOff { whole }), "{length}");
        }
        assert_eq!(read(&bytes, 1), Err(BundleProblem::LeftOver { bytes: 5 }));
        assert_eq!(read(&bytes, 3), Err(BundleProblem::CutOff { whole: 2 }));
    }
}

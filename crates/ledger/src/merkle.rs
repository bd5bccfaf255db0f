//! The Merkle tree of RFC 6962: hashing of leaves and nodes, and the frontier that grows it.

use super::text::{from_base64, to_base64};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Bytes of one hash.
pub const HASH_BYTES: usize = 32;

/// The hash of a leaf, of an inner node, or of a whole tree. Printed in base64, as notes and receipts write it.
///
/// A type of its own: a digest of a document must never pass for a place in the tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeHash([u8; HASH_BYTES]);

impl TreeHash {
    /// The hash of an entry. The leading zero byte keeps an entry from passing for an inner node.
    pub fn of_leaf(entry: &[u8]) -> TreeHash {
        TreeHash(Sha256::new().chain_update([0x00]).chain_update(entry).finalize().into())
    }

    /// The hash of the node above two others.
    pub fn of_children(left: TreeHash, right: TreeHash) -> TreeHash {
        TreeHash(Sha256::new().chain_update([0x01]).chain_update(left.0).chain_update(right.0).finalize().into())
    }

    /// The root of the tree without leaves.
    pub fn of_nothing() -> TreeHash {
        TreeHash(Sha256::digest([]).into())
    }

    /// From raw bytes.
    pub const fn from_bytes(bytes: [u8; HASH_BYTES]) -> TreeHash {
        TreeHash(bytes)
    }

    /// From raw bytes of unknown length.
    pub fn read(bytes: &[u8]) -> Option<TreeHash> {
        bytes.try_into().ok().map(TreeHash)
    }

    /// From base64.
    pub fn parse(text: &str) -> Option<TreeHash> {
        TreeHash::read(&from_base64(text)?)
    }

    /// The raw bytes.
    pub const fn bytes(&self) -> &[u8; HASH_BYTES] {
        &self.0
    }
}

impl fmt::Display for TreeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&to_base64(self.0))
    }
}

impl fmt::Debug for TreeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A node over a full subtree: the leaves from `index · 2^level` up to, not including, `(index + 1) · 2^level`.
///
/// Only such nodes are ever stored: they do not change as the tree grows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node {
    /// 0 for leaves.
    pub level: u8,
    /// Position among the nodes of the level.
    pub index: u64,
}

impl Node {
    /// Whether a tree of this size has the node.
    pub fn is_in(self, size: u64) -> bool {
        self.index < size.checked_shr(u32::from(self.level)).unwrap_or(0)
    }
}

/// Where hashes of full subtrees come from: tiles, a table, a closure.
pub trait HashSource {
    /// The hash of the node; `None` if it is not at hand.
    fn hash_of(&self, node: Node) -> Option<TreeHash>;
}

impl<F: Fn(Node) -> Option<TreeHash>> HashSource for F {
    fn hash_of(&self, node: Node) -> Option<TreeHash> {
        self(node)
    }
}

/// The right edge of a growing tree: the roots of its full subtrees, the largest first.
///
/// This is all that appending needs: one hash per one-bit of the size, at most 64.
///
/// ```
/// use ledger::merkle::{Frontier, TreeHash};
/// let mut frontier = Frontier::default();
/// for entry in [b"one", b"two"] {
///     frontier.append(TreeHash::of_leaf(entry)).unwrap();
/// }
/// let root = TreeHash::of_children(TreeHash::of_leaf(b"one"), TreeHash::of_leaf(b"two"));
/// assert_eq!((frontier.size(), frontier.root()), (2, root));
/// assert_eq!(Frontier::restore(2, frontier.hashes().to_vec()), Some(frontier));
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Frontier {
    size: u64,
    /// INVARIANT: as many as `size` has one-bits.
    hashes: Vec<TreeHash>,
}

/// The tree has 2^64 − 1 leaves and cannot grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeFull;

impl fmt::Display for TreeFull {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the tree cannot grow: it has as many leaves as a 64-bit number can count")
    }
}

impl std::error::Error for TreeFull {}

impl Frontier {
    /// Puts a kept frontier together again; `None` if the number of hashes does not fit the size.
    pub fn restore(size: u64, hashes: Vec<TreeHash>) -> Option<Frontier> {
        (hashes.len() == size.count_ones() as usize).then_some(Frontier { size, hashes })
    }

    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the full subtrees, the largest first: what has to be kept.
    pub fn hashes(&self) -> &[TreeHash] {
        &self.hashes
    }

    /// The root of the whole tree.
    pub fn root(&self) -> TreeHash {
        fold_right(self.hashes.iter().copied()).unwrap_or_else(TreeHash::of_nothing)
    }

    /// Appends a leaf.
    pub fn append(&mut self, leaf: TreeHash) -> Result<(), TreeFull> {
        self.append_watched(leaf, |_, _| {})
    }

    /// Appends a leaf and shows every full subtree that it completes, the leaf itself first.
    pub fn append_watched(&mut self, leaf: TreeHash, mut watch: impl FnMut(Node, TreeHash)) -> Result<(), TreeFull> {
        let size = self.size.checked_add(1).ok_or(TreeFull)?;
        let mut node = Node { level: 0, index: self.size };
        let mut hash = leaf;
        watch(node, hash);
        // Each trailing one-bit of the old size is a subtree that the new leaf makes part of a larger one.
        for _ in 0..self.size.trailing_ones() {
            let Some(left) = self.hashes.pop() else { break };
            hash = TreeHash::of_children(left, hash);
            node = Node { level: node.level + 1, index: node.index >> 1 };
            watch(node, hash);
        }
        self.hashes.push(hash);
        self.size = size;
        Ok(())
    }
}

/// The hash over neighbouring full subtrees of falling size; `None` over none.
pub(super) fn fold_right(hashes: impl DoubleEndedIterator<Item = TreeHash>) -> Option<TreeHash> {
    hashes.rev().reduce(|right, left| TreeHash::of_children(left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_tree_has_the_root_that_the_standard_names() {
        assert_eq!(Frontier::default().root().to_string(), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn a_frontier_with_a_hash_too_many_or_too_few_is_not_restored() {
        let hash = TreeHash::of_leaf(b"x");
        assert!(Frontier::restore(3, vec![hash]).is_none());
        assert!(Frontier::restore(3, vec![hash; 3]).is_none());
        assert!(Frontier::restore(0, vec![hash]).is_none());
        assert!(Frontier::restore(u64::MAX, vec![hash; 64]).is_some());
    }

    #[test]
    fn a_full_tree_refuses_and_stays_as_it_was() {
        let hash = TreeHash::of_leaf(b"x");
        let mut frontier = Frontier::restore(u64::MAX, vec![hash; 64]).unwrap();
        let before = frontier.clone();
        assert_eq!(frontier.append(hash), Err(TreeFull));
        assert_eq!(frontier, before);
        let mut last = Frontier::restore(u64::MAX - 1, vec![hash; 63]).unwrap();
        assert_eq!(last.append(hash), Ok(()));
        assert_eq!(last.hashes().len(), 64);
    }

    #[test]
    fn completed_subtrees_are_shown() {
        let mut frontier = Frontier::default();
        let mut shown = Vec::new();
        for entry in 0..4_u8 {
            frontier
                .append_watched(TreeHash::of_leaf(&[entry]), |node, _| shown.push((node.level, node.index)))
                .unwrap();
        }
        assert_eq!(shown, [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3), (1, 1), (2, 0)]);
    }

    #[test]
    fn a_node_is_in_a_tree_or_not() {
        let check = |level, index, size, expected| assert_eq!(Node { level, index }.is_in(size), expected);
        check(0, 0, 0, false);
        check(0, 0, 1, true);
        check(1, 0, 1, false);
        check(63, 0, u64::MAX, true);
        check(63, 1, u64::MAX, false);
        check(64, 0, u64::MAX, false);
        check(255, 0, u64::MAX, false);
    }
}

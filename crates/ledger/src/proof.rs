//! Proofs: an entry is in a tree, a tree continues another one (RFC 6962, section 2.1).
//!
//! Making one is two steps, so that a store may fetch in between: `…_needs` names the nodes, `prove_…` reads them.
//! Checking needs nothing but the numbers, the roots and the proof.

use super::merkle::{HashSource, Node, TreeHash, fold_right};
use std::fmt;
use values::count::counted;

/// Longest proof of either kind: a tree of 2^64 − 1 leaves is 64 levels high, and growth may add the node it starts at.
pub const PROOF_HASHES_MAX: usize = 65;

/// Why a proof cannot be made or does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProofProblem {
    /// The tree has no such entry.
    IndexBeyondTree {
        /// The entry.
        index: u64,
        /// The tree.
        size: u64,
    },
    /// Every tree continues the empty one: there is nothing to prove.
    FromNothing,
    /// The later tree is smaller.
    Shrinks {
        /// Size of the earlier tree.
        old: u64,
        /// Size of the later tree.
        new: u64,
    },
    /// The source does not have the node.
    Missing(Node),
    /// Hashes are missing or left over.
    WrongLength {
        /// What the sizes demand.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// The proof leads to another root of the (later) tree.
    WrongRoot,
    /// The proof leads to another root of the earlier tree.
    WrongOldRoot,
}

impl fmt::Display for ProofProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProofProblem::IndexBeyondTree { index, size } => {
                write!(formatter, "a tree of {} has no entry {index}", counted(*size, "entry"))
            }
            ProofProblem::FromNothing => formatter.write_str("every tree continues the empty one"),
            ProofProblem::Shrinks { old, new } => {
                write!(formatter, "a tree of {} does not continue one of {old}", counted(*new, "entry"))
            }
            ProofProblem::Missing(Node { level, index }) => {
                write!(formatter, "the hash of node {index} at level {level} is missing")
            }
            ProofProblem::WrongLength { expected, found } => {
                write!(formatter, "the proof has {} instead of {expected}", counted(*found as u64, "hash"))
            }
            ProofProblem::WrongRoot => formatter.write_str("the proof leads to another root"),
            ProofProblem::WrongOldRoot => formatter.write_str("the proof leads to another root of the earlier tree"),
        }
    }
}

impl std::error::Error for ProofProblem {}

/// The nodes from which the root of a tree is put together.
pub fn root_needs(size: u64) -> Vec<Node> {
    Span { from: 0, to: size }.nodes()
}

/// The root of the tree at a size.
pub fn root(source: &impl HashSource, size: u64) -> Result<TreeHash, ProofProblem> {
    Span { from: 0, to: size }.hash(source)
}

/// The nodes from which [`prove_inclusion`] is put together.
pub fn inclusion_needs(index: u64, size: u64) -> Result<Vec<Node>, ProofProblem> {
    Ok(inclusion_path(index, size)?.iter().flat_map(|step| step.sibling.nodes()).collect())
}

/// Proves that the tree of `size` leaves has a certain leaf at `index`: sibling hashes from the leaf up.
pub fn prove_inclusion(source: &impl HashSource, index: u64, size: u64) -> Result<Vec<TreeHash>, ProofProblem> {
    inclusion_path(index, size)?.iter().rev().map(|step| step.sibling.hash(source)).collect()
}

/// Checks that the tree with this size and root has the leaf at `index`.
///
/// ```
/// use ledger::merkle::TreeHash;
/// use ledger::proof::verify_inclusion;
/// let (left, right) = (TreeHash::of_leaf(b"left"), TreeHash::of_leaf(b"right"));
/// let root = TreeHash::of_children(left, right);
/// assert!(verify_inclusion(1, 2, root, right, &[left]).is_ok());
/// assert!(verify_inclusion(0, 2, root, right, &[left]).is_err());
/// ```
pub fn verify_inclusion(
    index: u64,
    size: u64,
    root: TreeHash,
    leaf: TreeHash,
    proof: &[TreeHash],
) -> Result<(), ProofProblem> {
    let path = inclusion_path(index, size)?;
    demand_length(proof, path.len())?;
    let climbed = path.iter().rev().zip(proof).fold(leaf, |hash, (step, sibling)| step.join(hash, *sibling));
    if climbed == root { Ok(()) } else { Err(ProofProblem::WrongRoot) }
}

/// The nodes from which [`prove_consistency`] is put together.
pub fn consistency_needs(old: u64, new: u64) -> Result<Vec<Node>, ProofProblem> {
    let (start, path) = consistency_path(old, new)?;
    let start = if start.from == 0 { Vec::new() } else { start.nodes() };
    Ok(path.iter().flat_map(|step| step.sibling.nodes()).chain(start).collect())
}

/// Proves that the tree of `new` leaves continues the tree of `old` leaves.
pub fn prove_consistency(source: &impl HashSource, old: u64, new: u64) -> Result<Vec<TreeHash>, ProofProblem> {
    let (start, path) = consistency_path(old, new)?;
    // A start at the very left is the old tree itself, whose root the reader has.
    let first = (start.from != 0).then(|| start.hash(source));
    first.into_iter().chain(path.iter().rev().map(|step| step.sibling.hash(source))).collect()
}

/// Checks that one tree continues another: nothing was changed, taken out or put in between.
pub fn verify_consistency(
    old: u64,
    new: u64,
    old_root: TreeHash,
    new_root: TreeHash,
    proof: &[TreeHash],
) -> Result<(), ProofProblem> {
    let (start, path) = consistency_path(old, new)?;
    let (seed, siblings) = if start.from == 0 {
        demand_length(proof, path.len())?;
        (old_root, proof)
    } else {
        demand_length(proof, path.len() + 1)?;
        // Its length is right, so there is a first.
        proof.split_first().map(|(first, rest)| (*first, rest)).ok_or(ProofProblem::WrongRoot)?
    };
    let (mut old_hash, mut new_hash) = (seed, seed);
    for (step, sibling) in path.iter().rev().zip(siblings) {
        new_hash = step.join(new_hash, *sibling);
        // What lies to the right was added later and is no part of the old tree.
        if step.side == Side::Left {
            old_hash = step.join(old_hash, *sibling);
        }
    }
    if old_hash != old_root {
        return Err(ProofProblem::WrongOldRoot);
    }
    if new_hash == new_root { Ok(()) } else { Err(ProofProblem::WrongRoot) }
}

/// Leaves from `from` up to, not including, `to`, that are a subtree of some tree.
#[derive(Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
}

impl Span {
    /// Full subtrees of falling size that make up the span.
    fn nodes(self) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut from = self.from;
        // A subtree starts at a multiple of the largest power of two that fits into it, and so does what is left of it.
        while let Some(level) = (self.to - from).checked_ilog2() {
            nodes.push(Node { level: level as u8, index: from >> level });
            from += 1 << level;
        }
        nodes
    }

    fn hash(self, source: &impl HashSource) -> Result<TreeHash, ProofProblem> {
        let hashes: Result<Vec<TreeHash>, ProofProblem> =
            self.nodes().into_iter().map(|node| source.hash_of(node).ok_or(ProofProblem::Missing(node))).collect();
        Ok(fold_right(hashes?.into_iter()).unwrap_or_else(TreeHash::of_nothing))
    }

    /// The two subtrees below; `None` for a single leaf.
    fn split(self) -> Option<(Span, Span)> {
        // The left one is as large as a power of two can be without taking all.
        let level = (self.to - self.from).checked_sub(1)?.checked_ilog2()?;
        let middle = self.from + (1 << level);
        Some((Span { from: self.from, to: middle }, Span { from: middle, to: self.to }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// One level of a way down: on which side the other half lies.
struct Step {
    side: Side,
    sibling: Span,
}

impl Step {
    fn join(&self, hash: TreeHash, sibling: TreeHash) -> TreeHash {
        match self.side {
            Side::Left => TreeHash::of_children(sibling, hash),
            Side::Right => TreeHash::of_children(hash, sibling),
        }
    }
}

/// The way from the root to a leaf.
fn inclusion_path(index: u64, size: u64) -> Result<Vec<Step>, ProofProblem> {
    if index >= size {
        return Err(ProofProblem::IndexBeyondTree { index, size });
    }
    let (_, path) = descend(size, |left| index < left.to, |_| false);
    Ok(path)
}

/// The way from the new root to the largest subtree that ends where the old tree ends, and that subtree.
fn consistency_path(old: u64, new: u64) -> Result<(Span, Vec<Step>), ProofProblem> {
    if old == 0 {
        return Err(ProofProblem::FromNothing);
    }
    if old > new {
        return Err(ProofProblem::Shrinks { old, new });
    }
    Ok(descend(new, |left| old <= left.to, |span| span.to == old))
}

/// Walks down from the root, to the left where `goes_left` says so of the left half, until a leaf or `stops`.
fn descend(size: u64, goes_left: impl Fn(Span) -> bool, stops: impl Fn(Span) -> bool) -> (Span, Vec<Step>) {
    let mut span = Span { from: 0, to: size };
    let mut path = Vec::new();
    while !stops(span) {
        let Some((left, right)) = span.split() else { break };
        if goes_left(left) {
            path.push(Step { side: Side::Right, sibling: right });
            span = left;
        } else {
            path.push(Step { side: Side::Left, sibling: left });
            span = right;
        }
    }
    (span, path)
}

fn demand_length(proof: &[TreeHash], expected: usize) -> Result<(), ProofProblem> {
    if proof.len() == expected {
        return Ok(());
    }
    Err(ProofProblem::WrongLength { expected, found: proof.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: TreeHash = TreeHash::from_bytes([7; 32]);

    fn any_hash(_: Node) -> Option<TreeHash> {
        Some(HASH)
    }

    #[test]
    fn a_root_is_put_together_from_full_subtrees() {
        let needed = |size: u64| root_needs(size).iter().map(|node| (node.level, node.index)).collect::<Vec<_>>();
        assert_eq!(needed(0), []);
        assert_eq!(needed(8), [(3, 0)]);
        assert_eq!(needed(7), [(2, 0), (1, 2), (0, 6)]);
    }

    #[test]
    fn the_largest_trees_have_proofs_within_the_bound() {
        for size in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) + 1] {
            for index in [0, 1, size / 2, size - 2, size - 1] {
                let proof = prove_inclusion(&any_hash, index, size).unwrap();
                assert!(proof.len() <= 64, "{index} {size} {}", proof.len());
                assert_eq!(verify_inclusion(index, size, HASH, HASH, &proof), Err(ProofProblem::WrongRoot));
            }
            for old in [1, 2, 3, size / 2, size - 1, size] {
                let proof = prove_consistency(&any_hash, old, size).unwrap();
                assert!(proof.len() <= PROOF_HASHES_MAX, "{old} {size} {}", proof.len());
                assert!(consistency_needs(old, size).unwrap().iter().all(|node| node.is_in(size)));
            }
            assert!(root_needs(size).iter().all(|node| node.is_in(size)));
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let beyond = |index, size| Err(ProofProblem::IndexBeyondTree { index, size });
        assert_eq!(prove_inclusion(&any_hash, 0, 0), beyond(0, 0));
        assert_eq!(prove_inclusion(&any_hash, u64::MAX, u64::MAX), beyond(u64::MAX, u64::MAX));
        assert_eq!(prove_consistency(&any_hash, 0, 5), Err(ProofProblem::FromNothing));
        assert_eq!(prove_consistency(&any_hash, 6, 5), Err(ProofProblem::Shrinks { old: 6, new: 5 }));
        assert_eq!(prove_consistency(&any_hash, 5, 5), Ok(Vec::new()));
    }

    #[test]
    fn a_proof_of_a_million_hashes_costs_nothing() {
        let proof = vec![HASH; 1_000_000];
        let wrong = |expected| Err(ProofProblem::WrongLength { expected, found: 1_000_000 });
        assert_eq!(verify_inclusion(3, 8, HASH, HASH, &proof), wrong(3));
        assert_eq!(verify_consistency(3, 8, HASH, HASH, &proof), wrong(4));
        assert_eq!(verify_consistency(4, 8, HASH, HASH, &proof), wrong(1));
    }

    #[test]
    fn a_missing_hash_is_named() {
        let nothing = |_: Node| None;
        assert_eq!(prove_inclusion(&nothing, 0, 2), Err(ProofProblem::Missing(Node { level: 0, index: 1 })));
        assert_eq!(root(&nothing, 0), Ok(TreeHash::of_nothing()));
    }
}

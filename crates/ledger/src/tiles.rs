//! Hash tiles as bytes, and proofs read out of them.

use super::merkle::{HASH_BYTES, HashSource, Node, TreeHash};
use super::tile_path::{TILE_HEIGHT, TILE_WIDTH, TileKind, TilePath};
use std::collections::BTreeMap;
use std::fmt;
use values::count::counted;

/// Why bytes are not the tile they should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TileProblem {
    /// The path is one of an entry bundle.
    NotHashes(TilePath),
    /// The tile has another number of bytes than its path says.
    WrongLength {
        /// The tile.
        path: TilePath,
        /// Bytes given.
        found: usize,
    },
    /// A narrower or wider form of the tile says something else.
    Disagrees {
        /// The tile.
        path: TilePath,
        /// The first hash that differs.
        at: usize,
    },
}

impl fmt::Display for TileProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TileProblem::NotHashes(path) => write!(formatter, "`{path}` holds entries instead of hashes"),
            TileProblem::WrongLength { path, found } => {
                let expected = usize::from(path.width()) * HASH_BYTES;
                write!(formatter, "`{path}` has {} instead of {expected}", counted(*found as u64, "byte"))
            }
            TileProblem::Disagrees { path, at } => {
                write!(formatter, "`{path}` differs at hash {at} from another form of the same tile")
            }
        }
    }
}

impl std::error::Error for TileProblem {}

/// The bytes of a tile: its hashes one behind the other.
pub fn to_bytes(hashes: &[TreeHash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| *hash.bytes()).collect()
}

/// Reads the bytes of a tile.
pub fn read(path: TilePath, bytes: &[u8]) -> Result<Vec<TreeHash>, TileProblem> {
    if path.kind() == TileKind::Entries {
        return Err(TileProblem::NotHashes(path));
    }
    let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
    if hashes.len() != usize::from(path.width()) || !rest.is_empty() {
        return Err(TileProblem::WrongLength { path, found: bytes.len() });
    }
    Ok(hashes.iter().copied().map(TreeHash::from_bytes).collect())
}

/// The tiles that hold what the nodes are made of, each once, in order; a node that the tree does not have adds none.
pub fn tiles_for(nodes: &[Node], size: u64) -> Vec<TilePath> {
    let mut paths: Vec<TilePath> = nodes.iter().filter_map(|node| TilePath::holding(*node, size)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Tiles at hand, as a source of hashes.
///
/// Nothing here is trusted: a proof made from wrong tiles fails against the signed root.
///
/// ```
/// use ledger::merkle::TreeHash;
/// use ledger::proof::{inclusion_needs, prove_inclusion};
/// use ledger::tiles::{TileSet, tiles_for, to_bytes};
/// let leaves: Vec<TreeHash> = (0..5_u8).map(|entry| TreeHash::of_leaf(&[entry])).collect();
/// let mut tiles = TileSet::default();
/// for path in tiles_for(&inclusion_needs(3, 5).unwrap(), 5) {
///     assert_eq!(path.to_string(), "tile/0/000.p/5");
///     tiles.insert(path, &to_bytes(&leaves)).unwrap();
/// }
/// assert_eq!(prove_inclusion(&tiles, 3, 5).unwrap().len(), 3);
/// ```
#[derive(Clone, Default, Debug)]
pub struct TileSet {
    /// By level and index; the widest form that was seen, for a full tile serves every tree that its partial forms did.
    rows: BTreeMap<(u8, u64), Vec<TreeHash>>,
}

impl TileSet {
    /// Takes a tile in; forms of one tile at several widths have to agree.
    pub fn insert(&mut self, path: TilePath, bytes: &[u8]) -> Result<(), TileProblem> {
        let hashes = read(path, bytes)?;
        let TileKind::Hashes { level } = path.kind() else { return Err(TileProblem::NotHashes(path)) };
        let kept = self.rows.entry((level, path.index())).or_default();
        if let Some(at) = kept.iter().zip(&hashes).position(|(kept, given)| kept != given) {
            return Err(TileProblem::Disagrees { path, at });
        }
        if hashes.len() > kept.len() {
            *kept = hashes;
        }
        Ok(())
    }
}

impl HashSource for TileSet {
    fn hash_of(&self, node: Node) -> Option<TreeHash> {
        let height = u32::from(node.level % TILE_HEIGHT);
        let width = u64::from(TILE_WIDTH);
        // A node that could not be shifted back lies beyond every tree.
        let first = node.index.checked_mul(1 << height)?;
        let row = self.rows.get(&(node.level / TILE_HEIGHT, first / width))?;
        let start = (first % width) as usize;
        row.get(start..start + (1_usize << height)).and_then(full_subtree)
    }
}

/// The root over as many hashes as a power of two.
pub(super) fn full_subtree(hashes: &[TreeHash]) -> Option<TreeHash> {
    let mut level = hashes.to_vec();
    while level.len() > 1 {
        let (pairs, rest) = level.as_chunks::<2>();
        if !rest.is_empty() {
            return None;
        }
        level = pairs.iter().map(|[left, right]| TreeHash::of_children(*left, *right)).collect();
    }
    level.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TilePath {
        TilePath::parse(text).unwrap()
    }

    fn leaves(count: u16) -> Vec<TreeHash> {
        (0..count).map(|entry| TreeHash::of_leaf(&entry.to_be_bytes())).collect()
    }

    #[test]
    fn a_tile_has_exactly_the_bytes_that_its_path_says() {
        let bytes = to_bytes(&leaves(256));
        assert_eq!(bytes.len(), 8192);
        assert!(read(path("tile/0/000"), &bytes).is_ok());
        for (name, length) in [
            ("tile/0/000", 8191),
            ("tile/0/000", 8160),
            ("tile/0/000.p/255", 8192),
            ("tile/0/000.p/255", 8161),
            ("tile/0/000.p/1", 0),
            ("tile/0/000.p/1", 31),
            ("tile/0/000.p/1", 33),
        ] {
            let expected = TileProblem::WrongLength { path: path(name), found: length };
            assert_eq!(read(path(name), &bytes[..length]), Err(expected));
        }
        assert_eq!(read(path("tile/entries/000"), &bytes), Err(TileProblem::NotHashes(path("tile/entries/000"))));
    }

    #[test]
    fn forms_of_one_tile_have_to_agree() {
        let hashes = leaves(5);
        let mut tiles = TileSet::default();
        tiles.insert(path("tile/0/000.p/5"), &to_bytes(&hashes)).unwrap();
        tiles.insert(path("tile/0/000.p/3"), &to_bytes(&hashes[..3])).unwrap();
        assert_eq!(tiles.hash_of(Node { level: 0, index: 4 }), Some(hashes[4]), "the wider form is kept");
        let mut forged = hashes;
        forged[2] = forged[1];
        let name = path("tile/0/000.p/5");
        assert_eq!(tiles.insert(name, &to_bytes(&forged)), Err(TileProblem::Disagrees { path: name, at: 2 }));
    }

    #[test]
    fn a_node_that_is_not_in_the_tiles_is_not_there() {
        let mut tiles = TileSet::default();
        tiles.insert(path("tile/0/000.p/5"), &to_bytes(&leaves(5))).unwrap();
        for (level, index) in [(0, 5), (1, 2), (2, 1), (3, 0), (8, 0), (63, u64::MAX), (255, u64::MAX), (0, u64::MAX)] {
            assert_eq!(tiles.hash_of(Node { level, index }), None, "{level} {index}");
        }
        assert!(tiles.hash_of(Node { level: 2, index: 0 }).is_some());
    }

    #[test]
    fn only_powers_of_two_are_full() {
        assert_eq!(full_subtree(&[]), None);
        assert_eq!(full_subtree(&leaves(3)), None);
        assert_eq!(full_subtree(&leaves(6)), None);
        assert_eq!(full_subtree(&leaves(1)), leaves(1).first().copied());
    }
}

//! The tiles at the right edge of a growing tree: what a sealer keeps to publish the next ones.

use super::merkle::{TreeFull, TreeHash};
use super::tile_path::{TILE_LEVELS, TILE_WIDTH, TileKind, TilePath};
use super::tiles::{self, TileProblem, full_subtree};
use std::fmt;
use values::bugs::{self, Bug};

/// A tile and its bytes, ready to be published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile {
    /// Where.
    pub path: TilePath,
    /// What.
    pub bytes: Vec<u8>,
}

/// The hashes of every level that do not fill a tile yet: at most 8 levels of 255.
///
/// ```
/// use ledger::edge::Edge;
/// use ledger::merkle::TreeHash;
/// let mut edge = Edge::default();
/// let mut full = Vec::new();
/// for entry in 0..257_u16 {
///     full.extend(edge.append(TreeHash::of_leaf(&entry.to_be_bytes())).unwrap());
/// }
/// let names = |tiles: &[ledger::edge::Tile]| tiles.iter().map(|tile| tile.path.to_string()).collect::<Vec<_>>();
/// assert_eq!(names(&full), ["tile/0/000"]);
/// assert_eq!(names(&edge.partial_tiles()), ["tile/0/001.p/1", "tile/1/000.p/1"]);
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Edge {
    size: u64,
    /// INVARIANT: level `l` has `(size / 256^l) mod 256` hashes.
    levels: [Vec<TreeHash>; TILE_LEVELS as usize],
}

/// Why an edge cannot be put together again from published tiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EdgeProblem {
    /// A partial tile of the tree is not there.
    Missing(TilePath),
    /// A partial tile is not what it should be.
    Tile(TileProblem),
}

impl fmt::Display for EdgeProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdgeProblem::Missing(path) => write!(formatter, "`{path}` is missing"),
            EdgeProblem::Tile(problem) => problem.fmt(formatter),
        }
    }
}

impl std::error::Error for EdgeProblem {}

impl Edge {
    /// Puts an edge together again from the partial tiles of the tree of this size.
    pub fn restore(size: u64, tile: impl Fn(TilePath) -> Option<Vec<u8>>) -> Result<Edge, EdgeProblem> {
        let mut edge = Edge { size, ..Edge::default() };
        for (level, hashes) in (0..).zip(&mut edge.levels) {
            let Some(path) = partial_path(level, size) else { continue };
            let bytes = tile(path).ok_or(EdgeProblem::Missing(path))?;
            *hashes = tiles::read(path, &bytes).map_err(EdgeProblem::Tile)?;
        }
        Ok(edge)
    }

    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf; the tiles that it fills, the lowest first. They will never change again.
    pub fn append(&mut self, leaf: TreeHash) -> Result<Vec<Tile>, TreeFull> {
        self.size = self.size.checked_add(1).ok_or(TreeFull)?;
        let mut filled = Vec::new();
        let mut hash = leaf;
        for (level, hashes) in (0..).zip(&mut self.levels) {
            hashes.push(hash);
            let width = usize::from(TILE_WIDTH) - usize::from(bugs::on(Bug::TileOffByOne));
            if hashes.len() < width {
                break;
            }
            let row = std::mem::take(hashes);
            let Some(above) = full_subtree(&row) else { break };
            let items = self.size >> (8 * u32::from(level));
            let path = TilePath::new(TileKind::Hashes { level }, items / u64::from(TILE_WIDTH) - 1, TILE_WIDTH);
            filled.extend(path.map(|path| Tile { path, bytes: tiles::to_bytes(&row) }));
            hash = above;
        }
        Ok(filled)
    }

    /// The tiles that are not full yet, the lowest first: to be published with every checkpoint.
    pub fn partial_tiles(&self) -> Vec<Tile> {
        let levels = (0..).zip(&self.levels);
        let tile = |(level, hashes): (u8, &Vec<TreeHash>)| {
            partial_path(level, self.size).map(|path| Tile { path, bytes: tiles::to_bytes(hashes) })
        };
        levels.filter_map(tile).collect()
    }
}

/// The partial tile of a level in a tree of this size, if it has one.
fn partial_path(level: u8, size: u64) -> Option<TilePath> {
    let items = size >> (8 * u32::from(level));
    let path = TilePath::in_tree(TileKind::Hashes { level }, items / u64::from(TILE_WIDTH), size)?;
    (!path.is_full()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::super::tile_path::changed_tiles;
    use super::*;
    use std::collections::BTreeMap;

    fn leaf(entry: u64) -> TreeHash {
        TreeHash::of_leaf(&entry.to_be_bytes())
    }

    #[test]
    fn every_size_publishes_exactly_the_tiles_that_changed() {
        let mut edge = Edge::default();
        let watched = [255, 256, 257, 65_279, 65_280, 65_281, 65_535, 65_536, 65_537];
        for size in 1..=65_537_u64 {
            let mut tiles = edge.append(leaf(size)).unwrap();
            if !watched.contains(&size) {
                continue;
            }
            assert_eq!(edge.size(), size);
            tiles.extend(edge.partial_tiles());
            let published: BTreeMap<TilePath, usize> =
                tiles.into_iter().map(|tile| (tile.path, tile.bytes.len())).collect();
            for path in changed_tiles(size - 1, size) {
                assert_eq!(published.get(&path), Some(&(usize::from(path.width()) * 32)), "{size} {path}");
            }
            let restored = Edge::restore(size, |path| {
                edge.partial_tiles().into_iter().find(|tile| tile.path == path).map(|tile| tile.bytes)
            });
            assert_eq!(restored.as_ref(), Ok(&edge), "{size}");
        }
    }

    #[cfg(feature = "bugs")]
    #[test]
    fn a_tile_that_is_off_by_one_is_noticed() {
        let noticed = bugs::with(Bug::TileOffByOne, || {
            std::panic::catch_unwind(every_size_publishes_exactly_the_tiles_that_changed).is_err()
        });
        assert!(noticed, "a tile that ends one entry too early must be noticed");
    }

    #[test]
    fn an_edge_without_its_tiles_is_not_restored() {
        let path = TilePath::parse("tile/0/001.p/1").unwrap();
        assert_eq!(Edge::restore(257, |_| None), Err(EdgeProblem::Missing(path)));
        let wrong = TileProblem::WrongLength { path, found: 3 };
        assert_eq!(Edge::restore(257, |_| Some(vec![1, 2, 3])), Err(EdgeProblem::Tile(wrong)));
        assert!(Edge::restore(0, |_| None).is_ok());
    }

    #[test]
    fn the_largest_edge_refuses_to_grow() {
        let tile = |path: TilePath| Some(vec![0; usize::from(path.width()) * 32]);
        let mut edge = Edge::restore(u64::MAX - 1, tile).unwrap();
        assert_eq!(edge.append(leaf(0)), Ok(Vec::new()));
        let before = edge.clone();
        assert_eq!(edge.append(leaf(0)), Err(TreeFull));
        assert_eq!(edge, before);
    }
}

//! A log in memory: entries, the tiles that were published on the way, and the tree's state.

use ledger::edge::{Edge, Tile};
use ledger::merkle::{Frontier, Node, TreeHash};
use ledger::tile_path::TilePath;
use ledger::tiles::{TileSet, tiles_for};
use std::collections::BTreeMap;

/// Everything that a sealer would have published.
#[derive(Default)]
pub struct Log {
    pub frontier: Frontier,
    pub edge: Edge,
    pub tiles: BTreeMap<TilePath, Vec<u8>>,
}

impl Log {
    /// A log whose entries are the texts of their indices; tiles are published at the end only.
    pub fn of(size: u64) -> Log {
        let mut log = Log::default();
        (0..size).for_each(|index| log.append(&entry(index)));
        log.publish();
        log
    }

    pub fn append(&mut self, entry: &[u8]) {
        let leaf = TreeHash::of_leaf(entry);
        self.frontier.append(leaf).unwrap();
        let filled = self.edge.append(leaf).unwrap();
        self.take(filled);
    }

    pub fn publish(&mut self) {
        self.take(self.edge.partial_tiles());
    }

    /// Exactly the tiles that hold the nodes in a tree of this size.
    pub fn source(&self, nodes: &[Node], size: u64) -> TileSet {
        let mut set = TileSet::default();
        for path in tiles_for(nodes, size) {
            set.insert(path, self.tiles.get(&path).unwrap()).unwrap();
        }
        set
    }

    fn take(&mut self, tiles: Vec<Tile>) {
        self.tiles.extend(tiles.into_iter().map(|tile| (tile.path, tile.bytes)));
    }
}

pub fn entry(index: u64) -> Vec<u8> {
    format!("entry {index}").into_bytes()
}

//! Trees, proofs and tiles against two other implementations of RFC 6962.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

#[path = "oracle/log.rs"]
mod log;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use ledger::merkle::TreeHash;
use ledger::proof::{self, verify_consistency, verify_inclusion};
use ledger::tile_path::{TileKind, TilePath, changed_bundles, changed_tiles};
use log::{Log, entry};
use proptest::prelude::*;
use sha2::Sha256;
use tlog_tiles::{Hash, HashReader, Tile, TileHashReader, TileReader};

/// The tree of the first implementation.
fn in_memory(size: u64) -> MemoryBackedTree<Sha256, Vec<u8>> {
    let mut tree = MemoryBackedTree::new();
    (0..size).for_each(|index| tree.push(entry(index)));
    tree
}

/// The second implementation, reading the tiles that we published and checking them against our root.
struct Published<'a>(&'a Log);

impl TileReader for Published<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        Ok(tiles.iter().map(|tile| self.0.tiles[&ours(tile).unwrap()].clone()).collect())
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

fn ours(tile: &Tile) -> Option<TilePath> {
    TilePath::new(TileKind::Hashes { level: tile.level() }, tile.level_index(), tile.width() as u16)
}

fn theirs(hashes: &[TreeHash]) -> Vec<Hash> {
    hashes.iter().map(|hash| Hash(*hash.bytes())).collect()
}

fn bytes(hashes: &[TreeHash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| *hash.bytes()).collect()
}

/// Proofs out of exactly the tiles that are said to be needed.
fn inclusion(log: &Log, index: u64, size: u64) -> Vec<TreeHash> {
    let needs = proof::inclusion_needs(index, size).unwrap();
    proof::prove_inclusion(&log.source(&needs, log.frontier.size()), index, size).unwrap()
}

fn consistency(log: &Log, old: u64, new: u64) -> Vec<TreeHash> {
    let needs = proof::consistency_needs(old, new).unwrap();
    proof::prove_consistency(&log.source(&needs, log.frontier.size()), old, new).unwrap()
}

fn root(log: &Log, size: u64) -> TreeHash {
    proof::root(&log.source(&proof::root_needs(size), log.frontier.size()), size).unwrap()
}

fn check_root(log: &Log, tree: &MemoryBackedTree<Sha256, Vec<u8>>) {
    assert_eq!(log.frontier.root().bytes().as_slice(), tree.root().as_bytes().as_slice(), "{}", log.frontier.size());
}

/// The proof of an entry, ours and those of the two others, byte for byte.
fn check_inclusion(log: &Log, tree: &MemoryBackedTree<Sha256, Vec<u8>>, index: u64) {
    let size = log.frontier.size();
    let ours = inclusion(log, index, size);
    assert_eq!(bytes(&ours), tree.prove_inclusion(index as usize).as_bytes(), "{index} of {size}");
    let reader = TileHashReader::new(size, Hash(*log.frontier.root().bytes()), &Published(log)).prove(index, size);
    assert_eq!(theirs(&ours), reader, "{index} of {size}");
    let leaf = TreeHash::of_leaf(&entry(index));
    assert_eq!(verify_inclusion(index, size, log.frontier.root(), leaf, &ours), Ok(()));
    let forged = TreeHash::of_leaf(b"forged");
    assert!(verify_inclusion(index, size, log.frontier.root(), forged, &ours).is_err());
}

/// Names the calls of the second implementation by what they do here.
trait Prove {
    fn prove(&self, index: u64, size: u64) -> Vec<Hash>;
    fn prove_growth(&self, old: u64, new: u64) -> Vec<Hash>;
}

impl<R: HashReader> Prove for R {
    fn prove(&self, index: u64, size: u64) -> Vec<Hash> {
        tlog_tiles::prove_record(size, index, self).unwrap()
    }

    fn prove_growth(&self, old: u64, new: u64) -> Vec<Hash> {
        tlog_tiles::prove_tree(new, old, self).unwrap()
    }
}

fn check_consistency(log: &Log, tree: &MemoryBackedTree<Sha256, Vec<u8>>, old: u64) {
    let new = log.frontier.size();
    let ours = consistency(log, old, new);
    assert_eq!(bytes(&ours), tree.prove_consistency((new - old) as usize).as_bytes(), "{old} to {new}");
    let reader = TileHashReader::new(new, Hash(*log.frontier.root().bytes()), &Published(log)).prove_growth(old, new);
    assert_eq!(theirs(&ours), reader, "{old} to {new}");
    let old_root = root(log, old);
    assert_eq!(verify_consistency(old, new, old_root, log.frontier.root(), &ours), Ok(()));
    assert!(verify_consistency(old, new, TreeHash::of_leaf(b"forged"), log.frontier.root(), &ours).is_err());
}

#[test]
fn every_proof_of_every_small_tree() {
    for size in 1..=70 {
        let (log, tree) = (Log::of(size), in_memory(size));
        check_root(&log, &tree);
        for index in 0..size {
            check_inclusion(&log, &tree, index);
            check_consistency(&log, &tree, index + 1);
        }
    }
}

#[test]
fn trees_around_the_edges_of_tiles() {
    for size in [255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537] {
        let (log, tree) = (Log::of(size), in_memory(size));
        check_root(&log, &tree);
        for at in [0, 1, 254, 255, 256, 257, 65_279, 65_280, 65_534, 65_535, 65_536, size / 2, size - 1] {
            if at < size {
                check_inclusion(&log, &tree, at);
                check_consistency(&log, &tree, at + 1);
            }
        }
        // Each published tile is one that the tree has, and each tile of the tree was published.
        let expected: Vec<TilePath> = changed_tiles(0, size).collect();
        assert!(expected.iter().all(|path| log.tiles[path].len() == usize::from(path.width()) * 32));
        assert_eq!(log.tiles.len(), expected.len(), "{size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_trees(size in 1..3_000_u64, picks in proptest::collection::vec(any::<u64>(), 12)) {
        let (log, tree) = (Log::of(size), in_memory(size));
        check_root(&log, &tree);
        for pick in picks {
            check_inclusion(&log, &tree, pick % size);
            check_consistency(&log, &tree, pick % size + 1);
        }
    }

    #[test]
    fn changed_proofs_fail(size in 2..600_u64, pick in any::<u64>(), bit in any::<u32>(), other in any::<u64>()) {
        let log = Log::of(size);
        let (index, old) = (pick % size, pick % (size - 1) + 1);
        let (root, old_root) = (log.frontier.root(), root(&log, old));
        let leaf = TreeHash::of_leaf(&entry(index));
        let (inclusion, consistency) = (inclusion(&log, index, size), consistency(&log, old, size));
        for forged in mutations(&inclusion, bit) {
            prop_assert!(verify_inclusion(index, size, root, leaf, &forged).is_err());
        }
        for forged in mutations(&consistency, bit) {
            prop_assert!(verify_consistency(old, size, old_root, root, &forged).is_err());
        }
        // Another index is another claim, whatever the number.
        for other in [other, other % size, index ^ 1, size, u64::MAX] {
            prop_assert!(other == index || verify_inclusion(other, size, root, leaf, &inclusion).is_err());
            prop_assert!(other == old || verify_consistency(other, size, old_root, root, &consistency).is_err());
        }
    }

    #[test]
    fn hostile_numbers_do_no_harm(
        numbers in (any::<u64>(), any::<u64>()),
        hashes in proptest::collection::vec(any::<[u8; 32]>(), 0..70),
    ) {
        let proof: Vec<TreeHash> = hashes.into_iter().map(TreeHash::from_bytes).collect();
        let hash = TreeHash::of_nothing();
        let (small, large) = numbers;
        prop_assert!(verify_inclusion(small, large, hash, hash, &proof).is_err());
        prop_assert!(small == large || verify_consistency(small, large, hash, hash, &proof).is_err());
        let needs = proof::inclusion_needs(small, large).unwrap_or_default();
        prop_assert!(needs.len() <= 64 * 64 && needs.iter().all(|node| node.is_in(large)));
        let needs = proof::consistency_needs(small, large).unwrap_or_default();
        prop_assert!(needs.iter().all(|node| TilePath::holding(*node, large).is_some()));
    }

    #[test]
    fn the_same_tiles_change(old in 0..2_000_000_u64, more in 0..40_000_u64) {
        let new = old + more;
        let theirs: Vec<TilePath> = Tile::new_tiles(8, old, new).iter().map(|tile| ours(tile).unwrap()).collect();
        prop_assert_eq!(changed_tiles(old, new).collect::<Vec<_>>(), theirs);
        let bundles = changed_bundles(old, new).map(|path| (path.index(), path.width()));
        let leaves = changed_tiles(old, new).filter(|path| path.kind() == TileKind::Hashes { level: 0 });
        prop_assert!(bundles.eq(leaves.map(|path| (path.index(), path.width()))));
    }

    #[test]
    fn paths_are_read_alike(path in r"tile/[0-9]{1,2}/(x?[0-9]{1,4}/){0,3}x?[0-9]{3}(\.p/[0-9]{1,3})?") {
        let read = TilePath::parse(&path);
        // The other implementation stops at a level of 64 and at a width of 0.
        let stops = path.ends_with(".p/0") || path.ends_with(".p/00") || path.ends_with(".p/000");
        let level = path.split('/').nth(1).and_then(|level| level.parse::<u8>().ok());
        if stops || level.is_none_or(|level| level > 63) {
            prop_assert_eq!(read, None);
            return Ok(());
        }
        // It writes the height of its tiles in front, and knows tiles that no tree reaches.
        let theirs = Tile::from_path(&path.replacen("tile/", "tile/8/", 1)).ok().and_then(|tile| ours(&tile));
        prop_assert_eq!(read, theirs);
        if let Some(read) = read {
            prop_assert_eq!(read.to_string(), path);
        }
    }
}

/// One bit turned, one hash taken out, put in, doubled, or two exchanged.
fn mutations(proof: &[TreeHash], bit: u32) -> Vec<Vec<TreeHash>> {
    let mut longer = proof.to_vec();
    longer.push(TreeHash::of_nothing());
    let mut shifted = proof.to_vec();
    shifted.insert(0, TreeHash::of_nothing());
    let mut mutations = vec![longer, shifted];
    for at in 0..proof.len() {
        let mut hash = *proof[at].bytes();
        hash[(bit / 8 % 32) as usize] ^= 1 << (bit % 8);
        let mut flipped = proof.to_vec();
        flipped[at] = TreeHash::from_bytes(hash);
        let mut shorter = proof.to_vec();
        let taken = shorter.remove(at);
        let mut doubled = proof.to_vec();
        doubled.insert(at, taken);
        mutations.extend([flipped, shorter, doubled]);
        if at > 0 && proof[at] != proof[at - 1] {
            let mut exchanged = proof.to_vec();
            exchanged.swap(at, at - 1);
            mutations.push(exchanged);
        }
    }
    mutations
}

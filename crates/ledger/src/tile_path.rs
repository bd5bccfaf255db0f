//! Where tiles and entry bundles lie: `tile/0/x001/x234/067`, `tile/entries/000.p/7`.
//!
//! A tile holds 256 neighbouring hashes of every eighth level; a bundle holds the 256 entries below a tile of level 0.
//! The last one of a row may hold fewer and says how many.

use super::merkle::Node;
use super::text::decimal;
use std::fmt;

/// Hashes in a full tile, entries in a full bundle.
pub const TILE_WIDTH: u16 = 256;

/// Levels of the tree between two levels of tiles: 256 is 2^8.
pub(super) const TILE_HEIGHT: u8 = 8;

/// Levels of tiles that a tree of at most 2^64 − 1 leaves can have.
///
/// The public format counts to 63; a tile beyond level 7 would stand for more leaves than there can be.
pub const TILE_LEVELS: u8 = 8;

/// What a tile is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TileKind {
    /// Hashes of the tree level `8 · level`.
    Hashes {
        /// 0 for leaf hashes.
        level: u8,
    },
    /// The entries themselves.
    Entries,
}

impl TileKind {
    /// The level of tiles that it lies at.
    fn level(self) -> u8 {
        match self {
            TileKind::Hashes { level } => level,
            TileKind::Entries => 0,
        }
    }

    /// How many items the whole row has in a tree of this size.
    fn items(self, size: u64) -> u64 {
        size.checked_shr(u32::from(self.level()) * u32::from(TILE_HEIGHT)).unwrap_or(0)
    }
}

/// The path of one tile or bundle.
///
/// ```
/// use ledger::tile_path::TilePath;
/// let path = TilePath::parse("tile/0/x001/x234/067.p/8").unwrap();
/// assert_eq!((path.index(), path.width()), (1_234_067, 8));
/// assert_eq!(path.to_string(), "tile/0/x001/x234/067.p/8");
/// assert_eq!(TilePath::parse("tile/0/x000/067"), None, "there is one path for one tile");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TilePath {
    kind: TileKind,
    index: u64,
    /// INVARIANT: 1 to 256.
    width: u16,
}

impl TilePath {
    /// The tile with this many items; `None` if no tree can have it.
    pub fn new(kind: TileKind, index: u64, width: u16) -> Option<TilePath> {
        if !(1..=TILE_WIDTH).contains(&width) {
            return None;
        }
        // The last item has to be a node of the largest tree, which has none beyond the last level.
        let last = index.checked_mul(u64::from(TILE_WIDTH))?.checked_add(u64::from(width) - 1)?;
        (last < kind.items(u64::MAX)).then_some(TilePath { kind, index, width })
    }

    /// The tile in which a tree of this size keeps what a node is made of; `None` if the tree has no such node.
    pub fn holding(node: Node, size: u64) -> Option<TilePath> {
        if !node.is_in(size) {
            return None;
        }
        let kind = TileKind::Hashes { level: node.level / TILE_HEIGHT };
        let first = node.index << (node.level % TILE_HEIGHT);
        TilePath::in_tree(kind, first / u64::from(TILE_WIDTH), size)
    }

    /// The tile at `index` as wide as it is in a tree of this size; `None` if the tree has none there.
    pub fn in_tree(kind: TileKind, index: u64, size: u64) -> Option<TilePath> {
        let before = index.checked_mul(u64::from(TILE_WIDTH))?;
        let width = kind.items(size).checked_sub(before)?.min(u64::from(TILE_WIDTH));
        TilePath::new(kind, index, width as u16)
    }

    /// Reads a path; there is exactly one text for each.
    pub fn parse(text: &str) -> Option<TilePath> {
        let (kind, rest) = text.strip_prefix("tile/")?.split_once('/')?;
        let kind = match kind {
            "entries" => TileKind::Entries,
            level => TileKind::Hashes { level: decimal(level)?.try_into().ok()? },
        };
        let (groups, width) = match rest.split_once(".p/") {
            Some((groups, width)) => (groups, decimal(width)?.try_into().ok()?),
            None => (rest, TILE_WIDTH),
        };
        let mut index = 0_u64;
        for group in groups.split('/') {
            let digits = group.strip_prefix('x').unwrap_or(group);
            index = index.checked_mul(1000)?.checked_add(digits.parse().ok()?)?;
        }
        let path = TilePath::new(kind, index, width)?;
        // Groups of other lengths, signs, superfluous groups, misplaced `x` and `.p/256` read well and are written
        // differently.
        (path.to_string() == text).then_some(path)
    }

    /// Hashes of which level, or entries.
    pub fn kind(&self) -> TileKind {
        self.kind
    }

    /// Position in its row.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Number of items, 1 to 256.
    pub fn width(&self) -> u16 {
        self.width
    }

    /// Whether it will never change again.
    pub fn is_full(&self) -> bool {
        self.width == TILE_WIDTH
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TileKind::Hashes { level } => write!(formatter, "tile/{level}/")?,
            TileKind::Entries => formatter.write_str("tile/entries/")?,
        }
        let mut groups = Vec::new();
        let mut rest = self.index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for group in groups.iter().rev() {
            write!(formatter, "x{group:03}/")?;
        }
        write!(formatter, "{:03}", self.index % 1000)?;
        if self.is_full() { Ok(()) } else { write!(formatter, ".p/{}", self.width) }
    }
}

/// The hash tiles that a tree of `new` leaves has and one of `old` leaves has not: what has to be published.
///
/// Lazy, because two far sizes have more tiles between them than memory has room for. Nothing if the tree shrinks.
pub fn changed_tiles(old: u64, new: u64) -> impl Iterator<Item = TilePath> {
    (0..TILE_LEVELS).flat_map(move |level| changed(TileKind::Hashes { level }, old, new))
}

/// The entry bundles that a tree of `new` leaves has and one of `old` leaves has not.
pub fn changed_bundles(old: u64, new: u64) -> impl Iterator<Item = TilePath> {
    changed(TileKind::Entries, old, new)
}

fn changed(kind: TileKind, old: u64, new: u64) -> impl Iterator<Item = TilePath> {
    let width = u64::from(TILE_WIDTH);
    let (had, has) = (kind.items(old), kind.items(new));
    let tiles = if had < has { had / width..has.div_ceil(width) } else { 0..0 };
    tiles.filter_map(move |index| TilePath::in_tree(kind, index, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(tiles: impl Iterator<Item = TilePath>) -> String {
        tiles.map(|path| path.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_around_the_edge_of_a_tile() {
        let check = |old, new, expected: &str| assert_eq!(paths(changed_tiles(old, new)), expected, "{old} {new}");
        check(0, 0, "");
        check(5, 5, "");
        check(6, 5, "");
        check(0, 1, "tile/0/000.p/1");
        check(0, 255, "tile/0/000.p/255");
        check(0, 256, "tile/0/000 tile/1/000.p/1");
        check(0, 257, "tile/0/000 tile/0/001.p/1 tile/1/000.p/1");
        check(255, 256, "tile/0/000 tile/1/000.p/1");
        check(256, 257, "tile/0/001.p/1");
        check(255, 257, "tile/0/000 tile/0/001.p/1 tile/1/000.p/1");
        check(65_535, 65_536, "tile/0/255 tile/1/000 tile/2/000.p/1");
        check(65_536, 65_537, "tile/0/256.p/1");
        check(65_279, 65_280, "tile/0/254 tile/1/000.p/255");
        check(65_534, 65_535, "tile/0/255.p/255");
        check(65_535, 65_537, "tile/0/255 tile/0/256.p/1 tile/1/000 tile/2/000.p/1");
    }

    #[test]
    fn a_tree_of_seventy_thousand_as_the_format_describes_it() {
        let of = |level| changed_tiles(0, 70_000).filter(move |path| path.kind() == TileKind::Hashes { level });
        assert_eq!((of(0).filter(TilePath::is_full).count(), of(0).count()), (273, 274));
        assert_eq!(paths(of(0).skip(273)), "tile/0/273.p/112");
        assert_eq!(paths(of(1)), "tile/1/000 tile/1/001.p/17");
        assert_eq!(paths(of(2)), "tile/2/000.p/1");
        assert_eq!(of(3).count(), 0);
        assert_eq!(paths(changed_bundles(69_999, 70_000)), "tile/entries/273.p/112");
    }

    #[test]
    fn the_largest_tree_has_paths_and_far_sizes_cost_nothing() {
        let last = paths(changed_bundles(u64::MAX - 1, u64::MAX));
        assert_eq!(last, "tile/entries/x072/x057/x594/x037/x927/935.p/255");
        assert!(TilePath::parse(&last).is_some());
        assert_eq!(paths(changed_tiles(0, u64::MAX).take(1)), "tile/0/000");
        let highest = Node { level: 63, index: 0 };
        assert_eq!(
            TilePath::holding(highest, u64::MAX).map(|path| path.to_string()).as_deref(),
            Some("tile/7/000.p/255")
        );
        assert_eq!(TilePath::holding(highest, u64::MAX >> 1), None);
    }

    #[test]
    fn paths_that_are_not_the_one_text_are_refused() {
        for text in [
            "",
            "tile",
            "tile/",
            "tile/0",
            "tile/0/",
            "tile/0/0",
            "tile/0/00",
            "tile/0/0000",
            "tile/00/000",
            "tile/-1/000",
            "tile/8/000",
            "tile/63/000",
            "tile/256/000",
            "tile/0/x000/067",
            "tile/0/001/067",
            "tile/0/x001",
            "tile/0/x001/x067",
            "tile/0/001.p/0",
            "tile/0/001.p/256",
            "tile/0/001.p/01",
            "tile/0/001.p/",
            "tile/0/001.p",
            "tile/0/001.p/1/",
            "tile/0/001.p/1.p/1",
            "/tile/0/001",
            "tile/0/001/",
            "tile//001",
            "tile/0//001",
            "tile/0/+01",
            "tile/0/ 01",
            "tile/entries",
            "tile/Entries/000",
            "tile/data/000",
            "tile/0/001\n",
            "tile/0/٠٠١",
            "tile/0/../000",
            "tile/7/001",
            "tile/7/000",
            "tile/entries/x072/x057/x594/x037/x927/935",
            "tile/entries/x072/x057/x594/x037/x927/936.p/1",
            "tile/0/x999/x999/x999/x999/x999/x999/x999/x999/999",
            "checkpoint",
        ] {
            assert_eq!(TilePath::parse(text), None, "{text}");
        }
        for text in ["tile/0/000", "tile/7/000.p/255", "tile/0/999", "tile/0/x001/000", "tile/entries/x001/067.p/255"] {
            assert_eq!(TilePath::parse(text).map(|path| path.to_string()).as_deref(), Some(text));
        }
    }
}

//! Exports on disk: one file, or a folder of tiles. Read twice, a line or a bundle at a time, however large they are.

use crate::durable_file::private_folder;
use ledger::audit::{Audit, Audited, Damage, Place};
use ledger::bundle::{self, BundleProblem};
use ledger::edge::{Edge, Tile};
use ledger::export::{Exported, Header, read_body_line, read_entry_line};
use ledger::merkle::{HASH_BYTES, TreeHash};
use ledger::tile_path::{TILE_WIDTH, TileKind, TilePath};
use runtime::crash::around;
use runtime::export;
use runtime::ports::store::Reader;
use runtime::seal::SealFault;
use runtime::verify::LineAudit;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Longest line: a record holds at most a contract, and a contract file at most 16 MiB.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Largest file of a folder: the bodies of 256 records.
const PART_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Why an export cannot be believed, or not be read.
#[derive(Debug)]
pub enum Unread {
    /// It is damaged.
    Damage(Damage),
    /// The disk, or where it should be, does not let us.
    Io(PathBuf, Error),
}

impl fmt::Display for Unread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Damage(damage) => damage.fmt(formatter),
            Unread::Io(path, error) => write!(formatter, "cannot read `{}`: {error}", path.display()),
        }
    }
}

impl std::error::Error for Unread {}

impl From<Damage> for Unread {
    fn from(damage: Damage) -> Unread {
        Unread::Damage(damage)
    }
}

/// What an audit knows in the end.
pub struct AuditedExport {
    /// What stands before the entries.
    pub header: Header,
    /// What was found.
    pub audited: Audited,
}

/// An export on disk.
#[derive(Clone, Debug)]
pub enum ExportPath {
    /// One file.
    File(PathBuf),
    /// A folder of tiles.
    Folder(PathBuf),
}

impl ExportPath {
    /// What lies at a path.
    pub fn at(path: &Path) -> ExportPath {
        if path.is_dir() { ExportPath::Folder(path.to_path_buf()) } else { ExportPath::File(path.to_path_buf()) }
    }

    /// Writes an export; a file appears when it is complete.
    pub fn write(&self, reader: &mut dyn Reader, header: &Header) -> Result<(), SealFault> {
        match self {
            ExportPath::File(path) => write_file(path, reader, header),
            ExportPath::Folder(path) => export::files(reader, header, &mut |name, bytes| {
                write_part(path, name, bytes).map_err(|error| format!("`{}`: {error}", path.join(name).display()))
            }),
        }
    }

    /// The first pass: everything that is hashed and signed. `passed` is told how many entries were read.
    pub fn audit(&self, passed: &mut dyn FnMut(u64)) -> Result<AuditedExport, Unread> {
        match self {
            ExportPath::File(path) => audit_file(path, passed),
            ExportPath::Folder(path) => audit_folder(path, passed),
        }
    }

    /// The second pass: shows every entry, in order, until `show` breaks off.
    pub fn each(&self, header: &Header, show: &mut dyn FnMut(&Exported<'_>) -> bool) -> Result<(), Unread> {
        match self {
            ExportPath::File(path) => {
                let mut index = 0;
                let mut lines = Lines::open(path)?;
                while let Some(line) = lines.next_line()? {
                    if !line.starts_with(b"entry\t") {
                        continue;
                    }
                    if !show(&read_entry_line(line, index)?) {
                        return Ok(());
                    }
                    index += 1;
                }
                Ok(())
            }
            ExportPath::Folder(path) => each_of_folder(path, header, show),
        }
    }
}

fn write_file(path: &Path, reader: &mut dyn Reader, header: &Header) -> Result<(), SealFault> {
    let beside = path.with_extension(format!("part-{}", std::process::id()));
    let renamed =
        || around("export.rename", || std::fs::rename(&beside, path)).map_err(|error| unwritten(path, &error));
    let written = write_lines(&beside, path, reader, header).and_then(|()| renamed().map_err(fault));
    if written.is_err() {
        // Half an export helps nobody, and on a full disk it is in the way.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn write_lines(beside: &Path, path: &Path, reader: &mut dyn Reader, header: &Header) -> Result<(), SealFault> {
    let unwritten = |error: Error| unwritten(path, &error);
    let file = File::create(beside).map_err(unwritten).map_err(fault)?;
    let mut output = BufWriter::with_capacity(1 << 20, file);
    export::lines(reader, header, &mut |line| output.write_all(line.as_bytes()).map_err(unwritten))?;
    let file = output.into_inner().map_err(|error| fault(unwritten(error.into_error())))?;
    around("export.sync", || file.sync_all()).map_err(unwritten).map_err(fault)
}

fn unwritten(path: &Path, error: &Error) -> String {
    format!("`{}`: {error}", path.display())
}

fn fault(problem: String) -> SealFault {
    SealFault::Store(runtime::ports::store::StoreFault::Unavailable(problem))
}

/// Writes one file of a folder; the same bytes may be written again.
pub fn write_part(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    } else {
        private_folder(folder)?;
    }
    // A reader must never see half a tile.
    let beside = folder.join(format!(".part-{}", std::process::id()));
    let written = around("part.write", || std::fs::write(&beside, bytes));
    let written = written.and_then(|()| around("part.rename", || std::fs::rename(&beside, path)));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

struct Lines {
    path: PathBuf,
    input: BufReader<File>,
    line: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> Result<Lines, Unread> {
        let file = open_file(path)?;
        Ok(Lines { path: path.to_path_buf(), input: BufReader::with_capacity(1 << 20, file), line: Vec::new() })
    }

    /// The next line, its newline included.
    fn next_line(&mut self) -> Result<Option<&[u8]>, Unread> {
        self.line.clear();
        let read = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| Unread::Io(self.path.clone(), error))?;
        Ok((read > 0).then_some(self.line.as_slice()))
    }
}

fn audit_file(path: &Path, passed: &mut dyn FnMut(u64)) -> Result<AuditedExport, Unread> {
    let mut lines = Lines::open(path)?;
    let mut audit = LineAudit::Start;
    while let Some(line) = lines.next_line()? {
        audit = audit.line(line)?;
        passed(audit.audit().map_or(0, Audit::next));
    }
    let audited = audit.finish()?;
    match audit.audit() {
        Some(audit) => Ok(AuditedExport { header: audit.header().clone(), audited }),
        None => Err(Damage { place: Place::Header, problem: "it is cut off".to_owned() }.into()),
    }
}

fn audit_folder(path: &Path, passed: &mut dyn FnMut(u64)) -> Result<AuditedExport, Unread> {
    let header = header_of(path)?;
    let mut audit = Audit::begin(header.clone())?;
    let last = header.logs.len().saturating_sub(1);
    let mut edge = (0, Edge::default());
    while let Some(width) = audit.wants_hashes() {
        let block = Block::next(&header, audit.log(), audit.next(), width);
        let place = path.join(export::folder(audit.log(), last));
        if edge.0 != audit.log() {
            compare_tiles(&place_of(path, edge.0, last), &edge.1.partial_tiles(), &header, edge.0)?;
            edge = (audit.log(), Edge::default());
        }
        audit.hashes(block.hashes(&place)?);
        let (entries, bodies) = (block.entries(&place)?, block.bodies(&place)?);
        let leaves = block.leaves(&entries);
        let mut bodies = bodies.split_inclusive(|byte| *byte == b'\n');
        for leaf in leaves {
            let leaf = leaf?;
            let missing = Damage { place: Place::Entry(audit.next()), problem: "its body is missing".to_owned() };
            let line = bodies.next().ok_or(missing)?;
            let body = read_body_line(line, audit.next())?;
            audit.entry(&Exported { leaf, body })?;
            let filled = edge.1.append(TreeHash::of_leaf(leaf.as_bytes())).unwrap_or_default();
            compare_tiles(&place, &filled, &header, edge.0)?;
        }
        if bodies.next().is_some() {
            let problem = "something stands behind its body".to_owned();
            return Err(Damage { place: Place::Entry(audit.next() - 1), problem }.into());
        }
        passed(audit.next());
    }
    compare_tiles(&place_of(path, edge.0, last), &edge.1.partial_tiles(), &header, edge.0)?;
    for (number, log) in header.logs.iter().enumerate() {
        let Some(note) = log.checkpoints.last() else { continue };
        let file = place_of(path, number, last).join("checkpoint");
        if read(&file)? != note.to_string().as_bytes() {
            let place = Place::Checkpoint(export::stated_size(note));
            return Err(Damage { place, problem: "the file `checkpoint` is another one".to_owned() }.into());
        }
    }
    let audited = audit.finish()?;
    Ok(AuditedExport { header, audited })
}

fn place_of(path: &Path, log: usize, last: usize) -> PathBuf {
    path.join(export::folder(log, last))
}

fn header_of(path: &Path) -> Result<Header, Unread> {
    let bytes = read(&path.join("export"))?;
    let damaged = |problem: &str| Damage { place: Place::Header, problem: problem.to_owned() };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let (Some(first), Some(second), None) = (lines.next(), lines.next(), lines.next()) else {
        return Err(damaged("the file `export` does not have two lines").into());
    };
    Ok(Header::read(first, second)?)
}

/// Up to 256 entries of a log, where the public format puts them.
struct Block {
    index: u64,
    width: u16,
    first: u64,
}

impl Block {
    fn next(header: &Header, log: usize, first: u64, width: u16) -> Block {
        let from = header.logs.get(log).map_or(0, |log| log.from);
        Block { index: first.saturating_sub(from) / u64::from(TILE_WIDTH), width, first }
    }

    fn path(&self, kind: TileKind) -> Result<TilePath, Damage> {
        let problem = || Damage { place: Place::Entry(self.first), problem: "no tree is that large".to_owned() };
        TilePath::new(kind, self.index, self.width).ok_or_else(problem)
    }

    fn hashes(&self, place: &Path) -> Result<Vec<TreeHash>, Unread> {
        let bytes = self.part(&place.join(self.path(TileKind::Hashes { level: 0 })?.to_string()))?;
        let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
        let at = self.first + (hashes.len() as u64).min(u64::from(self.width) - 1);
        if hashes.len() != usize::from(self.width) || !rest.is_empty() {
            let problem = "the tile with its hash has the wrong length".to_owned();
            return Err(Damage { place: Place::Entry(at), problem }.into());
        }
        Ok(hashes.iter().copied().map(TreeHash::from_bytes).collect())
    }

    fn entries(&self, place: &Path) -> Result<Vec<u8>, Unread> {
        self.part(&place.join(self.path(TileKind::Entries)?.to_string()))
    }

    fn bodies(&self, place: &Path) -> Result<Vec<u8>, Unread> {
        self.part(&place.join(export::bodies_path(self.path(TileKind::Entries)?)))
    }

    /// A file that is not there makes its first entry missing.
    fn part(&self, path: &Path) -> Result<Vec<u8>, Unread> {
        match read(path) {
            Err(Unread::Io(path, error)) if error.kind() == ErrorKind::NotFound => {
                let problem = format!("it is missing with the file `{}`", path.display());
                Err(Damage { place: Place::Entry(self.first), problem }.into())
            }
            other => other,
        }
    }

    /// The leaves of a bundle; where it breaks off or goes on too long, the entry at that place is damaged.
    fn leaves<'b>(&self, bytes: &'b [u8]) -> Vec<Result<&'b str, Damage>> {
        let damaged = |at: u64, problem: &str| Damage { place: Place::Entry(at), problem: problem.to_owned() };
        let text =
            |(at, leaf): (u64, &'b [u8])| std::str::from_utf8(leaf).map_err(|_| damaged(at, "its leaf is not text"));
        let width = u64::from(self.width);
        let (whole, problem) = match bundle::read(bytes, self.width) {
            Ok(leaves) => return (self.first..).zip(leaves).map(text).collect(),
            Err(BundleProblem::CutOff { whole }) => (whole as u64, "its bundle is cut off"),
            Err(
                BundleProblem::LeftOver { .. } | BundleProblem::WrongCount { .. } | BundleProblem::EntryTooLong { .. },
            ) => (width, "something stands behind it"),
        };
        // What comes before the break is still looked at: a wrong length shows where it stands, not where it ends.
        let mut leaves = Vec::new();
        let mut rest = bytes;
        while (leaves.len() as u64) < whole {
            let Some((length, behind)) = rest.split_first_chunk::<2>() else { break };
            let Some((leaf, behind)) = behind.split_at_checked(usize::from(u16::from_be_bytes(*length))) else { break };
            leaves.push(text((self.first + leaves.len() as u64, leaf)));
            rest = behind;
        }
        let at = self.first + whole.min(width - 1);
        leaves.truncate((at - self.first) as usize);
        leaves.push(Err(damaged(at, problem)));
        leaves
    }
}

/// Tiles above the entries are what the entries say they are.
fn compare_tiles(place: &Path, tiles: &[Tile], header: &Header, log: usize) -> Result<(), Unread> {
    let from = header.logs.get(log).map_or(0, |log| log.from);
    for tile in tiles {
        let path = place.join(tile.path.to_string());
        let found = match read(&path) {
            Err(Unread::Io(_, error)) if error.kind() == ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        if found == tile.bytes {
            continue;
        }
        let differs = tile.bytes.iter().zip(&found).take_while(|(one, other)| one == other).count() / HASH_BYTES;
        let level = match tile.path.kind() {
            TileKind::Hashes { level } => u32::from(level),
            TileKind::Entries => 0,
        };
        let hash = tile.path.index() * u64::from(TILE_WIDTH) + (differs as u64).min(u64::from(tile.path.width()) - 1);
        let entry = from.saturating_add(hash.checked_shl(8 * level).unwrap_or(u64::MAX));
        let problem = format!("the tile `{}` above it is not what the entries lead to", tile.path);
        return Err(Damage { place: Place::Entry(entry), problem }.into());
    }
    Ok(())
}

fn each_of_folder(path: &Path, header: &Header, show: &mut dyn FnMut(&Exported<'_>) -> bool) -> Result<(), Unread> {
    let last = header.logs.len().saturating_sub(1);
    let ends = header.logs.iter().skip(1).map(|log| log.from).chain([header.size]);
    for (number, (log, end)) in header.logs.iter().zip(ends).enumerate() {
        let place = place_of(path, number, last);
        let mut first = log.from;
        while first < end {
            let width = (end - first).min(u64::from(TILE_WIDTH)) as u16;
            let block = Block::next(header, number, first, width);
            let (entries, bodies) = (block.entries(&place)?, block.bodies(&place)?);
            let lines = bodies.split_inclusive(|byte| *byte == b'\n');
            for ((leaf, line), index) in block.leaves(&entries).into_iter().zip(lines).zip(first..) {
                if !show(&Exported { leaf: leaf?, body: read_body_line(line, index)? }) {
                    return Ok(());
                }
            }
            first += u64::from(width);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, Unread> {
    let unread = |error: Error| Unread::Io(path.to_path_buf(), error);
    let mut bytes = Vec::new();
    open_file(path)?.take(PART_BYTES_MAX).read_to_end(&mut bytes).map_err(unread)?;
    Ok(bytes)
}

/// Opens a file and nothing else: whoever opens a pipe waits for someone to write.
fn open_file(path: &Path) -> Result<File, Unread> {
    let unread = |error: Error| Unread::Io(path.to_path_buf(), error);
    if !std::fs::metadata(path).map_err(unread)?.is_file() {
        return Err(unread(Error::new(ErrorKind::InvalidInput, "it is not a file")));
    }
    File::open(path).map_err(unread)
}

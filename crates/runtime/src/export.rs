//! A ledger as one file or as a folder of tiles, for whoever wants to check it without us.

use crate::crash::around;
use crate::ports::store::{Reader, StoredRecord};
use crate::seal::{SealFault, page, tiles};
use ledger::checkpoint::Checkpoint;
use ledger::export::{Exported, Header, LogHead, body_line, entry_line, tile_line};
use ledger::merkle::TreeHash;
use ledger::tile_path::{TILE_WIDTH, TileKind, TilePath};

/// Writes one file of a folder: its name and its bytes.
pub type WriteFile<'a> = dyn FnMut(&str, &[u8]) -> Result<(), String> + 'a;

/// Writes an export line by line.
pub fn lines(
    reader: &mut dyn Reader,
    header: &Header,
    write: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), SealFault> {
    write(&header.to_lines()).map_err(unwritten)?;
    for (log, end) in spans(header) {
        let size = end - log.from;
        let mut start = 0;
        while start < size {
            let records = page(reader, log.from, start, size)?;
            let hashes: Vec<TreeHash> =
                records.iter().map(|record| TreeHash::of_leaf(record.leaf.as_bytes())).collect();
            write(&tile_line(log.from + start, &hashes)).map_err(unwritten)?;
            for record in &records {
                write(&entry_line(record.index, &exported(record))).map_err(unwritten)?;
            }
            start += records.len() as u64;
        }
    }
    Ok(())
}

/// Writes an export as files: tiles and bundles as the public format has them, bodies beside them, and the header.
///
/// The newest log lies where a reader of the public format looks for it; earlier ones lie below `earlier/N`.
pub fn files(reader: &mut dyn Reader, header: &Header, write: &mut WriteFile<'_>) -> Result<(), SealFault> {
    let last = header.logs.len().saturating_sub(1);
    for (number, (log, end)) in spans(header).enumerate() {
        let folder = folder(number, last);
        let size = end - log.from;
        tiles(reader, log.from, size, &mut |tile| write(&format!("{folder}{}", tile.path), &tile.bytes))?;
        let mut start = 0;
        while start < size {
            let records = page(reader, log.from, start, size)?;
            let body = |record: &StoredRecord| {
                body_line(record.index, record.body.as_ref().map(|(body, salt)| (body.as_str(), *salt)))
            };
            let text: String = records.iter().map(body).collect();
            let index = start / u64::from(TILE_WIDTH);
            let path = TilePath::new(TileKind::Entries, index, records.len() as u16);
            let path = path.ok_or_else(|| unwritten("the ledger is full".to_owned()))?;
            write(&format!("{folder}{}", bodies_path(path)), text.as_bytes()).map_err(unwritten)?;
            start += records.len() as u64;
        }
        if let Some(note) = log.checkpoints.last() {
            let name = format!("{folder}checkpoint");
            around("publish.checkpoint", || write(&name, note.to_string().as_bytes())).map_err(unwritten)?;
        }
    }
    write("export", header.to_lines().as_bytes()).map_err(unwritten)
}

/// Where the bodies of a bundle lie.
pub fn bodies_path(bundle: TilePath) -> String {
    bundle.to_string().replacen("tile/entries/", "bodies/", 1)
}

/// The folder of a log.
pub fn folder(log: usize, last: usize) -> String {
    if log == last { String::new() } else { format!("earlier/{log}/") }
}

/// Each log with the index behind its last entry.
fn spans(header: &Header) -> impl Iterator<Item = (&LogHead, u64)> {
    let ends = header.logs.iter().skip(1).map(|log| log.from).chain([header.size]);
    header.logs.iter().zip(ends)
}

/// What an export has of a record.
pub fn exported(record: &StoredRecord) -> Exported<'_> {
    Exported { leaf: &record.leaf, body: record.body.as_ref().map(|(body, salt)| (body.as_str(), *salt)) }
}

/// The size a checkpoint states; nothing is believed of it.
pub fn stated_size(note: &ledger::note::Note) -> u64 {
    Checkpoint::parse(note.text()).map_or(0, |checkpoint| checkpoint.size())
}

fn unwritten(problem: String) -> SealFault {
    SealFault::Store(crate::ports::store::StoreFault::Unavailable(problem))
}

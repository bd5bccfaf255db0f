//! Receipts: one text per decision that a stranger can check.

use super::{Site, output};
use crate::exit::{InvalidData, StoreUnavailable};
use crate::store;
use crate::terminal::{self, GOOD, paint, say};
use ledger::receipt::{COMPANIONS_MAX, Receipt};
use runtime::ports::signer::Signer;
use runtime::ports::store::{Reader, StoredRecord};
use runtime::seal::{Wanted, receipts};
use std::io::ErrorKind;
use std::path::Path;
use values::json::{Bounds, Json};
use writkeeper::entries::entry_of;
use writkeeper::matter::{Matter, Part};

/// Records read at once, from the end.
const PAGE: u64 = 512;

pub fn run(site: &Site, ids: &[String], out: Option<&Path>) -> anyhow::Result<()> {
    match out {
        Some(file) if ids.len() == 1 && !file.is_dir() => output::demand_free_file(site, file)?,
        Some(folder) => output::demand_apart(site, folder)?,
        None => {}
    }
    let made = make(site, ids)?;
    match (out, made.as_slice()) {
        (None, made) => {
            for receipt in made {
                terminal::write_data(&receipt.to_string())?;
            }
        }
        (Some(path), [receipt]) if !path.is_dir() => {
            write(path, receipt)?;
            say!("{} {}", paint(GOOD, "receipt"), path.display());
        }
        (Some(folder), made) => {
            write_into(folder, ids, made)?;
            say!("{} {} in {}", paint(GOOD, "receipts"), made.len(), folder.display());
        }
    }
    Ok(())
}

/// Writes a receipt for each id into a folder.
pub fn write_all(site: &Site, ids: &[String], folder: &Path) -> anyhow::Result<()> {
    output::demand_apart(site, folder)?;
    // These are whole ids, whatever else starts like them.
    let whole: Vec<String> = ids.iter().map(|id| format!("={id}")).collect();
    write_into(folder, ids, &make(site, &whole)?)
}

fn write_into(folder: &Path, ids: &[String], made: &[Receipt]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    ids.iter().zip(made).try_for_each(|(id, one)| write(&folder.join(format!("{}.receipt", file_name(id))), one))
}

/// Seals what is committed and makes a receipt for each id.
pub fn make(site: &Site, ids: &[String]) -> anyhow::Result<Vec<Receipt>> {
    let (signer, note) = site.sealed()?;
    let mut reader = site.reader()?;
    let mut wanted = Vec::with_capacity(ids.len());
    for id in ids {
        let index = entry_of(reader.as_mut(), id)?;
        let entry = index
            .checked_sub(signer.from())
            .ok_or_else(|| InvalidData(format!("entry {index} is of a log that ended; only its exports prove it")))?;
        // An entry that was asked for by its number is meant alone.
        let companions = if is_index(id) { Vec::new() } else { companions(reader.as_mut(), index)? };
        let companions = companions.into_iter().filter_map(|index| index.checked_sub(signer.from())).collect();
        wanted.push(Wanted { entry, companions });
    }
    let made = receipts(reader.as_mut(), signer.from(), signer.keyring(), &note, &wanted);
    Ok(made?)
}

fn is_index(id: &str) -> bool {
    id.parse::<u64>().is_ok()
}

/// The other entries of the same matter, in order: the decision, answers of people, what became of it.
fn companions(reader: &mut dyn Reader, index: u64) -> anyhow::Result<Vec<u64>> {
    let own = reader.records(index, 1).map_err(store::unread)?;
    let Some(own) = own.first().and_then(body) else { return Ok(Vec::new()) };
    let mut matter = Matter::of(&own);
    let mut found = Vec::new();
    // Backwards to the decision, then forwards to the end: what is told later names what came before.
    let mut end = if Matter::part(&matter, &own) == Some(Part::Decision) { 0 } else { index };
    while end > 0 {
        let start = end.saturating_sub(PAGE);
        for record in reader.records(start, (end - start) as usize).map_err(store::unread)?.iter().rev() {
            let Some((part, body)) = part_of(&matter, record) else { continue };
            matter.learn(&body);
            found.push(record.index);
            if part == Part::Decision {
                end = 0;
                break;
            }
        }
        end = end.min(start);
    }
    let mut next = index + 1;
    loop {
        let page = reader.records(next, PAGE as usize).map_err(store::unread)?;
        let Some(last) = page.last() else { break };
        next = last.index + 1;
        for record in &page {
            let Some((_, body)) = part_of(&matter, record) else { continue };
            matter.learn(&body);
            found.push(record.index);
        }
    }
    found.sort_unstable();
    found.truncate(COMPANIONS_MAX);
    Ok(found)
}

fn body(record: &StoredRecord) -> Option<Json> {
    let (body, _) = record.body.as_ref()?;
    Json::parse_within(body.as_bytes(), &Bounds::OWN).ok()
}

/// Which part of a matter a record is, with its body.
fn part_of(matter: &Matter, record: &StoredRecord) -> Option<(Part, Json)> {
    record.body.as_ref().filter(|(body, _)| matter.is_named_in(body))?;
    let body = body(record)?;
    Some((matter.part(&body)?, body))
}

fn write(path: &Path, receipt: &Receipt) -> anyhow::Result<()> {
    std::fs::write(path, receipt.to_string()).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let problem = format!("cannot write `{}`: {error}", path.display());
    let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    if is_full { StoreUnavailable(problem).into() } else { InvalidData(problem).into() }
}

/// An id may hold anything; a file name may not.
pub fn file_name(id: &str) -> String {
    id.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' })
        .collect()
}

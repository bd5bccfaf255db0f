//! Receipts: one text per decision that a stranger can check.

use super::{Site, output};
use crate::exit::{InvalidData, StoreUnavailable};
use crate::terminal::{self, GOOD, paint, say};
use ledger::receipt::{COMPANIONS_MAX, Receipt};
use runtime::ports::signer::Signer;
use runtime::seal::{Wanted, receipts};
use std::io::ErrorKind;
use std::path::Path;
use values::json::Json;
use writkeeper::entries::entries_of;
use writkeeper::matter::companions;

pub fn run(site: &Site, ids: &[String], out: Option<&Path>) -> anyhow::Result<()> {
    match out {
        Some(file) if ids.len() == 1 && !file.is_dir() => output::demand_free_file(site, file)?,
        Some(folder) => output::demand_apart(site, folder)?,
        None => {}
    }
    let made = make(site, ids)?;
    let told = |members: Vec<(&str, Json)>| say_json(site.json, members);
    match (out, made.as_slice()) {
        (None, made) if site.json => {
            for (id, receipt) in ids.iter().zip(made) {
                let members = [
                    ("id", Json::text(id.as_str())),
                    ("index", Json::from(receipt.index())),
                    ("receipt", Json::text(receipt.to_string())),
                ];
                say!("{}", Json::object(members).to_canonical());
            }
        }
        (None, made) => {
            for receipt in made {
                terminal::write_data(&receipt.to_string())?;
            }
        }
        (Some(path), [receipt]) if !path.is_dir() => {
            write(path, receipt)?;
            if told(vec![("out", Json::text(path.to_string_lossy())), ("receipts", Json::from(1_u64))])? {
                return Ok(());
            }
            say!("{} {}", paint(GOOD, "receipt"), path.display());
        }
        (Some(folder), made) => {
            write_into(folder, ids, made)?;
            let count = Json::from(made.len() as u64);
            if told(vec![("out", Json::text(folder.to_string_lossy())), ("receipts", count)])? {
                return Ok(());
            }
            say!("{} {} in {}", paint(GOOD, "receipts"), made.len(), folder.display());
        }
    }
    Ok(())
}

/// Says what was written as JSON, where that is wanted; whether it was.
fn say_json(json: bool, members: Vec<(&str, Json)>) -> anyhow::Result<bool> {
    if json {
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        say!("{}", Json::Object(members).to_canonical());
    }
    Ok(json)
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
    let entries = entries_of(reader.as_mut(), ids)?;
    // An entry that was asked for by its number is meant alone.
    let with_matter = ids.iter().zip(&entries).filter(|(id, _)| !is_index(id)).map(|(_, index)| *index);
    let mut companions = companions(reader.as_mut(), &with_matter.collect::<Vec<_>>())?.into_iter();
    let mut wanted = Vec::with_capacity(ids.len());
    for (id, index) in ids.iter().zip(entries) {
        let entry = index
            .checked_sub(signer.from())
            .ok_or_else(|| InvalidData(format!("entry {index} is of a log that ended; only its exports prove it")))?;
        let mut companions = if is_index(id) { Vec::new() } else { companions.next().unwrap_or_default() };
        companions.truncate(COMPANIONS_MAX);
        let companions = companions.into_iter().filter_map(|index| index.checked_sub(signer.from())).collect();
        wanted.push(Wanted { entry, companions });
    }
    let made = receipts(reader.as_mut(), signer.from(), signer.keyring(), &note, &wanted);
    Ok(made?)
}

fn is_index(id: &str) -> bool {
    id.parse::<u64>().is_ok()
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

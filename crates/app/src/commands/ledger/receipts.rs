//! Receipts: one text per decision that a stranger can check.

use super::{Site, output};
use crate::exit::{InvalidData, StoreUnavailable};
use crate::terminal::{self, GOOD, paint, say};
use ledger::receipt::Receipt;
use std::io::ErrorKind;
use std::path::Path;
use values::json::Json;

pub fn run(site: &Site, ids: &[String], agent: Option<&str>, out: Option<&Path>) -> anyhow::Result<()> {
    match out {
        Some(file) if ids.len() == 1 && !file.is_dir() => output::demand_free_file(site, file)?,
        Some(folder) => output::demand_apart(site, folder)?,
        None => {}
    }
    let head = site.head()?;
    let made = match agent {
        None => site.receipts(&head, ids)?,
        Some(agent) => site.receipts_of_agent(&head, agent, ids)?,
    };
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
    write_into(folder, ids, &site.latest_receipts(&site.head()?, &whole)?)
}

fn write_into(folder: &Path, ids: &[String], made: &[Receipt]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    ids.iter().zip(made).try_for_each(|(id, one)| write(&folder.join(format!("{}.receipt", file_name(id))), one))
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

//! Generated reference pages: written from the code, so that they cannot disagree with it.

mod command_line;
mod contract;

mod picture;
mod reasons;
mod shell;

use crate::repository;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A page under `docs/reference`.
pub struct Page {
    /// Its path below that folder.
    pub file: String,
    /// Its whole text.
    pub text: String,
}

/// Every generator. To add one: write a file with a function that yields its pages, and a line here.
const GENERATORS: &[fn() -> Result<Vec<Page>>] =
    &[reasons::pages, contract::pages, command_line::pages, shell::pages, picture::pages];

/// Whether pages are written or only compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Writes what differs.
    Write,
    /// Fails on what differs.
    Check,
}

/// Brings `docs/reference` up to date, or says what is out of date.
pub fn run(mode: Mode) -> Result<bool> {
    let folder = repository::root()?.join("docs/reference");
    let mut current = true;
    let mut count = 0;
    let mut known = BTreeSet::new();
    for generator in GENERATORS {
        for page in generator()? {
            count += 1;
            current &= settle(&folder, &page, mode)?;
            known.insert(page.file);
        }
    }
    current &= settle_leftovers(&folder, &known, mode)?;
    println!("docs: {count} generated pages");
    Ok(current)
}

fn settle(folder: &Path, page: &Page, mode: Mode) -> Result<bool> {
    let path = folder.join(&page.file);
    if fs::read_to_string(&path).is_ok_and(|before| before == page.text) {
        return Ok(true);
    }
    match mode {
        Mode::Write => {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, &page.text).with_context(|| format!("writing {}", page.file))?;
            println!("docs: wrote docs/reference/{}", page.file);
            Ok(true)
        }
        Mode::Check => {
            println!("docs: docs/reference/{} is out of date; run `cargo xtask docs`", page.file);
            Ok(false)
        }
    }
}

/// A reason that is gone must not keep its page.
fn settle_leftovers(folder: &Path, known: &BTreeSet<String>, mode: Mode) -> Result<bool> {
    let mut current = true;
    let Ok(entries) = fs::read_dir(folder.join(reasons::FOLDER)) else { return Ok(true) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = format!("{}/{name}", reasons::FOLDER);
        if known.contains(&file) {
            continue;
        }
        match mode {
            Mode::Write => fs::remove_file(&path)?,
            Mode::Check => {
                println!("docs: docs/reference/{file} describes nothing; run `cargo xtask docs`");
                current = false;
            }
        }
    }
    Ok(current)
}

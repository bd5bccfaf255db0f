//! Generated reference pages: written from the code, so that they cannot disagree with it.

use crate::repository;
use anyhow::{Context, Result};
use std::fs;

/// A page under `docs/reference` and the function that yields its whole text.
struct Page {
    file: &'static str,
    text: fn() -> Result<String>,
}

/// Every generated page. To add one: write a function that yields its text, and a line here.
const PAGES: &[Page] = &[];

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
    for page in PAGES {
        let path = folder.join(page.file);
        let text = (page.text)().with_context(|| format!("generating {}", page.file))?;
        if fs::read_to_string(&path).is_ok_and(|before| before == text) {
            continue;
        }
        match mode {
            Mode::Write => {
                fs::create_dir_all(&folder)?;
                fs::write(&path, text).with_context(|| format!("writing {}", page.file))?;
                println!("docs: wrote docs/reference/{}", page.file);
            }
            Mode::Check => {
                println!("docs: docs/reference/{} is out of date; run `cargo xtask docs`", page.file);
                current = false;
            }
        }
    }
    println!("docs: {} generated pages", PAGES.len());
    Ok(current)
}

//! Generated reference pages: written from the code, so that they cannot disagree with it.

mod command_line;

use crate::{process, repository};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// A page under `docs/reference`.
pub struct Page {
    /// Its path below that folder.
    pub file: String,
    /// Its whole text.
    pub text: String,
}

/// Where the pages of single reasons are.
const REASONS: &str = "reasons";

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
    for page in generated()?.into_iter().chain(command_line::pages()?) {
        count += 1;
        current &= settle(&folder, &page, mode)?;
        known.insert(page.file);
    }
    current &= settle_leftovers(&folder, &known, mode)?;
    println!("docs: {count} generated pages");
    Ok(current)
}

/// What the code says about itself: one page a line.
fn generated() -> Result<Vec<Page>> {
    let mut command = process::workbench_command(&repository::root()?)?;
    let output = command.arg("pages").stderr(Stdio::inherit()).output().context("starting the workbench")?;
    ensure!(output.status.success(), "the workbench failed");
    String::from_utf8(output.stdout)?.lines().map(page).collect()
}

fn page(line: &str) -> Result<Page> {
    let line: Value = serde_json::from_str(line).context("reading a page")?;
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(Page {
        file: text("file").context("a page without `file`")?,
        text: text("text").context("a page without `text`")?,
    })
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
    let Ok(entries) = fs::read_dir(folder.join(REASONS)) else { return Ok(true) };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = format!("{}/{name}", REASONS);
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

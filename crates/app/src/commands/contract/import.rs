//! `writkeeper contract import`

use crate::cli::{ImportArgs, ImportedForm};
use crate::exit::{Exit, InvalidData};
use crate::files;
use crate::terminal;
use anyhow::Context;
use contract::import::claude_code::{self, Places};
use contract::import::dir;
use std::path::Path;
use values::json::{Bounds, Json};

/// Prints a contract that judges as the file does.
pub fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    let text = files::read_text(&args.file)?;
    let invalid = |problem: String| InvalidData(format!("`{}`: {problem}", args.file.display()));
    let imported = match args.from {
        ImportedForm::ClaudeCode => {
            let written = Json::parse_within(text.as_bytes(), &Bounds::FILE);
            claude_code::import(&written.map_err(|refusal| invalid(refusal.to_string()))?, &places(args)?)
        }
        ImportedForm::Dir => dir::import(&writkeeper::imports::read(&text).map_err(invalid)?),
    };
    let imported = imported.map_err(|problems| {
        let listed: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        invalid(format!("nothing was imported, because this cannot be carried over:{}", listed.concat()))
    })?;
    for note in &imported.notes {
        terminal::note(note);
    }
    terminal::write_data(&imported.text)?;
    Ok(Exit::Fine)
}

/// The project that the settings belong to: as named, or the folder around `.claude`, or this one.
fn places(args: &ImportArgs) -> anyhow::Result<Places> {
    let file = args.file.canonicalize().unwrap_or_else(|_| args.file.clone());
    let around = file.parent().filter(|folder| folder.ends_with(".claude")).and_then(Path::parent);
    let root = match (&args.root, around) {
        (Some(root), _) => root.canonicalize().with_context(|| format!("cannot find `{}`", root.display()))?,
        (None, Some(around)) => around.to_path_buf(),
        (None, None) => std::env::current_dir()?,
    };
    let home = guard::place::home().context("HOME is not set")?;
    Ok(Places { root: root.to_string_lossy().into_owned(), home: home.to_string_lossy().into_owned() })
}

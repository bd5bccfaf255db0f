//! `writkeeper contract new`

use crate::cli::NewArgs;
use crate::exit::{Exit, UsageError};
use crate::hint;
use crate::terminal::{self, FAINT, GOOD, STRONG, counted, paint, say};
use anyhow::Context;
use contract::{TEMPLATES, Template};
use kernel::nearest::suggestion;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a template, or lists them.
pub fn run(args: &NewArgs) -> anyhow::Result<Exit> {
    let Some(name) = &args.template else {
        list()?;
        return Ok(Exit::Fine);
    };
    let Some(template) = contract::template(name) else {
        let names: Vec<&str> = TEMPLATES.iter().map(|known| known.name).collect();
        let hint = suggestion(name, names.iter().copied());
        return Err(UsageError(format!("there is no template `{name}`{hint} (templates: {})", names.join(", "))).into());
    };
    let path = args.file.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.yaml")));
    if path == Path::new("-") {
        terminal::write_data(template.text)?;
        return Ok(Exit::Fine);
    }
    let proposals = template.proposals.map(|proposals| (path.with_extension("jsonl"), proposals));
    // Neither is written where one of them is in the way.
    for file in std::iter::once(&path).chain(proposals.as_ref().map(|(file, _)| file)) {
        demand_free(file, args.force)?;
    }
    write(&path, template.text, args.force)?;
    say!("{} {}", paint(GOOD, "wrote"), path.display());
    if let Some((file, proposals)) = proposals {
        write(&file, proposals, args.force)?;
        say!(
            "{} {}, {} to try it with",
            paint(GOOD, "wrote"),
            file.display(),
            counted(proposals.lines().count() as u64, "proposal")
        );
    }
    say!("{}", paint(FAINT, format!("next: writkeeper contract test {}", hint::path(&path))));
    Ok(Exit::Fine)
}

fn list() -> anyhow::Result<()> {
    for Template { name, summary, .. } in TEMPLATES {
        say!("{} {summary}", paint(STRONG, format!("{name:<14}")));
    }
    say!("\n{}", paint(FAINT, "writkeeper contract new --template NAME"));
    Ok(())
}

fn demand_free(path: &Path, force: bool) -> anyhow::Result<()> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(UsageError(format!("`{}` exists; add --force to overwrite it", path.display())).into())
}

fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).truncate(true);
    let opened = if force { options.create(true).open(path) } else { options.create_new(true).open(path) };
    let mut file = opened.with_context(|| format!("cannot write `{}`", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write `{}`", path.display()))
}

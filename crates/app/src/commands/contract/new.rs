//! `writkeeper contract new`

use crate::cli::NewArgs;
use crate::exit::{Exit, UsageError};
use crate::terminal;
use crate::terminal::say;
use crate::terminal::{FAINT, GOOD, STRONG, paint};
use anyhow::Context;
use contract::templates;
use kernel::nearest::suggestion;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a template, or lists them.
pub fn run(args: &NewArgs) -> anyhow::Result<Exit> {
    let Some(name) = &args.template else {
        list()?;
        return Ok(Exit::Fine);
    };
    let names: Vec<&str> = templates().iter().map(|(known, _, _)| *known).collect();
    let Some((_, _, text)) = templates().iter().find(|(known, _, _)| known == name) else {
        let hint = suggestion(name, names.iter().copied());
        return Err(UsageError(format!("there is no template `{name}`{hint} (templates: {})", names.join(", "))).into());
    };
    let path = args.file.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.yaml")));
    if path == Path::new("-") {
        terminal::write_data(text)?;
        return Ok(Exit::Fine);
    }
    write(&path, text, args.force)?;
    say!("{} {}", paint(GOOD, "wrote"), path.display());
    say!("{}", paint(FAINT, format!("next: writkeeper contract test {}", path.display())));
    Ok(Exit::Fine)
}

fn list() -> anyhow::Result<()> {
    for (name, summary, _) in templates() {
        say!("{} {summary}", paint(STRONG, format!("{name:<14}")));
    }
    say!("\n{}", paint(FAINT, "writkeeper contract new --template NAME"));
    Ok(())
}

fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).truncate(true);
    let opened = if force { options.create(true).open(path) } else { options.create_new(true).open(path) };
    let mut file = opened.map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return anyhow::Error::from(UsageError(format!(
                "`{}` exists; add --force to overwrite it",
                path.display()
            )));
        }
        anyhow::Error::from(error).context(format!("cannot write `{}`", path.display()))
    })?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write `{}`", path.display()))
}

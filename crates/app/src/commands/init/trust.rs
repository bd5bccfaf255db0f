//! The step that is left: some hosts run only hooks that a person trusted.

use super::{read, show};
use crate::cli::guard::InitArgs;
use crate::terminal::{ATTENTION, BAD, GOOD, paint, say};
use guard::hooks::Host;
use guard::hooks::trust::{Grant, Standing, Trust};
use guard::place::{self, Guard};
use guard::trust::TrustFiles;
use guard::whole_file::write_whole;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

/// Says what is left to do, and does it if the person says so.
pub fn settle(args: &InitArgs, host: Host, guard: &Guard, file: &Path) -> anyhow::Result<()> {
    let Some(trust) = &host.trust else { return Ok(()) };
    let workspace = guard.folder.parent().map_or_else(|| guard.folder.clone(), place::canonical);
    let files = TrustFiles::of(host, &workspace, args.user, file);
    let why = match files.standing() {
        Standing::Needless => return Ok(()),
        Standing::Given => {
            say!("  {} by {}", paint(GOOD, "trusted"), host.title);
            return Ok(());
        }
        Standing::Unreadable(why) => {
            say!("  {} {why}: {}", paint(ATTENTION, "trust"), trust.step);
            return Ok(());
        }
        Standing::Missing(why) => why,
    };
    say!("  {} {why}", paint(BAD, "not trusted"));
    if let Some(grant) = trust.granted
        && (args.trust || asked(trust, host)?)
    {
        return given(host, &files, grant);
    }
    let flag = if trust.granted.is_some() {
        format!(", or run `writkeeper init --host {} --trust{}`", host.word, if args.user { " --user" } else { "" })
    } else {
        String::new()
    };
    say!("  {} {}{flag}", paint(ATTENTION, "left to do"), trust.step);
    Ok(())
}

/// Asks a person who sits at a terminal; anybody else has a flag.
fn asked(trust: &Trust, host: Host) -> anyhow::Result<bool> {
    if trust.granted.is_none() || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(false);
    }
    crate::terminal::write_data(&format!(
        "  write into the files of {} that you trust these hooks? [y/N] ",
        host.title
    ))?;
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn given(host: Host, files: &TrustFiles, grant: Grant) -> anyhow::Result<()> {
    let new = match files.with_place(grant) {
        Ok(new) => new,
        Err(problem) => {
            say!("  {} the files of {} cannot be changed: {problem}", paint(BAD, "problem"), host.title);
            return Ok(());
        }
    };
    for (path, new) in files.paths().iter().zip(new) {
        let old = read(path)?;
        if old != new {
            show(path, &old, &new, false)?;
            write_whole(path, &new)?;
        }
    }
    match files.again().standing() {
        Standing::Given | Standing::Needless => say!("  {} by your word", paint(GOOD, "trusted")),
        Standing::Missing(why) | Standing::Unreadable(why) => say!("  {} {why}", paint(BAD, "not trusted")),
    }
    Ok(())
}

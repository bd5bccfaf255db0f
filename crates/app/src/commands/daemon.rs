//! `writkeeper daemon`: answers the hooks of a guard from one process.

use crate::cli::command_line::PROGRAM;
use crate::cli::guard::DaemonArgs;
use crate::commands::ledger::sealer;
use crate::commands::run::duration;
use crate::exit::{Exit, InvalidData, Refused, StoreUnavailable};
use crate::terminal::{note, say};
use anyhow::Context;
use guard::daemon::server::{Daemon, End, Refusal};
use guard::daemon::{DaemonFolder, client};
use guard::place::{self, Guard};
use std::time::Duration;

/// Serves, or tells the daemon that serves to end.
pub fn run(args: &DaemonArgs) -> anyhow::Result<Exit> {
    let guard = guard(args)?;
    if args.stop {
        return stop(&guard);
    }
    if args.status {
        let said = client::say(&guard, b"status").map_err(|error| silent(&guard, &error))?;
        let status = said.and_then(|fields| String::from_utf8(fields.into_iter().nth(1)?).ok());
        if status.is_none() {
            note(&format!("no daemon answers for `{}`; every hook judges by itself", guard.folder.display()));
        }
        say!("{}", status.unwrap_or_else(|| "null".to_owned()));
        return Ok(Exit::Fine);
    }
    let idle = args.idle.as_deref().map(|text| duration("--idle", text)).transpose()?;
    let idle = idle.map(|idle| Duration::from_micros(idle.micros().unsigned_abs()));
    if args.detached {
        // Whoever ends the host's processes does not mean this one. It fails only where there is nothing to leave.
        let _ = rustix::process::setsid();
    }
    let daemon = Daemon::take(&guard, &PROGRAM).map_err(refused)?;
    if !args.detached {
        note(&format!("answering the hooks of `{}`; end with Ctrl-C", guard.folder.display()));
    }
    let sealer = sealer::start(&args.seal, &guard.store().to_string_lossy(), daemon.runtime())?;
    let end = daemon.serve(idle);
    match end {
        // Closing would take our log into a file that is another one by now.
        Ok(End::Replaced) => std::mem::forget(sealer),
        Ok(End::Told | End::Idle) | Err(_) => sealer.end(),
    }
    match end.context("the daemon cannot go on")? {
        End::Told => {}
        End::Idle => note("nobody called; ended"),
        End::Replaced => note("the store, the program or the socket is another one now; ended"),
    }
    Ok(Exit::Fine)
}

fn guard(args: &DaemonArgs) -> anyhow::Result<Guard> {
    let found = match &args.guard {
        Some(folder) => Some(Guard::at(folder)).filter(|guard| guard.folder.is_dir()),
        None => Guard::find(&std::env::current_dir()?),
    };
    let found = found.map(|guard| Guard::at(&place::canonical(&guard.folder)));
    found.ok_or_else(|| {
        let sought =
            args.guard.as_ref().map_or_else(|| "around here".to_owned(), |at| format!("at `{}`", at.display()));
        InvalidData(format!("there is no guard {sought}; run `writkeeper init --host claude-code`")).into()
    })
}

fn stop(guard: &Guard) -> anyhow::Result<Exit> {
    match client::say(guard, b"stop") {
        Ok(Some(_)) => {
            say!("the daemon of `{}` ends", guard.folder.display());
            Ok(Exit::Fine)
        }
        Ok(None) => {
            say!("no daemon of this program serves `{}`", guard.folder.display());
            Ok(Exit::Fine)
        }
        Err(error) => Err(silent(guard, &error)),
    }
}

/// A daemon that is there and says nothing: stopped, or busy beyond patience.
fn silent(guard: &Guard, error: &std::io::Error) -> anyhow::Error {
    let holder = DaemonFolder::of(guard).holder();
    let process = holder.map_or_else(String::new, |holder| format!(", process {},", holder.process));
    Refused(format!(
        "the daemon{process} is there and does not answer ({error}); hooks judge without it; end that process"
    ))
    .into()
}

fn refused(refusal: Refusal) -> anyhow::Error {
    match refusal {
        Refusal::Held(holder) => {
            Refused(format!("{holder} answers the hooks of this guard already; `writkeeper daemon --stop` ends it"))
                .into()
        }
        Refusal::Store(problem) => StoreUnavailable(problem).into(),
        Refusal::Io(path, error) => anyhow::Error::from(error).context(format!("`{path}`")),
    }
}

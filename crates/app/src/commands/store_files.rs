//! `writkeeper store …`: brings a store to this version, copies one into another, backs it up and restores it.

mod backup;

use crate::cli::StoreCommand;
use crate::exit::{Exit, UsageError};
use crate::store;
use crate::terminal::{GOOD, counted, note, paint, say};
use adapters::store_copy::{Copied, copy};
use adapters::system_clock::SystemClock;
use std::io::IsTerminal as _;
use std::sync::Arc;

/// Records between two words of progress.
const TELL_EVERY: u64 = 50_000;

/// Does what was asked of a store as a whole.
pub fn run(command: &StoreCommand) -> anyhow::Result<Exit> {
    match command {
        StoreCommand::Copy { from, to, tenant, json } => copied(from, to, tenant, *json),
        StoreCommand::Backup { to, store, json } => backup::back_up(store, to, *json),
        StoreCommand::Restore { from, store, json } => backup::restore(from, store, *json),
        StoreCommand::Migrate { store, json } => migrate(store, *json),
    }
}

fn copied(from: &str, to: &str, tenant: &str, json: bool) -> anyhow::Result<Exit> {
    let places = (store::place(from)?, store::place(to)?);
    store::exists(from)?;
    let copied = copy((&places.0, &places.1), tenant, Arc::new(SystemClock), &mut progress()).map_err(|fault| {
        anyhow::Error::from(writkeeper::Error::from(fault)).context(format!("`{from}` was not copied into `{to}`"))
    })?;
    let Copied { records, rows, answers, resumed, behind } = copied;
    if json {
        let told = serde_json::json!({
            "entries": records, "rows": rows, "answers": answers, "resumed": resumed, "behind": behind, "verified": true
        });
        say!("{told}");
    } else {
        if resumed > 0 {
            note(&format!("{} were there from an earlier copy", counted(resumed, "entry")));
        }
        say!("{} {}, every one of them compared on arrival", paint(GOOD, "copied"), counted(records, "entry"));
    }
    if behind == 0 {
        return Ok(Exit::Fine);
    }
    note(&format!(
        "`{from}` has decided on: {} are not in the copy; stop it, and copy into an empty store",
        counted(behind, "entry")
    ));
    Ok(Exit::Rejected)
}

/// Says on a terminal how far it is, now and then.
fn progress() -> impl FnMut(u64, u64) {
    let is_told = std::io::stderr().is_terminal();
    let mut told = 0;
    move |done: u64, all: u64| {
        // Another tenant begins again.
        told = told.min(done);
        if is_told && done >= told + TELL_EVERY {
            told = done;
            note(&format!("{done} of {all} entries"));
        }
    }
}

fn migrate(location: &str, json: bool) -> anyhow::Result<Exit> {
    if writkeeper::is_server(location) {
        return Err(UsageError("a server migrates its own store when it starts".to_owned()).into());
    }
    let entries = store::open_file(location)?.reader().and_then(|mut reader| reader.size()).map_err(store::unread)?;
    if json {
        say!("{}", serde_json::json!({ "store": location, "entries": entries }));
    } else {
        say!("`{location}` is of this version and holds {}", counted(entries, "entry"));
    }
    Ok(Exit::Fine)
}

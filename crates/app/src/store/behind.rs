//! A store that came back from a backup: the keys beside it remember more entries than it has.

use super::unread;
use crate::exit::{Exit, Failure};
use crate::terminal;
use adapters::signer_file::{FileSigner, Published};
use kernel::ledger::keyring::Keyring;
use kernel::reasons::Reason;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::path::{Path, PathBuf};

/// Where the keys of a store are looked for when nobody says where.
pub fn keys_of(location: &str) -> PathBuf {
    let named = std::env::var_os("WRITKEEPER_KEYS").filter(|named| !named.is_empty());
    named.map_or_else(|| FileSigner::folder_of(location), PathBuf::from)
}

/// Refuses to decide on a store that lost entries which were published: what it forgot would be done again.
pub fn demand_whole(location: &str, runtime: &Runtime) -> anyhow::Result<()> {
    let (named, beside) = (keys_of(location), FileSigner::folder_of(location));
    if named != beside {
        // Keys that are named for every store of a shell are this one's only if it says so.
        demand_covered(location, &named, runtime, false)?;
    }
    demand_covered(location, &beside, runtime, true)
}

/// The same by one folder; whether it is this store's although the store does not say so.
pub fn demand_covered(location: &str, folder: &Path, runtime: &Runtime, is_own: bool) -> anyhow::Result<()> {
    let published = match Published::of(folder) {
        Ok(Some(published)) => published,
        Ok(None) => return Ok(()),
        Err(fault) => {
            terminal::note(&format!("whether `{location}` has every published entry is not known: {fault}"));
            return Ok(());
        }
    };
    match behind(&published, runtime, is_own).map_err(unread)? {
        None => Ok(()),
        Some(size) => Err(refusal(location, folder, &published, size)),
    }
}

/// How many entries a store has, if that is less than was published of it.
fn behind(
    published: &Published,
    runtime: &Runtime,
    is_own: bool,
) -> Result<Option<u64>, runtime::ports::store::StoreFault> {
    let size = runtime.size()?;
    if size >= published.entries {
        return Ok(None);
    }
    let known = match runtime.read(Entity::Tenant)? {
        Some(Row::Tenant(row)) => row.log.and_then(|log| Keyring::parse(&log).ok()),
        Some(_) | None => None,
    };
    let names = |known: &Keyring| {
        let mut logs = std::iter::once(&published.log).chain(&published.ended);
        logs.any(|log| log.origin() == known.origin())
    };
    Ok(known.as_ref().map_or(is_own, names).then_some(size))
}

fn refusal(location: &str, folder: &Path, published: &Published, size: u64) -> anyhow::Error {
    let entry = Reason::StoreBehind.entry();
    let message = format!(
        "no decision: the store `{location}` has {size} entries, and log `{}` has published {} (`{}`): it came back \
         from a backup, and what it forgot would be done again",
        published.log.origin(),
        published.entries,
        folder.display()
    );
    let (code, fix) = (entry.code.to_owned(), entry.fix_operator.to_owned());
    Failure { exit: Exit::Invalid, code, message, fix }.into()
}

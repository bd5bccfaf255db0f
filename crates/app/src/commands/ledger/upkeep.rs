//! Erasing bodies, and forbidding to.

use super::Site;
use super::receipts::entry_of;
use crate::exit::InvalidData;
use crate::store;
use crate::terminal::{GOOD, paint, say};
use adapters::open::open_store;
use adapters::system_clock::SystemClock;
use kernel::change::Act;
use kernel::change::upkeep::Upkeep;
use kernel::json::Json;
use runtime::Answered;
use std::sync::Arc;

/// Records the erasure, then removes the bodies: a crash in between leaves a record and bodies that are still there, and
/// the same command again removes them.
pub fn erase(site: &Site, id: Option<&str>, range: Option<(u64, u64)>, because: &str) -> anyhow::Result<()> {
    let (from, to) = match (id, range) {
        (Some(id), _) => entry_of(site.reader()?.as_mut(), id).map(|index| (index, index + 1))?,
        (None, Some(range)) => range,
        (None, None) => return Err(InvalidData("give an id, or --from and --to".to_owned()).into()),
    };
    let size = site.reader()?.size().map_err(store::unread)?;
    if to > size {
        return Err(InvalidData(format!("the ledger has {size} entries, so nothing can be erased up to {to}")).into());
    }
    done(site, Upkeep::Erase { from, to, because: because.to_owned() })?;
    runtime::crash::crash_point("erase.after_record");
    let mut store = open_store(&site.location, Arc::new(SystemClock)).map_err(store::unread)?;
    let erased = store.erase(from, to).map_err(store::unread)?;
    if site.json {
        say!("{}", Json::object([("erased", Json::from(erased))]).to_canonical());
    } else {
        let bodies = if erased == 1 { "body" } else { "bodies" };
        say!(
            "{} {erased} {bodies}; proofs stay, and `verify` will say \"not replayable: erased\"",
            paint(GOOD, "erased")
        );
    }
    Ok(())
}

/// Forbids to erase.
pub fn hold(site: &Site, name: &str, from: u64, to: Option<u64>, because: &str) -> anyhow::Result<()> {
    told(site, &done(site, Upkeep::Hold { hold: name.to_owned(), from, to, because: because.to_owned() })?, "held")
}

/// Ends a hold.
pub fn release(site: &Site, name: &str, because: &str) -> anyhow::Result<()> {
    told(site, &done(site, Upkeep::Release { hold: name.to_owned(), because: because.to_owned() })?, "released")
}

fn done(site: &Site, upkeep: Upkeep) -> anyhow::Result<Answered> {
    let runtime = store::open(&site.location)?;
    store::done(runtime.change(store::operator(), Act::Upkeep(upkeep)))
}

fn told(site: &Site, answered: &Answered, what: &str) -> anyhow::Result<()> {
    if site.json {
        say!("{}", answered.body.to_canonical());
    } else {
        say!("{}", paint(GOOD, what));
    }
    Ok(())
}

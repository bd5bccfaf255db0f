//! Backups of a store, and how it comes back from one.

use super::progress;
use crate::exit::{self, Exit, UsageError};
use crate::store;
use crate::terminal::{GOOD, counted, note, paint, say};
use adapters::location::Location;
use adapters::store_backup::{self, BackedUp};
use adapters::system_clock::SystemClock;
use runtime::ports::clock::Clock;
use runtime::ports::store::StoreFault;
use std::path::Path;
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;
use values::json::Json;
use writkeeper::restored::{self, Unstarted};
use writkeeper::{Keeper, OpenOptions};

/// Writes a store into a new file.
pub fn back_up(location: &str, to: &Path, json: bool) -> anyhow::Result<Exit> {
    let place = own_place(location, "backs up")?;
    store::exists(location)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let written = store_backup::back_up(&place, to, &clock, &mut progress())
        .map_err(|fault| failed(fault, format!("`{location}` was not backed up into `{}`", to.display())))?;
    told(&written, "backed up", json, &[])?;
    Ok(Exit::Fine)
}

/// Writes a backup into an empty store, and says what its keys know beyond it.
pub fn restore(from: &Path, location: &str, json: bool) -> anyhow::Result<Exit> {
    let place = own_place(location, "restores")?;
    store::exists(&from.to_string_lossy())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let written = store_backup::restore(from, &place, &clock, &mut progress())
        .map_err(|fault| failed(fault, format!("`{}` was not restored into `{location}`", from.display())))?;
    let mut lost = Vec::new();
    for BackedUp { tenant, .. } in &written {
        let options = OpenOptions { tenant: Arc::from(tenant.as_str()), ..OpenOptions::default() };
        let view = Unstarted::of(Keeper::view_store(location, &options)?.as_ref()).map_err(store::unread)?;
        let covered = if tenant == TENANT_DEFAULT {
            restored::demand_whole(location, Some(&store::keys_of(location)), &view).map(|_| ())
        } else {
            let folder = restored::keys_of_tenant(location, tenant);
            restored::demand_covered(location, &folder, &view, true).map(|_| ())
        };
        lost.extend(covered.err());
    }
    let problems: Vec<String> = lost.into_iter().map(|loss| exit::sentence(&loss.into())).collect();
    told(&written, "restored", json, &problems)?;
    problems.iter().for_each(|problem| note(problem));
    Ok(if problems.is_empty() { Exit::Fine } else { Exit::Rejected })
}

fn own_place(location: &str, does: &str) -> anyhow::Result<Location> {
    if writkeeper::is_server(location) {
        return Err(UsageError(format!("a server {does} nothing by itself; name the store it keeps")).into());
    }
    store::place(location)
}

fn failed(fault: StoreFault, context: String) -> anyhow::Error {
    anyhow::Error::from(writkeeper::Error::from(fault)).context(context)
}

fn told(written: &[BackedUp], what: &str, json: bool, lost: &[String]) -> anyhow::Result<()> {
    let records: u64 = written.iter().map(|tenant| tenant.records).sum();
    if !json {
        let tenants = counted(written.len() as u64, "tenant");
        say!("{} {} of {tenants}, every body compared with its leaf", paint(GOOD, what), counted(records, "entry"));
        return Ok(());
    }
    let tenants = written.iter().map(|tenant| (tenant.tenant.clone(), Json::from(tenant.records)));
    let members = Json::object([
        ("entries", Json::from(records)),
        ("lost", Json::List(lost.iter().map(|problem| Json::text(problem.as_str())).collect())),
        ("tenants", Json::Object(tenants.collect())),
    ]);
    say!("{}", members.to_canonical());
    Ok(())
}

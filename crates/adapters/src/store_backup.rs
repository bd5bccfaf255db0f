//! Backups: everything of a store, of all tenants, in one new file that is a store itself; and back.
//!
//! Tenants share nothing, so each is carried as of one commit of its own; those of a file as of the same commit.

use crate::location::Location;
use crate::store_copy::{Arrived, Copied, copy, forgotten, is_same, size_of, tenants};
use crate::store_postgres::demand_finished;
use crate::store_sqlite::write_whole;
use runtime::crash::around;
use runtime::ports::clock::Clock;
use runtime::ports::store::StoreFault;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use values::ids::TENANT_DEFAULT;

/// What was written of one tenant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackedUp {
    /// The tenant.
    pub tenant: String,
    /// How many records.
    pub records: u64,
}

/// Writes a store into a new file; `heard` is told of each tenant how many records of how many were carried.
pub fn back_up(
    from: &Location,
    to: &Path,
    clock: &Arc<dyn Clock>,
    heard: &mut dyn FnMut(u64, u64),
) -> Result<Vec<BackedUp>, StoreFault> {
    demand_new(to)?;
    let half = beside(to)?;
    remove(&half);
    let written = match from {
        Location::Sqlite(path) => write_whole(path, &half).and_then(|()| counted(&half, clock)),
        Location::Postgres(address) => demand_finished(address).and_then(|()| carried(from, &half, clock, heard)),
        Location::Memory => Err(forgotten()),
    };
    let moved = written.and_then(|written| keep(&half, to).map(|()| written));
    if moved.is_err() {
        remove(&half);
    }
    moved
}

/// Writes a backup into a store that is empty or not there yet.
pub fn restore(
    from: &Path,
    to: &Location,
    clock: &Arc<dyn Clock>,
    heard: &mut dyn FnMut(u64, u64),
) -> Result<Vec<BackedUp>, StoreFault> {
    match to {
        Location::Sqlite(path) => {
            if let Some(file) = to.files().iter().find(|file| file.exists()) {
                return Err(StoreFault::Refused(format!(
                    "`{}` is there; move it and what lies beside it away first, it may be needed to find what is lost",
                    file.display()
                )));
            }
            back_up(&Location::Sqlite(from.to_path_buf()), path, clock, heard)
        }
        Location::Postgres(_) => brought_back((&Location::Sqlite(from.to_path_buf()), to), clock, heard),
        Location::Memory => Err(forgotten()),
    }
}

/// Brings all tenants of a backup into a database, or those that an interrupted attempt left out. Tenant `default` becomes
/// usable last, and no service starts before.
fn brought_back(
    (from, to): (&Location, &Location),
    clock: &Arc<dyn Clock>,
    heard: &mut dyn FnMut(u64, u64),
) -> Result<Vec<BackedUp>, StoreFault> {
    let (all, there) = (tenants(from)?, if to.is_there()? { tenants(to)? } else { Vec::new() });
    let is_of_attempt =
        |tenant: &String| Ok(tenant != TENANT_DEFAULT && all.contains(tenant) && is_same((from, to), tenant, clock)?);
    for tenant in &there {
        if !is_of_attempt(tenant)? || there.len() == all.len() {
            return Err(not_empty(to, tenant));
        }
    }
    let arrived = |tenant: &str, heard: &mut dyn FnMut(u64, u64)| Arrived::of((from, to), tenant, clock.clone(), heard);
    let has_default = all.iter().any(|tenant| tenant == TENANT_DEFAULT);
    let default = has_default.then(|| arrived(TENANT_DEFAULT, heard)).transpose()?;
    let mut written = Vec::new();
    for tenant in all.into_iter().filter(|tenant| tenant != TENANT_DEFAULT) {
        let records = match there.contains(&tenant) {
            true => size_of(to, &tenant, clock)?,
            false => arrived(&tenant, heard)?.finish()?.records,
        };
        written.push(BackedUp { tenant, records });
    }
    if let Some(default) = default {
        written.push(BackedUp { tenant: TENANT_DEFAULT.to_owned(), records: default.finish()?.records });
    }
    Ok(written)
}

fn not_empty(to: &Location, tenant: &str) -> StoreFault {
    StoreFault::Refused(format!("`{to}` is not empty: it has tenant `{tenant}`; name another database"))
}

fn carried(
    from: &Location,
    half: &Path,
    clock: &Arc<dyn Clock>,
    heard: &mut dyn FnMut(u64, u64),
) -> Result<Vec<BackedUp>, StoreFault> {
    let filled = PathBuf::from(format!("{}.filling", half.display()));
    remove(&filled);
    let target = Location::Sqlite(filled.clone());
    let carry = |tenant: String| {
        let Copied { records, .. } = copy((from, &target), &tenant, clock.clone(), heard)?;
        Ok(BackedUp { tenant, records })
    };
    let all = tenants(from)?;
    if all.is_empty() {
        return Err(StoreFault::Refused(format!("`{from}` has no entries yet, so there is nothing to back up")));
    }
    let written = all.into_iter().map(carry).collect::<Result<Vec<BackedUp>, _>>();
    // Of what SQLite keeps beside a file nothing is left in the backup.
    let whole = written.and_then(|written| write_whole(&filled, half).map(|()| written));
    remove(&filled);
    whole
}

/// What a file holds, every body compared with its leaf.
fn counted(path: &Path, clock: &Arc<dyn Clock>) -> Result<Vec<BackedUp>, StoreFault> {
    let place = Location::Sqlite(path.to_path_buf());
    let count = |tenant: String| {
        let records = crate::store_copy::demand_consistent(&place, &tenant, clock.clone())?;
        Ok(BackedUp { tenant, records })
    };
    tenants(&place)?.into_iter().map(count).collect()
}

fn demand_new(to: &Path) -> Result<(), StoreFault> {
    if to.exists() {
        return Err(StoreFault::Refused(format!("`{}` is there; name a new file", to.display())));
    }
    Ok(())
}

/// Where a file is written before it gets its name.
fn beside(to: &Path) -> Result<PathBuf, StoreFault> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = to.file_name().ok_or_else(|| StoreFault::Refused(format!("`{}` names no file", to.display())))?;
    Ok(folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id())))
}

/// Brings a file to the disk and gives it its name.
fn keep(half: &Path, to: &Path) -> Result<(), StoreFault> {
    let unwritten =
        |error: std::io::Error| StoreFault::Unavailable(format!("`{}` was not written: {error}", to.display()));
    use std::os::unix::fs::PermissionsExt as _;
    // It holds what the store holds.
    std::fs::set_permissions(half, std::fs::Permissions::from_mode(0o600)).map_err(unwritten)?;
    around("file.sync", || File::open(half)?.sync_all()).map_err(unwritten)?;
    demand_new(to)?;
    around("file.rename", || std::fs::rename(half, to)).map_err(unwritten)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    around("file.sync_folder", || File::open(folder)?.sync_all()).map_err(unwritten)
}

/// Removes a file and what SQLite keeps beside it.
fn remove(path: &Path) {
    for file in Location::Sqlite(path.to_path_buf()).files() {
        let _not_there = std::fs::remove_file(file);
    }
}

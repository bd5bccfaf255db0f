//! Where exports, receipts and tiles may be written: not over the store, its keys, or a file that holds something else.

use super::Site;
use crate::commands::verify::is_handed_out;
use crate::exit::UsageError;
use crate::files;
use crate::store;
use std::path::{Path, PathBuf};

/// What belongs to a store and is named like it.
const KEYS: &str = ".keys";

/// Refuses a file that is the store's, lies among its keys, or is there already and is nothing that was handed out.
pub fn demand_free_file(site: &Site, out: &Path) -> anyhow::Result<()> {
    demand_apart(site, out)?;
    let found = std::fs::metadata(out).ok().filter(|found| found.is_file() && found.len() > 0);
    if found.is_none() || is_handed_out(out) {
        return Ok(());
    }
    let problem = format!("--out `{}` is there already and holds no export or receipt", out.display());
    Err(UsageError(format!("{problem}; name another file, or remove it first")).into())
}

/// Refuses a folder that is the store's or lies among its keys.
pub fn demand_apart(site: &Site, out: &Path) -> anyhow::Result<()> {
    if writkeeper::is_server(&site.location) {
        return Ok(());
    }
    let out_real = real(out);
    let place = store::place(&site.location)?;
    let Some(path) = place.path() else { return Ok(()) };
    let store = real(path);
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // `s.db`, `s.db-wal` and what else the store keeps beside itself; `s.db.export` is somebody's own name.
    let rest = out_real.parent().filter(|folder| Some(*folder) == store.parent());
    let rest = rest.and_then(|_| named(&out_real).strip_prefix(&named(&store)).map(str::to_owned));
    let is_of_store = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-') || rest == KEYS);
    let is_same_file = files::is_same(out, path);
    let is_among_keys = [real(&site.folder), PathBuf::from(format!("{}{KEYS}", store.display()))]
        .iter()
        .any(|keys| out_real.starts_with(keys));
    if is_of_store || is_same_file || is_among_keys {
        let what = if is_among_keys { "lies among the keys" } else { "belongs to the store" };
        let problem = format!("--out `{}` {what} of `{}`", out.display(), site.location);
        return Err(UsageError(format!("{problem}; name another place")).into());
    }
    Ok(())
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = if folder == path { folder.to_path_buf() } else { real(folder) };
    path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name))
}

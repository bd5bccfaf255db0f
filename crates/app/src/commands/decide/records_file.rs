//! The file `--records` names: never one that is read, and never one that holds something else.

use crate::cli::DecideArgs;
use crate::exit::UsageError;
use crate::files;
use adapters::location::Location;
use anyhow::Context as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _};
use std::path::{Path, PathBuf};
use values::json::{Bounds, Json};

/// Longest first line that is looked at to know a file of records.
const FIRST_LINE_MAX: u64 = 16 * 1024 * 1024;

/// Opens the file and empties it, if it is new, empty or holds records of an earlier run.
pub fn open(path: &Path, args: &DecideArgs) -> anyhow::Result<BufWriter<File>> {
    let cannot = || format!("cannot create `{}`", path.display());
    // Nothing is emptied before it is known what it is.
    let is_new = !path.exists();
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = opened.with_context(cannot)?;
    let found = file.metadata().with_context(cannot)?;
    if let Some(used) = in_use(args).into_iter().find(|used| files::is_same(used, path)) {
        let problem = format!("--records `{}` is `{}`, which this run reads or keeps", path.display(), used.display());
        return Err(UsageError(format!("{problem}; name another file")).into());
    }
    if is_new || !found.is_file() {
        return Ok(BufWriter::new(file));
    }
    if found.len() > 0 && !holds_records(path)? {
        let problem = format!("--records `{}` is there already and holds no records", path.display());
        return Err(UsageError(format!("{problem}; name another file, or remove it first")).into());
    }
    file.set_len(0).with_context(cannot)?;
    Ok(BufWriter::new(file))
}

/// Every file of this run.
fn in_use(args: &DecideArgs) -> Vec<PathBuf> {
    let read = [&args.contract, &args.context, &args.proposals].into_iter().flatten().cloned();
    let mut used: Vec<PathBuf> = read.chain([PathBuf::from("/dev/stdin")]).collect();
    if let Some(location) = &args.keeping.store {
        used.extend(location.parse::<Location>().map(|place| place.files()).unwrap_or_default());
    }
    used
}

/// Records are JSON lines, each with a kind and the version of its form.
fn holds_records(path: &Path) -> anyhow::Result<bool> {
    let mut first = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    BufReader::new(file.take(FIRST_LINE_MAX)).read_until(b'\n', &mut first)?;
    let record = Json::parse_within(first.trim_ascii(), &Bounds::FILE).ok();
    let has = |key: &str| record.as_ref().and_then(|record| record.get(key)).is_some();
    Ok(["kind", "semantics", "tenant", "version"].into_iter().all(has))
}

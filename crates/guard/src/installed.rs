//! What the installer wrote into the files of hosts, and whether it is still there.
//!
//! The store says what was installed. Every call compares: files that are the same by their numbers are not read again, and
//! of those that differ only our entries count, because hosts rewrite the rest themselves.

use super::off_switch;
use super::place::{self, Guard};
use super::wiring;
use crate::hooks::{HOSTS, Host};
use crate::whole_file::text_or_nothing;
use kernel::change::Write;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use values::bugs::{self, Bug};
use values::ids::Digest;
use values::json::Json;

/// A longer file was not written by us.
const BYTES_MAX: u64 = 256 * 1024;

/// What was installed for a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed {
    /// The host.
    pub host: Host,
    /// The file that holds our entries.
    pub file: PathBuf,
    /// What they say.
    pub entries: Digest,
    /// Whether nothing is to be stopped.
    pub observe: bool,
}

impl Installed {
    fn key(host: Host) -> String {
        format!("installed/{}", host.word)
    }

    /// Keeps it in the store.
    pub fn write(&self) -> Write {
        let value = Json::object([
            ("file", Json::text(self.file.to_string_lossy())),
            ("entries", Json::text(self.entries.to_string())),
            ("observe", Json::Bool(self.observe)),
        ]);
        Write { key: Installed::key(self.host), value, expect: None }
    }

    /// Says in the store that a host is no longer guarded.
    pub fn withdrawal(host: Host) -> Write {
        Write { key: Installed::key(host), value: Json::Null, expect: None }
    }

    /// What the store says about a host.
    pub fn read(runtime: &Runtime, host: Host) -> Result<Option<Installed>, String> {
        let row = runtime.read(Entity::State(Installed::key(host))).map_err(|fault| fault.to_string())?;
        let Some(Row::State(row)) = row else { return Ok(None) };
        let text = |key: &str| row.value.get(key).and_then(Json::as_text);
        let entries = text("entries").and_then(Digest::parse);
        let observe = row.value.get("observe").and_then(Json::as_bool).unwrap_or(false);
        Ok(text("file").zip(entries).map(|(file, entries)| Installed { host, file: file.into(), entries, observe }))
    }
}

/// How what is there compares with what was installed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// What differs, in sentences; empty if nothing does.
    pub differences: Vec<String>,
    /// Whether nobody has noticed it before.
    pub is_news: bool,
    /// What our entries say now, by host.
    entries: BTreeMap<String, String>,
}

impl Comparison {
    /// What the entries of a host say now.
    pub fn entries(&self, host: Host) -> Option<&str> {
        self.entries.get(host.word).map(String::as_str)
    }

    /// The state in which a host's hook puts on record what it noticed.
    pub fn record(&self, host: Host, flow: &str, at: &str) -> Write {
        let differences = self.differences.iter().map(String::as_str);
        let value = Json::object([
            ("at", Json::text(at)),
            ("flow", Json::text(flow)),
            ("differences", Json::texts(differences)),
        ]);
        Write { key: format!("agents/{}/{TAMPERING}", host.word), value, expect: None }
    }
}

/// The last part of the key under which tampering is on record.
const TAMPERING: &str = "tampering";

/// What a host's hook put on record last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tampering {
    /// The host whose hook noticed it.
    pub host: Host,
    /// When.
    pub at: String,
    /// What differed.
    pub differences: Vec<String>,
}

impl Tampering {
    /// The last of each host.
    pub fn on_record(runtime: &Runtime) -> Vec<Tampering> {
        HOSTS.into_iter().filter_map(|host| Tampering::of(runtime, host)).collect()
    }

    fn of(runtime: &Runtime, host: Host) -> Option<Tampering> {
        let key = format!("agents/{}/{TAMPERING}", host.word);
        let Ok(Some(Row::State(row))) = runtime.read(Entity::State(key)) else { return None };
        let differences = row.value.get("differences")?.as_list()?.iter().filter_map(Json::as_text);
        let differences = differences.map(str::to_owned).collect();
        Some(Tampering { host, at: row.value.get("at")?.as_text()?.to_owned(), differences })
    }
}

/// Named like the store, so that patterns for the store's files include it.
fn cache(guard: &Guard) -> PathBuf {
    guard.folder.join("guard.db-installed.json")
}

/// Forgets what was compared, because something was installed.
pub fn forget(guard: &Guard) {
    let _ = std::fs::remove_file(cache(guard));
}

/// Compares, and remembers the result for as long as no file changes.
pub fn compare(guard: &Guard, runtime: &Runtime) -> Comparison {
    let known = known(guard);
    if let Some(known) = &known
        && known.get("stamp").and_then(Value::as_str) == Some(stamp(&texts(known, "files")).as_str())
    {
        let entries = known.get("entries").and_then(Value::as_object).into_iter().flatten();
        let entries = entries.filter_map(|(word, digest)| Some((word.clone(), digest.as_str()?.to_owned())));
        let differences = texts(known, "differences");
        return Comparison { differences, is_news: false, entries: entries.collect() };
    }
    let Ok((found, files)) = compare_now(guard, runtime) else { return Comparison::default() };
    let before = known.map(|known| texts(&known, "differences")).unwrap_or_default();
    let text = json!({
        "stamp": stamp(&files), "files": files, "differences": found.differences, "entries": found.entries,
    });
    keep(&cache(guard), &text.to_string());
    Comparison { is_news: !found.differences.is_empty() && found.differences != before, ..found }
}

/// Compares everything, and says which files were looked at.
pub fn compare_now(guard: &Guard, runtime: &Runtime) -> Result<(Comparison, Vec<String>), String> {
    if bugs::on(Bug::TamperingUnnoticed) {
        return Ok((Comparison::default(), Vec::new()));
    }
    let base = guard.folder.parent().unwrap_or(&guard.folder);
    let (mut found, mut files) = (Comparison::default(), Vec::new());
    for host in HOSTS {
        let Some(installed) = Installed::read(runtime, host)? else { continue };
        let mut looked_at = vec![installed.file.clone(), guard.observed(host)];
        let text = text_or_nothing(&installed.file);
        let entries = wiring::digest(host, &text);
        found.entries.extend(entries.map(|entries| (host.word.to_owned(), entries.to_string())));
        let file = installed.file.display();
        match entries {
            None => found.differences.push(format!("the hooks of {} are gone from `{file}`", host.title)),
            Some(entries) if entries != installed.entries => {
                found.differences.push(format!("the hooks of {} in `{file}` were changed", host.title));
            }
            Some(_) => {}
        }
        for off in off_switch::set_in(host, base) {
            found.differences.push(format!("hooks of {} are switched off in `{}`", host.title, off.display()));
        }
        if guard.observed(host).exists() != installed.observe {
            found.differences.push(format!("`{}` was changed", guard.observed(host).display()));
        }
        let switches = host.off_switch.iter().flat_map(|switch| switch.files);
        let bases = || std::iter::once(base.to_path_buf()).chain(place::home());
        looked_at.extend(switches.flat_map(|name| bases().map(move |base| base.join(name))));
        files.extend(looked_at.into_iter().map(|file| file.to_string_lossy().into_owned()));
    }
    files.sort_unstable();
    files.dedup();
    Ok((found, files))
}

fn known(guard: &Guard) -> Option<Value> {
    let path = cache(guard);
    let found = std::fs::metadata(&path).ok()?;
    (found.is_file() && found.len() <= BYTES_MAX)
        .then(|| std::fs::read(&path).ok())
        .flatten()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Which files these are, by their numbers. The time of the last change cannot be set back as the time of writing can.
fn stamp(files: &[String]) -> String {
    let numbers = files.iter().map(|file| match std::fs::metadata(file) {
        Ok(found) => {
            let (size, seconds, nanos) = (found.len(), found.ctime(), found.ctime_nsec());
            format!("{}:{}:{size}:{seconds}.{nanos}", found.dev(), found.ino())
        }
        Err(_) => "-".to_owned(),
    });
    numbers.collect::<Vec<_>>().join(" ")
}

/// Need not be on disk before the answer: what is lost is compared again.
fn keep(path: &Path, text: &str) {
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    if std::fs::write(&unfinished, text).and_then(|()| std::fs::rename(&unfinished, path)).is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
}

/// A call of a host that has arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When, to ten minutes.
    pub at: String,
    /// What our entries said then.
    pub entries: String,
    /// Which program was run.
    pub binary: String,
}

/// A later call is noted after so long, so that most calls write nothing.
const NOTED_AGAIN_AFTER: values::time::Duration = values::time::Duration::from_secs(10 * 60);

fn arrival(guard: &Guard, host: Host) -> PathBuf {
    guard.folder.join(format!("guard.db-{}.seen", host.word))
}

/// The last call of a host that was noted.
pub fn last_arrival(guard: &Guard, host: Host) -> Option<Arrival> {
    let path = arrival(guard, host);
    let found = std::fs::metadata(&path).ok().filter(|found| found.is_file() && found.len() <= 1024)?;
    let text = std::fs::read_to_string(&path).ok().filter(|_| found.len() > 0)?;
    let mut words = text.split_whitespace().map(str::to_owned);
    Some(Arrival { at: words.next()?, entries: words.next()?, binary: words.next()? })
}

/// Which file a program is.
pub fn program_stamp(binary: &Path) -> Option<String> {
    let found = std::fs::metadata(binary).ok()?;
    Some(format!("{}:{}:{}:{}.{}", found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}

/// Notes that a real call of a host arrived.
pub fn note_arrival(guard: &Guard, host: Host, comparison: &Comparison, at: values::time::Instant) {
    let binary = std::env::current_exe().ok().and_then(|binary| program_stamp(&binary));
    let (Some(entries), Some(binary)) = (comparison.entries(host), binary) else { return };
    let known = last_arrival(guard, host).filter(|known| known.entries == entries && known.binary == binary);
    let is_fresh = |known: Arrival| {
        values::time::Instant::parse(&known.at).is_some_and(|before| at < before.plus(NOTED_AGAIN_AFTER))
    };
    if !known.is_some_and(is_fresh) {
        keep(&arrival(guard, host), &format!("{at} {entries} {binary}\n"));
    }
}

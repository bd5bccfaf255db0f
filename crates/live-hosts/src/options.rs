//! What can be typed.

use crate::hosts::{self, Host};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

pub const HELP: &str = "\
cargo xtask hosts [options]

Drives real coding agents with a scripted model and prints what became of each call, host by host.

  --host NAME     only this host; may be repeated (claude-code, codex, gemini, qwen, copilot)
  --case NAME     only this case; may be repeated
  --json          print JSON instead of a table
  --write         write docs/reference/hosts-live.md as well
  --record DIR    keep what each host sends to its hooks as fixtures below DIR, and play no case
  --latest        fetch the newest hosts, also where some are in the cache
  --cache DIR     where hosts are installed
  --jobs N        hosts at once
  --binary PATH   the binary under test, instead of the one that this repository builds
";

/// A run as it was asked for.
pub struct Options {
    pub hosts: Vec<&'static dyn Host>,
    pub cases: Vec<String>,
    pub json: bool,
    pub latest: bool,
    pub page: Option<PathBuf>,
    pub record: Option<PathBuf>,
    pub cache: Option<PathBuf>,
    pub jobs: usize,
    pub binary: PathBuf,
}

impl Options {
    /// Reads words; the binary has to be among them.
    pub fn read(words: &[&str]) -> Result<Options> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let (mut named, mut cases, mut binary) = (Vec::new(), Vec::new(), None);
        let (mut json, mut latest, mut page, mut record, mut cache, mut jobs) = (false, false, None, None, None, jobs);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().copied().with_context(|| format!("{word} takes a value"));
            match *word {
                "--host" => named.push(hosts::named(value()?)?),
                "--case" => cases.push(value()?.to_owned()),
                "--json" => json = true,
                "--latest" => latest = true,
                "--page" => page = Some(PathBuf::from(value()?)),
                "--record" => record = Some(PathBuf::from(value()?)),
                "--cache" => cache = Some(PathBuf::from(value()?)),
                "--jobs" => jobs = value()?.parse().context("--jobs takes a number")?,
                "--binary" => binary = Some(PathBuf::from(value()?)),
                other => bail!("`{other}` is not an option\n\n{HELP}"),
            }
        }
        let hosts = if named.is_empty() { hosts::ALL.to_vec() } else { named };
        let binary = binary.context("--binary is missing")?.canonicalize().context("the binary under test")?;
        Ok(Options { hosts, cases, json, latest, page, record, cache, jobs: jobs.max(1), binary })
    }
}

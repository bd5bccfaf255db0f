//! Parts of the guard are broken: nothing with effects may run, or all is judged as ever.

use super::calls::free;
use crate::hosts::Host;
use crate::outcome::{Outcome, Word};
use crate::places::{PROGRAMS, binary as binary_path, guard, inside};
use crate::process::{Resident, signal};
use crate::session::{Probe, try_all, worst};
use crate::site::{PRECIOUS, in_home, keeper};
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A way to break something.
type Spoil = fn(&dyn Host) -> Result<()>;

/// How long a daemon may take to answer.
const DAEMON_STARTS: Duration = Duration::from_secs(20);

/// Words from bad to good, where nothing with effects may run.
const RANKING: &[Word] = &[Word::Passed, Word::NotRun, Word::HostHeld, Word::Asked, Word::Held];

/// Kills every process above that carries our mark: the command line that the host runs, and its parts.
const KILL_THE_LINE: &str = r#"p=$PPID; all=
while [ "$p" -gt 1 ]; do
  if tr '\0' ' ' < /proc/$p/cmdline | grep -q writkeeper-guard; then all="$all $p"; fi
  p=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$p/status)
done
for p in $all; do kill -9 "$p"; done; sleep 20"#;

pub fn binary(host: &dyn Host) -> Result<Outcome> {
    let ways: [(&str, Spoil); 5] = [
        ("missing", |_| Ok(fs::remove_file(binary_path())?)),
        ("not executable", |_| Ok(fs::set_permissions(binary_path(), fs::Permissions::from_mode(0o644))?)),
        ("killed", |_| replace("kill -9 $$")),
        ("another's answer", |_| replace(r#"cat >/dev/null; echo '{"permissionDecision":"allow"}'"#)),
        ("hangs", |_| replace("cat >/dev/null; sleep 1000")),
    ];
    each(host, &ways)
}

pub fn store(host: &dyn Host) -> Result<Outcome> {
    let ways: [(&str, Spoil); 3] = [
        ("damaged", |_| for_each_store_file(|path| fs::write(path, "this is no store ".repeat(4096)))),
        ("emptied", |_| for_each_store_file(|path| fs::write(path, ""))),
        ("gone", |_| for_each_store_file(|path| fs::remove_file(path))),
    ];
    each(host, &ways)
}

pub fn contract(host: &dyn Host) -> Result<Outcome> {
    // A file that was changed is not in force: what was in force before judges on, so that only effects outside count.
    let unreadable = || Ok(fs::write(guard().join(format!("{}.yaml", host.word())), "{{{ : no contract")?);
    let (tried, session) = try_all(host, unreadable, |_| vec![removing(host)])?;
    let outcome = worst(&tried, &session, RANKING);
    if !matches!(outcome.word, Word::Held | Word::Asked) {
        return Ok(outcome);
    }
    let ways: [(&str, Spoil); 2] = [
        ("gone", |host| Ok(fs::remove_file(guard().join(format!("{}.yaml", host.word())))?)),
        ("folder gone", |_| Ok(fs::remove_dir_all(guard())?)),
    ];
    each(host, &ways)
}

pub fn line(host: &dyn Host) -> Result<Outcome> {
    each(host, &[("killed", |_| replace(KILL_THE_LINE))])
}

pub fn daemon(host: &dyn Host) -> Result<Outcome> {
    let mut resident = None;
    let stop = || -> Result<()> {
        let mut command = in_home(Command::new(binary_path()));
        command.arg("daemon").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Resident(command.spawn()?);
        let begun = Instant::now();
        while keeper(&["daemon", "--status"])?.output.trim() == "null" {
            if begun.elapsed() > DAEMON_STARTS {
                bail!("the daemon does not answer");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        signal("STOP", &child.0.id().to_string())?;
        resident = Some(child);
        Ok(())
    };
    let (mut tried, session) = try_all(host, stop, |_| probes(host))?;
    drop(resident);
    // What is free is judged without the daemon and passes; only what is asked about is left to look at.
    let is_free = |name: &str| name == "writing inside";
    if tried.iter().any(|one| is_free(one.name) && one.word == Word::Passed) {
        tried.retain(|one| !is_free(one.name));
    }
    Ok(worst(&tried, &session, &[Word::Passed, Word::NotRun, Word::Held, Word::HostHeld, Word::Asked]))
}

/// Plays the same calls with each thing broken, and tells of the worst.
fn each(host: &dyn Host, ways: &[(&'static str, Spoil)]) -> Result<Outcome> {
    let mut worst_yet: Option<(usize, Outcome)> = None;
    let mut slowest = 0;
    for (name, spoil) in ways {
        let (tried, session) = try_all(host, || spoil(host), |_| probes(host))?;
        let mut outcome = worst(&tried, &session, RANKING);
        slowest = slowest.max(outcome.slowest);
        let rank = RANKING.iter().position(|word| *word == outcome.word).unwrap_or(0);
        if outcome.word != Word::Held {
            let heard = tried.iter().find(|one| one.word == outcome.word).map(|one| crate::session::short(&one.heard));
            outcome.note = format!("{name}: {}", heard.unwrap_or_default());
        }
        if worst_yet.as_ref().is_none_or(|(found, _)| rank < *found) {
            worst_yet = Some((rank, outcome));
        }
    }
    let (_, outcome) = worst_yet.context("nothing was broken")?;
    Ok(Outcome { slowest, ..outcome })
}

fn removing(host: &dyn Host) -> Probe {
    let gone = |_: &str| !Path::new(PRECIOUS).exists();
    Probe::new("removing outside", vec![host.shell("rm -rf /home/user/precious")], gone)
}

fn probes(host: &dyn Host) -> Vec<Probe> {
    vec![
        Probe::new("writing inside", vec![free(host, "inside.txt")], |_| inside("inside.txt").exists()),
        removing(host),
    ]
}

/// Puts a program in the binary's place that answers every moment but the one before a tool as the real one does.
fn replace(body: &str) -> Result<()> {
    let real = format!("{PROGRAMS}/real-writkeeper");
    fs::rename(binary_path(), &real)?;
    let text = format!("#!/bin/sh\nif [ \"$1 $2\" != \"hook pre-tool\" ]; then exec {real} \"$@\"; fi\n{body}\n");
    fs::write(binary_path(), text)?;
    Ok(fs::set_permissions(binary_path(), fs::Permissions::from_mode(0o755))?)
}

fn for_each_store_file(spoil: impl Fn(&Path) -> std::io::Result<()>) -> Result<()> {
    for entry in fs::read_dir(guard())? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("guard.db") && entry.file_type()?.is_file() {
            spoil(&entry.path())?;
        }
    }
    Ok(())
}

//! `writkeeper init`: contract, store and the host's configuration, shown before they are written.

mod trust;

use crate::cli::command_line::PROGRAM;
use crate::cli::guard::InitArgs;
use crate::contract_file;
use crate::exit::{Exit, InvalidData};
use crate::store;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, STRONG, counted, paint, say};
use anyhow::Context;
use guard::daemon::start::IDLE;
use guard::daemon::{DaemonFolder, client};
use guard::hooks::Host;
use guard::installed::{self, Installed};
use guard::judge::at_host;
use guard::off_switch;
use guard::place::{self, FOLDER, Guard};
use guard::settings_backup;
use guard::text_diff::diff;
use guard::whole_file::write_whole;
use guard::wiring::{self, Source};
use kernel::change::{Act, Write};
use kernel::world::{Entity, Row};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Guards hosts, or takes the guard away.
pub fn run(args: &InitArgs) -> anyhow::Result<Exit> {
    let base = base(args)?;
    let guard = Guard::at(&base.join(FOLDER));
    let mut exit = Exit::Fine;
    for host in &args.hosts {
        let file = if args.user { wiring::file_of_person(host, &base) } else { wiring::file(host, &base) };
        say!("{}", paint(STRONG, host.title));
        if args.undo {
            unwire(args, host, &guard, &file)?;
        } else if !wire(args, host, &guard, &file)? {
            exit = Exit::Rejected;
        }
    }
    if args.daemon || args.no_daemon {
        say_when_to_start(args, &guard)?;
    }
    Ok(exit)
}

/// Whether hooks may start a daemon: a file of the guard, so that no host has to be asked to trust its hooks again.
fn say_when_to_start(args: &InitArgs, guard: &Guard) -> anyhow::Result<()> {
    let place = DaemonFolder::of(guard);
    let file = place.on_demand();
    let old = read(&file)?;
    let new = match (args.daemon, old.is_empty()) {
        (true, true) => format!("{IDLE}\n"),
        (true, false) => old.clone(),
        (false, _) => String::new(),
    };
    show(&file, &old, &new, false)?;
    if args.dry_run {
        return Ok(());
    }
    place.make().with_context(|| format!("cannot make `{}`", file.display()))?;
    ignore(guard)?;
    if args.daemon {
        write_whole(&file, &new)?;
        say!("  hooks start a daemon when there is none; it ends after {} without a call", new.trim());
        return Ok(());
    }
    if !old.is_empty() {
        std::fs::remove_file(&file).with_context(|| format!("cannot remove `{}`", file.display()))?;
    }
    let ended = matches!(client::say(guard, b"stop"), Ok(Some(_)));
    say!("  hooks start no daemon{}", if ended { "; the one that served ends" } else { "" });
    Ok(())
}

/// What is of this machine only does not belong into a repository.
fn ignore(guard: &Guard) -> anyhow::Result<()> {
    let file = guard.folder.join(".gitignore");
    let old = read(&file)?;
    let mut text = old.clone();
    let before = format!("{}/", settings_backup::FOLDER);
    for line in ["guard.db*", "sessions/", "daemon/", before.as_str()] {
        if !text.lines().any(|known| known == line) {
            text.push_str(line);
            text.push('\n');
        }
    }
    if text == old { Ok(()) } else { write_whole(&file, &text) }
}

fn base(args: &InitArgs) -> anyhow::Result<PathBuf> {
    if args.user {
        return place::home().context("HOME is not set");
    }
    let folder = match &args.workspace {
        Some(folder) => folder.clone(),
        None => std::env::current_dir()?,
    };
    folder.canonicalize().with_context(|| format!("cannot find `{}`", folder.display()))
}

/// Says whether the host runs what was wired.
fn wire(args: &InitArgs, host: Host, guard: &Guard, file: &Path) -> anyhow::Result<bool> {
    let contract = guard.contract(host);
    let old_contract = read(&contract)?;
    let new_contract = with_mode(&old_contract, host, args.observe);
    let old = read(file)?;
    let new = changed(host, file, &old, Some(&source(args, guard)?))?;
    show(&contract, &old_contract, &new_contract, true)?;
    show(file, &old, &new, false)?;
    if args.dry_run {
        return Ok(true);
    }
    write_whole(&contract, &new_contract)?;
    ignore(guard)?;
    settings_backup::keep(guard, host, file.exists().then_some(&old))?;
    put_in_force(host, guard, &contract)?;
    observe(args, host, guard)?;
    // Last: a host that is wired before it can be judged would stop at once.
    write_whole(file, &new)?;
    settings_backup::unmark_undone(guard, host)?;
    keep_installed(args, host, guard, file)?;
    let off = off_switch::set_in(host, guard.folder.parent().unwrap_or(&guard.folder));
    for file in &off {
        let problem = format!("hooks are switched off in `{}`: nothing of this runs", file.display());
        say!("  {} {problem}; switch them on there", paint(BAD, "problem"));
    }
    if !off.is_empty() {
        return Ok(false);
    }
    trust::settle(args, host, guard, file)?;
    let mode = if args.observe { paint(ATTENTION, "observes: nothing is stopped") } else { paint(GOOD, "written") };
    say!("  {mode}; it counts once a call of {} has arrived, which `doctor` says", host.title);
    say!("  next: {}", paint(FAINT, "writkeeper doctor"));
    Ok(true)
}

/// Marks a host that is only observed, for when nothing can be judged. It is no part of the command line that a host runs,
/// because some hosts trust one command line and no other.
fn observe(args: &InitArgs, host: Host, guard: &Guard) -> anyhow::Result<()> {
    let mark = guard.observed(host);
    if args.observe {
        return write_whole(&mark, "");
    }
    if mark.exists() {
        std::fs::remove_file(&mark).with_context(|| format!("cannot remove `{}`", mark.display()))?;
    }
    Ok(())
}

/// Keeps in the store what was installed, so that every call can compare.
fn keep_installed(args: &InitArgs, host: Host, guard: &Guard, file: &Path) -> anyhow::Result<()> {
    let runtime = store::create(&guard.store().to_string_lossy())?;
    let Some(entries) = wiring::digest(host, &read(file)?) else { return Ok(()) };
    let installed = Installed { host, file: file.to_path_buf(), entries, observe: args.observe };
    if Installed::read(&runtime, host).map_err(anyhow::Error::msg)?.as_ref() != Some(&installed) {
        store::done(runtime.change(store::operator(), Act::Merge(vec![installed.write()])))?;
    }
    installed::forget(guard);
    Ok(())
}

fn source(args: &InitArgs, guard: &Guard) -> anyhow::Result<Source> {
    let binary = std::env::current_exe().context("where is this program?")?;
    Ok(Source { binary, guard: guard.folder.clone(), observe: args.observe, program: &PROGRAM })
}

/// A host's configuration with our entries, or without them.
fn changed(host: Host, file: &Path, old: &str, source: Option<&Source>) -> anyhow::Result<String> {
    let refused = |error: anyhow::Error| InvalidData(format!("`{}` cannot be changed: {error:#}", file.display()));
    Ok(wiring::wired(host, old, source).map_err(refused)?)
}

/// The contract as it is, or from the template, in the mode that was asked for.
fn with_mode(old: &str, host: Host, observe: bool) -> String {
    let mode = if observe { "mode: observe" } else { "mode: enforce" };
    let template = contract::template("coding-agent").map_or("", |template| template.text);
    let text = if old.trim().is_empty() { template } else { old };
    let own = format!("agent: {}", host.word);
    let lines = text.lines().map(|line| match line {
        "agent: coding-agent" => own.as_str(),
        line if line.starts_with("mode: ") => mode,
        line => line,
    });
    let mut lines: Vec<&str> = lines.collect();
    if !lines.iter().any(|line| line.starts_with("mode: ")) {
        let behind = lines.iter().position(|line| line.starts_with("agent: ")).map_or(0, |index| index + 1);
        lines.insert(behind, mode);
    }
    format!("{}\n", lines.join("\n"))
}

/// Registers the host's agent where the store does not know it, and puts the contract in force.
pub fn put_in_force(host: Host, guard: &Guard, path: &Path) -> anyhow::Result<()> {
    let contract = Arc::new(contract_file::open(path)?.loaded.compiled);
    if contract.contract.agent != host.word {
        let problem = format!("`{}` is for agent `{}`, not `{}`", path.display(), contract.contract.agent, host.word);
        return Err(InvalidData(problem).into());
    }
    let runtime = store::create(&guard.store().to_string_lossy())?;
    let known = runtime.read(Entity::Agent(host.word.to_owned())).map_err(store::unread)?;
    let active = match &known {
        Some(Row::Agent(row)) => row.contract,
        Some(_) | None => None,
    };
    if active == Some(contract.digest) {
        return Ok(());
    }
    store::done(runtime.register(store::operator(), contract.clone(), None, None))?;
    store::done(runtime.activate(store::operator(), contract.clone()))?;
    // Whoever answers in the host's own dialog sits before the host, as its maintainers do.
    let groups = contract.contract.escalation.approvers.clone();
    let people = Act::Merge(vec![Write::groups(&at_host(host), groups)]);
    store::done(runtime.change(store::operator(), people))?;
    Ok(())
}

fn unwire(args: &InitArgs, host: Host, guard: &Guard, file: &Path) -> anyhow::Result<()> {
    let old = read(file)?;
    let without = changed(host, file, &old, None)?;
    let was = settings_backup::original(guard, host, &without, &source(args, guard)?);
    let new = was.as_ref().filter(|_| old != without).unwrap_or(&without);
    show(file, &old, new, false)?;
    if args.dry_run {
        return Ok(());
    }
    if old != without && new.trim().is_empty() && was.is_none() {
        std::fs::remove_file(file).with_context(|| format!("cannot remove `{}`", file.display()))?;
    } else if old != without {
        write_whole(file, new)?;
    }
    settings_backup::mark_undone(guard, host)?;
    if guard.store().is_file() {
        let runtime = store::create(&guard.store().to_string_lossy())?;
        if Installed::read(&runtime, host).map_err(anyhow::Error::msg)?.is_some() {
            store::done(runtime.change(store::operator(), Act::Merge(vec![Installed::withdrawal(host)])))?;
        }
        installed::forget(guard);
    }
    say!("  {}; contract and store stay in {FOLDER}", paint(ATTENTION, "not guarded any more"));
    Ok(())
}

/// What changes in a file; a new contract is too long to be read here.
fn show(file: &Path, old: &str, new: &str, folded: bool) -> anyhow::Result<()> {
    let lines = diff(old, new);
    if lines.is_empty() {
        say!("  {} {}", file.display(), paint(FAINT, "as it was"));
        return Ok(());
    }
    say!("  {}", file.display());
    if folded && old.is_empty() {
        say!(
            "    {}",
            paint(GOOD, format!("+ {}, from the template `coding-agent`", counted(lines.len() as u64, "line")))
        );
        return Ok(());
    }
    for line in lines {
        let style = match line.chars().next() {
            Some('+') => GOOD,
            Some('-') => BAD,
            _ => FAINT,
        };
        say!("    {}", paint(style, kernel::finding::visible(&line)));
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<String> {
    match std::fs::metadata(file) {
        Err(_) => Ok(String::new()),
        // What is no file may never end.
        Ok(found) if !found.is_file() => Err(InvalidData(format!("`{}` is not a file", file.display())).into()),
        Ok(_) => crate::files::read_text(file),
    }
}

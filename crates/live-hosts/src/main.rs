//! Drives the real hosts of coding agents through scripted sessions and prints what became of each call.
//!
//! The process that a person starts installs hosts and enters a namespace for each; the one inside plays the cases.

mod calendar;
mod cases;
mod hosts;
mod install;
mod mcp;
mod model;
mod namespace;
mod options;
mod outcome;
mod places;
mod process;
mod record;
mod script;
mod session;
mod site;
mod table;

use anyhow::{Context, Result};
use cases::Case;
use hosts::Host;
use options::Options;
use outcome::{Cell, Outcome, Word};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use table::Findings;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["mcp"] => mcp::serve().map(|()| true),
        ["inside", host, "record"] => record_inside(host).map(|()| true),
        ["inside", host, names @ ..] => inside(host, names).map(|()| true),
        words if words.iter().any(|word| matches!(*word, "--help" | "-h")) => {
            print!("{}", options::HELP);
            Ok(true)
        }
        words => Options::read(words).and_then(|options| outside(&options)),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hosts: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Keeps what one host sends.
fn record_inside(word: &str) -> Result<()> {
    let outcome = record::inside(hosts::named(word)?)?;
    eprintln!("hosts: {word}: {}", outcome.note);
    Ok(())
}

/// Plays the named cases with one host, one line of JSON each.
fn inside(word: &str, names: &[&str]) -> Result<()> {
    let host = hosts::named(word)?;
    for case in cases::ALL.iter().filter(|case| names.contains(&case.name)) {
        let outcome = (case.run)(host).unwrap_or_else(|error| Outcome::new(Word::NotRun, format!("{error:#}")));
        let is_as_expected = (case.expected)(word).contains(&outcome.word);
        let cell = Cell { host: word.to_owned(), case: case.name.to_owned(), outcome, is_as_expected };
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", cell.to_json())?;
        output.flush()?;
    }
    Ok(())
}

/// Installs, enters, collects and prints; whether no cell is worse than expected.
fn outside(options: &Options) -> Result<bool> {
    let chosen = table::chosen(&options.cases)?;
    let cache = install::cache(options.cache.as_deref())?;
    namespace::check(&cache)?;
    install::hosts(&cache, &options.hosts, options.latest)?;
    install::programs(&cache, &options.binary)?;
    if let Some(folder) = &options.record {
        return record_all(options, &cache, folder);
    }
    let versions = options.hosts.iter().map(|host| install::version(&cache, *host)).collect::<Result<Vec<_>>>()?;
    let findings = Findings {
        hosts: &options.hosts,
        cases: &chosen,
        cells: collect(options, &cache, &chosen)?,
        versions,
        date: calendar::today(),
        keeper: version_of(&options.binary)?,
    };
    if let Some(page) = &options.page {
        std::fs::write(page, findings.page()).with_context(|| format!("writing `{}`", page.display()))?;
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&findings.json())?);
    } else {
        print!("{}", findings.text());
    }
    let worse = findings.worse();
    let count = findings.cells.len();
    eprintln!("hosts: {count} {}, {worse} worse than expected", if count == 1 { "cell" } else { "cells" });
    Ok(worse == 0)
}

/// Writes fixtures of every host; whether each sent something.
fn record_all(options: &Options, cache: &Path, folder: &Path) -> Result<bool> {
    let mut all = true;
    for host in &options.hosts {
        let program = format!("{}/bin/live-hosts", places::CACHE);
        namespace::enter(cache, &[&program, "inside", host.word(), "record"])?
            .status()
            .context("starting `unshare`")?;
        let count = record::keep(cache, *host, folder)?;
        println!("{}: {count} fixtures", host.word());
        all &= count > 0;
    }
    Ok(all)
}

/// Plays with several hosts at once; each has a namespace of its own.
fn collect(options: &Options, cache: &Path, chosen: &[&'static Case]) -> Result<Vec<Cell>> {
    let waiting = Mutex::new(options.hosts.iter());
    let next = || waiting.lock().ok().and_then(|mut hosts| hosts.next().copied());
    let mut cells = std::thread::scope(|scope| -> Result<Vec<Cell>> {
        let work = || -> Result<Vec<Cell>> {
            let mut cells = Vec::new();
            while let Some(host) = next() {
                cells.extend(of_host(host, cache, chosen)?);
            }
            Ok(cells)
        };
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        let mut cells = Vec::new();
        for worker in workers {
            cells.extend(worker.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??);
        }
        Ok(cells)
    })?;
    cells.sort_by_key(|cell| hosts::ALL.iter().position(|host| host.word() == cell.host));
    Ok(cells)
}

fn of_host(host: &dyn Host, cache: &Path, chosen: &[&'static Case]) -> Result<Vec<Cell>> {
    let program = format!("{}/bin/live-hosts", places::CACHE);
    let names = chosen.iter().map(|case| case.name);
    let words: Vec<&str> = [program.as_str(), "inside", host.word()].into_iter().chain(names).collect();
    let mut command = namespace::enter(cache, &words)?;
    let mut child = command.stdout(Stdio::piped()).spawn().context("starting `unshare`")?;
    let output = child.stdout.take().context("no output of the namespace")?;
    let mut cells = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line?;
        let cell = serde_json::from_str(&line).ok().and_then(|value| Cell::from_json(&value));
        let cell = cell.with_context(|| format!("the process inside printed `{line}`"))?;
        eprintln!("hosts: {} × {}: {}", cell.host, cell.case, cell.outcome.word);
        cells.push(cell);
    }
    child.wait()?;
    for case in chosen.iter().filter(|case| !cells.iter().any(|cell| cell.case == case.name)).collect::<Vec<_>>() {
        let outcome = Outcome::new(Word::NotRun, "the process inside of the namespace ended before");
        cells.push(Cell { host: host.word().to_owned(), case: case.name.to_owned(), outcome, is_as_expected: false });
    }
    Ok(cells)
}

fn version_of(binary: &Path) -> Result<String> {
    let output = Command::new(binary).arg("--version").stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("starting `{}`", binary.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

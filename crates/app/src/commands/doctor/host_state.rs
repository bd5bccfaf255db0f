//! One host: what is written, whether the host trusts it, whether a call of it has arrived, and whether it refuses.

use super::probing;
use crate::cli::command_line::PROGRAM;
use crate::store;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, STRONG, at_text, paint, say};
use guard::hooks::trust::Standing;
use guard::hooks::{Event, Host};
use guard::installed::{self, Installed};
use guard::off_switch;
use guard::place::Guard;
use guard::trust::TrustFiles;
use guard::wiring::{self, OurEntry, Source};
use kernel::contract::{Contract, Mode};
use kernel::world::{Entity, Row};
use std::path::PathBuf;

/// Where a host is looked at.
#[derive(Clone)]
pub struct Spot {
    pub host: Host,
    pub guard: Guard,
    /// The file that holds our hooks.
    pub file: PathBuf,
    /// Whether it is a person's own.
    pub is_of_user: bool,
    pub workspace: PathBuf,
}

/// The state of one host.
pub struct HostState {
    pub host: Host,
    pub file: PathBuf,
    pub problems: Vec<String>,
    pub notes: Vec<String>,
    pub written: usize,
    /// Whether all of it is there as this version writes it.
    pub is_as_written: bool,
    /// Whether a person took the guard away.
    pub is_undone: bool,
    pub mode: Option<Mode>,
    pub standing: Standing,
    /// When a call of the host arrived, if one did since the hooks or the program changed.
    pub seen: Option<String>,
    pub canary: Option<Result<(), String>>,
    pub millis: Option<u128>,
}

impl HostState {
    /// Of a host that nothing is known about yet.
    pub fn at(spot: &Spot) -> HostState {
        HostState {
            host: spot.host,
            file: spot.file.clone(),
            problems: Vec::new(),
            notes: Vec::new(),
            written: 0,
            is_as_written: false,
            is_undone: false,
            mode: None,
            standing: Standing::Needless,
            seen: None,
            canary: None,
            millis: None,
        }
    }

    /// Looks at everything.
    pub fn of(spot: &Spot, entries: &[OurEntry]) -> HostState {
        let mut found = HostState { written: entries.len(), ..HostState::at(spot) };
        found.mode = contract(&mut found, &spot.guard);
        let other_problems = found.problems.len();
        wires(&mut found, &spot.guard, entries);
        found.is_as_written = found.problems.len() == other_problems;
        for file in off_switch::set_in(spot.host, &spot.workspace) {
            found.problems.push(format!("hooks are switched off in `{}`: nothing of this runs", file.display()));
        }
        trusted(&mut found, spot);
        seen(&mut found, spot);
        let pre_tool = spot.host.moments.iter().find(|(_, event)| *event == Event::PreTool).map(|(name, _)| *name);
        match entries.iter().find(|entry| Some(entry.moment.as_str()) == pre_tool) {
            Some(entry) => {
                let probed = probing::probe(spot.host, &entry.command, &spot.workspace);
                (found.canary, found.millis) = (Some(probed.canary), probed.millis);
            }
            None => found.canary = Some(Err("nothing is wired before a tool runs".to_owned())),
        }
        found
    }

    fn is_trusted(&self) -> bool {
        // A host that lets nobody read it is believed once a call has arrived.
        !matches!(self.standing, Standing::Missing(_))
    }

    /// Whether every word about it is proved, and it stops what it should.
    pub fn is_enforced(&self) -> bool {
        self.holds() && self.mode == Some(Mode::Enforce)
    }

    fn holds(&self) -> bool {
        self.is_well() && self.is_as_written && self.is_trusted() && self.seen.is_some()
    }

    /// Whether nothing is wrong, whether or not a call has arrived.
    pub fn is_well(&self) -> bool {
        self.is_undone || self.problems.is_empty() && matches!(self.canary, Some(Ok(())))
    }

    fn words(&self) -> String {
        let written = if self.is_as_written { "written" } else { "not as written" };
        let trusted = match &self.standing {
            Standing::Needless => "no trust needed",
            Standing::Given => "trusted",
            Standing::Missing(_) => "not trusted",
            Standing::Unreadable(_) => "trust not readable",
        };
        let seen = self.seen.as_ref().map_or_else(|| "not seen".to_owned(), |at| format!("seen {}", at_text(at)));
        let canary = match &self.canary {
            Some(Ok(())) => "canary refused",
            Some(Err(_)) => "canary not refused",
            None => "canary not sent",
        };
        [written, trusted, &seen, canary].join(", ")
    }

    /// Says it.
    pub fn tell(&self) -> anyhow::Result<()> {
        let title = paint(STRONG, self.host.title);
        if self.is_undone {
            let again = paint(FAINT, format!("writkeeper init --host {}", self.host.word));
            say!("{title}  {}; {again}", paint(ATTENTION, "not guarded, by `init --undo`"));
            return Ok(());
        }
        let state = match (self.mode, self.holds()) {
            (Some(Mode::Enforce), true) => paint(GOOD, "enforced"),
            (Some(Mode::Enforce), false) => paint(BAD, "not enforced"),
            (Some(Mode::Observe), true) => paint(ATTENTION, "observed"),
            (Some(Mode::Observe), false) => paint(BAD, "not observed"),
            (None, _) => paint(BAD, "not judged"),
        };
        say!("{title}  {state}: {}", self.words());
        say!("  {}", paint(FAINT, self.file.display()));
        for problem in &self.problems {
            say!("  {} {problem}", paint(BAD, "problem"));
        }
        if let Some(Err(problem)) = &self.canary {
            say!("  {} {problem}", paint(BAD, "problem"));
        }
        for note in &self.notes {
            say!("  {} {note}", paint(ATTENTION, "note"));
        }
        if let Some(millis) = self.millis {
            say!("  a probe takes {millis} ms");
        }
        if !self.host.skipped_by.is_empty() {
            let skipped =
                format!("{} runs without these hooks under {}", self.host.title, self.host.skipped_by.join(", "));
            say!("  {}", paint(FAINT, skipped));
        }
        Ok(())
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "host": self.host.word,
            "file": self.file,
            "enforced": self.is_enforced(),
            "written": self.written,
            "moments": self.host.moments.len(),
            "trusted": match &self.standing {
                Standing::Needless => "needless",
                Standing::Given => "given",
                Standing::Missing(_) => "missing",
                Standing::Unreadable(_) => "unreadable",
            },
            "seen": self.seen,
            "canary": match &self.canary {
                None => serde_json::Value::Null,
                Some(Ok(())) => serde_json::json!("refused"),
                Some(Err(problem)) => serde_json::json!({ "problem": problem }),
            },
            "undone": self.is_undone,
            "mode": self.mode.map(Mode::word),
            "problems": self.problems,
            "notes": self.notes,
            "skipped_by": self.host.skipped_by,
            "millis": self.millis.map(|millis| u64::try_from(millis).unwrap_or(u64::MAX)),
        })
    }
}

/// Whether the host would run what is written.
fn trusted(found: &mut HostState, spot: &Spot) {
    found.standing = TrustFiles::of(spot.host, &spot.workspace, spot.is_of_user, &spot.file).standing();
    let Some(trust) = &spot.host.trust else { return };
    match &found.standing {
        Standing::Missing(why) => {
            let user = if spot.is_of_user { " --user" } else { "" };
            let flag = format!("writkeeper init --host {} --trust{user}", spot.host.word);
            let flag = trust.granted.map_or_else(String::new, |_| format!(", or run `{flag}`"));
            found.problems.push(format!("{why}: {}{flag}", trust.step));
        }
        Standing::Unreadable(why) => found.notes.push(format!("{why}: {}", trust.step)),
        Standing::Needless | Standing::Given => {}
    }
}

/// Whether a call of the host arrived since what it runs last changed.
fn seen(found: &mut HostState, spot: &Spot) {
    let text = std::fs::read_to_string(&spot.file).unwrap_or_default();
    let entries = wiring::digest(spot.host, &text).map(|entries| entries.to_string());
    let binary = std::env::current_exe().ok().and_then(|binary| installed::program_stamp(&binary));
    let arrival = installed::last_arrival(&spot.guard, spot.host);
    let is_now = |arrival: &installed::Arrival| {
        Some(&arrival.entries) == entries.as_ref() && Some(&arrival.binary) == binary.as_ref()
    };
    found.seen = arrival.filter(is_now).map(|arrival| arrival.at);
    if found.seen.is_none() {
        let title = spot.host.title;
        found.notes.push(format!(
            "no call of {title} has arrived since its hooks or this program last changed; let it use a tool"
        ));
    }
}

/// Whether the contract in the file is the one in force.
fn contract(found: &mut HostState, guard: &Guard) -> Option<Mode> {
    let path = guard.contract(found.host);
    let file = match crate::contract_file::open(&path) {
        Ok(file) => file.loaded.compiled,
        Err(error) => {
            found.problems.push(format!("the contract cannot be read: {error:#}"));
            return None;
        }
    };
    found.notes.extend(asked(&file.contract));
    let runtime = match store::view(&guard.store().to_string_lossy()) {
        Ok(runtime) => runtime,
        Err(error) => {
            found.problems.push(format!("{error:#}"));
            return None;
        }
    };
    if found.written > 0 && Installed::read(&runtime, found.host) == Ok(None) {
        let again = format!("writkeeper init --host {}", found.host.word);
        found
            .notes
            .push(format!("an older version wrote these hooks; run `{again}` so that a change of them is noticed"));
    }
    match runtime.read(Entity::Agent(found.host.word.to_owned())) {
        Ok(Some(Row::Agent(row))) if row.contract == Some(file.digest) => Some(file.contract.mode),
        Ok(Some(Row::Agent(_))) => {
            let again = format!("writkeeper init --host {}", found.host.word);
            found.problems.push(format!("`{}` was changed and is not in force; run `{again}`", path.display()));
            let line = runtime.line(found.host.word).ok()?;
            Some(line.contract.contract.mode)
        }
        Ok(_) => {
            found.problems.push("the store does not know this agent".to_owned());
            None
        }
        Err(fault) => {
            found.problems.push(fault.to_string());
            None
        }
    }
}

/// Who outside is asked under a contract.
fn asked(contract: &Contract) -> Vec<String> {
    let plugins =
        [("validators", &contract.validators), ("judges", &contract.judges), ("handlers", &contract.handlers)];
    let witnesses: Vec<&str> = contract.witnesses.keys().map(String::as_str).collect();
    let named = plugins.map(|(what, plugins)| (what, plugins.keys().map(String::as_str).collect::<Vec<&str>>()));
    let all = named.into_iter().chain([("witnesses", witnesses)]).filter(|(_, names)| !names.is_empty());
    all.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect()
}

/// Whether each moment runs exactly the command line this binary would write.
fn wires(found: &mut HostState, guard: &Guard, entries: &[OurEntry]) {
    let Ok(binary) = std::env::current_exe() else { return };
    let observe = found.mode == Some(Mode::Observe);
    let source = Source { binary, guard: guard.folder.clone(), observe, program: &PROGRAM };
    for (moment, event) in found.host.moments {
        let expected = source.command(found.host, *event);
        match entries.iter().find(|entry| entry.moment == *moment) {
            None => found.problems.push(format!("`{moment}` is not wired")),
            Some(entry) if entry.command == expected => {}
            Some(entry) if entry.command.contains(&*source.binary.to_string_lossy()) => {
                found.problems.push(format!("`{moment}` runs another command line than this version writes"));
            }
            Some(_) => found.notes.push(format!("`{moment}` runs another binary than this one")),
        }
    }
    entries_as_written(found, &source);
}

/// Whether each entry says what this version would write: for which tools it runs, how long the host waits for it.
fn entries_as_written(found: &mut HostState, source: &Source) {
    let Ok(text) = std::fs::read_to_string(&found.file) else { return };
    for (moment, words) in wiring::changed(found.host, &text, source) {
        let words = words.join("`, `");
        found.problems.push(format!("`{moment}` was changed (`{words}`); the host may not run it as it should"));
    }
}

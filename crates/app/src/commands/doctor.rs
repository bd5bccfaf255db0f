//! `writkeeper doctor`: what is wired, what drifted, how long a call takes; and with `--live`, that it really refuses.

mod answers;

use crate::cli::command_line::PROGRAM;
use crate::cli::guard::DoctorArgs;
use crate::exit::Exit;
use crate::store;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, STRONG, paint, say};
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use answers::Answers;
use guard::daemon::{DaemonFolder, client, start};
use guard::hooks::dialect::ShellCall;
use guard::hooks::{Event, HOSTS, Host};
use guard::off_switch;
use guard::place::{self, FOLDER, Guard};
use guard::settings_backup;
use guard::wiring::{self, Source};
use kernel::contract::{Contract, Mode};
use kernel::outcome::Verdict;
use kernel::world::{Entity, Row};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use values::json::{Bounds, Json};

/// Times a harmless call is sent to see how long one takes.
const SAMPLES: usize = 5;

/// The state of one host.
struct HostState {
    host: Host,
    file: PathBuf,
    problems: Vec<String>,
    notes: Vec<String>,
    wired: usize,
    /// Whether a person took the guard away.
    undone: bool,
    mode: Option<Mode>,
    millis: Option<u128>,
    live: Option<Result<(), String>>,
}

impl HostState {
    fn at(host: Host, file: PathBuf, wired: usize) -> HostState {
        let (problems, notes) = (Vec::new(), Vec::new());
        HostState { host, file, problems, notes, wired, undone: false, mode: None, millis: None, live: None }
    }
}

/// Looks at every host of the workspace and of the user.
pub fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let workspace = match &args.workspace {
        Some(folder) => folder.clone(),
        None => std::env::current_dir()?,
    };
    let workspace = place::canonical(&workspace);
    let (mut all, mut guards) = (Vec::new(), Vec::new());
    let bases = std::iter::once((workspace.clone(), false)).chain(place::home().map(|home| (home, true)));
    for (base, of_user) in bases {
        for host in HOSTS {
            let Some(file) = wiring::file(host, &base, of_user) else { continue };
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let entries = wiring::found(host, &text);
            let guard = Guard::at(&base.join(FOLDER));
            if entries.is_empty() && !guard.contract(host).exists() {
                continue;
            }
            if entries.is_empty() && settings_backup::is_undone(&guard, host) {
                all.push(HostState { undone: true, ..HostState::at(host, file, 0) });
                continue;
            }
            all.push(look(args, host, &guard, file, &entries, &workspace));
            guards.push(guard);
        }
    }
    guards.dedup();
    let stores = guards.iter().map(Guard::store).chain(args.store.as_ref().map(PathBuf::from));
    let stores: BTreeSet<PathBuf> =
        stores.chain([workspace.join(store::UNNAMED)]).filter(|file| file.is_file()).collect();
    let answers: Vec<Answers> = stores.iter().filter_map(|store| answers::look(store)).collect();
    tell(args, &all, &guards.iter().map(resident).collect::<Vec<_>>(), &answers)
}

/// What is known about a guard's store and its daemon.
struct Resident {
    folder: PathBuf,
    /// What the daemon says of itself; the error says why it says nothing.
    daemon: Result<Option<serde_json::Value>, String>,
    on_demand: bool,
    /// `PRAGMA synchronous` and `PRAGMA journal_mode`, read back from a connection as hooks open it.
    durability: Option<(String, String)>,
}

fn resident(guard: &Guard) -> Resident {
    let place = DaemonFolder::of(guard);
    let daemon = match client::say(guard, b"status") {
        Ok(Some(fields)) => match fields.as_slice() {
            [word, status] if word == b"status" => serde_json::from_slice(status).map_err(|error| error.to_string()),
            _ => Err("what answers is no daemon".to_owned()),
        },
        Ok(None) => Ok(None),
        Err(error) => Err(error.to_string()),
    };
    // Holding the lock and not answering: it hangs, or it is of another version.
    let daemon = match (daemon, place.holder()) {
        (Ok(None), Some(holder)) if place.is_held() => Err(format!(
            "process {} (version {}) serves and is another program than this",
            holder.process, holder.version
        )),
        (daemon, _) => daemon,
    };
    let store = guard.store();
    let durability = store.is_file().then(|| SqliteStore::open(&store, Arc::new(SystemClock)).ok()).flatten();
    let durability = durability.and_then(|store| store.durability().ok());
    Resident { folder: guard.folder.clone(), daemon, on_demand: start::allowed(&place).is_some(), durability }
}

fn tell_resident(resident: &Resident) -> anyhow::Result<()> {
    let folder = paint(FAINT, resident.folder.display());
    let on_demand = if resident.on_demand { "; hooks start one when there is none" } else { "" };
    match &resident.daemon {
        Ok(None) => say!("daemon  none, every hook opens the store itself{on_demand}  {folder}"),
        Ok(Some(status)) => {
            let version = status["version"].as_str().unwrap_or_default();
            let (process, served) = (&status["process"], &status["served"]);
            say!(
                "daemon  {} version {version}, process {process}, {served} calls{on_demand}  {folder}",
                paint(GOOD, "answers")
            );
        }
        Err(problem) => say!("daemon  {} {problem}; hooks judge without it  {folder}", paint(ATTENTION, "note")),
    }
    if let Some((synchronous, journal)) = &resident.durability {
        say!("store   synchronous {synchronous}, journal {journal}");
    }
    Ok(())
}

fn look(
    args: &DoctorArgs,
    host: Host,
    guard: &Guard,
    file: PathBuf,
    entries: &[(String, String)],
    workspace: &Path,
) -> HostState {
    let mut found = HostState::at(host, file, entries.len());
    found.mode = contract(&mut found, guard);
    wires(&mut found, guard, entries);
    for file in off_switch::set_in(host, workspace) {
        found.problems.push(format!("hooks are switched off in `{}`: nothing of this runs", file.display()));
    }
    let pre_tool = host.moments.iter().find(|(_, event)| *event == Event::PreTool).map(|(name, _)| *name);
    let command = entries.iter().find(|(moment, _)| Some(moment.as_str()) == pre_tool).map(|(_, command)| command);
    if let Some(command) = command {
        found.millis = latency(host, command, workspace);
        if args.live {
            found.live = Some(canary(host, command, guard, workspace, found.mode));
        }
    } else if args.live {
        found.live = Some(Err("nothing is wired before a tool runs".to_owned()));
    }
    found
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
    let runtime = match store::open(&guard.store().to_string_lossy()) {
        Ok(runtime) => runtime,
        Err(error) => {
            found.problems.push(format!("{error:#}"));
            return None;
        }
    };
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
fn wires(found: &mut HostState, guard: &Guard, entries: &[(String, String)]) {
    let Ok(binary) = std::env::current_exe() else { return };
    let observe = found.mode == Some(Mode::Observe);
    let source = Source { binary, guard: guard.folder.clone(), observe, program: &PROGRAM };
    for (moment, event) in found.host.moments {
        let expected = source.command(found.host, *event);
        match entries.iter().find(|(name, _)| name == moment) {
            None => found.problems.push(format!("`{moment}` is not wired")),
            Some((_, command)) if *command == expected => {}
            Some((_, command)) if command.contains(&*source.binary.to_string_lossy()) => {
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

/// Runs a wired command line as a host would.
fn through(command: &str, payload: &str, workspace: &Path) -> Option<(String, Option<i32>)> {
    let mut process = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    if let Some(mut input) = process.stdin.take() {
        let _ = input.write_all(payload.as_bytes());
    }
    let output = process.wait_with_output().ok()?;
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code()))
}

fn latency(host: Host, command: &str, workspace: &Path) -> Option<u128> {
    let payload = payload(host, "ls", workspace, "writkeeper-doctor");
    let mut times = Vec::new();
    for _ in 0..SAMPLES {
        let start = Instant::now();
        through(command, &payload, workspace)?;
        times.push(start.elapsed().as_millis());
    }
    times.sort_unstable();
    times.get(SAMPLES / 2).copied()
}

/// A catastrophe that nobody runs: it must be refused, and the refusal must be in the ledger.
fn canary(host: Host, command: &str, guard: &Guard, workspace: &Path, mode: Option<Mode>) -> Result<(), String> {
    let session = format!("canary-{}", runtime::Minted::id());
    let payload = payload(host, "rm -rf / --no-preserve-root", workspace, &session);
    let location = guard.store().to_string_lossy().into_owned();
    let size = |location: &str| {
        let runtime = store::open(location).map_err(|error| format!("{error:#}"))?;
        runtime.size().map_err(|fault| fault.to_string())
    };
    let before = size(&location)?;
    let (said, code) = through(command, &payload, workspace).ok_or("the wired command cannot be run")?;
    let refused = said.contains("\"deny\"") || host.blocks_by_exit && code == Some(2);
    if mode == Some(Mode::Enforce) && !refused {
        return Err(format!("the canary was not refused; the host would read: {}", said.trim()));
    }
    let runtime = store::open(&location).map_err(|error| format!("{error:#}"))?;
    let records = runtime.records(before, 64).map_err(|fault| fault.to_string())?;
    let told = records.iter().filter_map(|record| record.body.as_ref()).any(|(body, _)| {
        let body = Json::parse_within(body.as_bytes(), &Bounds::FILE).unwrap_or(Json::Null);
        let session_is = body.get("flow").and_then(Json::as_text).is_some_and(|flow| flow.ends_with(&session));
        session_is && body.get("verdict").and_then(Json::as_text) == Some(Verdict::Reject.word())
    });
    if told { Ok(()) } else { Err("the refusal is not in the ledger".to_owned()) }
}

/// What a host sends before it runs a command.
fn payload(host: Host, command: &str, workspace: &Path, session: &str) -> String {
    let (cwd, id) = (workspace.to_string_lossy(), format!("call-{}", runtime::Minted::id()));
    (host.payload)(&ShellCall { command, cwd: &cwd, session, id: &id }).to_string()
}

fn tell(args: &DoctorArgs, all: &[HostState], guards: &[Resident], answers: &[Answers]) -> anyhow::Result<Exit> {
    let well = |found: &HostState| found.problems.is_empty() && !matches!(found.live, Some(Err(_)));
    let exit = if all.iter().all(well) { Exit::Fine } else { Exit::Rejected };
    if args.json {
        let hosts: Vec<serde_json::Value> = all.iter().map(to_json).collect();
        let guards: Vec<serde_json::Value> = guards.iter().map(resident_to_json).collect();
        let answers: Vec<serde_json::Value> = answers.iter().map(answers::to_json).collect();
        let version = env!("CARGO_PKG_VERSION");
        let told = serde_json::json!({ "version": version, "hosts": hosts, "guards": guards, "answers": answers });
        say!("{told}");
        return Ok(exit);
    }
    say!("writkeeper {}", crate::cli::VERSION);
    if all.is_empty() {
        say!("no host is guarded here; {}", paint(FAINT, "writkeeper init --host claude-code --observe"));
    }
    for found in all {
        if found.undone {
            let again = paint(FAINT, format!("writkeeper init --host {}", found.host.word));
            say!("{}  {}; {again}", paint(STRONG, found.host.title), paint(ATTENTION, "not guarded, by `init --undo`"));
            continue;
        }
        let mode = match found.mode {
            Some(Mode::Enforce) => paint(GOOD, "enforced"),
            Some(Mode::Observe) => paint(ATTENTION, "observed"),
            None => paint(BAD, "not judged"),
        };
        let moments = found.host.moments.len();
        let wired = match found.problems.is_empty() {
            true => format!("{} of {moments} moments wired", found.wired),
            false => paint(BAD, format!("not sound: {} of {moments} moments have an entry", found.wired)),
        };
        say!("{}  {mode}, {wired}", paint(STRONG, found.host.title));
        say!("  {}", paint(FAINT, found.file.display()));
        for problem in &found.problems {
            say!("  {} {problem}", paint(BAD, "problem"));
        }
        for note in &found.notes {
            say!("  {} {note}", paint(ATTENTION, "note"));
        }
        if let Some(millis) = found.millis {
            say!("  a call takes {millis} ms (median of {SAMPLES})");
        }
        match &found.live {
            None => {}
            Some(Ok(())) => {
                say!("  {} the canary was judged as it must be, and the ledger tells of it", paint(GOOD, "live"))
            }
            Some(Err(problem)) => say!("  {} {problem}", paint(BAD, "live")),
        }
    }
    guards.iter().try_for_each(tell_resident)?;
    answers.iter().try_for_each(answers::tell)?;
    Ok(exit)
}

fn resident_to_json(resident: &Resident) -> serde_json::Value {
    serde_json::json!({
        "folder": resident.folder,
        "daemon": match &resident.daemon {
            Ok(status) => status.clone().unwrap_or(serde_json::Value::Null),
            Err(problem) => serde_json::json!({ "problem": problem }),
        },
        "on_demand": resident.on_demand,
        "synchronous": resident.durability.as_ref().map(|(synchronous, _)| synchronous),
        "journal": resident.durability.as_ref().map(|(_, journal)| journal),
    })
}

fn to_json(found: &HostState) -> serde_json::Value {
    serde_json::json!({
        "host": found.host.word,
        "file": found.file,
        "wired": found.wired,
        "undone": found.undone,
        "moments": found.host.moments.len(),
        "mode": found.mode.map(Mode::word),
        "problems": found.problems,
        "notes": found.notes,
        "millis": found.millis.map(|millis| u64::try_from(millis).unwrap_or(u64::MAX)),
        "live": match &found.live {
            None => serde_json::Value::Null,
            Some(Ok(())) => serde_json::json!("refused and recorded"),
            Some(Err(problem)) => serde_json::json!({ "problem": problem }),
        },
    })
}

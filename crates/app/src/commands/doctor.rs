//! `writkeeper doctor`: for each host what is written, trusted, seen and refused; and what became of daemons and stores.
//!
//! Everything is looked at at the same time, and the answer comes within a few seconds whatever hangs.

mod answers;
mod database;
mod host_state;
mod probing;
mod resident;

use crate::cli::guard::DoctorArgs;
use crate::exit::Exit;
use crate::store;
use crate::terminal::{FAINT, paint, say};
use adapters::store_postgres::Address;
use answers::Answers;
use database::Database;
use guard::hooks::HOSTS;
use guard::place::{self, FOLDER, Guard};
use guard::settings_backup;
use guard::wiring::{self, OurEntry};
use host_state::{HostState, Spot};
use resident::Resident;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long everything may take together.
const PATIENCE: Duration = Duration::from_millis(4_500);

/// Something that is looked at beside everything else.
struct Task<T>(Receiver<T>);

impl<T: Send + 'static> Task<T> {
    /// Begins; what does not end in time is left to the end of this process.
    fn begin(work: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let _ = sender.send(work());
        });
        Task(receiver)
    }

    fn ended(&self, until: Instant) -> Option<T> {
        self.0.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }
}

/// Looks at every host of the workspace and of the user.
pub fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let until = Instant::now() + PATIENCE;
    let workspace = match &args.workspace {
        Some(folder) => folder.clone(),
        None => std::env::current_dir()?,
    };
    let spots = spots(&place::canonical(&workspace));
    let mut guards: Vec<Guard> = spots.iter().map(|(spot, _)| spot.guard.clone()).collect();
    guards.dedup();
    let (databases, files): (Vec<&String>, Vec<&String>) =
        args.store.iter().partition(|store| Address::is_meant(store));
    let named: Vec<Task<anyhow::Result<()>>> = files
        .iter()
        .map(|named| (*named).clone())
        .map(|named| Task::begin(move || store::view(&named).map(|_| ())))
        .collect();
    let stores = guards.iter().map(Guard::store).chain(files.into_iter().map(PathBuf::from));
    let stores: BTreeSet<PathBuf> =
        stores.chain([workspace.join(store::UNNAMED)]).filter(|file| file.is_file()).collect();
    let hosts: Vec<(Spot, Task<HostState>)> = spots
        .into_iter()
        .map(|(spot, entries)| (spot.clone(), Task::begin(move || looked_at(&spot, &entries))))
        .collect();
    let guards: Vec<(Guard, Task<Resident>)> =
        guards.into_iter().map(|guard| (guard.clone(), Task::begin(move || resident::look(&guard)))).collect();
    let kept = stores.into_iter().chain(databases.iter().map(PathBuf::from));
    let answers: Vec<Task<Option<Answers>>> = kept.map(|store| Task::begin(move || answers::look(&store))).collect();
    let databases: Vec<Task<Database>> =
        databases.into_iter().cloned().map(|store| Task::begin(move || database::look(&store))).collect();
    let late = |spot: &Spot| {
        let problem = format!("this could not be looked at within {} s", PATIENCE.as_secs());
        HostState { problems: vec![problem], ..HostState::at(spot) }
    };
    let hosts: Vec<HostState> =
        hosts.iter().map(|(spot, task)| task.ended(until).unwrap_or_else(|| late(spot))).collect();
    let guards: Vec<Resident> =
        guards.iter().map(|(guard, task)| task.ended(until).unwrap_or_else(|| Resident::late(guard))).collect();
    let answers: Vec<Answers> = answers.iter().filter_map(|task| task.ended(until).flatten()).collect();
    let unanswered = || Database::late(args.store.as_deref().unwrap_or_default());
    let databases: Vec<Database> = databases.iter().map(|task| task.ended(until).unwrap_or_else(unanswered)).collect();
    let exit = tell(args, &Findings { hosts, guards, answers, databases })?;
    // A store that was named and cannot be read is not well.
    named.iter().filter_map(|task| task.ended(until)).collect::<anyhow::Result<()>>()?;
    Ok(exit)
}

/// Everything that was looked at.
struct Findings {
    hosts: Vec<HostState>,
    guards: Vec<Resident>,
    answers: Vec<Answers>,
    databases: Vec<Database>,
}

/// Where something of ours is, or was.
fn spots(workspace: &Path) -> Vec<(Spot, Vec<OurEntry>)> {
    let bases = std::iter::once((workspace.to_path_buf(), false)).chain(place::home().map(|home| (home, true)));
    let mut found = Vec::new();
    for (base, is_of_user) in bases {
        for host in HOSTS {
            let file = if is_of_user { wiring::file_of_person(host, &base) } else { wiring::file(host, &base) };
            let entries = wiring::entries(host, &std::fs::read_to_string(&file).unwrap_or_default());
            let guard = Guard::at(&base.join(FOLDER));
            if entries.is_empty() && !guard.contract(host).exists() {
                continue;
            }
            found.push((Spot { host, guard, file, is_of_user, workspace: workspace.to_path_buf() }, entries));
        }
    }
    found
}

fn looked_at(spot: &Spot, entries: &[OurEntry]) -> HostState {
    if entries.is_empty() && settings_backup::is_undone(&spot.guard, spot.host) {
        return HostState { is_undone: true, ..HostState::at(spot) };
    }
    HostState::of(spot, entries)
}

fn tell(args: &DoctorArgs, Findings { hosts, guards, answers, databases }: &Findings) -> anyhow::Result<Exit> {
    let is_well = hosts.iter().all(HostState::is_well) && databases.iter().all(Database::is_well);
    let exit = if is_well { Exit::Fine } else { Exit::Rejected };
    if args.json {
        let hosts: Vec<serde_json::Value> = hosts.iter().map(HostState::to_json).collect();
        let guards: Vec<serde_json::Value> = guards.iter().map(resident::to_json).collect();
        let answers: Vec<serde_json::Value> = answers.iter().map(answers::to_json).collect();
        let version = env!("CARGO_PKG_VERSION");
        let mut told = serde_json::json!({ "version": version, "hosts": hosts, "guards": guards, "answers": answers });
        if let Some(told) = told.as_object_mut().filter(|_| !databases.is_empty()) {
            told.insert("databases".to_owned(), databases.iter().map(Database::to_json).collect());
        }
        say!("{told}");
        return Ok(exit);
    }
    say!("writkeeper {}", crate::cli::VERSION);
    if hosts.is_empty() {
        say!("no host is guarded here; {}", paint(FAINT, "writkeeper init --host claude-code --observe"));
    }
    hosts.iter().try_for_each(HostState::tell)?;
    guards.iter().try_for_each(resident::tell)?;
    answers.iter().try_for_each(answers::tell)?;
    databases.iter().try_for_each(Database::tell)?;
    Ok(exit)
}

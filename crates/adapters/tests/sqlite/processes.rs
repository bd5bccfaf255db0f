//! Real processes on one file: nothing lost between them, nothing lost when one is killed.

use crate::folder::Folder;
use crate::roles::{self, agent_key, counter_key, name_of, open};
use kernel::agent::{AgentRow, AgentStatus};
use kernel::world::{Loaded, Row};
use runtime::ports::store::{BatchId, Store, StoredRecord, one_step};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often a writer is killed.
const KILLS: usize = 24;

/// This program once more, in a role.
fn spawn(role: &str, path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["roles::played_by_another_process", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(roles::ROLE, role).env(roles::PLACE, path);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a process that must end well.
fn join(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn ledger(path: &Path) -> Vec<StoredRecord> {
    let records = open(path).reader().unwrap().records(0, usize::MAX).unwrap();
    for (index, record) in (0_u64..).zip(&records) {
        assert_eq!(record.index, index, "the ledger has a gap");
    }
    records
}

fn counter(path: &Path) -> u64 {
    let row = open(path).reader().unwrap().get(&counter_key().entity).unwrap();
    match row {
        Some(Row::State(state)) => state.version,
        _ => 0,
    }
}

#[test]
fn two_processes_that_count_together_count_right() {
    let folder = Folder::new();
    let path = folder.path("store");
    let children = [spawn("count", &path), spawn("count", &path)];
    children.into_iter().for_each(join);
    assert_eq!(counter(&path), 2 * roles::COUNTS);
    let said: Vec<String> = ledger(&path).iter().map(name_of).collect();
    let expected: Vec<String> = (1..=2 * roles::COUNTS).map(|value| format!("count {value}")).collect();
    assert_eq!(said, expected, "the ledger tells another story than the row");
}

#[test]
fn the_commit_of_another_process_is_seen_by_the_next_batch() {
    let folder = Folder::new();
    let path = folder.path("store");
    let mut store = open(&path);
    let mut put = one_step(|world, _| {
        world.put(agent_key(), Row::Agent(Box::new(AgentRow::active())));
        vec![roles::sealed("active")]
    });
    store.transact(BatchId(1), vec![agent_key()], &mut put).unwrap();
    let mut status = || {
        let mut seen = None;
        let mut look = one_step(|world, _| {
            if let Loaded::Present(Row::Agent(agent)) = world.get(&agent_key()) {
                seen = Some(agent.status());
            }
            Vec::new()
        });
        store.transact(BatchId(2), vec![agent_key()], &mut look).unwrap();
        drop(look);
        seen
    };
    assert_eq!(status(), Some(AgentStatus::Active));
    join(spawn("suspend", &path));
    assert_eq!(status(), Some(AgentStatus::Suspended), "a suspension was overlooked");
}

/// What a killed writer said it had committed: index and name.
fn killed_after(mut child: Child, lines: usize, delay: Duration) -> Vec<(usize, String)> {
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut heard = String::new();
    while heard.matches("committed ").count() < lines {
        assert!(said.read_line(&mut heard).unwrap() > 0, "a writer ended by itself: {heard}");
    }
    // At another point of a batch each time; without it, always at the beginning of one.
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    said.read_to_string(&mut heard).unwrap();
    let whole = heard.lines().filter_map(|line| line.strip_prefix("committed ")?.strip_suffix(" ."));
    whole
        .map(|rest| rest.split_once(' ').map(|(index, name)| (index.parse().unwrap(), name.to_owned())).unwrap())
        .collect()
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_there_twice_when_writers_are_killed() {
    let folder = Folder::new();
    let path = folder.path("store");
    let mut acknowledged = 0;
    for round in 0..KILLS / 2 {
        let writers = [spawn("append", &path), spawn("append", &path)];
        let mut said = Vec::new();
        for (number, writer) in writers.into_iter().enumerate() {
            let delay = Duration::from_micros(137 * (round as u64) + 61 * (number as u64));
            said.extend(killed_after(writer, 3 + round * 3 + number * 11, delay));
        }
        let records = ledger(&path);
        let names: BTreeSet<String> = records.iter().map(name_of).collect();
        assert_eq!(names.len(), records.len(), "a record is there twice");
        assert_eq!(counter(&path), records.len() as u64, "the row and the ledger were not committed together");
        for (index, name) in &said {
            let there = records.get(*index).map(name_of);
            assert_eq!(there.as_ref(), Some(name), "round {round}: record {index} was acknowledged");
        }
        acknowledged += said.len();
    }
    println!("{KILLS} writers killed, {acknowledged} acknowledged, {} stored", ledger(&path).len());
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let folder = Folder::new();
    let place = folder.path("small");
    std::fs::create_dir_all(&place).unwrap();
    // In a name space of its own, so that the small disk goes away with the process.
    let script = "mount -t tmpfs -o size=4m none \"$1\" || exit 77; shift; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(&place);
    command.arg(std::env::current_exe().unwrap());
    command.args(["roles::played_by_another_process", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(roles::ROLE, "fill").env(roles::PLACE, &place);
    match command.output() {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("filled and went on"), "{said}");
        }
        Ok(output) if output.status.code() == Some(101) => {
            panic!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        }
        refused => println!("SKIPPED: no small disk can be mounted here: {refused:?}"),
    }
}

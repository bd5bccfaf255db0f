//! Checkpoints that nobody types: a process that stays seals what others decide.

use crate::desk::{Desk, text};
use ledger::checkpoint::Checkpoint;
use ledger::note::Note;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A `run` that stays, sealing as often as it may. It has said that it runs, so a signal ends it in order.
fn resident(desk: &Desk, arguments: &[&str]) -> Child {
    let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
        .args(["run", "--store", "s.db", "--seal-every", "100ms"])
        .args(arguments)
        .current_dir(desk.path("."))
        .env_remove("WRITKEEPER_STORE")
        .env_remove("WRITKEEPER_KEYS")
        .env("USER", "ann")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut byte = [0];
    let stderr = process.stderr.as_mut().unwrap();
    while !text(&said).contains("performing what is accepted") && stderr.read(&mut byte).unwrap() == 1 {
        said.extend(byte);
    }
    process
}

/// How many entries the newest checkpoint covers.
fn sealed(desk: &Desk, keys: &str) -> u64 {
    let note = std::fs::read(desk.path(keys).join("checkpoint")).unwrap_or_default();
    let note = Note::parse(&note).ok();
    note.and_then(|note| Checkpoint::parse(note.text()).ok()).map_or(0, |checkpoint| checkpoint.size())
}

/// Waits until the newest checkpoint covers so many entries.
#[track_caller]
fn await_sealed(desk: &Desk, keys: &str, entries: u64) {
    let until = Instant::now() + Duration::from_secs(60);
    while sealed(desk, keys) < entries {
        assert!(Instant::now() < until, "{} of {entries} entries are sealed", sealed(desk, keys));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn end(process: Child) -> (Option<i32>, String) {
    let _ = Command::new("kill").args(["-TERM", &process.id().to_string()]).status();
    let output = process.wait_with_output().unwrap();
    (output.status.code(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn a_process_that_stays_seals_what_others_decide_and_may_die_at_any_time() {
    let desk = Desk::decided(3);
    desk.says("ledger keys new --store s.db", 0);
    assert!(!desk.path("s.db.keys/checkpoint").exists(), "nothing is signed yet");
    let mut process = resident(&desk, &[]);
    // Six entries so far, and the record of who signs.
    await_sealed(&desk, "s.db.keys", 7);
    for round in 1..4 {
        desk.decide(round * 10..round * 10 + 2);
        await_sealed(&desk, "s.db.keys", 7 + round as u64 * 2);
        std::fs::copy(desk.path("s.db.keys/checkpoint"), desk.path(&format!("held-{round}"))).unwrap();
        // People need not wait for it.
        desk.says("ledger checkpoint --store s.db", 0);
        desk.decide(round * 10 + 5..round * 10 + 5);
        process.kill().unwrap();
        process.wait().unwrap();
        process = resident(&desk, &[]);
    }
    desk.decide(90..92);
    let (code, said) = end(process);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(sealed(&desk, "s.db.keys"), 15, "the last ones are sealed when it ends");
    desk.says("ledger export --store s.db --out l.export", 0);
    desk.says("verify l.export held-1 held-2 held-3 s.db.keys/checkpoint", 0);
}

#[test]
fn what_cannot_be_sealed_is_said_and_stops_nothing() {
    let desk = Desk::decided(3);
    // Without keys there is nothing to sign with; whoever names a folder is told.
    let (code, said) = end_after_start(&desk, &["--once"]);
    assert!(code == Some(0) && !said.contains("not signed"), "{said}");
    let (code, said) = end_after_start(&desk, &["--once", "--keys", "nowhere"]);
    assert!(code == Some(0) && said.contains("are not signed") && said.contains("nowhere"), "{said}");
    let (code, said) = end_after_start(&desk, &["--once", "--seal-every", "2h"]);
    assert!(code == Some(64) && said.contains("100ms and 1h"), "{said}");
    desk.says("ledger checkpoint --store s.db", 0);
    desk.says("ledger keys new --store none.db --keys other", 0);
    desk.decide(3..5);
    let (code, said) = end_after_start(&desk, &["--once", "--keys", "other"]);
    assert!(code == Some(0) && said.contains("are not signed") && said.contains("signs for this ledger"), "{said}");
    std::fs::write(desk.path("s.db.keys/keyring"), "nonsense").unwrap();
    let (code, said) = end_after_start(&desk, &["--once"]);
    assert!(code == Some(0) && said.contains("are not signed"), "{said}");
    desk.decide(5..6);
}

fn end_after_start(desk: &Desk, arguments: &[&str]) -> (Option<i32>, String) {
    let mut arguments = arguments.to_vec();
    let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
    command.args(["run", "--store", "s.db"]).current_dir(desk.path(".")).env_remove("WRITKEEPER_KEYS");
    let output = command.args(arguments.drain(..)).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

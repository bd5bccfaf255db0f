//! Two machines with copies of the keys: who signs is decided under the head of the ledger, never by hope.

use super::desk::Desk;
use super::server::PostgresServer;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than a claim lasts, on a busy machine.
const LONG: Duration = Duration::from_secs(90);

fn worker(desk: &Desk, store: &str, keys: &str, pause: Option<&Path>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
    command.args(["run", "--store", store, "--keys", keys, "--seal-every", "100ms"]);
    command.current_dir(desk.path()).env("USER", "ann").env("HOME", desk.path()).env_remove("XDG_STATE_HOME");
    if let Some(awake) = pause {
        command.env("WRITKEEPER_PAUSE_AT", "seal.sign.before").env("WRITKEEPER_PAUSE_UNTIL", awake);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn ended(mut child: Child) -> String {
    signal(&child, "-TERM");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    child.wait().unwrap();
    said
}

/// The size a checkpoint file is over.
fn size(desk: &Desk, keys: &str) -> u64 {
    let note = std::fs::read_to_string(desk.path().join(keys).join("checkpoint")).unwrap_or_default();
    note.lines().nth(1).and_then(|line| line.parse().ok()).unwrap_or_default()
}

#[test]
fn a_sealer_that_slept_past_its_claim_signs_for_nobody() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("sealed"));
    desk.decide(&store);
    desk.says(&format!("ledger checkpoint --keys one.keys --store {store}"), "", 0);
    let copied = Command::new("cp").args(["-a", "one.keys", "two.keys"]).current_dir(desk.path()).status();
    assert!(copied.unwrap().success());
    desk.says(&format!("halt --because more --store {store}"), "", 0);
    let before = size(&desk, "one.keys");
    let row = |column: &str| {
        let found = server.sql("sealed", &format!("SELECT {column} FROM writkeeper.sealer"));
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    };
    assert_eq!(row("epoch"), "1", "a person's checkpoint takes the turn too");

    let unsigned = std::fs::read_to_string(desk.path().join("one.keys/signed")).unwrap();
    // The first one falls asleep with the claim in its hand, just before it signs.
    let awake = desk.path().join("awake");
    let first = worker(&desk, &store, "one.keys", Some(&awake));
    let stat = format!("/proc/{}/stat", first.id());
    until("it never slept", || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    });
    assert!(row("owner").starts_with(&format!("{} ", first.id())), "{}", row("owner"));
    let claimed: u64 = row("epoch").parse().unwrap();

    // The second one goes on once the claim is over, and not before.
    let second = worker(&desk, &store, "two.keys", None);
    until("nobody took over", || {
        row("owner").starts_with(&format!("{} ", second.id())) && size(&desk, "two.keys") > before
    });
    assert_eq!(row("epoch").parse::<u64>().unwrap(), claimed + 1);
    let kept = row("entries || note");

    // What the first one signs after that counts for nothing and is laid out nowhere.
    std::fs::write(&awake, "").unwrap();
    signal(&first, "-CONT");
    let signed = || std::fs::read_to_string(desk.path().join("one.keys/signed")).unwrap();
    until("it does not sign", || signed() != unsigned);
    let said = ended(first);
    assert_eq!(size(&desk, "one.keys"), before, "it was laid out all the same: {said}");
    assert_eq!(row("entries || note"), kept);
    let said = ended(second);
    assert!(!said.contains("not signed"), "{said}");
    // Both histories are one: whoever verifies sees a single log.
    desk.says(&format!("ledger export --keys two.keys --out sealed.export --store {store}"), "", 0);
    desk.says("verify sealed.export", "", 0);
}

/// The size that a folder of keys remembers.
fn remembered(desk: &Desk, keys: &str) -> u64 {
    let signed = std::fs::read_to_string(desk.path().join(keys).join("signed")).unwrap_or_default();
    signed.lines().nth(4).and_then(|line| line.parse().ok()).unwrap_or_default()
}

#[test]
fn every_machine_with_the_keys_notices_a_database_that_came_back_older() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("kept"));
    desk.decide(&store);
    desk.says(&format!("ledger checkpoint --keys one.keys --store {store}"), "", 0);
    let copied = Command::new("cp").args(["-a", "one.keys", "two.keys"]).current_dir(desk.path()).status();
    assert!(copied.unwrap().success());
    assert!(server.sql("postgres", "CREATE DATABASE older TEMPLATE kept").status.success());
    // One of them signs, and the other one never has its turn.
    let first = worker(&desk, &store, "one.keys", None);
    let before = size(&desk, "one.keys");
    desk.says(&format!("halt --because more --store {store}"), "", 0);
    until("the first one does not sign", || size(&desk, "one.keys") > before);
    let second = worker(&desk, &store, "two.keys", None);
    // As long as there is something to sign, the first one keeps its claim.
    until("the second one does not hear of it", || {
        desk.says(&format!("resume --because enough --store {store}"), "", 0);
        desk.says(&format!("halt --because more --store {store}"), "", 0);
        remembered(&desk, "two.keys") > before
    });
    assert_eq!(size(&desk, "two.keys"), before, "it laid out what it did not sign in its turn");
    // The second goes first, or it would sign by itself.
    let said = ended(second);
    assert!(!said.contains("not signed"), "{said}");
    ended(first);
    let replaced = ["ALTER DATABASE kept RENAME TO gone", "ALTER DATABASE older RENAME TO kept"];
    replaced.iter().for_each(|sql| until("the database is in use", || server.sql("postgres", sql).status.success()));
    for keys in ["one.keys", "two.keys"] {
        let refused = desk.run(&format!("run --once --keys {keys} --store {store}"), "");
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains("came back from a backup"), "{keys}: {error}");
    }
}

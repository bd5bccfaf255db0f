//! A process dies before and after everything it leaves behind; the next one goes on as if nothing had been.

use crate::site::{LATER, Site, proposal};
use std::process::{Command, Output};
use std::sync::Mutex;

/// What leads a process to a step.
#[derive(Clone, Copy)]
enum Way {
    Decide,
    /// With validators that are asked before.
    Advised,
    /// With a commit whose end is in doubt.
    DoubtedCommit,
    Perform,
    PerformProgram,
    /// After a claim whose worker died.
    Recover,
    ExportFolder,
    ExportFile,
    Erase,
    Discontinue,
}

fn way(point: &str) -> Way {
    match point.rsplit_once('.').map_or(point, |(step, _)| step) {
        "store.migrate" | "store.transact" | "store.checkpoint" | "sequencer.answer" => Way::Decide,
        "store.fence" => Way::DoubtedCommit,
        "execute.claim" | "execute.mark" | "execute.send" | "execute.record" | "http.send" => Way::Perform,
        "command.spawn" => Way::PerformProgram,
        "program.spawn" | "advice.send" => Way::Advised,
        "execute.recover" => Way::Recover,
        "export.sync" | "export.rename" => Way::ExportFile,
        "erase.bodies" | "store.erase" | "store.truncate" => Way::Erase,
        "signer.move" => Way::Discontinue,
        "seal.sign" | "keys.keep" | "file.write" | "file.sync" | "file.rename" | "file.sync_folder" | "part.write"
        | "part.rename" | "publish.tile" | "publish.checkpoint" => Way::ExportFolder,
        other => panic!("nobody knows how to come to `{other}`; say it here"),
    }
}

/// Steps that are passed several times on the way: each time is visited.
fn times(point: &str) -> &'static [u32] {
    match point.rsplit_once('.').map_or(point, |(step, _)| step) {
        "store.transact" => &[1, 2, 3, 5],
        // One for each class.
        "execute.mark" | "execute.send" | "execute.record" => &[1, 2, 3],
        "file.rename" => &[1, 2, 3],
        _ => &[1],
    }
}

/// Files that a discontinuation replaces, one after the other.
const FILES_OF_DISCONTINUATION: u32 = 8;

const KEYS: &[&str] = &["a-keyed", "b-fenced", "c-opaque", "d-refused"];

const ERASE: &[&str] = &["ledger", "erase", "--from", "2", "--to", "3", "--because", "asked"];

fn text(key: &str) -> String {
    let action = key.split('-').nth(1).unwrap();
    match action {
        "refused" => proposal(key, "keyed", "ok", 500),
        action => proposal(key, action, "ok", 5),
    }
}

fn seeded(keys: &[&str]) -> Site {
    let site = Site::new();
    let (answered, output) = site.decide(site.deciding(), keys, text);
    assert_eq!(answered, keys.len(), "{output:?}");
    site
}

fn dying(mut command: Command, at: &str) -> Command {
    command.env("WRITKEEPER_CRASH_AT", at);
    command
}

/// Goes to the point and dies there.
fn die(way: Way, at: &str) -> (Site, Output) {
    let run = |site: Site, command: Command| {
        let output = dying(command, at).output().unwrap();
        (site, output)
    };
    match way {
        Way::Decide | Way::Advised | Way::DoubtedCommit => {
            let site = Site::new();
            let mut command = dying(site.deciding(), at);
            command.env("WRITKEEPER_SOONER", "1");
            if matches!(way, Way::DoubtedCommit) {
                command.env("WRITKEEPER_COMMIT_DOUBT", "before");
            }
            let keys = if matches!(way, Way::Advised) { &["v-advised"] } else { KEYS };
            let (_, output) = site.decide(command, keys, text);
            (site, output)
        }
        Way::Perform | Way::PerformProgram => {
            let site = seeded(if matches!(way, Way::Perform) { KEYS } else { &["p-program"] });
            let command = site.performing(&["--once", "--threads", "1"]);
            run(site, command)
        }
        Way::Recover => {
            let site = seeded(KEYS);
            let (site, _) = run_to(site, "execute.mark.before");
            let command = site.performing(&["--once", "--threads", "1", "--clock-ahead", "20s"]);
            run(site, command)
        }
        Way::ExportFolder | Way::ExportFile => {
            let site = seeded(KEYS);
            let out = site.path(if matches!(way, Way::ExportFile) { "l.export" } else { "tiles/" });
            let command = site.writkeeper(&["ledger", "export", "--out", &out]);
            run(site, command)
        }
        Way::Erase => {
            let site = Site::new();
            // Nobody was told of what is erased, or the history would have to know it.
            let unheard = site.unheard(&text("e-refused"));
            assert_eq!(unheard.status.code(), Some(1), "{unheard:?}");
            site.decide(site.deciding(), KEYS, text);
            let command = site.writkeeper(ERASE);
            run(site, command)
        }
        Way::Discontinue => {
            let site = Site::new();
            let (_, _) = site.decide(site.deciding(), &["d-refused"], text);
            let copy = |from: &str, to: &str| drop(std::fs::copy(site.path(from), site.path(to)));
            copy("db", "kept");
            // What is lost with the restored copy was never acknowledged in this history.
            let mut more = site.deciding();
            more.env("WRITKEEPER_CRASH_AT", "sequencer.answer.before:1");
            let _ = site.decide(more, &["a-keyed"], text);
            assert!(site.writkeeper(&["ledger", "checkpoint"]).output().unwrap().status.success());
            ["db-wal", "db-shm"].iter().for_each(|name| drop(std::fs::remove_file(site.path(name))));
            copy("kept", "db");
            let command = site.writkeeper(&["ledger", "discontinue", "--because", "restored"]);
            run(site, command)
        }
    }
}

fn run_to(site: Site, at: &str) -> (Site, Output) {
    let output = dying(site.performing(&["--once", "--threads", "1"]), at).output().unwrap();
    (site, output)
}

/// Decides again. Who died between registering an agent and activating it finishes that first.
fn decide_again(site: &Site, at: &str, keys: &[&str]) {
    let (answered, again) = site.decide(site.deciding(), keys, text);
    assert_eq!(answered, keys.len(), "{at}: {again:?}");
}

/// Dies at a point on some way, goes on without it, and checks everything.
fn visit(way: Way, point: &str, nth: u32) -> String {
    let at = format!("{point}:{nth}");
    let (site, output) = die(way, &at);
    assert_eq!(output.status.code(), None, "{at} was not reached: {output:?}");
    match way {
        Way::Discontinue => {
            let again = site.writkeeper(&["ledger", "discontinue", "--because", "restored"]).output().unwrap();
            // It may be done already.
            assert!(again.status.code().is_some_and(|code| code <= 1), "{at}: {again:?}");
        }
        Way::Erase => {
            let again = site.writkeeper(ERASE).output().unwrap();
            assert!(again.status.success(), "{at}: {again:?}");
        }
        Way::Advised => decide_again(&site, &at, &["v-advised"]),
        Way::Decide
        | Way::DoubtedCommit
        | Way::Perform
        | Way::PerformProgram
        | Way::Recover
        | Way::ExportFolder
        | Way::ExportFile => {}
    }
    decide_again(&site, &at, KEYS);
    let (history, broken, code) = if matches!(way, Way::Perform | Way::PerformProgram | Way::Recover) {
        site.heal(LATER);
        site.judge_settled()
    } else {
        site.judge()
    };
    assert_eq!(broken, [], "{at}");
    format!("{at} verify {code} effects {} states {:?}", site.effects(), history.states())
}

/// A discontinuation writes many files, and a death between any two of them must leave one log or the other in force.
#[test]
fn a_discontinuation_that_died_anywhere_is_done_again() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    // From the old log's place to the new log's first checkpoint.
    for nth in 1..=FILES_OF_DISCONTINUATION {
        println!("{}", visit(Way::Discontinue, "file.rename.before", nth));
    }
    println!("{}", visit(Way::Discontinue, "file.rename.after", FILES_OF_DISCONTINUATION));
}

#[test]
fn whoever_dies_anywhere_is_carried_on() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    let points = runtime::crash::CRASH_POINTS;
    let work = Mutex::new(
        points.iter().flat_map(|point| times(point).iter().map(move |nth| (*point, *nth))).collect::<Vec<_>>(),
    );
    let visited = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = work.lock().unwrap().pop();
                    let Some((point, nth)) = next else { return };
                    let said = visit(way(point), point, nth);
                    visited.lock().unwrap().push((point, said));
                }
            });
        }
    });
    let visited = visited.into_inner().unwrap();
    let covered: std::collections::BTreeSet<&str> = visited.iter().map(|(point, _)| *point).collect();
    for (_, said) in &visited {
        println!("{said}");
    }
    println!("crash points covered {}/{} in {} deaths", covered.len(), points.len(), visited.len());
    assert_eq!(covered.len(), points.len());
}

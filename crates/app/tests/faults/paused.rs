//! A worker that sleeps past its lease between marking and sending: the hardest moment, for nobody can know it.

use crate::server::PostgresServer;
use crate::site::{LATER, Site, proposal};
use std::process::Child;
use std::time::{Duration, Instant};

/// Whether the kernel has stopped the process.
fn is_stopped(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}

/// Waits until a process has stopped itself.
pub fn until_stopped(worker: &Child) {
    let begin = Instant::now();
    while !is_stopped(worker.id()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never slept");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How many effects there were before it woke and in the end, and what became of the intent.
fn slept(site: &Site, class: &str) -> (usize, usize, String) {
    let (answered, output) = site.decide(site.deciding(), &["k"], |key| proposal(key, class, "ok", 5));
    assert_eq!(answered, 1, "{output:?}");
    let mut sleeping = site.performing(&["--once", "--threads", "1"]);
    let mut worker = site.pausing(&mut sleeping, "execute.send.before").spawn().unwrap();
    until_stopped(&worker);
    // Its lease is over, and others do what its class permits.
    site.heal(LATER);
    let before = site.effects();
    site.wake(&worker);
    worker.wait().unwrap();
    site.heal(LATER);
    let (history, broken, _) = site.judge_settled();
    assert_eq!(broken, [], "{class}");
    let states: Vec<String> = history.states().into_keys().collect();
    println!("{class}: {before} effects while it slept, {} after it woke, {}", site.effects(), states.join(" "));
    (before, site.effects(), states.join(" "))
}

#[test]
fn a_worker_that_slept_before_it_sent_leaves_one_effect() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    // Nobody else may send what is opaque, so its effect is the late one.
    for (class, meanwhile) in [("keyed", 1), ("fenced", 1), ("opaque", 0)] {
        assert_eq!(slept(&Site::new(), class), (meanwhile, 1, "SUCCEEDED".to_owned()), "{class}");
    }
}

#[test]
fn a_worker_that_slept_past_its_lease_on_a_database_leaves_one_effect() {
    if !runtime::crash::FAULTS {
        println!("missing: the feature `bugs`");
        return;
    }
    let Some(server) = PostgresServer::start() else { return };
    let site = Site::on(Some(server.database("slept")));
    assert_eq!(slept(&site, "fenced"), (1, 1, "SUCCEEDED".to_owned()));
}

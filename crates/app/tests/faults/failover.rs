//! The primary goes away under load and a standby takes over: with a standby that commits wait for nothing acknowledged is
//! lost; with one that they do not wait for, what is lost is counted, was foretold, and is noticed.
//!
//! `cargo xtask failover` runs this; it takes some minutes.

use crate::crew::{CONNECTIONS, Crew, judged};
use crate::patroni::{Cluster, Standby, until};
use crate::served::{Load, Service, enrolled};
use crate::site::{BINARY, Site, proposal};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How the primary goes away.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// Its PostgreSQL is killed.
    Server,
    /// Everything on its machine is killed.
    Machine,
    /// Everything on its machine stands still until another one takes writes, and then goes on as if nothing had been.
    Frozen,
}

/// `WRITKEEPER_FAILOVERS` says how many of these there are, again from the beginning.
const LOSSES: [Loss; 6] = [Loss::Server, Loss::Machine, Loss::Server, Loss::Frozen, Loss::Machine, Loss::Server];

/// Takes the primary away; how long it took until another one led, and until something was acknowledged again.
fn fail_over(cluster: &mut Cluster, load: &Load<'_>, loss: Loss) -> (Duration, Duration) {
    let leader = cluster.leader().unwrap();
    let began = Instant::now();
    match loss {
        Loss::Server => cluster.kill_server(leader),
        Loss::Machine => cluster.kill_machine(leader),
        Loss::Frozen => cluster.freeze_machine(leader, "-STOP"),
    }
    cluster.until_led_by_another(leader);
    let led = began.elapsed();
    let answered = load.answered.load(Ordering::SeqCst);
    let until_acknowledged =
        || until("nothing is acknowledged any more", || load.answered.load(Ordering::SeqCst) > answered);
    if let Loss::Frozen = loss {
        // Who has the lock is not yet who takes writes: Patroni 3.0.2 gives it back to a machine that wakes in between.
        until_acknowledged();
    }
    match loss {
        Loss::Server => {}
        Loss::Machine => cluster.start_machine(leader),
        Loss::Frozen => cluster.freeze_machine(leader, "-CONT"),
    }
    until_acknowledged();
    (led, began.elapsed())
}

#[test]
#[ignore = "minutes; `cargo xtask failover` runs it"]
fn a_standby_that_commits_wait_for_takes_over_with_everything_acknowledged() {
    let Some(mut cluster) = Cluster::start(Standby::Synchronous) else { return };
    let wanted = std::env::var("WRITKEEPER_FAILOVERS").ok().and_then(|text| text.parse().ok()).unwrap_or(LOSSES.len());
    cluster.sql("postgres", "CREATE DATABASE failover");
    let site = Site::on(Some(cluster.location("failover")));
    let (mut crew, load) = Crew::start(&site);
    let mut took = Vec::new();
    std::thread::scope(|scope| {
        let _ended = load.ended_with_this();
        for _ in 0..CONNECTIONS {
            scope.spawn(|| load.run());
        }
        for (round, loss) in LOSSES.iter().cycle().take(wanted).enumerate() {
            // Never before every member follows again, and something was acknowledged since.
            cluster.until_whole();
            let enough = load.answered.load(Ordering::SeqCst) + 100 + (round * 37) % 60;
            until("nothing is acknowledged", || load.answered.load(Ordering::SeqCst) >= enough);
            let (led, answered) = fail_over(&mut cluster, &load, *loss);
            println!(
                "failover: {loss:?}: another primary after {} ms, acknowledged again after {} ms",
                led.as_millis(),
                answered.as_millis()
            );
            took.push(answered);
            crew.demand_alive();
        }
        cluster.until_whole();
    });
    crew.demand_alive();
    crew.kill_all();
    let (told, _) = judged(&site);
    println!(
        "failover: {wanted} times the primary was lost, {told}, acknowledged again after at most {} ms",
        took.iter().max().copied().unwrap_or_default().as_millis()
    );
    println!("failover: 0 acknowledged decisions lost, 0 decided twice, no effect twice");
}

/// What a command says on both of its outputs, and its exit code.
fn said(command: &mut Command) -> (String, i32) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code().unwrap_or(-1))
}

#[test]
#[ignore = "minutes; `cargo xtask failover` runs it"]
fn what_a_standby_that_nobody_waits_for_lacks_is_counted_and_was_foretold() {
    let Some(mut cluster) = Cluster::start(Standby::Asynchronous) else { return };
    cluster.sql("postgres", "CREATE DATABASE failover");
    let site = Site::on(Some(cluster.location("failover")));
    let mut service = Service::start(&site);
    let token = enrolled(&site, &service);
    let foretold = said(Command::new(BINARY).args(["doctor", "--store", &site.location])).0;
    assert!(foretold.contains("no commit waits for a standby"), "{foretold}");
    let (made, code) = said(&mut site.writkeeper(&["ledger", "keys", "new"]));
    assert_eq!(code, 0, "{made}");
    let load = Load::on(&site, vec![service.address], token.clone());
    let leader = cluster.leader().unwrap();
    std::thread::scope(|scope| {
        let _ended = load.ended_with_this();
        for _ in 0..CONNECTIONS {
            scope.spawn(|| load.run());
        }
        until("nothing is acknowledged", || load.answered.load(Ordering::SeqCst) >= 200);
        cluster.stop_sending(leader);
        let enough = load.answered.load(Ordering::SeqCst) + 100;
        until("nothing is acknowledged", || load.answered.load(Ordering::SeqCst) >= enough);
        let (signed, code) = said(&mut site.writkeeper(&["ledger", "checkpoint"]));
        assert_eq!(code, 0, "{signed}");
        cluster.kill_machine(leader);
        cluster.until_led_by_another(leader);
        // The service that lived through it knows more than the database, and says so instead of deciding.
        let late = proposal("late", "keyed", "ok", 500);
        until("the service does not notice", || {
            load.posted(&late).is_some_and(|(status, body)| status == 503 && body.contains("came back older"))
        });
    });
    service.demand_alive(&site);
    service.kill();
    // Whoever has the keys knows it too.
    let refused = site.unheard(&proposal("later", "keyed", "ok", 500));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("came back from a backup"), "{error}");
    let (declared, code) = said(&mut site.writkeeper(&["ledger", "discontinue", "--because", "failover"]));
    assert_eq!(code, 0, "{declared}");
    let (history, _, verified) = site.judge();
    let kept: BTreeSet<&str> = history.entries.iter().map(|entry| entry.text("/proposal_id")).collect();
    let told = history.calls.iter().filter(|call| call["status"] != "unknown");
    let ids = told.map(|call| {
        let response: serde_json::Value = serde_json::from_str(call["response"].as_str().unwrap()).unwrap();
        response["id"].as_str().unwrap().to_owned()
    });
    let acknowledged: BTreeSet<String> = ids.collect();
    let lost = acknowledged.iter().filter(|id| !kept.contains(id.as_str())).count();
    println!(
        "failover: a standby that nobody waits for took over: {lost} of {} acknowledged decisions lost, verify {verified}; \
         doctor had said so, and nothing was decided before the loss was declared",
        acknowledged.len()
    );
    assert!(lost >= 100, "what was not sent was lost: {lost}");
    // Declared, and the store decides again.
    let mut again = Service::start(&site);
    let load = Load::on(&site, vec![again.address], token);
    let answer = load.posted(&proposal("after", "keyed", "ok", 500));
    again.kill();
    assert_eq!(answer.as_ref().map(|(status, _)| *status), Some(200), "{answer:?}");
}

//! Several services and workers on one PostgreSQL, killed at any moment, and the database and the event stream with them:
//! nothing acknowledged is lost, nothing is decided twice, no effect happens twice, and every event arrives.

use crate::crew::{CONNECTIONS, Crew, Running, SERVICES, WORKERS, judged};
use crate::nats::Nats;
use crate::server::PostgresServer;
use crate::site::Site;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The kills of ours that the test command sees; `WRITKEEPER_POSTGRES_KILLS` says otherwise.
const KILLS: usize = 60;

/// The database is killed after so many kills of ours.
const CRASH_EVERY: usize = 10;

/// The event stream is down for so many kills of ours, and up for as many.
const STREAM_ROUNDS: usize = 6;

/// The relay is killed after so many kills of ours.
const RELAY_EVERY: usize = 15;

fn relay(site: &Site, nats: &Nats, more: &[&str]) -> Running {
    let mut command = site.writkeeper(&["relay", "--json", "--retry", "100ms", "--nats", &nats.url()]);
    Running(command.args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn processes_and_a_database_that_are_killed_lose_nothing_and_do_nothing_twice() {
    let kills = std::env::var("WRITKEEPER_POSTGRES_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let (Some(mut server), Some(mut nats)) = (PostgresServer::start(), Nats::start()) else { return };
    let site = Site::on(Some(server.database("faults")));
    let (mut crew, load) = Crew::start(&site);
    // A ledger that nobody has signed has no name that its events could have.
    assert!(site.writkeeper(&["ledger", "checkpoint"]).output().unwrap().status.success());
    let mut relaying = relay(&site, &nats, &[]);
    let (mut away, mut nats_kills, mut relay_kills) = (Vec::new(), 0, 0);
    std::thread::scope(|scope| {
        let _ended = load.ended_with_this();
        for _ in 0..CONNECTIONS {
            scope.spawn(|| load.run());
        }
        for round in 0..kills {
            // At any moment, and never before something was acknowledged again: also while the stream is down.
            let enough = load.answered.load(Ordering::SeqCst) + 15 + (round * 37) % 60;
            while load.answered.load(Ordering::SeqCst) < enough {
                crew.demand_services();
                std::thread::sleep(Duration::from_millis(1));
            }
            if round % CRASH_EVERY == CRASH_EVERY - 1 {
                away.push(server.crash());
            }
            if round % STREAM_ROUNDS == STREAM_ROUNDS - 1 {
                if nats.is_up() {
                    nats.kill();
                    nats_kills += 1;
                } else {
                    nats.run();
                }
            }
            if round % RELAY_EVERY == RELAY_EVERY - 1 {
                drop(std::mem::replace(&mut relaying, relay(&site, &nats, &[])));
                relay_kills += 1;
            }
            if round % 2 == 0 {
                crew.replace_service(round / 2 % SERVICES, &load);
            } else {
                crew.replace_worker(round / 2 % WORKERS);
            }
        }
    });
    crew.kill_all();
    drop(relaying);
    let (told, entries) = judged(&site);
    let slowest = away.iter().max().copied().unwrap_or_default();
    println!(
        "postgres: {kills} kills of ours, {} of the database (back after at most {} ms), {told}",
        away.len(),
        slowest.as_millis(),
    );
    println!("postgres: 0 lost, 0 duplicate, 0 gaps");
    if !nats.is_up() {
        nats.run();
    }
    assert!(relay(&site, &nats, &["--once"]).0.wait().unwrap().success(), "the rest does not reach the stream");
    let twice = nats.check("WRITKEEPER", entries);
    println!(
        "postgres: {entries} events in the stream, {twice} of them twice, none lost, each flow in its order; {nats_kills} kills of \
         nats-server and {relay_kills} of the relay"
    );
}

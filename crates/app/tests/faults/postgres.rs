//! Several services and workers on one PostgreSQL, killed at any moment, and the database with them: nothing acknowledged is
//! lost, nothing is decided twice, and no effect happens twice.

use crate::served::{Load, Service, enrolled};
use crate::server::PostgresServer;
use crate::site::{LATER, Site};
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Services, and workers beside them.
const SERVICES: usize = 2;
const WORKERS: usize = 2;

/// Connections that propose at once.
const CONNECTIONS: usize = 16;

/// The kills of ours that the test command sees; `WRITKEEPER_POSTGRES_KILLS` says otherwise.
const KILLS: usize = 60;

/// The database is killed after so many kills of ours.
const CRASH_EVERY: usize = 10;

fn worker(site: &Site) -> Child {
    let mut command = site.performing(&["--threads", "4"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn processes_and_a_database_that_are_killed_lose_nothing_and_do_nothing_twice() {
    let kills = std::env::var("WRITKEEPER_POSTGRES_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let Some(mut server) = PostgresServer::start() else { return };
    let site = Site::on(Some(server.database("faults")));
    let first = Service::start(&site);
    let token = enrolled(&site, &first);
    let mut services = vec![first];
    services.extend((1..SERVICES).map(|_| Service::start(&site)));
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| worker(&site)).collect();
    let load = Load::on(&site, services.iter().map(|service| service.address).collect(), token);
    let mut away = Vec::new();
    std::thread::scope(|scope| {
        let _ended = load.ended_with_this();
        for _ in 0..CONNECTIONS {
            scope.spawn(|| load.run());
        }
        for round in 0..kills {
            // At any moment, and never before something was acknowledged again.
            let enough = load.answered.load(Ordering::SeqCst) + 15 + (round * 37) % 60;
            while load.answered.load(Ordering::SeqCst) < enough {
                services.iter_mut().for_each(|service| service.demand_alive(&site));
                std::thread::sleep(Duration::from_millis(1));
            }
            if round % CRASH_EVERY == CRASH_EVERY - 1 {
                away.push(server.crash());
            }
            let place = round / 2 % SERVICES;
            if round % 2 == 0 {
                services[place].kill();
                services[place] = Service::start(&site);
                load.replace(place, services[place].address);
            } else {
                kill(&mut workers[round / 2 % WORKERS]);
                workers[round / 2 % WORKERS] = worker(&site);
            }
        }
    });
    services.iter_mut().for_each(Service::kill);
    workers.iter_mut().for_each(kill);
    site.heal(LATER);
    let (history, broken, code) = site.judge_settled();
    let unknown = history.calls.iter().filter(|call| call["status"] == "unknown").count();
    let slowest = away.iter().max().copied().unwrap_or_default();
    println!(
        "postgres: {kills} kills of ours, {} of the database (back after at most {} ms), {} calls answered and {unknown} \
         not, {} effects, {} entries, verify {code}",
        away.len(),
        slowest.as_millis(),
        history.calls.len() - unknown,
        site.effects(),
        history.size
    );
    assert_eq!(broken, []);
    println!("postgres: 0 lost, 0 duplicate, 0 gaps");
}

//! Events handed on to a real NATS JetStream, which is killed in the middle, and read back by a client of its own.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

#[path = "shared/delivered.rs"]
mod delivered;
#[path = "shared/desk.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod desk;
#[path = "shared/nats.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod nats;

use desk::Desk;
use nats::Nats;
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than any of these tests may take.
const LONG: Duration = Duration::from_secs(120);

#[test]
fn every_event_reaches_the_stream_although_it_is_killed() {
    let Some(mut nats) = Nats::start() else { return };
    let desk = Desk::new();
    desk.decide_many("first", 60);
    let relay = format!("relay --json --retry 100ms --nats {}", nats.url());
    let told = desk.json(&format!("{relay} --once"), 0);
    assert_eq!(told.get("delivered").and_then(Value::as_u64), Some(desk.entries()), "{told}");
    assert_eq!(nats.check("WRITKEEPER", desk.entries()), 0);

    let mut running = desk.command(&relay).spawn().unwrap();
    for round in 0..3 {
        desk.decide_many(&format!("up{round}"), 40);
        nats.kill();
        // Nobody waits for a stream that is down.
        desk.decide_many(&format!("down{round}"), 40);
        nats.run();
        if round == 1 {
            running.kill().unwrap();
            running.wait().unwrap();
            running = desk.command(&relay).spawn().unwrap();
        }
    }
    let entries = desk.entries();
    let end = Instant::now() + LONG;
    while nats.messages("WRITKEEPER") < entries {
        assert!(Instant::now() < end, "the stream does not catch up");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(Command::new("kill").args(["-TERM", &running.id().to_string()]).status().unwrap().success());
    running.wait().unwrap();
    let twice = nats.check("WRITKEEPER", entries);
    println!("{entries} events, {twice} of them twice, 3 kills of nats-server and 1 of the relay");

    // Any stream is filled again from any entry.
    let told = desk.json(&format!("{relay} --once --stream AGAIN --prefix again --from 5"), 0);
    assert_eq!(told.get("delivered").and_then(Value::as_u64), Some(entries - 5), "{told}");
    assert_eq!(nats.messages("AGAIN"), entries - 5);
    nats.kill();
    desk.decide_many("late", 1);
    let told = desk.json(&format!("{relay} --once"), 75);
    assert_eq!(told.get("behind"), Some(&Value::Bool(true)), "{told}");
}

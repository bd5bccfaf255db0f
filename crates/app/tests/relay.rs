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
use std::sync::Arc;
use std::time::{Duration, Instant};
use writkeeper::signing::SigningSite;
use writkeeper::{OpenOptions, restored};

/// Longer than any of these tests may take.
const LONG: Duration = Duration::from_secs(120);

#[test]
fn every_event_reaches_the_stream_although_it_is_killed() {
    let Some(mut nats) = Nats::start() else { return };
    let desk = Desk::new();
    desk.decide_many("first", 60);
    desk.says("ledger checkpoint", "", 0);
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

/// What a relay that is refused says.
fn refused(desk: &Desk, relay: &str, words: &[&str]) {
    let output = desk.run(&format!("{relay} --once"), "");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(65), "{error}");
    for word in words {
        assert!(error.contains(word), "`{word}` is not said: {error}");
    }
}

/// How many events a relay hands on, and how many of them the stream had already.
fn handed_on(desk: &Desk, relay: &str) -> (u64, u64) {
    let told = desk.json(&format!("{relay} --once --json"), 0);
    let of = |name: &str| told.get(name).and_then(Value::as_u64).unwrap();
    (of("delivered"), of("duplicates"))
}

#[test]
fn events_of_two_stores_have_different_ids() {
    let Some(nats) = Nats::start() else { return };
    let relay = format!("relay --nats {}", nats.url());
    let mut entries = 0;
    for desk in [Desk::new(), Desk::new()] {
        desk.decide_many("first", 5);
        refused(&desk, &relay, &["has no log name", "`writkeeper ledger checkpoint`"]);
        desk.says("ledger checkpoint", "", 0);
        assert_eq!(handed_on(&desk, &relay), (desk.entries(), 0));
        entries += desk.entries();
    }
    assert_eq!(nats.messages("WRITKEEPER"), entries);
}

#[test]
fn another_ledger_is_not_taken_for_the_one_that_was_handed_on() {
    let Some(nats) = Nats::start() else { return };
    let (desk, relay) = (Desk::new(), format!("relay --nats {}", nats.url()));
    desk.decide_many("first", 5);
    desk.says("ledger checkpoint", "", 0);
    desk.says("store backup first.db", "", 0);
    desk.decide_many("second", 5);
    assert_eq!(handed_on(&desk, &relay), (desk.entries(), 0));
    // It comes back older: what follows has indices that receivers know already.
    let gone = |name: &str| std::fs::remove_file(desk.path().join(name)).is_ok();
    let emptied = || ["kept.db", "kept.db-wal", "kept.db-shm"].map(gone);
    emptied();
    std::fs::copy(desk.path().join("first.db"), desk.path().join("kept.db")).unwrap();
    refused(&desk, &relay, &["were handed on, and the ledger has", "--from INDEX"]);
    // It is made anew, and longer than it was.
    emptied();
    std::fs::rename(desk.path().join("kept.db.keys"), desk.path().join("gone.keys")).unwrap();
    desk.decide_many("third", 30);
    desk.says("ledger checkpoint", "", 0);
    refused(&desk, &relay, &["were handed on, and the log of this ledger is", "--from INDEX"]);
    assert_eq!(handed_on(&desk, &format!("{relay} --from 0")), (desk.entries(), 0));
    assert_eq!(handed_on(&desk, &relay), (0, 0), "it goes on with the log it has begun");
    desk.says(&format!("{relay} --once --from {}", desk.entries() + 1), "", 64);
}

#[test]
fn a_stream_that_lost_what_it_was_handed_on_is_noticed() {
    let Some(mut nats) = Nats::start() else { return };
    let (desk, relay) = (Desk::new(), format!("relay --nats {}", nats.url()));
    desk.decide_many("first", 5);
    desk.says("ledger checkpoint", "", 0);
    let entries = desk.entries();
    assert_eq!(handed_on(&desk, &relay), (entries, 0));
    nats.kill();
    nats.run();
    assert_eq!(handed_on(&desk, &relay), (0, 0), "a server that starts again has it");
    nats.lose_everything();
    refused(&desk, &relay, &["were handed on, and the stream is new", "--from INDEX"]);
    assert_eq!(handed_on(&desk, &format!("{relay} --from 0")), (entries, 0));
    assert_eq!(nats.messages("WRITKEEPER"), entries);
}

#[test]
fn every_tenant_is_handed_on_by_its_name() {
    let Some(nats) = Nats::start() else { return };
    let (desk, relay) = (Desk::new(), format!("relay --tenant acme --nats {}", nats.url()));
    desk.decide_many("first", 5);
    desk.says("keys new --tenant acme --role auditor --name eve", "", 0);
    refused(&desk, &relay, &["tenant `acme` has no log name", "serve"]);
    let location = desk.path().join("kept.db").to_string_lossy().into_owned();
    let options = OpenOptions { tenant: Arc::from("acme"), ..OpenOptions::default() };
    let folder = restored::keys_of_tenant(&location, "acme");
    let operator = kernel::agent::Actor::Operator("ann".to_owned());
    let signed = SigningSite { location, folder, operator, options }.sealed().unwrap();
    drop(signed);
    let (delivered, duplicates) = handed_on(&desk, &relay);
    let stored = nats.stored("WRITKEEPER");
    assert_eq!((delivered, duplicates), (stored.len() as u64, 0));
    assert!(delivered >= 2 && stored.iter().all(|message| message.place.starts_with("writkeeper.acme.")));
}

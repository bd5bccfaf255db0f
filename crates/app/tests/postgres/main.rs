//! The verbs of the binary on a real PostgreSQL.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

mod backup;
#[path = "../shared/desk.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod desk;
mod older;
mod outbox;
mod probes;
mod protected;
mod retention;
mod sealing;
#[path = "../../../adapters/tests/postgres/server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod server;
mod standby;
mod upgrade;

use desk::Desk;
use server::PostgresServer;

#[test]
fn every_verb_takes_a_database() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("decisions"));
    let missing = desk.run(&format!("report --store {store}"), "");
    assert!(!missing.status.success(), "nobody has made a store yet");
    let verdicts = desk.decide(&store);
    assert_eq!(verdicts.matches("\"verdict\":\"ACCEPT\"").count(), 2, "{verdicts}");
    assert_eq!(desk.decide(&store), verdicts, "the same keys are answered with the same bytes");
    for (words, heard) in [
        ("escalations list", "refund"),
        ("intents list", "refund:A"),
        ("flows list", "refund-bot"),
        ("agents list", "refund-bot"),
        ("report", "ACCEPT"),
        ("people", ""),
        ("tick", ""),
        ("halt --because test", ""),
        ("resume --because test", ""),
        ("store migrate", "of this version"),
        ("ledger keys new", ""),
        ("ledger checkpoint", "writkeeper"),
        ("ledger export --out kept.export", ""),
        ("ledger receipt p-A --out a.receipt", ""),
    ] {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        let words =
            if rest.is_empty() { format!("{verb} --store {store}") } else { format!("{words} --store {store}") };
        let said = desk.says(&words, "", 0);
        assert!(said.contains(heard), "{words}: {said}");
    }
    desk.says("verify kept.export", "", 0);
    desk.says("verify a.receipt", "", 0);
    assert!(desk.path().join(".local/state/writkeeper").is_dir(), "keys lie in the user's folder for state");
    let graded = desk.says(&format!("doctor --store {store}"), "", 0);
    assert!(graded.contains("fsync = on") && graded.contains("standby"), "{graded}");
    assert!(!graded.contains("bad"), "{graded}");
}

#[test]
fn a_password_in_a_location_is_refused_and_not_repeated() {
    let output = Desk::new().run("report --store postgres://anna:geheim@127.0.0.1:1/decisions", "");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(65), "{error}");
    assert!(error.contains("PGPASSWORD") && !error.contains("geheim"), "{error}");
}

#[test]
fn the_demo_gives_the_same_verdicts_on_both_stores() {
    let Some(server) = PostgresServer::start() else { return };
    let desk = Desk::new();
    let verdicts = |said: &str| -> Vec<String> {
        said.split("\"verdict\":\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    };
    let on_file = verdicts(&desk.says("demo --json", "", 0));
    let on_database = verdicts(&desk.says(&format!("demo --json --store {}", server.database("demo")), "", 0));
    assert!(on_file.len() > 10, "{on_file:?}");
    assert_eq!(on_file, on_database);
}

#[test]
fn a_store_is_copied_into_a_database_and_back() {
    let Some(server) = PostgresServer::start() else { return };
    let (desk, store) = (Desk::new(), server.database("copied"));
    let first = desk.decide("kept.db");
    desk.says("ledger erase p-B --because asked --store kept.db", "", 0);
    // The ledger says who signs for it, and the copies are shown to the same keys.
    desk.says("ledger export --out first.export --store kept.db", "", 0);
    let told = desk.says(&format!("store copy kept.db {store} --json"), "", 0);
    assert!(told.contains("\"verified\":true"), "{told}");
    let again = desk.run(&format!("store copy kept.db {store}"), "");
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"), "{again:?}");
    desk.says(&format!("store copy {store} back.db"), "", 0);
    let mut verified = Vec::new();
    for (number, location) in ["kept.db", &store, "back.db"].into_iter().enumerate() {
        desk.says(&format!("ledger export --keys kept.db.keys --out {number}.export --store {location}"), "", 0);
        let output = desk.run(&format!("verify --json {number}.export"), "");
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let of = |name: &str| said.get(name).unwrap_or_else(|| panic!("{name}: {said}")).to_string();
        let intents = desk.says(&format!("intents list --json --store {location}"), "", 0);
        verified.push((output.status.code(), ["root", "origin", "entries", "same", "erased_at"].map(of), intents));
    }
    for (place, copy) in ["the database", "the way back"].iter().zip(verified.iter().skip(1)) {
        assert_eq!(verified.first(), Some(copy), "{place} says something else than the file");
    }
    // Whoever asks again gets the first answer, also from a copy.
    let line = |answers: &str| answers.lines().next().unwrap().to_owned();
    let ask = "{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-A\",\"idempotency_key\":\"k-A\",\
               \"params\":{\"order_id\":\"A\",\"amount\":12}}\n";
    for location in [&store, "back.db"] {
        assert_eq!(line(&desk.says(&format!("decide --quiet --store {location}"), ask, 0)), line(&first), "{location}");
    }
}

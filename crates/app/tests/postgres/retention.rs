//! Retention: what is old or names somebody is erased, with a record of who asked and why; what is held or open stays.

use super::desk::Desk;
use super::server::PostgresServer;

fn check(desk: &Desk, store: &str) {
    // Two acceptances, a question and a refusal.
    desk.decide(store);
    let retain = |words: &str| {
        let said = desk.says(&format!("ledger retain {words} --because policy --json --store {store}"), "", 0);
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        let of = |name: &str| json.get(name).and_then(serde_json::Value::as_u64).unwrap();
        [of("erased"), of("held"), of("open")]
    };
    assert_eq!(retain("--keep 1d"), [0, 0, 0], "nothing is old enough");
    // Order D was refused and is over; about order C somebody is still asked.
    assert_eq!(retain("--subject D --dry-run"), [1, 0, 0]);
    assert_eq!(retain("--subject C"), [0, 0, 1]);
    desk.says(&format!("ledger hold case-7 --because court --store {store}"), "", 0);
    assert_eq!(retain("--subject D"), [0, 1, 0]);
    desk.says(&format!("ledger release case-7 --because over --store {store}"), "", 0);
    assert_eq!(retain("--subject D"), [1, 0, 0]);
    assert_eq!(retain("--subject D"), [0, 0, 0], "it is gone");
    let [erased, held, open] = retain("--keep 1ms");
    assert!(erased > 0 && held == 0 && open == 1, "{erased} {held} {open}");
    // The records of erasures and holds say who and why, and are never erased themselves.
    desk.says(&format!("ledger export --out kept.export --store {store}"), "", 0);
    let verified = desk.run("verify kept.export", "");
    let said = String::from_utf8_lossy(&verified.stdout).into_owned() + &String::from_utf8_lossy(&verified.stderr);
    assert_eq!(verified.status.code(), Some(2), "{said}");
    assert!(said.contains("erased"), "{said}");
    let text = std::fs::read_to_string(desk.path().join("kept.export")).unwrap();
    assert!(text.contains("policy") && text.contains("court") && text.contains("ann"), "who erased and why is lost");
    // Decisions go on.
    let line = "{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-E\",\"params\":{\"order_id\":\"E\",\"amount\":5}}\n";
    desk.says(&format!("decide --quiet --store {store}"), line, 0);
}

#[test]
fn bodies_of_a_file_are_retained() {
    check(&Desk::new(), "kept.db");
}

#[test]
fn bodies_of_a_database_are_retained() {
    let Some(server) = PostgresServer::start() else { return };
    check(&Desk::new(), &server.database("retained"));
}

/// Idempotency keys are forgotten once they are old, and a copy or a backup knows what was forgotten.
fn check_forgetting(desk: &Desk, store: &str, copies: [&str; 2]) {
    let line = |amount: u32, at: &str| {
        format!(
            "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-{amount}\",\"idempotency_key\":\"k\",\
             {at}\"params\":{{\"order_id\":\"O{amount}\",\"amount\":{amount}}}}}\n"
        )
    };
    let decide = format!("decide --quiet --contract refunds.yaml --store {store}");
    let old = desk.says(&format!("{decide} --clock-of-lines"), &line(5, "\"created_at\":\"2026-01-02T00:00:00Z\","), 0);
    assert!(old.contains("p-5") && old.contains("ACCEPT"), "{old}");
    let forget = |store: &str, keep: &str| {
        let told = desk.json(&format!("ledger forget --keep {keep} --because policy --json --store {store}"), 0);
        let of = |name: &str| told.get(name).cloned().unwrap_or_default();
        (of("before").as_str().unwrap().to_owned(), of("removed").as_u64().unwrap())
    };
    assert_eq!(forget(store, "3650d").1, 0, "nothing is old enough");
    let (before, removed) = forget(store, "1d");
    assert_eq!(removed, 1);
    // The key is free: what comes under it is judged, and not answered from what was stored.
    let fresh = desk.says(&decide, &line(7, ""), 0);
    assert!(fresh.contains("p-7"), "{fresh}");
    let [copied, backup] = copies;
    desk.says(&format!("store copy {store} {copied}"), "", 0);
    desk.says(&format!("store backup {backup} --store {store}"), "", 0);
    for copy in copies {
        let (later, _) = forget(copy, "3650d");
        assert!(later >= before, "{copy} knows less than was forgotten: {later} and not {before}");
    }
}

#[test]
fn keys_of_a_file_are_forgotten() {
    check_forgetting(&Desk::new(), "kept.db", ["copied.db", "backup.db"]);
}

#[test]
fn keys_of_a_database_are_forgotten() {
    let Some(server) = PostgresServer::start() else { return };
    let (location, copy) = (server.database("forgetting"), server.database("copied"));
    check_forgetting(&Desk::new(), &location, [&copy, "backup.db"]);
}

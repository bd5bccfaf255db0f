//! The verbs of the binary on a real PostgreSQL.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

mod backup;
mod older;
mod outbox;
mod protected;
mod retention;
mod sealing;
#[path = "../../../adapters/tests/postgres/server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod server;
mod standby;
mod upgrade;

use server::PostgresServer;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const CONTRACT: &str = "agent: refund-bot
actions:
  issue_refund:
    once: \"refund:{order_id}\"
    params: { order_id: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
approvers: [refund-desk]
";

/// A folder with a contract, and the binary in it.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("refunds.yaml"), CONTRACT).unwrap();
        Desk(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, words: &str, input: &str) -> Output {
        self.run_with(&[], words, input)
    }

    fn run_with(&self, variables: &[(&str, &str)], words: &str, input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(words.split(' ')).current_dir(self.path()).env("USER", "ann").env("HOME", self.path());
        command.envs(variables.iter().copied());
        command.env_remove("XDG_STATE_HOME").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Written beside the reading: many answers fill the pipe before many questions are asked.
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input.as_bytes()));
            child.wait_with_output().unwrap()
        })
    }

    /// What a verb says, which must end with this exit code.
    fn says(&self, words: &str, input: &str, code: i32) -> String {
        let output = self.run(words, input);
        let said = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {said}{error}");
        said
    }

    /// Two acceptances, a question and a refusal.
    fn decide(&self, store: &str) -> String {
        let line = |order: &str, amount: u32| {
            format!(
                "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"p-{order}\",\"idempotency_key\":\"k-{order}\",\
                 \"params\":{{\"order_id\":\"{order}\",\"amount\":{amount}}}}}\n"
            )
        };
        let lines: String =
            [("A", 12), ("B", 20), ("C", 40), ("D", 400)].map(|(order, amount)| line(order, amount)).concat();
        self.says(&format!("decide --quiet --contract refunds.yaml --store {store}"), &lines, 1)
    }
}

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

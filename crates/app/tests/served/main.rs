//! The verbs with `--server`: the same words and the same exit codes as with `--store`, under the name of the key.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

#[path = "../../../client/tests/served/door.rs"]
mod door;
mod login;
mod service;
mod words;

use door::{KEYS, Served};
use service::Service;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use words::without_ids;
use writkeeper::signing::SigningSite;
use writkeeper::{Actor, Keeper, OpenOptions};

const CONTRACT: &str = r"
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: money EUR }
    limits: { amount: { max: 60 } }
    amendable: { amount: { max: { floor: 10, ceiling: 80 }, ttl: 8h } }
    allow: amount <= 25
    ask: amount <= 50
    budget: { sum: amount, max: 500, per: 24h }
    run: { command: ['true'] }
  look: { params: {}, reads: true }
approvers: [desk]
";

/// A folder with the files that verbs read.
struct Desk {
    folder: tempfile::TempDir,
    /// The store, or the server that keeps it.
    place: String,
    served: Option<Served>,
    service: Option<Service>,
}

impl Desk {
    fn with_store() -> Desk {
        Desk { folder: files(), place: "--store kept.db".to_owned(), served: None, service: None }
    }

    /// With the service itself.
    fn with_server() -> Desk {
        let folder = files();
        let service = Service::start(&folder.path().join("there.db"));
        Desk { folder, place: format!("--server {}", service.address), served: None, service: Some(service) }
    }

    /// With a door of the test's own, for what is no business of the service.
    fn with_door() -> Desk {
        let folder = files();
        let location = folder.path().join("there.db").to_string_lossy().into_owned();
        let runtime = Keeper::open(&location, &OpenOptions::default()).unwrap().into_runtime();
        let seal = Box::new(move || {
            let site = SigningSite::beside(&location, Actor::Operator("root".to_owned()));
            site.head().map(|head| head.header.to_lines()).map_err(|error| error.to_string())
        });
        let served = Served::start(runtime, seal);
        Desk { folder, place: format!("--server {}", served.address), served: Some(served), service: None }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(words.split(' ')).current_dir(self.path()).env("USER", "root").env("HOME", self.path());
        for name in ["WRITKEEPER_STORE", "WRITKEEPER_SERVER", "WRITKEEPER_KEY", "WRITKEEPER_TOKEN", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command
    }

    /// Exit code and both outputs, `{at}` being where the store is, under the key of a role.
    fn run(&self, role: &str, words: &str, input: &str) -> (i32, String, String) {
        let mut command = self.command(&words.replace("{at}", &self.place));
        let key = self.service.as_ref().map_or_else(|| key(role), |service| service.key(role));
        command.env("WRITKEEPER_KEY", key);
        ended(&mut command, input)
    }
}

fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("contract.yaml", CONTRACT);
    write("wider.yaml", &CONTRACT.replace("<= 50", "<= 55"));
    write("people.yaml", "desk: [ann, bob]\n");
    write("instead.json", r#"{"agent":"bot","action":"pay","params":{"order":"3","amount":20}}"#);
    folder
}

fn key(role: &str) -> &'static str {
    KEYS.iter().find(|(_, known, _)| *known == role).unwrap().0
}

fn ended(command: &mut Command, input: &str) -> (i32, String, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
    let output = process.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn pay(id: &str, amount: u32) -> String {
    format!(
        "{{\"agent\":\"bot\",\"action\":\"pay\",\"id\":\"p{id}\",\"params\":{{\"order\":\"{id}\",\"amount\":{amount}}}}}\n"
    )
}

/// A whole working day: who, what is typed, and the code it ends with.
const DAY: &[(&str, &str, i32)] = &[
    ("operator", "agents register --contract contract.yaml {at}", 0),
    ("operator", "agents activate --contract contract.yaml {at}", 0),
    ("operator", "people set people.yaml {at}", 0),
    ("operator", "people list {at}", 0),
    ("operator", "people {at} --json", 0),
    ("agent", "decide {at} PROPOSALS", 1),
    ("agent", "decide {at} --quiet --wait=1ms PAID", 3),
    ("operator", "agents list {at}", 0),
    ("operator", "agents show bot {at}", 0),
    ("operator", "agents list {at} --json", 0),
    ("operator", "escalations list {at}", 0),
    ("approver", "escalations show p3 {at}", 0),
    ("approver", "escalations answer p3 approve --as bob --because fine {at} THERE", 64),
    ("approver", "escalations answer p3 approve --as ann --because fine {at}", 0),
    ("approver", "escalations answer p3 approve --as ann --because fine {at}", 1),
    ("approver", "escalations answer p5 modify --instead instead.json --as ann --because less {at}", 1),
    ("approver", "escalations answer p5 deny --as ann --because no {at}", 0),
    ("approver", "escalations answer nothing deny --as ann --because no {at}", 65),
    ("approver", "escalations {at} --json", 0),
    ("operator", "intents list {at}", 0),
    ("operator", "intents show p1 {at}", 0),
    ("executor", "run --once --allow-programs {at}", 0),
    ("operator", "intents list {at} --json", 0),
    ("operator", "intents show p1 {at}", 0),
    ("operator", "intents undo p1 --because mistake {at}", 0),
    ("operator", "tick {at}", 0),
    ("operator", "flows list {at}", 0),
    ("operator", "flows show p3 {at}", 0),
    ("operator", "flows open --agent bot {at}", 0),
    ("operator", "flows abort p4 {at}", 0),
    ("operator", "context set limits/eur 12 {at}", 0),
    ("operator", "context get limits/eur {at}", 0),
    ("operator", "context get missing/eur {at}", 65),
    ("operator", "context set limits/eur 13 --expect 0 {at}", 1),
    ("operator", "context snapshot limits/eur {at}", 0),
    ("operator", "leases acquire thing:desk --holder bot {at}", 0),
    ("operator", "leases list {at}", 0),
    ("operator", "leases evict 1 --because done {at}", 0),
    ("operator", "agents amend bot pay amount --max 70 --because rush {at}", 0),
    ("operator", "agents amend bot pay amount --max 90 --because rush {at}", 1),
    ("operator", "agents suspend bot --because slow {at}", 0),
    ("operator", "agents lift bot suspended --because looked {at}", 0),
    ("operator", "agents activate --contract wider.yaml {at}", 0),
    ("operator", "agents suspend nobody --because slow {at}", 65),
    ("operator", "halt --because fire {at}", 0),
    ("agent", "decide {at} --quiet AFTER", 1),
    ("operator", "resume --because out {at}", 0),
    ("operator", "report {at}", 0),
    ("operator", "report {at} --json", 0),
    ("operator", "top --once {at}", 0),
    ("operator", "top {at} --json", 0),
    ("operator", "ledger find p3 {at}", 0),
    ("operator", "ledger hold case --from 0 --because court {at}", 0),
    ("operator", "ledger release case --because over {at}", 0),
    ("operator", "ledger keys new {at} HERE", 0),
    ("operator", "ledger keys {at}", 0),
    ("operator", "ledger receipt p3 --out p3.receipt {at}", 0),
    ("operator", "verify p3.receipt", 0),
    ("operator", "ledger export --out all.ledger {at}", 0),
    ("operator", "verify all.ledger", 0),
    ("operator", "ledger tiles --out tiles {at}", 0),
    ("operator", "ledger checkpoint {at}", 0),
    ("operator", "decide --receipts receipts {at} --quiet LOOK", 0),
    ("operator", "ledger erase p2 --because privacy {at}", 0),
    ("operator", "ledger erase --from 0 --to 9999 --because privacy {at}", 65),
    ("operator", "ledger export --out erased.ledger {at}", 0),
    ("operator", "verify erased.ledger", 2),
    ("operator", "agents retire bot --because over {at}", 0),
];

/// What is given on standard input where a word in capitals stands for it.
fn input(word: &str) -> Option<String> {
    let lines = |lines: &[(&str, u32)]| lines.iter().map(|(id, amount)| pay(id, *amount)).collect::<String>();
    match word {
        "PROPOSALS" => {
            Some(format!("{}{{\n{}", lines(&[("1", 10), ("2", 90), ("3", 40)]), lines(&[("4", 20), ("5", 45)])))
        }
        "PAID" => Some(pay("6", 5)),
        "AFTER" => Some(pay("7", 5)),
        "LOOK" => Some(r#"{"agent":"bot","action":"look","id":"p8","params":{}}"#.to_owned()),
        _ => None,
    }
}

/// What only one of the two does.
const APART: [&str; 2] = ["THERE", "HERE"];

#[test]
fn a_day_at_a_server_is_a_day_at_a_store() {
    let (here, there) = (Desk::with_store(), Desk::with_server());
    let mut differences = Vec::new();
    for (role, typed, code) in DAY {
        let last = typed.rsplit(' ').next().unwrap();
        let given = input(last).unwrap_or_default();
        let is_apart = APART.contains(&last);
        let typed =
            if is_apart || input(last).is_some() { typed.strip_suffix(last).unwrap().trim_end() } else { typed };
        let run = |desk: &Desk| {
            let (code, stdout, stderr) = desk.run(role, typed, &given);
            (code, without_ids(&stdout, &desk.place), without_ids(&stderr, &desk.place))
        };
        if last == "HERE" {
            assert_eq!(run(&here).0, *code, "{typed}");
        } else if last == "THERE" {
            assert_eq!(run(&there).0, *code, "{typed}");
        } else {
            let (expected, found) = (run(&here), run(&there));
            if expected.0 != *code || found != expected {
                differences.push(format!("{typed}, {code} expected\n--- store: {expected:#?}\n--- server: {found:#?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(!there.path().join("kept.db").exists() && there.path().join("there.db").exists());
}

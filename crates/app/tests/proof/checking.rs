//! What `verify` says: damage where something is wrong, incomplete where something is missing, and where it is.

use crate::desk::{Desk, proposal, text};
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const EXPORT: &str = "ledger export --store s.db --out l.export";

fn checkpoint(desk: &Desk, name: &str) {
    desk.keep(name, "ledger checkpoint --store s.db");
}

fn keys(desk: &Desk) -> Vec<String> {
    let listed = text(&desk.run("ledger keys --store s.db --json", "").stdout);
    let key = |line: &str| serde_json::from_str::<Value>(line).unwrap()["key"].as_str().unwrap().to_owned();
    listed.lines().map(key).collect()
}

#[test]
fn checkpoints_from_before_a_discontinuity_are_recognised() {
    let desk = Desk::decided(3);
    checkpoint(&desk, "kept");
    desk.back_up("backup.db");
    desk.decide(3..5);
    checkpoint(&desk, "lost");
    desk.decide(5..8);
    checkpoint(&desk, "published");
    let old = keys(&desk);
    desk.back_up("whole.db");
    desk.restore("backup.db");
    desk.says("ledger discontinue --because restored --store s.db", 0);
    checkpoint(&desk, "new");
    desk.says(EXPORT, 0);
    let said = desk.says("verify l.export kept published new", 0);
    assert!(said.contains("its entries are these"), "{said}");
    assert!(said.contains("it is the checkpoint that the declaration names"), "{said}");
    let said = desk.says("verify l.export lost", 2);
    assert!(said.contains("are declared lost, so it cannot be compared"), "{said}");
    // Whoever gives keys gives those of both logs.
    let new = keys(&desk);
    desk.says(&format!("verify l.export kept --key {} --key {}", new[0], old[0]), 0);
    let said = desk.says(&format!("verify l.export kept --key {}", new[0]), 2);
    assert!(said.contains("none of the keys given"), "{said}");
    let said = desk.says(&format!("verify l.export --key {}", old[0]), 2);
    assert!(said.contains("give its own key too"), "{said}");
    let said = desk.says("verify kept new", 2);
    assert!(said.contains("give it too"), "{said}");
    // What contradicts is damage still: another history under the old name, and more than was said to be published.
    let fork = Desk::decided(3);
    std::fs::remove_dir_all(fork.path("s.db.keys")).unwrap_or_default();
    let copied =
        Command::new("cp").arg("-r").arg(desk.path("s.db.keys/earlier/0")).arg(fork.path("s.db.keys")).status();
    assert!(copied.unwrap().success());
    for entry in std::fs::read_dir(desk.path("s.db.keys")).unwrap().filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().ends_with(".key") {
            std::fs::copy(entry.path(), fork.path("s.db.keys").join(entry.file_name())).unwrap();
        }
    }
    let nothing = "writkeeper/signer/v1\nfrom 0\nnothing\n";
    for (name, orders) in [("beside", 3..3), ("beyond", 10..40)] {
        std::fs::write(fork.path("s.db.keys/signed"), nothing).unwrap();
        let _ = std::fs::remove_dir_all(fork.path("s.db.keys/checkpoints"));
        fork.decide(orders);
        checkpoint(&fork, name);
        std::fs::copy(fork.path(name), desk.path(name)).unwrap();
        let said = desk.says(&format!("verify l.export {name}"), 1);
        assert!(said.contains("two histories") || said.contains("were published before"), "{name}: {said}");
    }
}

#[test]
fn a_key_that_was_not_given_is_no_damage_and_a_wrong_signature_is() {
    let desk = Desk::decided(3);
    checkpoint(&desk, "first");
    desk.says("ledger receipt 2 --store s.db --out first.receipt", 0);
    let old = keys(&desk);
    desk.says("ledger keys new --store s.db", 0);
    desk.says("ledger checkpoint --store s.db", 0);
    let retired = old[0].split('+').nth(1).unwrap().to_owned();
    desk.says(&format!("ledger keys retire {retired} --store s.db"), 0);
    desk.decide(3..5);
    checkpoint(&desk, "second");
    desk.says("ledger receipt 2 --store s.db --out second.receipt", 0);
    desk.says(EXPORT, 0);
    let new = keys(&desk)[1].clone();
    for (file, right, other) in [
        ("first", &old[0], &new),
        ("second", &new, &old[0]),
        ("second.receipt", &new, &old[0]),
        ("l.export", &new, &old[0]),
    ] {
        desk.says(&format!("verify {file} --key {right}"), 0);
        desk.says(&format!("verify {file} --key {right} --key {other}"), 0);
        let said = desk.says(&format!("verify {file} --key {other}"), 2);
        assert!(said.contains("which was not given") && said.contains("--key"), "{file}: {said}");
    }
    // The first receipt carries the keys of its day: a later one is a stranger's to it.
    desk.says(&format!("verify first.receipt --key {}", old[0]), 0);
    desk.says(&format!("verify first.receipt --key {new}"), 1);
    // One letter of the signature itself: the key is known and did not sign this.
    let note = std::fs::read_to_string(desk.path("second")).unwrap();
    let at = note.len() - 20;
    let other = if &note[at..=at] == "A" { "B" } else { "A" };
    std::fs::write(desk.path("forged"), format!("{}{other}{}", &note[..at], &note[at + 1..])).unwrap();
    let said = desk.says(&format!("verify forged --key {new}"), 1);
    assert!(said.contains("does not fit"), "{said}");
}

/// The lines of an export with its header changed and its digest put right.
fn with_header(export: &str, change: impl Fn(&mut Value)) -> String {
    let mut header: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    change(&mut header);
    let header = values::json::Json::parse(header.to_string().as_bytes()).unwrap().to_canonical();
    let rest: String = export.split_inclusive('\n').skip(2).collect();
    format!("{header}\n{}\n{rest}", values::ids::Digest::of(&header))
}

#[test]
fn what_is_left_open_is_named_with_its_place() {
    let desk = Desk::decided(40);
    desk.says("ledger erase --from 9 --to 12 --because gdpr --store s.db", 0);
    desk.says("ledger receipt 10 --store s.db --out erased.receipt", 0);
    let said = desk.says("verify erased.receipt", 2);
    assert!(said.contains("its record was erased") && said.contains("entry"), "{said}");
    desk.says(EXPORT, 0);
    let found = desk.json("verify l.export --json", 2);
    assert_eq!(found["erased_at"], serde_json::json!(["9-11"]), "{found}");
    // Bodies taken out of the export by someone who can count.
    let export = std::fs::read_to_string(desk.path("l.export")).unwrap();
    let stripped: String = export
        .split_inclusive('\n')
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields.as_slice() {
                ["entry", index @ ("5" | "20" | "21"), leaf, ..] => format!("entry\t{index}\t{leaf}\t-\t-\n"),
                _ => line.to_owned(),
            }
        })
        .collect();
    std::fs::write(desk.path("stripped"), stripped).unwrap();
    let said = desk.says("verify stripped", 2);
    assert!(said.contains("3 bodies are gone") && said.contains("entries 5, 20-21"), "{said}");
    let found = desk.json("verify stripped --json", 2);
    assert_eq!((&found["gone"], &found["gone_at"]), (&Value::from(3), &serde_json::json!(["5", "20-21"])));
    // A header that says more than headers say.
    for (key, forged) in [
        ("note", with_header(&export, |header| header["note"] = Value::from("trust me"))),
        ("by", with_header(&export, |header| header["logs"][0]["by"] = Value::from("ann"))),
    ] {
        std::fs::write(desk.path("forged"), forged).unwrap();
        let said = desk.says("verify forged", 1);
        assert!(said.contains("header") && said.contains(&format!("`{key}`")), "{said}");
    }
    std::fs::write(desk.path("same"), with_header(&export, |_| {})).unwrap();
    desk.says("verify same", 2);
}

#[test]
fn every_open_intent_is_counted_and_named() {
    let desk = Desk::new();
    let decide = |orders: std::ops::Range<usize>, at: &str| {
        let lines: String = orders.map(|order| crate::desk::proposal(order, 5) + "\n").collect();
        let arguments = format!("decide --store s.db --contract contract.yaml --context context.json --at {at}");
        assert_eq!(desk.run(&arguments, &lines).status.code(), Some(0));
    };
    decide(0..20, "2199-03-01T09:00:00Z");
    decide(20..21, "2199-03-01T10:00:00Z");
    desk.says(EXPORT, 0);
    let said = desk.says("verify l.export", 0);
    assert!(said.contains("20 handed out") && said.contains("and 4 more"), "{said}");
    let found = desk.json("verify l.export --json", 0);
    assert_eq!(found["named"].as_array().unwrap().len(), 20, "{found}");
    assert_eq!(found["unnamed"], 0);
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let desk = Desk::new();
    assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().unwrap().success());
    std::fs::create_dir_all(desk.path("folder/tile")).unwrap();
    assert!(Command::new("mkfifo").arg(desk.path("folder/export")).status().unwrap().success());
    for name in ["pipe", "/dev/zero", "folder"] {
        let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
            .args(["verify", name])
            .current_dir(desk.path("."))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let status = loop {
            match process.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > until => break None,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let _ = process.kill();
        let mut said = String::new();
        process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(status.and_then(|status| status.code()), Some(65), "{name}: {said}");
        assert!(said.contains("file"), "{name}: {said}");
    }
}

#[test]
fn two_histories_are_seen_wherever_their_checkpoints_stand() {
    let desk = Desk::decided(3);
    desk.says("ledger checkpoint --store s.db", 0);
    let copied = |from: &str, to: &str| {
        assert!(Command::new("cp").arg("-r").arg(desk.path(from)).arg(desk.path(to)).status().unwrap().success());
    };
    copied("s.db", "t.db");
    copied("s.db.keys", "t.db.keys");
    // The same log decides something else in each of them, and one of them more.
    desk.decide(3..5);
    let other: String = (5..8).map(|order| proposal(order, 2) + "\n").collect();
    desk.run("decide --store t.db --contract contract.yaml --context context.json", &other);
    for store in ["s", "t"] {
        desk.says(&format!("ledger checkpoint --store {store}.db"), 0);
        desk.says(&format!("ledger receipt 2 --store {store}.db --out {store}.receipt"), 0);
        desk.says(&format!("ledger export --store {store}.db --out {store}.export"), 0);
    }
    // Until both have the same size there is a larger one.
    desk.decide(8..9);
    desk.says("ledger export --store s.db --out same.export", 0);
    desk.says("ledger receipt 2 --store s.db --out same.receipt", 0);
    let mut seen = 0;
    for (one, other) in [
        ("s.export", "t.export"),
        ("same.export", "t.export"),
        ("t.export", "s.receipt"),
        ("s.export", "t.receipt"),
        ("same.export", "t.receipt"),
        ("same.receipt", "t.receipt"),
    ] {
        let output = desk.run(&format!("verify {one} {other}"), "");
        let (said, code) = (text(&output.stdout), output.status.code());
        // Of a larger tree a smaller export can only say that it does not reach that far.
        let is_open = one == "s.export" && other == "t.receipt";
        let expected = if is_open { (Some(2), "not compared") } else { (Some(1), "two histories were signed") };
        assert_eq!(code, expected.0, "{one} {other}: {said}");
        assert!(said.contains(expected.1), "{one} {other}: {said}");
        seen += 1;
    }
    assert_eq!(seen, 6);
    // Honest pairs, an older export beside a newer one, and a stranger's receipt.
    desk.says("verify s.export same.export", 0);
    desk.says("verify same.export s.receipt", 0);
    desk.says("verify s.receipt same.receipt", 0);
    let stranger = Desk::decided(3);
    stranger.says("ledger receipt 2 --store s.db --out x.receipt", 0);
    std::fs::copy(stranger.path("x.receipt"), desk.path("x.receipt")).unwrap();
    desk.says("verify s.export x.receipt", 0);
}

#[test]
fn nothing_is_handed_out_over_the_store_its_keys_or_a_file_that_holds_something_else() {
    let desk = Desk::decided(2);
    desk.says("ledger checkpoint --store s.db", 0);
    let key = std::fs::read_dir(desk.path("s.db.keys")).unwrap().filter_map(Result::ok);
    let key = key.map(|entry| entry.file_name().to_string_lossy().into_owned()).find(|name| name.ends_with(".key"));
    let key = key.unwrap();
    std::os::unix::fs::symlink("s.db", desk.path("link")).unwrap();
    std::fs::hard_link(desk.path("s.db"), desk.path("second")).unwrap();
    let before = |name: &str| std::fs::read(desk.path(name)).unwrap();
    let kept = [before("s.db"), before(&format!("s.db.keys/{key}")), before("contract.yaml")];
    for out in [
        "s.db",
        "./s.db",
        "link",
        "second",
        "s.db-wal",
        "s.db-turn",
        "s.db.keys",
        "s.db.keys/",
        "s.db.keys/signed",
        &format!("s.db.keys/{key}"),
        "s.db.keys/new",
        "contract.yaml",
        "context.json",
    ] {
        for order in ["ledger export", "ledger receipt 1"] {
            let said = desk.says(&format!("{order} --store s.db --out {out}"), 64);
            assert!(said.contains("--out"), "{order} {out}: {said}");
        }
    }
    for out in ["s.db.keys", "s.db.keys/tiles"] {
        desk.says(&format!("ledger tiles --store s.db --out {out}"), 64);
        desk.says(&format!("ledger receipt 0 1 --store s.db --out {out}"), 64);
    }
    assert_eq!([before("s.db"), before(&format!("s.db.keys/{key}")), before("contract.yaml")], kept);
    // What was handed out before may be handed out again.
    for _ in 0..2 {
        desk.says("ledger export --store s.db --out s.db.export", 0);
        desk.says("ledger receipt 1 --store s.db --out r", 0);
        desk.says("ledger tiles --store s.db --out tiles", 0);
    }
    desk.says("verify s.db.export r", 0);
}

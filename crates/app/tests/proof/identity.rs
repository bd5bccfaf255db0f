//! Who signs for a ledger: a store that was signed is signed by nobody else, and one that forgot something stops.

use crate::desk::{Desk, proposal, text};
use serde_json::Value;

const CHECKPOINT: &str = "ledger checkpoint --store s.db";

/// The log that a folder of keys is of, and its newest key.
fn signer(desk: &Desk, folder: &str) -> (String, String) {
    let listed = desk.json(&format!("ledger keys --store s.db --keys {folder} --json"), 0);
    let key = listed["key"].as_str().unwrap().to_owned();
    (key.split('+').next().unwrap().to_owned(), listed["id"].as_str().unwrap().to_owned())
}

/// Two signed stores, the second in a folder of keys of its own, beside the first.
fn two() -> (Desk, String, String) {
    let desk = Desk::decided(3);
    desk.back_up("never-signed.db");
    desk.says(CHECKPOINT, 0);
    desk.back_up("signed.db");
    desk.decide(3..6);
    desk.says(CHECKPOINT, 0);
    let other = Desk::decided(2);
    other.says(CHECKPOINT, 0);
    let copied =
        std::process::Command::new("cp").arg("-r").arg(other.path("s.db.keys")).arg(desk.path("other")).status();
    assert!(copied.unwrap().success());
    let (log, key) = signer(&desk, "s.db.keys");
    (desk, log, key)
}

#[test]
fn a_signed_store_is_signed_by_nobody_else() {
    let (desk, log, key) = two();
    // Store and folder: what is refused, and what the refusal names.
    for (store, folder, code, named) in [
        (None, "s.db.keys", 0, ""),
        (None, "missing", 1, "SIGNER_UNKNOWN"),
        (None, "other", 1, "SIGNER_UNKNOWN"),
        (Some("signed.db"), "s.db.keys", 1, "only"),
        (Some("signed.db"), "missing", 1, "SIGNER_UNKNOWN"),
        (Some("signed.db"), "other", 1, "SIGNER_UNKNOWN"),
        (Some("never-signed.db"), "s.db.keys", 1, "only"),
        (Some("never-signed.db"), "other", 1, "must not be signed"),
        (Some("never-signed.db"), "missing", 65, "STORE_BEHIND"),
    ] {
        desk.back_up("now.db");
        if let Some(store) = store {
            desk.restore(store);
        }
        let said = desk.says(&format!("{CHECKPOINT} --keys {folder}"), code);
        assert!(said.contains(named), "{store:?} {folder}: {said}");
        if named == "SIGNER_UNKNOWN" {
            assert!(said.contains(&log) && said.contains(&key), "{said}");
            assert!(said.contains("--keys") && said.contains("ledger discontinue"), "{said}");
            assert!(!desk.path("missing").exists(), "no key is made for a ledger that has one");
            let made = desk.says("ledger keys new --store s.db --keys missing", 1);
            assert!(made.contains("SIGNER_UNKNOWN"), "{made}");
        }
        assert!(!desk.path("missing").exists(), "{store:?} {folder}");
        desk.restore("now.db");
    }
    desk.says(CHECKPOINT, 0);
    // Where nobody remembers anything, the first signing is as simple as ever.
    std::fs::rename(desk.path("s.db.keys"), desk.path("away")).unwrap();
    desk.restore("never-signed.db");
    assert!(desk.says(CHECKPOINT, 0).contains("this ledger had no key"));
}

#[test]
fn keys_that_are_older_than_the_ledger_do_not_sign_it() {
    let desk = Desk::decided(3);
    desk.says(CHECKPOINT, 0);
    let copied =
        std::process::Command::new("cp").arg("-r").arg(desk.path("s.db.keys")).arg(desk.path("old")).status().unwrap();
    assert!(copied.success());
    desk.says("ledger keys new --store s.db", 0);
    let said = desk.says(&format!("{CHECKPOINT} --keys old"), 1);
    assert!(said.contains("SIGNER_UNKNOWN"), "{said}");
    desk.says(CHECKPOINT, 0);
}

#[test]
fn a_log_whose_keys_are_lost_ends_by_a_declaration_and_its_exports_verify() {
    let desk = Desk::decided(4);
    desk.keep("old", CHECKPOINT);
    for (round, starts) in [(0, 6), (1, 8)] {
        std::fs::remove_dir_all(desk.path("s.db.keys")).unwrap();
        assert!(desk.says(CHECKPOINT, 1).contains("SIGNER_UNKNOWN"));
        let said = desk.says("ledger discontinue --because laptop --store s.db", 0);
        assert!(said.contains("is not known without its keys"), "round {round}: {said}");
        assert!(said.contains(&format!("/{} starts at entry", round + 1)), "{starts} {said}");
        desk.decide(10 + round..11 + round);
        desk.says("ledger export --store s.db --out l.export", 0);
        let said = desk.says("verify l.export", 0);
        assert!(said.contains(&format!("{} earlier log", round + 1)), "{said}");
    }
    // Whoever kept a checkpoint of the first log can still compare it.
    desk.says("verify l.export old", 0);
    let other = Desk::decided(1);
    let said = other.says("ledger discontinue --because x --store s.db", 1);
    assert!(said.contains("nothing was ever signed"), "{said}");
}

#[test]
fn a_restored_store_neither_decides_nor_performs_until_someone_says_what_was_lost() {
    let desk = Desk::decided(3);
    desk.says(CHECKPOINT, 0);
    desk.back_up("backup.db");
    desk.decide(3..6);
    desk.says(CHECKPOINT, 0);
    desk.restore("backup.db");
    // What was accepted since the backup would be accepted a second time.
    let output = desk.try_to_decide(4);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(65), "{said}");
    assert!(output.stdout.is_empty(), "no answer: {}", text(&output.stdout));
    for part in ["STORE_BEHIND", "has 7 entries", "published 10", "ledger discontinue"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for command in ["run --once --store s.db", "tick --store s.db", "agents suspend bot --because x --store s.db"] {
        assert!(desk.says(command, 65).contains("STORE_BEHIND"), "{command}");
    }
    // Looking is free, and says the same.
    assert!(desk.says("report --store s.db", 0).contains("STORE_BEHIND"));
    desk.says("ledger discontinue --because restored --store s.db", 0);
    assert_eq!(desk.try_to_decide(4).status.code(), Some(0));
    desk.says("run --once --store s.db", 0);
    // Keys that lie elsewhere speak up where they are named, and only about their own store.
    std::fs::rename(desk.path("s.db.keys"), desk.path("kept")).unwrap();
    desk.says(&format!("{CHECKPOINT} --keys kept"), 0);
    desk.restore("backup.db");
    let keys = [("WRITKEEPER_KEYS", "kept")];
    let decide = "decide --store s.db --contract contract.yaml --context context.json";
    let output = desk.run_with(decide, &proposal(5, 5), &keys);
    assert!(text(&output.stderr).contains("STORE_BEHIND"), "{}", text(&output.stderr));
    assert!(desk.says("run --once --keys kept --store s.db", 65).contains("STORE_BEHIND"));
    let other = "decide --store new.db --contract contract.yaml --context context.json";
    assert_eq!(desk.run_with(other, &proposal(5, 5), &keys).status.code(), Some(0));
}

#[test]
fn an_export_under_another_name_than_the_ledger_records_is_damaged() {
    let desk = Desk::decided(3);
    desk.says("ledger export --store s.db --out l.export", 0);
    let export = std::fs::read_to_string(desk.path("l.export")).unwrap();
    let ring = |desk: &Desk| std::fs::read_to_string(desk.path("s.db.keys/keyring")).unwrap();
    let other = Desk::decided(3);
    other.says("ledger export --store s.db --out l.export", 0);
    let mut header: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    header["logs"][0]["keyring"] = Value::from(ring(&other));
    header["logs"][0]["checkpoints"] = Value::Array(Vec::new());
    let header = values::json::Json::parse(header.to_string().as_bytes()).unwrap().to_canonical();
    let rest: Vec<&str> = export.lines().skip(2).collect();
    let forged = format!("{header}\n{}\n{}\n", values::ids::Digest::of(&header), rest.join("\n"));
    std::fs::write(desk.path("forged"), forged).unwrap();
    let said = desk.says("verify forged", 1);
    assert!(said.contains("records"), "{said}");
}

/// Signed with three decisions, again with six, and put back to what it was with three.
fn restored() -> Desk {
    let desk = Desk::decided(3);
    desk.says(CHECKPOINT, 0);
    desk.back_up("old.db");
    desk.decide(3..6);
    desk.says(CHECKPOINT, 0);
    desk.restore("old.db");
    desk
}

#[test]
fn a_store_that_is_behind_is_so_by_any_of_its_names() {
    let desk = restored();
    std::fs::create_dir(desk.path("sub")).unwrap();
    std::os::unix::fs::symlink("../s.db", desk.path("sub/link.db")).unwrap();
    let output =
        desk.run("decide --store sub/link.db --contract contract.yaml --context context.json", &proposal(4, 5));
    assert_eq!(output.status.code(), Some(65), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("STORE_BEHIND"), "{}", text(&output.stderr));
    let said = desk.says("run --once --store sub/link.db", 65);
    assert!(said.contains("STORE_BEHIND"), "{said}");
}

#[test]
fn keys_that_forgot_what_they_published_let_nothing_be_decided() {
    let desk = restored();
    let signed = std::fs::read(desk.path("s.db.keys/signed")).unwrap();
    for broken in [None, Some("nonsense"), Some("")] {
        match broken {
            None => std::fs::remove_file(desk.path("s.db.keys/signed")).unwrap(),
            Some(text) => std::fs::write(desk.path("s.db.keys/signed"), text).unwrap(),
        }
        let output = desk.try_to_decide(4);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{broken:?}: {said}");
        assert!(said.contains("STORE_BEHIND") && said.contains("is not known"), "{broken:?}: {said}");
        desk.says("run --once --store s.db", 65);
    }
    std::fs::write(desk.path("s.db.keys/signed"), signed).unwrap();
    assert!(text(&desk.try_to_decide(4).stderr).contains("has published"));
}

#[test]
fn a_signed_store_without_its_keys_says_so() {
    let desk = Desk::decided(3);
    assert!(!text(&desk.try_to_decide(3).stderr).contains("signs for"), "nobody signs for it");
    desk.says(CHECKPOINT, 0);
    assert!(!text(&desk.try_to_decide(4).stderr).contains("not known"), "its keys are there");
    std::fs::rename(desk.path("s.db.keys"), desk.path("elsewhere")).unwrap();
    let said = text(&desk.try_to_decide(5).stderr);
    assert!(said.contains("signs for `s.db`") && said.contains("WRITKEEPER_KEYS"), "{said}");
    assert!(desk.says("run --once --store s.db", 0).contains("signs for `s.db`"));
}

#[test]
fn who_performs_beside_keys_sees_another_history_of_any_length() {
    let desk = restored();
    std::fs::rename(desk.path("s.db.keys"), desk.path("elsewhere")).unwrap();
    // As many entries as were published, and more: sizes say nothing.
    for orders in [10..13, 13..20] {
        desk.decide(orders);
        let said = desk.says("run --once --store s.db --keys elsewhere", 65);
        assert!(said.contains("STORE_BEHIND") && said.contains("another history"), "{said}");
    }
    // The right history goes on.
    let desk = Desk::decided(3);
    desk.says(CHECKPOINT, 0);
    for _ in 0..2 {
        desk.says("run --once --store s.db --keys s.db.keys", 0);
    }
}

//! Proofs as a person, a script or a stranger meets them: export, verify, receipts, keys, erasure, signed proposals.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop loudly")]

mod alarms;
mod checking;
mod desk;
mod full_disk;
mod identity;
mod sealing;

use desk::{CONTRACT, Desk, proposal, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn an_export_verifies_as_file_and_as_folder_and_damage_is_named() {
    let desk = Desk::decided(40);
    let said = desk.says("ledger export --store s.db --out l.export", 0);
    assert!(said.contains("this ledger had no key"), "the first key is announced: {said}");
    assert!(desk.path("s.db.keys").exists());
    desk.says("ledger export --store s.db --out tiles/", 0);
    for name in ["l.export", "tiles"] {
        let found = desk.json(&format!("verify {name} --json"), 0);
        assert_eq!((&found["outcome"], &found["decisions"]), (&Value::from("clean"), &Value::from(40)), "{found}");
        assert_eq!(found["own_key"], true);
    }
    let export = std::fs::read_to_string(desk.path("l.export")).unwrap();
    let offset = export.find("\"AB-7\"").unwrap() + 3;
    let index: u64 = export[..offset].lines().last().unwrap().split('\t').nth(1).unwrap().parse().unwrap();
    desk.flip("l.export", offset);
    let found = desk.json("verify l.export --json", 1);
    assert_eq!(found["damage"]["index"], index, "{found}");
    std::fs::write(desk.path("l.export"), &export[..export.len() / 2]).unwrap();
    assert!(desk.says("verify l.export", 1).contains("damaged: entry"));
    std::fs::write(desk.path("l.export"), &export[..20]).unwrap();
    assert_eq!(desk.run("verify l.export", "").status.code(), Some(65), "nothing is left to recognise it by");
    desk.flip("tiles/tile/entries/000.p/44", 500);
    assert!(desk.says("verify tiles", 1).contains("damaged: entry"));
}

#[test]
fn what_nobody_reported_counts_only_for_those_who_demand_it() {
    let desk = Desk::new();
    let decide = |order: usize, at: &str| {
        let arguments = format!("decide --store s.db --contract contract.yaml --context context.json --at {at}");
        assert_eq!(desk.run(&arguments, &proposal(order, 5)).status.code(), Some(0));
    };
    // Later than now, so that the record of the first key, made by the export, is not what makes them late.
    decide(1, "2199-03-01T09:00:00Z");
    decide(2, "2199-03-01T10:00:00Z");
    desk.says("ledger export --store s.db --out l.export", 0);
    let found = desk.json("verify l.export --json", 0);
    assert_eq!((&found["unreported"], &found["intents"]["HANDED_OUT"]), (&Value::from(1), &Value::from(2)), "{found}");
    assert!(desk.says("verify l.export --demand-reports", 2).contains("1 handed out"));
}

#[test]
fn a_stranger_with_another_key_is_not_convinced() {
    let (desk, other) = (Desk::decided(3), Desk::decided(3));
    for desk in [&desk, &other] {
        desk.says("ledger export --store s.db --out l.export", 0);
    }
    let key = |desk: &Desk| desk.json("ledger keys --store s.db --json", 0)["key"].as_str().unwrap().to_owned();
    assert!(!desk.says(&format!("verify l.export --key {}", key(&desk)), 0).contains("the export's own"));
    let said = desk.says(&format!("verify l.export --key {}", key(&other)), 1);
    assert!(said.contains("none of the keys given"), "{said}");
    std::fs::write(desk.path("policy"), format!("log {}\n", key(&desk))).unwrap();
    desk.says("verify l.export --policy policy", 0);
    std::fs::write(desk.path("nobody"), "# log …\n").unwrap();
    desk.says("verify l.export --policy nobody", 65);
    desk.says("verify l.export --key nonsense", 64);
    // Nothing signed is nothing shown, whoever is believed.
    let export = std::fs::read_to_string(desk.path("l.export")).unwrap();
    let mut header: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    header["size"] = Value::from("0");
    header["logs"][0]["checkpoints"] = Value::Array(Vec::new());
    let header = values::json::Json::parse(header.to_string().as_bytes()).unwrap().to_canonical();
    std::fs::write(desk.path("hollow"), format!("{header}\n{}\n", values::ids::Digest::of(&header))).unwrap();
    let said = desk.says(&format!("verify hollow --key {}", key(&desk)), 2);
    assert!(said.contains("nothing here is signed"), "{said}");
    std::fs::write(desk.path("something"), "else").unwrap();
    desk.says("verify something", 65);
}

#[test]
fn checkpoints_are_compared_and_two_histories_are_noticed() {
    let desk = Desk::decided(5);
    let checkpoint = |name: &str| {
        let output = desk.run("ledger checkpoint --store s.db", "");
        std::fs::write(desk.path(name), output.stdout).unwrap();
    };
    checkpoint("first");
    desk.decide(5..9);
    checkpoint("second");
    desk.says("ledger export --store s.db --out l.export", 0);
    desk.says("verify l.export first second", 0);
    assert!(desk.says("verify first second", 2).contains("give it too"), "growth cannot be seen from two roots");
    let other = Desk::decided(6);
    other.says("ledger export --store s.db --out l.export", 0);
    std::fs::copy(other.path("l.export"), desk.path("other.export")).unwrap();
    desk.says("verify other.export first", 1);
}

#[test]
fn a_receipt_verifies_in_another_language() {
    let desk = Desk::decided(20);
    let line: Value = serde_json::from_str(desk.decide(50..51).lines().next().unwrap()).unwrap();
    let id = line["id"].as_str().unwrap();
    desk.says(&format!("ledger receipt {id} --store s.db --out r.receipt"), 0);
    desk.says("verify r.receipt", 0);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/verify_receipt.py");
    let python = |file: &str| Command::new("python3").arg(&script).arg(desk.path(file)).output();
    let Ok(first) = python("r.receipt") else {
        println!("missing: python3");
        return;
    };
    assert_eq!(first.status.code(), Some(0), "{}{}", text(&first.stdout), text(&first.stderr));
    let good = std::fs::read(desk.path("r.receipt")).unwrap();
    let mut noticed = 0;
    for offset in (0..good.len()).step_by(good.len() / 24) {
        desk.flip("r.receipt", offset);
        let ours = desk.run("verify r.receipt", "").status.code();
        let theirs = python("r.receipt").unwrap().status.code();
        assert!(ours != Some(0) && theirs != Some(0), "byte {offset}: {ours:?} {theirs:?}");
        noticed += 1;
        std::fs::write(desk.path("r.receipt"), &good).unwrap();
    }
    println!("{noticed} damaged receipts, all noticed by both");
}

#[test]
fn erasing_leaves_every_proof_and_says_so() {
    let desk = Desk::decided(10);
    desk.says("ledger hold case-12 --from 0 --to 6 --because lawsuit --store s.db", 0);
    let said = desk.says("ledger erase --from 5 --to 7 --because gdpr --store s.db", 1);
    assert!(said.contains("LEGAL_HOLD") && said.contains("lawsuit"), "{said}");
    desk.says("ledger erase --from 6 --to 8 --because gdpr --store s.db", 0);
    desk.says("ledger export --store s.db --out l.export", 0);
    let said = desk.says("verify l.export", 2);
    assert!(said.contains("2 not replayable: erased"), "{said}");
    assert!(!said.contains("damaged") && !said.contains("no record says"), "{said}");
    desk.says("ledger release case-12 --because settled --store s.db", 0);
    desk.says("ledger erase --from 5 --to 6 --because gdpr --store s.db", 0);
    let secret = std::fs::read(desk.path("s.db")).unwrap();
    assert!(!secret.windows(6).any(|window| window == b"\"AB-3\""), "what is erased is not left in the file");
}

#[test]
fn keys_rotate_and_a_restored_store_is_not_signed() {
    let desk = Desk::decided(5);
    desk.says("ledger export --store s.db --out l.export", 0);
    desk.back_up("backup.db");
    let old = desk.json("ledger keys --store s.db --json", 0)["id"].as_str().unwrap().to_owned();
    desk.says("ledger keys new --store s.db", 0);
    desk.says("ledger checkpoint --store s.db", 0);
    desk.says(&format!("ledger keys retire {old} --store s.db"), 0);
    desk.decide(5..8);
    desk.says("ledger export --store s.db --out l.export", 0);
    let found = desk.json("verify l.export --json", 0);
    assert_eq!(found["checkpoints"], 3, "{found}");
    desk.restore("backup.db");
    let said = desk.says("ledger checkpoint --store s.db", 1);
    assert!(said.contains("must not be signed") && said.contains("discontinue"), "{said}");
    desk.says("ledger discontinue --because backup --store s.db", 0);
    desk.decide(20..23);
    desk.says("ledger export --store s.db --out l.export", 0);
    let said = desk.says("verify l.export", 0);
    assert!(said.contains("1 earlier log ended with a declared discontinuity"), "{said}");
}

#[test]
fn an_agent_with_a_key_must_sign_and_every_forgery_has_its_code() {
    let desk = Desk::new();
    let key = text(&desk.run("sign --new agent.key", "").stdout);
    let key = key.trim();
    desk.run("sign --new other.key", "");
    desk.says(&format!("agents register --contract contract.yaml --key {key} --store s.db"), 0);
    desk.says("agents activate --contract contract.yaml --store s.db", 0);
    desk.says("context set rate 1 --store s.db", 0);
    let snapshot = desk.json("context snapshot rate --store s.db --json", 0);
    let snapshot = snapshot["snapshot"].as_str().unwrap().to_owned();
    let proposal = |order: usize, named: &str| {
        format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"AB-{order}","amount":5}},"snapshot":"{named}"}}"#)
    };
    let signed = |key: &str, named: &str, stated: &str, order: usize| {
        let arguments = format!("sign --key {key} --contract contract.yaml --snapshot {stated}");
        text(&desk.run(&arguments, &proposal(order, named)).stdout)
    };
    let judged = |line: &str| {
        let output = desk.run("decide --store s.db --receipts receipts", line);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let reasons: Vec<&str> =
            answer["reasons"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
        (
            format!("{} {}", answer["verdict"].as_str().unwrap(), reasons.join(", ")),
            answer["id"].as_str().unwrap().to_owned(),
        )
    };
    let honest = signed("agent.key", &snapshot, &snapshot, 1);
    let (said, id) = judged(&honest);
    assert_eq!(said, "ACCEPT VALIDATION_PASSED");
    desk.says(&format!("verify receipts/{id}.receipt"), 0);
    assert_eq!(judged(&honest).0, "REJECT REPLAYED, IN_PROGRESS");
    assert_eq!(judged(&proposal(2, &snapshot)).0, "REJECT REJECT_AUTH", "an agent with a key must sign");
    assert_eq!(judged(&signed("other.key", &snapshot, &snapshot, 2)).0, "REJECT REJECT_AUTH");
    let wrong = "0".repeat(64);
    assert_eq!(judged(&signed("agent.key", &snapshot, &wrong, 2)).0, "REJECT REJECT_CONTEXT");
    let narrower = CONTRACT.replace("<= 25", "<= 24");
    std::fs::write(desk.path("contract.yaml"), narrower).unwrap();
    assert_eq!(judged(&signed("agent.key", &snapshot, &snapshot, 2)).0, "REJECT REJECT_HASH");
    std::fs::write(desk.path("contract.yaml"), CONTRACT).unwrap();
    desk.says("context set rate 2 --store s.db", 0);
    assert_eq!(judged(&signed("agent.key", &snapshot, &snapshot, 2)).0, "REJECT STATE_DRIFT, REJECT_DRIFT");
    std::fs::write(desk.path("proof.json"), &honest).unwrap();
    desk.says(&format!("verify proof.json --key {key}"), 0);
    // Every proof is recorded and judged again.
    desk.says("ledger export --store s.db --out l.export", 0);
    desk.says("verify l.export", 0);
}

#[test]
fn a_disk_that_does_not_sync_ends_the_process() {
    let desk = Desk::decided(3);
    desk.says("ledger checkpoint --store s.db", 0);
    desk.decide(3..5);
    let output = desk.run_with("ledger checkpoint --store s.db", "", &[("WRITKEEPER_FSYNC_FAILS", "1")]);
    if output.status.code() == Some(0) {
        println!("missing: the feature `bugs`");
        return;
    }
    assert_eq!(output.status.code(), None, "it must be gone, not go on");
    assert!(output.stdout.is_empty(), "no signature may leave");
    desk.says("ledger checkpoint --store s.db", 0);
}

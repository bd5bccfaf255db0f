//! `writkeeper contract backtest`: its last line, its exit codes, and the same answer from a store and from an export.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

const CONTRACT: &str = r#"agent: bot
actions:
  pay:
    once: "pay:{order}"
    params: { order: text, amount: number }
    allow: amount <= 25
    run: host
"#;

fn writkeeper(folder: &Path, words: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
    process.args(words.split(' ')).current_dir(folder).env_remove("WRITKEEPER_STORE").output().unwrap()
}

/// A folder with a store of three decisions, its export, and a contract with a lower limit.
fn desk() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let line = |amount: u32| {
        format!("{{\"agent\":\"bot\",\"action\":\"pay\",\"params\":{{\"order\":\"o{amount}\",\"amount\":{amount}}}}}\n")
    };
    let lines: String = [8, 20, 30].into_iter().map(line).collect();
    let files = [("bot.yaml", CONTRACT.to_owned()), ("low.yaml", CONTRACT.replace("25", "10")), ("lines", lines)];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    writkeeper(folder.path(), "decide --quiet --store kept.db --contract bot.yaml lines");
    writkeeper(folder.path(), "ledger export --store kept.db --out all.export");
    folder
}

fn check(folder: &Path, words: &str, code: i32, last: &str) {
    let output = writkeeper(folder, &format!("contract backtest {words}"));
    let told = if code < 64 { &output.stdout } else { &output.stderr };
    let said = String::from_utf8_lossy(told);
    assert_eq!(output.status.code(), Some(code), "{words}: {said}");
    let line = said.lines().last().unwrap_or_default();
    assert!(if code < 64 { line == last } else { line.contains(last) }, "{words}: {said}");
}

#[test]
fn stores_and_exports_tell_the_same() {
    let desk = desk();
    let folder = desk.path();
    let (none, one) = (r#"{"decisions":3,"flipped":0,"unknown":0}"#, r#"{"decisions":3,"flipped":1,"unknown":0}"#);
    check(folder, "bot.yaml --store kept.db --json", 0, none);
    check(folder, "bot.yaml --export all.export --json", 0, none);
    check(folder, "low.yaml --store kept.db --json", 1, one);
    check(folder, "low.yaml --export all.export --json", 1, one);
    check(folder, "low.yaml --store kept.db --since 30d", 1, "this change flips 1 of 3 decisions");
    check(folder, "low.yaml --store none.db", 65, "there is no store at `none.db`");
    check(folder, "low.yaml --store kept.db --since soon", 64, "--since `soon` is no duration");
}

#[test]
fn what_is_no_export_is_told_as_that() {
    let desk = desk();
    check(desk.path(), "bot.yaml --export bot.yaml", 65, "is neither an exported ledger nor");
    check(desk.path(), "bot.yaml --export none.export", 65, "none.export");
    let note = "log\n1\nqQ==\n\nextra x\nindex 0\n";
    std::fs::write(desk.path().join("some.receipt"), note).unwrap();
    check(desk.path(), "bot.yaml --export some.receipt", 65, "is no exported ledger");
}

#[test]
fn an_altered_export_is_refused() {
    let desk = desk();
    let path = desk.path().join("all.export");
    let text = std::fs::read_to_string(&path).unwrap();
    let altered = text.replace(r#"\"amount\":20"#, r#"\"amount\":21"#).replace(r#""amount":20"#, r#""amount":21"#);
    assert_ne!(text, altered);
    std::fs::write(&path, altered).unwrap();
    check(desk.path(), "bot.yaml --export all.export", 65, "STORE_DAMAGED");
}

/// What `agents activate` says, and how it ends.
fn activated(folder: &Path, words: &str, code: i32, part: &str) {
    let output = writkeeper(folder, &format!("agents activate --store kept.db {words}"));
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{words}: {said}");
    assert!(said.contains(part), "{words}: {said}");
}

#[test]
fn activating_says_first_what_would_have_been_otherwise() {
    let desk = desk();
    let folder = desk.path();
    let said = "this change flips 1 of 3 decisions\nbot is ACTIVE\n";
    activated(folder, "--contract low.yaml", 0, said);
    let told = r#""backtest":{"complete":true,"decisions":3,"flipped":0,"instead_of":""#;
    activated(folder, "--contract bot.yaml --json", 0, told);
    activated(folder, "--contract bot.yaml", 0, "bot is ACTIVE\n");
    let output = writkeeper(folder, "agents activate --store kept.db --contract low.yaml --backtest 0s");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "bot is ACTIVE\n");
    activated(folder, "--contract low.yaml --backtest soon", 64, "--backtest `soon` is no duration");
}

#[test]
fn a_contract_that_locks_the_agent_in_is_refused_unless_told() {
    let desk = desk();
    let folder = desk.path();
    let locked = CONTRACT.replace("    run: host\n", "    ask: amount <= 50\n    run: host\n")
        + "escalation: { approvers: [desk], budget: { max: 0, per: 1h } }\n";
    std::fs::write(folder.join("locked.yaml"), locked).unwrap();
    let refused = "closes a way out: answering (`escalation.budget.max`): people are to be asked";
    activated(folder, "--contract locked.yaml", 65, refused);
    activated(folder, "--contract locked.yaml", 65, "add --allow-locked");
    activated(folder, "--contract locked.yaml --allow-locked", 0, "bot is ACTIVE");
}

//! `init`, `doctor` and undoing: foreign hooks stay, nothing is written twice, drift is named.

use crate::site::{HOSTS, Site, Told, text};
use serde_json::{Value, json};

#[test]
fn wiring_keeps_foreign_hooks_and_can_be_undone() {
    let site = Site::bare();
    let file = site.configuration("claude-code");
    let foreign = json!({
        "model": "opus",
        "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "mine" }] }] },
        "permissions": { "allow": ["Bash(ls)"] },
    });
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("{}\n", serde_json::to_string_pretty(&foreign).unwrap())).unwrap();
    let before = std::fs::read_to_string(&file).unwrap();
    let dry = site.init(&["claude-code"], &["--dry-run"]);
    assert!(dry.contains("+ ") && dry.contains("PostToolUse"), "{dry}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "a dry run writes nothing");
    site.init(&["claude-code"], &[]);
    let once = std::fs::read_to_string(&file).unwrap();
    let wired: Value = serde_json::from_str(&once).unwrap();
    assert_eq!(wired["hooks"]["PreToolUse"][0], foreign["hooks"]["PreToolUse"][0]);
    assert_eq!(wired["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
    let keys: Vec<&String> = wired.as_object().unwrap().keys().collect();
    assert_eq!(keys.first().unwrap().as_str(), "model", "order is kept");
    let again = site.init(&["claude-code"], &[]);
    assert!(again.contains("as it was"), "{again}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), once);
    site.init(&["claude-code"], &["--undo"]);
    let undone: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(undone, foreign);
    assert!(site.guard().join("guard.db").is_file(), "what was decided stays");
}

#[test]
fn every_host_can_be_wired_and_unwired() {
    let site = Site::guarding(&HOSTS);
    for host in HOSTS {
        let written = std::fs::read_to_string(site.configuration(host)).unwrap();
        assert!(written.contains("writkeeper-guard"), "{host}");
        site.init(&[host], &["--undo"]);
        assert!(!site.configuration(host).exists(), "{host}: a file that held only ours goes with it");
    }
}

#[test]
fn undoing_brings_back_the_same_bytes() {
    for text in [
        "{}",
        "{}\n",
        "{\"model\":\"m\",\"list\":[1, 2]}",
        "{\n\t\"model\": \"m\",\n\t\"hooks\": {}\n}",
        "{\n    \"b\": 1.50,\n    \"a\": [1, 2]\n}\n\n",
    ] {
        let site = Site::bare();
        let file = site.configuration("claude-code");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        site.init(&["claude-code"], &["--observe"]);
        // A second time, in another mode, over what is ours already.
        site.init(&["claude-code"], &[]);
        let wired = std::fs::read_to_string(&file).unwrap();
        let lead = text.lines().nth(1).map(|line| &line[..line.len() - line.trim_start().len()]).unwrap_or("  ");
        assert!(wired.contains(&format!("\n{lead}\"hooks\"")), "the indentation is the person's: {wired}");
        site.init(&["claude-code"], &["--undo"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    // What somebody changed meanwhile stays changed.
    let site = Site::bare();
    let file = site.configuration("claude-code");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{\"model\":\"m\"}").unwrap();
    site.init(&["claude-code"], &[]);
    let wired = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, wired.replace("\"m\"", "\"n\"")).unwrap();
    site.init(&["claude-code"], &["--undo"]);
    let undone: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(undone, json!({ "model": "n" }));
    // And a table of another host, without an end of its last line.
    let file = site.configuration("codex");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "model = \"m\"").unwrap();
    site.init(&["codex"], &[]);
    site.init(&["codex"], &["--undo"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "model = \"m\"");
}

#[test]
fn the_doctor_tells_undoing_from_taking_away() {
    let site = Site::guarding(&["claude-code", "gemini"]);
    site.init(&["claude-code"], &["--undo"]);
    let said = site.says(&["doctor", "--live"], 0);
    assert!(said.contains("Claude Code  not guarded, by `init --undo`"), "{said}");
    std::fs::remove_file(site.configuration("gemini")).unwrap();
    let said = site.says(&["doctor"], 1);
    assert!(said.contains("`BeforeTool` is not wired"), "{said}");
    site.init(&["claude-code", "gemini"], &[]);
    let said = site.says(&["doctor", "--live"], 0);
    assert!(!said.contains("--undo"), "{said}");
}

#[test]
fn wiring_says_when_the_host_would_not_run_it() {
    let site = Site::bare();
    let file = site.configuration("claude-code");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{\"disableAllHooks\": true}\n").unwrap();
    let said = site.says(&["init", "--host", "claude-code"], 1);
    assert!(said.contains("hooks are switched off in") && !said.contains("enforced\n"), "{said}");
    for (text, problem) in [
        ("\u{feff}{}", "byte order mark"),
        ("{ // mine\n}", "comments"),
        ("{\"a\": 1,}", "commas"),
        ("[]", "not an object"),
        ("{\"hooks\": 1}", "`hooks` is not an object"),
    ] {
        std::fs::write(&file, text).unwrap();
        let said = site.says(&["init", "--host", "claude-code"], 65);
        assert!(said.contains(problem) && said.contains("settings.json"), "{text}: {said}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "nothing was written");
    }
}

#[test]
fn observing_first_and_enforcing_later_is_one_word() {
    let site = Site::bare();
    let said = site.init(&["claude-code"], &["--observe"]);
    assert!(said.contains("nothing is stopped"), "{said}");
    assert_eq!(site.shell("rm -rf /"), Told::Runs);
    let said = site.init(&["claude-code"], &[]);
    assert!(said.contains("- mode: observe") && said.contains("+ mode: enforce"), "{said}");
    assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)));
    let report = site.says(&["report", "--since", "1h", "--json"], 0);
    let report: Value = serde_json::from_str(report.lines().next().unwrap()).unwrap();
    assert_eq!(report["would_have_stopped"]["verdicts"]["REJECT"], json!(1), "{report}");
    assert_eq!(report["verdicts"]["REJECT"], json!(2), "{report}");
}

#[test]
fn the_doctor_sends_a_canary_through_every_host() {
    let site = Site::guarding(&HOSTS);
    let well = site.says(&["doctor", "--json"], 0);
    let well: Value = serde_json::from_str(well.lines().next().unwrap()).unwrap();
    for (found, host) in well["hosts"].as_array().unwrap().iter().zip(HOSTS) {
        assert_eq!(found["host"], json!(host));
        assert_eq!(found["canary"], json!("refused"), "{found}");
        assert_eq!(found["written"], found["moments"], "{found}");
        assert_eq!(found["enforced"], json!(false), "no call has arrived: {found}");
    }
}

#[test]
fn the_doctor_names_drift() {
    let site = Site::guarding(&["claude-code", "codex"]);
    // Somebody turns the command into one that always says yes.
    let file = site.configuration("claude-code");
    let drifted = std::fs::read_to_string(&file).unwrap().replace("o=$(if", "exit 0;o=$(if");
    std::fs::write(&file, drifted).unwrap();
    let said = site.says(&["doctor"], 1);
    assert!(said.contains("`PreToolUse` runs another command line"), "{said}");
    let said = site.says(&["doctor", "--live"], 1);
    assert!(said.contains("the canary was not refused"), "{said}");
    // And somebody edits the contract.
    let contract = site.guard().join("codex.yaml");
    let edited = std::fs::read_to_string(&contract).unwrap().replace("mission: Change", "mission: Rewrite");
    std::fs::write(&contract, edited).unwrap();
    let said = site.says(&["doctor"], 1);
    assert!(said.contains("was changed and is not in force"), "{said}");
    site.init(&["codex", "claude-code"], &[]);
    site.says(&["doctor", "--live"], 0);
}

#[test]
fn the_doctor_names_entries_that_no_longer_run_for_every_tool() {
    let site = Site::guarding(&HOSTS);
    site.says(&["doctor"], 0);
    let before = |host: &str| std::fs::read_to_string(site.configuration(host)).unwrap();
    let mut rows = 0;
    for (host, at, member, value) in [
        ("claude-code", "/hooks/PreToolUse/0", "matcher", json!("NoSuchTool")),
        ("claude-code", "/hooks/PreToolUse/0/hooks/0", "timeout", json!(1)),
        ("claude-code", "/hooks/PreToolUse/0/hooks/0", "async", json!(true)),
        ("claude-code", "/hooks/PreToolUse/0/hooks/0", "type", json!("prompt")),
        ("claude-code", "/hooks/PreToolUse/0/hooks/0", "onFailure", json!("continue")),
        ("gemini", "/hooks/BeforeTool/0", "matcher", json!("x")),
        ("gemini", "/hooks/BeforeTool/0/hooks/0", "timeout", json!(1)),
        ("qwen", "/hooks/PreToolUse/0", "matcher", json!("x")),
        ("cursor", "/hooks/preToolUse/0", "matcher", json!("x")),
        ("cursor", "/hooks/preToolUse/0", "failClosed", json!(false)),
        ("copilot", "/hooks/preToolUse/0", "timeoutSec", json!(0)),
        ("copilot", "/hooks/preToolUse/0", "matcher", json!("x")),
    ] {
        let whole = before(host);
        let mut document: Value = serde_json::from_str(&whole).unwrap();
        document.pointer_mut(at).unwrap()[member] = value;
        std::fs::write(site.configuration(host), document.to_string()).unwrap();
        let said = site.says(&["doctor"], 1);
        assert!(said.contains(&format!("was changed (`{member}`)")), "{host} {member}: {said}");
        std::fs::write(site.configuration(host), whole).unwrap();
        rows += 1;
    }
    let whole = before("codex");
    std::fs::write(site.configuration("codex"), whole.replacen("timeout = ", "timeout = 1 # ", 1)).unwrap();
    assert!(site.says(&["doctor"], 1).contains("between the marks"));
    std::fs::write(site.configuration("codex"), whole).unwrap();
    site.says(&["doctor"], 0);
    assert_eq!(rows, 12);
}

#[test]
fn the_doctor_names_hooks_that_are_switched_off() {
    let site = Site::guarding(&["claude-code", "codex", "qwen", "copilot"]);
    site.says(&["doctor"], 0);
    let whole = std::fs::read_to_string(site.configuration("codex")).unwrap();
    for (host, name, text) in [
        ("claude-code", ".claude/settings.local.json", r#"{"disableAllHooks": true}"#.to_owned()),
        ("copilot", ".github/copilot/settings.json", r#"{"disableAllHooks": true}"#.to_owned()),
        ("codex", ".codex/config.toml", whole.replace("hooks = true", "hooks = false")),
    ] {
        let file = site.workspace().join(name);
        let before = std::fs::read_to_string(&file).ok();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let said = site.says(&["doctor"], 1);
        assert!(said.contains("hooks are switched off in") && said.contains(name), "{host}: {said}");
        match before {
            Some(before) => std::fs::write(&file, before).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
    }
    site.says(&["doctor"], 0);
}

#[test]
fn nothing_guarded_is_said_plainly() {
    let site = Site::bare();
    let said = site.says(&["doctor"], 0);
    assert!(said.contains("no host is guarded here"), "{said}");
}

#[test]
fn a_user_guards_everything() {
    let site = Site::bare();
    let mut arguments = vec!["init", "--user"];
    HOSTS.iter().for_each(|host| arguments.extend(["--host", host]));
    site.says(&arguments, 0);
    assert!(site.home().join(".claude/settings.json").is_file());
    assert!(site.home().join(".copilot/hooks/writkeeper.json").is_file());
    assert!(site.home().join(".writkeeper/guard.db").is_file());
    assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)));
    assert_eq!(site.shell("echo x > src/b.py"), Told::Runs);
    assert!(matches!(site.shell("echo x > ~/.writkeeper/claude-code.yaml"), Told::Blocked(_)));
    let plain = site.run(&["init", "--host", "nobody"], "");
    assert_eq!(plain.status.code(), Some(64), "{}", text(&plain.stderr));
}

#[test]
fn what_is_no_file_is_not_waited_for_and_a_link_stays_one() {
    let site = Site::bare();
    let file = site.configuration("claude-code");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    for more in [&[][..], &["--undo"]] {
        let arguments = [&["init", "--host", "claude-code"], more].concat();
        assert!(site.says(&arguments, 65).contains("is not a file"));
    }
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("elsewhere.json", &file).unwrap();
    site.init(&["claude-code"], &[]);
    assert!(file.symlink_metadata().unwrap().is_symlink());
    assert!(file.with_file_name("elsewhere.json").is_file());
    assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)));
}

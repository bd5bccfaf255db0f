//! Whatever breaks, nothing with an effect runs.

use crate::site::{HOSTS, Site, Told, text, told};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// The moment before a command, as each host names it.
fn moment(host: &str) -> &'static str {
    match host {
        "cursor" => "beforeShellExecution",
        "gemini" => "BeforeTool",
        "copilot" => "preToolUse",
        _ => "PreToolUse",
    }
}

#[track_caller]
fn check(site: &Site, fault: &str, command: &str, runs: bool) {
    for host in HOSTS {
        let output = site.call(host, moment(host), &site.payload(host, "pre-tool", command));
        let found = told(host, &output);
        assert_eq!(found == Told::Runs, runs, "{fault}, {host}, `{command}`: {found:?} {}", text(&output.stderr));
    }
}

/// Puts a script in the binary's place.
fn replace(site: &Site, script: &str) {
    std::fs::remove_file(site.binary()).unwrap();
    std::fs::write(site.binary(), format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(site.binary(), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_binary_that_is_gone_or_dies_or_lies_blocks() {
    let site = Site::guarding(&HOSTS);
    check(&site, "healthy", "cargo test", true);
    for (fault, script) in [
        ("killed", "kill -9 $$"),
        ("crashed", "kill -SEGV $$"),
        ("exit 1", "exit 1"),
        ("silent", "exit 0"),
        ("garbage", "echo 'thread main panicked at'"),
        (
            "allows",
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"},"permission":"allow"}'"#,
        ),
        ("half", "printf 'writkeeper:{\"hook'"),
    ] {
        replace(&site, script);
        check(&site, fault, "cargo test", false);
        check(&site, fault, "ls", false);
    }
    std::fs::remove_file(site.binary()).unwrap();
    check(&site, "missing", "cargo test", false);
    std::fs::write(site.binary(), "not a program").unwrap();
    check(&site, "not executable", "cargo test", false);
}

#[test]
fn a_binary_that_hangs_blocks_before_the_host_loses_patience() {
    let site = Site::guarding(&HOSTS);
    replace(&site, "exec sleep 600");
    std::thread::scope(|scope| {
        for host in HOSTS {
            let site = &site;
            scope.spawn(move || {
                let start = std::time::Instant::now();
                let output = site.call(host, moment(host), &site.payload(host, "pre-tool", "cargo test"));
                assert!(matches!(told(host, &output), Told::Blocked(_)), "{host}");
                println!("{host}: blocked after {} ms", start.elapsed().as_millis());
            });
        }
    });
}

#[test]
fn a_store_that_somebody_holds_blocks_and_lets_reads_pass() {
    let site = Site::guarding(&["claude-code"]);
    // Another process that has its turn and does not give it back.
    let turns: Vec<std::fs::File> = ["guard.db-queue", "guard.db-turn"]
        .into_iter()
        .map(|name| {
            let file = std::fs::File::options().write(true).open(site.guard().join(name)).unwrap();
            file.lock().unwrap();
            file
        })
        .collect();
    std::thread::scope(|scope| {
        let write = scope.spawn(|| site.shell("cargo test"));
        let read = scope.spawn(|| site.shell("ls"));
        assert!(matches!(write.join().unwrap(), Told::Blocked(_)));
        assert_eq!(read.join().unwrap(), Told::Runs);
    });
    drop(turns);
    assert_eq!(site.shell("cargo test"), Told::Runs);
}

/// A fault, and how it comes about.
type Harm = (&'static str, fn(&Site));

#[test]
fn without_a_readable_store_or_contract_only_reads_pass() {
    let broken: [Harm; 5] = [
        ("store overwritten", |site| {
            std::fs::write(site.guard().join("guard.db"), "garbage".repeat(5_000)).unwrap();
            let _ = std::fs::remove_file(site.guard().join("guard.db-wal"));
        }),
        ("store emptied", |site| {
            std::fs::write(site.guard().join("guard.db"), "").unwrap();
            let _ = std::fs::remove_file(site.guard().join("guard.db-wal"));
        }),
        ("store gone", |site| {
            std::fs::remove_file(site.guard().join("guard.db")).unwrap();
        }),
        ("contracts gone", |site| {
            for host in HOSTS {
                std::fs::remove_file(site.guard().join(format!("{host}.yaml"))).unwrap();
            }
        }),
        ("guard gone", |site| std::fs::remove_dir_all(site.guard()).unwrap()),
    ];
    for (fault, harm) in broken {
        let site = Site::guarding(&HOSTS);
        harm(&site);
        check(&site, fault, "cargo test", false);
        check(&site, fault, "echo x >> src/a.py", false);
        check(&site, fault, "ls -la", true);
        check(&site, fault, "cat ~/.ssh/id_rsa", false);
        for (tool, runs) in [
            ("KillShell", false),
            ("Task", false),
            ("Skill", false),
            ("SlashCommand", false),
            ("TodoWrite", false),
            ("ExitPlanMode", false),
            ("WebFetch", false),
            ("mcp__files__read", false),
            ("SomethingNew", false),
            ("BashOutput", true),
        ] {
            let told = site.judge(tool, &serde_json::json!({ "shell_id": "1" }));
            assert_eq!(told == Told::Runs, runs, "{fault}, {tool}: {told:?}");
        }
    }
}

#[test]
fn garbage_in_blocks() {
    let site = Site::guarding(&HOSTS);
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for sent in ["", "null", "{", "[]", "{}", r#"{"tool_name":7}"#, "\u{feff}{}", &deep, r#"{"a":1,"a":2}"#] {
        for host in HOSTS {
            let output = site.call(host, moment(host), sent);
            assert!(matches!(told(host, &output), Told::Blocked(_)), "{host} {sent}: {}", text(&output.stdout));
        }
    }
    let missing = site.payload("claude-code", "pre-tool", "ls").replace("tool_name", "tool");
    let output = site.call("claude-code", "PreToolUse", &missing);
    assert!(matches!(told("claude-code", &output), Told::Blocked(_)));
}

#[test]
fn after_a_call_and_before_a_stop_nobody_is_locked_out() {
    let site = Site::guarding(&["claude-code"]);
    std::fs::remove_file(site.binary()).unwrap();
    for (event, moment) in [("post-tool", "PostToolUse"), ("stop", "Stop"), ("prompt", "UserPromptSubmit")] {
        let output = site.call("claude-code", moment, &site.payload("claude-code", event, "ls"));
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "{}"), "{event}");
    }
}

#[test]
fn observing_stops_nothing_even_when_it_breaks() {
    let site = Site::bare();
    site.init(&HOSTS, &["--observe"]);
    check(&site, "observed", "rm -rf /", true);
    let report = site.says(&["report"], 0);
    assert!(report.contains("would have stopped 6"), "{report}");
    let store = site.guard().join("guard.db");
    std::fs::write(&store, "no store").unwrap();
    check(&site, "observed, damaged", "rm -rf /", true);
    std::fs::remove_file(&store).unwrap();
    check(&site, "observed, without a store", "rm -rf /", true);
    for host in HOSTS {
        std::fs::remove_file(site.guard().join(format!("{host}.yaml"))).unwrap();
    }
    check(&site, "observed, without a contract", "rm -rf /", true);
    std::fs::remove_file(site.binary()).unwrap();
    check(&site, "observed, missing", "rm -rf /", true);
}

#[test]
fn a_contract_kept_beside_the_store_counts_only_by_its_digest() {
    let site = Site::guarding(&["claude-code"]);
    assert_eq!(site.shell("echo x > src/b.py"), Told::Runs);
    let file = site.guard().join("guard.db-claude-code.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    let mut observing: Value = serde_json::from_str(&kept).unwrap();
    observing["mode"] = json!("observe");
    let mut free: Value = serde_json::from_str(&kept).unwrap();
    for action in free["actions"].as_object_mut().unwrap().values_mut() {
        for rules in ["refuse", "ask", "allow", "limits"] {
            action.as_object_mut().unwrap().remove(rules);
        }
    }
    for other in [observing.to_string(), free.to_string(), "{}".to_owned(), String::new(), "x".repeat(5_000_000)] {
        std::fs::write(&file, &other).unwrap();
        let said = site.shell("rm -rf /");
        assert!(matches!(said, Told::Blocked(_)), "{said:?}");
        // Whoever judged by the contract in force keeps it for the next one.
        assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
        assert_eq!(site.shell("echo x > src/b.py"), Told::Runs);
    }
}

#[test]
fn a_session_file_that_is_no_file_keeps_nobody_waiting() {
    let site = Site::guarding(&["claude-code"]);
    assert_eq!(site.shell("echo x > src/b.py"), Told::Runs);
    let folder = site.guard().join("sessions");
    let file = std::fs::read_dir(&folder).unwrap().filter_map(Result::ok).next().unwrap().path();
    std::fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    // A hook that waited for it would be blocked at its deadline.
    assert_eq!(site.shell("echo x > src/b.py"), Told::Runs);
    assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)));
}

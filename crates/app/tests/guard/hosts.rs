//! Recorded payloads of each host go in, and what comes out is what that host reads.

use crate::site::{BY_EXIT, HOSTS, Site, Told, text, told};
use ::guard::hooks::Event;
use serde_json::Value;
use std::path::Path;

#[test]
fn each_host_is_told_in_its_own_words() {
    let site = Site::guarding(&HOSTS);
    for host in HOSTS {
        let moments = ::guard::hooks::host(host).unwrap().moments;
        let (moment, _) = moments.iter().find(|(_, event)| *event == Event::PreTool).unwrap();
        let say = |command: &str| told(host, &site.call(host, moment, &site.payload(host, "pre-tool", command)));
        assert_eq!(say("cargo test"), Told::Runs, "{host}");
        assert_eq!(say("ls -la"), Told::Runs, "{host}");
        let Told::Blocked(why) = say("rm -rf / --no-preserve-root") else { panic!("{host} ran it") };
        assert!(why.contains("CATASTROPHIC") && why.contains("What to do"), "{host}: {why}");
        // Hosts that show no question of a hook are told no.
        match (host, say("git reset --hard HEAD~3")) {
            ("codex" | "gemini", Told::Blocked(why)) => assert!(why.contains("writkeeper always"), "{host}: {why}"),
            ("claude-code" | "cursor" | "qwen" | "copilot", Told::Asks(why)) => {
                assert!(why.contains("DESTRUCTIVE"), "{why}")
            }
            (host, other) => panic!("{host}: {other:?}"),
        }
    }
}

/// Whether a person is to be asked about a recorded call: nothing of an unknown server runs unasked.
fn is_asked_about(fixture: &str) -> bool {
    fixture == "pre-tool.mcp" || fixture.starts_with("pre-tool.live.") && fixture.contains("scratch")
}

#[test]
fn every_recorded_payload_is_understood() {
    let site = Site::guarding(&HOSTS);
    let mut seen = 0;
    for host in HOSTS {
        let folder = format!("{}/tests/guard/payloads/{host}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let fixture = name.strip_suffix(".json").unwrap();
            let event = fixture.split('.').next().unwrap();
            let payload = site.payload(host, fixture, "cargo test");
            let output = site.run(&["hook", event, "--host", host], &payload);
            let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
            assert_eq!(output.status.code(), Some(0), "{host} {fixture}: {stderr}");
            assert!(!stderr.contains("note"), "{host} {fixture}: {stderr}");
            let answer: Value = serde_json::from_str(&stdout).unwrap();
            assert!(answer.is_object(), "{host} {fixture}: {stdout}");
            if host == "codex" {
                fits_codex(event, &answer);
            }
            if is_asked_about(fixture) {
                assert_ne!(told(host, &output), Told::Runs, "{host} {fixture}");
            } else if event == "pre-tool" {
                assert_eq!(told(host, &output), Told::Runs, "{host} {fixture}: {stdout}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 130, "{seen}");
}

/// The published objects of Codex are closed; a member too many and the answer is lost. `ask` and `allow` are in the
/// schema and make the hook fail all the same.
fn fits_codex(event: &str, answer: &Value) {
    let known: &[&str] = match event {
        "pre-tool" | "post-tool" => {
            &["continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput", "systemMessage"]
        }
        "stop" => &["continue", "decision", "reason", "stopReason", "suppressOutput", "systemMessage"],
        _ => &["continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput", "systemMessage"],
    };
    for key in answer.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "{event}: {answer}");
    }
    let decision = answer["hookSpecificOutput"]["permissionDecision"].as_str();
    assert!(matches!(decision, None | Some("deny")), "{answer}");
}

#[test]
fn codex_accepts_what_it_is_told_by_its_own_schemas() {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let shared = above.map(|folder| folder.join("shared/cases/clients/codex-hook-schemas")).find(|path| path.is_dir());
    let Some(shared) = shared else {
        println!("skipped: shared cases not present");
        return;
    };
    let schema = |name: &str| {
        let text = std::fs::read_to_string(shared.join(format!("{name}.schema.json"))).unwrap();
        jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
    };
    let site = Site::guarding(&["codex"]);
    let mut checked = 0;
    for (event, moment, name) in
        [("pre-tool", "PreToolUse", "pre-tool-use"), ("post-tool", "PostToolUse", "post-tool-use")]
    {
        let (input, output) = (schema(&format!("{name}.command.input")), schema(&format!("{name}.command.output")));
        for command in
            ["ls", "cargo test", "git reset --hard", "rm -rf /", "curl example.com", "echo x > .codex/config.toml"]
        {
            let payload = site.payload("codex", event, command);
            let sent: Value = serde_json::from_str(&payload).unwrap();
            assert!(input.is_valid(&sent), "{event} {sent}");
            let said = text(&site.call("codex", moment, &payload).stdout);
            let answer: Value = serde_json::from_str(&said).unwrap();
            assert!(output.is_valid(&answer), "{event} {command}: {answer}");
            checked += 1;
        }
    }
    println!("{checked} answers fit the schemas");
}

#[test]
fn an_unknown_host_event_or_moment_is_an_error() {
    let site = Site::guarding(&["claude-code"]);
    let payload = site.payload("claude-code", "pre-tool", "ls");
    assert_eq!(site.run(&["hook", "pre-tool", "--host", "clod"], &payload).status.code(), Some(64));
    assert_eq!(site.run(&["hook", "pretool", "--host", "claude-code"], &payload).status.code(), Some(64));
    assert_eq!(site.run(&["hook", "pre-tool"], &payload).status.code(), Some(64));
    // The payload of another host, or of another moment, is nobody's.
    for host in HOSTS.into_iter().filter(|host| *host != "claude-code" && *host != "qwen" && *host != "codex") {
        let output = site.run(&["hook", "pre-tool", "--host", host], &payload);
        assert!(matches!(told(host, &output), Told::Blocked(_)), "{host}: {}", text(&output.stdout));
    }
    let stop = site.payload("claude-code", "stop", "");
    let output = site.run(&["hook", "pre-tool", "--host", "claude-code"], &stop);
    assert!(matches!(told("claude-code", &output), Told::Blocked(_)));
    assert_eq!(BY_EXIT.len(), 4);
}

#[test]
fn large_inputs_are_judged_and_kept_as_digests() {
    let site = Site::guarding(&["claude-code"]);
    let content = "x".repeat(3 * 1024 * 1024);
    let path = site.workspace().join("src/big.txt");
    assert_eq!(site.judge("Write", &serde_json::json!({ "file_path": path, "content": content })), Told::Runs);
    let store = std::fs::metadata(site.guard().join("guard.db")).unwrap().len();
    let log = std::fs::metadata(site.guard().join("guard.db-wal")).map_or(0, |file| file.len());
    assert!(store + log < 1024 * 1024, "{store} + {log}");
    let command = format!("echo {} > .claude/settings.json", "y".repeat(20_000));
    assert!(matches!(site.shell(&command), Told::Blocked(_)));
}

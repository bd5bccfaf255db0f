//! What a contract says about watching: thresholds of detectors, witnesses of "done", handlers of verdicts.

use crate::site::{Site, Told, text};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Adds lines at the top of the host's contract and puts it in force.
pub fn with(site: &Site, lines: &str) {
    let file = site.guard().join("claude-code.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\nactions:\n", &format!("\n{lines}\nactions:\n"), 1)).unwrap();
    site.init(&["claude-code"], &[]);
}

pub fn stop(site: &Site) -> Value {
    let output = site.run(&["hook", "stop", "--host", "claude-code"], &site.payload("claude-code", "stop", ""));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A page that says another status when it is told to.
pub fn page(well: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let status = if well.load(Ordering::SeqCst) { "200 OK" } else { "503 Unavailable" };
            let body = r#"{"version":"7"}"#;
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}/healthz")
}

#[test]
fn done_counts_when_every_witness_sees_it() {
    let site = Site::guarding(&["claude-code"]);
    assert_eq!(stop(&site), json!({}), "without witnesses nothing is held up");
    let well = Arc::new(AtomicBool::new(false));
    let address = page(well.clone());
    let witnesses = format!(
        "witnesses:\n  made: {{ command: [test, -f, done.txt], expect: {{ exit: 0 }} }}\n  \
         up: {{ http: \"{address}\", expect: {{ status: 200, version: \"7\" }} }}"
    );
    with(&site, &witnesses);
    let refused = stop(&site);
    let why = refused["reason"].as_str().unwrap();
    assert_eq!(refused["decision"], json!("block"), "{refused}");
    assert!(
        why.contains("witness `made` sees `exit` otherwise") && why.contains("witness `up` sees `status`"),
        "{why}"
    );
    assert!(why.contains("witnesses do not see what") && !why.contains("noop =="), "no rule's text: {why}");
    std::fs::write(site.workspace().join("done.txt"), "").unwrap();
    let refused = stop(&site);
    assert!(!refused["reason"].as_str().unwrap().contains("`made`"), "{refused}");
    well.store(true, Ordering::SeqCst);
    assert_eq!(stop(&site), json!({}));
}

#[test]
fn a_witness_that_cannot_be_reached_confirms_nothing() {
    let site = Site::guarding(&["claude-code"]);
    // Nobody listens on a port that was just given back; no repository has this workspace.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let lines = format!(
        "witnesses:\n  up: {{ http: \"http://127.0.0.1:{port}/\", expect: {{ status: 200 }} }}\n  \
         slow: {{ command: [sleep, \"60\"], expect: {{ exit: 0 }}, timeout: 200ms }}\n  \
         pushed: {{ git: true, expect: {{ pushed: true }} }}"
    );
    with(&site, &lines);
    let refused = stop(&site);
    let why = refused["reason"].as_str().unwrap();
    for name in ["up", "slow", "pushed"] {
        assert!(why.contains(&format!("witness `{name}` could not see")), "{name}: {why}");
    }
}

#[test]
fn thresholds_come_from_the_contract() {
    let site = Site::guarding(&["claude-code"]);
    let round = |number: usize| {
        let payload = |event: &str| {
            let payload = site.payload("claude-code", event, "make deploy-check");
            payload.replace("toolu_01ABC123", &format!("toolu_{number}"))
        };
        let before = site.run(&["hook", "pre-tool", "--host", "claude-code"], &payload("pre-tool"));
        let mut after: Value = serde_json::from_str(&payload("post-tool")).unwrap();
        after["tool_response"] = json!({ "stdout": "waiting" });
        site.run(&["hook", "post-tool", "--host", "claude-code"], &after.to_string());
        let before: Value = serde_json::from_slice(&before.stdout).unwrap();
        before["hookSpecificOutput"]["permissionDecision"] == json!("deny")
    };
    with(&site, "detectors: { stall: { repeat: 2, stall: 2 } }");
    let denied: Vec<bool> = (0..4).map(round).collect();
    assert_eq!(denied, [false, false, true, true]);
    let file = site.guard().join("claude-code.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("repeat: 2", "repeet: 2")).unwrap();
    let said = site.says(&["contract", "check", ".writkeeper/claude-code.yaml"], 65);
    assert!(said.contains("`detectors.stall.repeet` is not known; did you mean `repeat`?"), "{said}");
}

/// A program that answers every question with this.
fn handler(site: &Site, answer: &str) -> String {
    handler_named(site, "handler", answer)
}

/// The same, by a name of its own.
pub fn handler_named(site: &Site, name: &str, answer: &str) -> String {
    let path = site.path().join("bin").join(name);
    std::fs::write(&path, format!("#!/bin/sh\ncat > {}\nprintf '%s' '{answer}'\n", asked(site).display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

fn asked(site: &Site) -> std::path::PathBuf {
    site.path().join("asked.json")
}

#[test]
fn a_handler_has_its_say_and_softens_nothing() {
    let site = Site::guarding(&["claude-code"]);
    let mine = handler(&site, r#"{"rung":"BLOCK","run":false,"note":"call the desk","handler":"observe"}"#);
    with(&site, &format!("handlers: {{ desk: [{mine}] }}\nenforcement: {{ handler: desk }}"));
    let Told::Blocked(why) = site.shell("rm -rf /") else { panic!("it must not run") };
    assert!(why.contains("CATASTROPHIC") && why.contains("call the desk"), "{why}");
    let question: Value = serde_json::from_str(&std::fs::read_to_string(asked(&site)).unwrap()).unwrap();
    assert_eq!(question["format"], json!("writkeeper/handler/v1"), "{question}");
    assert_eq!(question["decision"]["rung"], json!("BLOCK"), "{question}");
    let told = site.says(&["flows", "show", "claude-code:s1", "--json", "--store", ".writkeeper/guard.db"], 0);
    assert!(told.contains(r#""handler":"desk""#) && told.contains(r#""claimed":"observe""#), "{told}");
    // Softer, nonsense and failure all come to what was decided.
    for answer in [r#"{"rung":"OBSERVE","run":true}"#, "nonsense", ""] {
        handler(&site, answer);
        assert!(matches!(site.shell("rm -rf /"), Told::Blocked(_)), "{answer}");
        assert!(matches!(site.shell("git reset --hard"), Told::Asks(_)), "{answer}");
    }
    // What is accepted runs, however hard the handler would be.
    handler(&site, r#"{"rung":"BLOCK","run":false}"#);
    assert_eq!(site.shell("make test"), Told::Runs);
    let typo = site.guard().join("claude-code.yaml");
    let text = std::fs::read_to_string(&typo).unwrap().replace("handler: desk", "handler: dsek");
    std::fs::write(&typo, text).unwrap();
    let said = site.says(&["contract", "check", ".writkeeper/claude-code.yaml"], 65);
    assert!(said.contains("did you mean `desk`? known are `observe`, `obey`, `desk`"), "{said}");
}

/// What the judge of a site says from now on.
fn judge(site: &Site, answer: &str) -> String {
    handler_named(site, "judge", answer)
}

/// Puts the judge into the contract, asks it about commands, and lets them weigh much.
fn judging(site: &Site, answer: &str, more: &str) {
    let contract = site.guard().join("claude-code.yaml");
    let text = std::fs::read_to_string(&contract).unwrap();
    let plain = "    impact: MEDIUM\n    run: host\n  tool.mcp:";
    let asked = text.replace(plain, "    judges: [cautious]\n    impact: HIGH\n    run: host\n  tool.mcp:");
    assert_ne!(asked, text);
    std::fs::write(&contract, &asked).unwrap();
    with(site, &format!("judges: {{ cautious: [{}] }}\n{more}", judge(site, answer)));
}

#[test]
fn what_a_judge_says_does_not_bind() {
    let site = Site::guarding_real_work(&["claude-code"]);
    judging(&site, r#"{"verdict":"pass","version":"1"}"#, "");
    assert_eq!(site.shell("make test"), Told::Runs);
    // A person would be asked if it bound. A sign warns, and hardly another way to read it withholds what weighs much.
    judge(&site, r#"{"verdict":"escalate","version":"1","message":"odd hour"}"#);
    let output =
        site.run(&["hook", "pre-tool", "--host", "claude-code"], &site.payload("claude-code", "pre-tool", "make test"));
    let said = text(&output.stdout);
    assert!(said.contains("judge `cautious` doubts this: odd hour") && !said.contains("permissionDecision"), "{said}");
    judge(&site, r#"{"verdict":"reject","version":"1","message":"never"}"#);
    let Told::Blocked(why) = site.shell("make test") else { panic!("it weighs much") };
    assert!(why.contains("judge `cautious` doubts this: never"), "{why}");
    // What the contract asks about it cannot let pass, and what fails abstains.
    judge(&site, "nonsense");
    assert_eq!(site.shell("make test"), Told::Runs);
    assert!(matches!(site.shell("git reset --hard"), Told::Asks(_)));
}

#[test]
fn a_handler_softens_what_a_judge_says_and_never_hardens_it() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let mine = handler(&site, r#"{"rung":"OBSERVE","run":true}"#);
    let more = format!("handlers: {{ desk: [{mine}] }}\nenforcement: {{ handler: desk }}");
    judging(&site, r#"{"verdict":"reject","version":"1","message":"never"}"#, &more);
    assert_eq!(site.shell("make test"), Told::Runs, "softened");
    judge(&site, r#"{"verdict":"escalate","version":"1"}"#);
    handler(&site, r#"{"rung":"BLOCK","run":false}"#);
    assert_eq!(site.shell("make test"), Told::Runs, "not hardened");
}

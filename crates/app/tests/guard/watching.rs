//! What happens around calls: results are kept, loops are noticed, "done" is checked.

use crate::site::{Site, Told, text};
use serde_json::{Value, json};

fn pre(site: &Site, command: &str, id: usize) -> Value {
    let payload = site.payload("claude-code", "pre-tool", command).replace("toolu_01ABC123", &format!("toolu_{id}"));
    let output = site.run(&["hook", "pre-tool", "--host", "claude-code"], &payload);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn post(site: &Site, command: &str, id: usize, response: &Value) -> Value {
    let payload = site.payload("claude-code", "post-tool", command).replace("toolu_01ABC123", &format!("toolu_{id}"));
    let mut payload: Value = serde_json::from_str(&payload).unwrap();
    payload["tool_response"] = response.clone();
    let output = site.run(&["hook", "post-tool", "--host", "claude-code"], &payload.to_string());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_loop_is_warned_about_and_then_stopped() {
    let site = Site::guarding(&["claude-code"]);
    let mut seen = Vec::new();
    for round in 0..7 {
        let before = pre(&site, "make deploy-check", round);
        let word = before["hookSpecificOutput"]["permissionDecision"].as_str().map(str::to_owned);
        let warned = before["hookSpecificOutput"]["additionalContext"].as_str().is_some();
        seen.push(word.unwrap_or_else(|| if warned { "warned" } else { "runs" }.to_owned()));
        if seen.last().unwrap() != "deny" {
            post(&site, "make deploy-check", round, &json!({ "stdout": "waiting" }));
        }
    }
    assert_eq!(seen, ["runs", "runs", "runs", "warned", "warned", "deny", "deny"]);
    assert_eq!(site.shell("make other"), Told::Runs, "only the same call again is stopped");
    // Reading is never denied, however often.
    for round in 10..18 {
        pre(&site, "ls", round);
        post(&site, "ls", round, &json!({ "stdout": "a.py" }));
    }
    assert_eq!(site.shell("ls"), Told::Runs);
}

#[test]
fn failures_in_a_row_are_noticed() {
    let site = Site::guarding(&["claude-code"]);
    let mut last = Value::Null;
    for round in 0..3 {
        let command = format!("make step-{round}");
        pre(&site, &command, round);
        last = post(&site, &command, round, &json!({ "stdout": "", "is_error": true, "n": round }));
    }
    let said = last["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    assert!(said.contains("3 failures in a row"), "{last}");
}

#[test]
fn what_we_said_ourselves_is_no_result() {
    let site = Site::guarding(&["claude-code"]);
    pre(&site, "make a", 1);
    post(&site, "make a", 1, &json!({ "stdout": "{\"writkeeper_blocked\":true}" }));
    let records = ledger(&site);
    let result = records.iter().find(|body| body["proposal"]["action"] == json!("tool.result")).unwrap();
    assert_eq!(result["proposal"]["params"]["result"]["sha256"], Value::Null, "{result}");
}

fn ledger(site: &Site) -> Vec<Value> {
    let said = site.says(&["flows", "show", "claude-code:abc123", "--json"], 0);
    let shown: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    let rows = shown["timeline"].as_array().or(shown["records"].as_array()).or(shown["events"].as_array());
    rows.unwrap_or_else(|| panic!("{shown}")).clone()
}

#[test]
fn done_counts_only_when_the_check_passes() {
    let site = Site::guarding(&["claude-code", "codex", "cursor", "gemini"]);
    let stop = |host: &str| {
        let output = site.run(&["hook", "stop", "--host", host], &site.payload(host, "stop", ""));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(stop("claude-code"), json!({}), "without a check nothing is held up");
    for host in ["claude-code", "codex", "cursor", "gemini"] {
        let file = site.guard().join(format!("{host}.yaml"));
        let text = std::fs::read_to_string(&file).unwrap();
        let check = "  session.verify: { params: { host: text, session: text }, run: { command: [test, -f, done.txt], timeout: 5s } }";
        let text = text.replace("  session.stop:\n", &format!("{check}\n  session.stop:\n"));
        std::fs::write(&file, text).unwrap();
        site.init(&[host], &[]);
    }
    let refused = stop("claude-code");
    assert_eq!(refused["decision"], json!("block"), "{refused}");
    assert!(refused["reason"].as_str().unwrap().contains("`test -f done.txt` failed"), "{refused}");
    let codex = stop("codex");
    assert_eq!(codex["decision"], json!("block"));
    assert_eq!(codex.as_object().unwrap().len(), 2, "Codex knows no other member: {codex}");
    assert!(stop("cursor")["followup_message"].is_string());
    assert_eq!(stop("gemini")["decision"], json!("deny"));
    // Three refusals, then the agent may give up.
    assert_eq!(stop("claude-code")["decision"], json!("block"));
    assert_eq!(stop("claude-code")["decision"], json!("block"));
    assert_eq!(stop("claude-code"), json!({}));
    std::fs::write(site.workspace().join("done.txt"), "").unwrap();
    assert_eq!(stop("codex"), json!({}));
}

#[test]
fn a_session_says_that_it_is_guarded() {
    let site = Site::guarding(&["claude-code"]);
    let output = site
        .run(&["hook", "session-start", "--host", "claude-code"], &site.payload("claude-code", "session-start", ""));
    assert!(text(&output.stdout).contains("judges every tool call"), "{}", text(&output.stdout));
    let output = site.run(&["hook", "prompt", "--host", "claude-code"], &site.payload("claude-code", "prompt", ""));
    assert_eq!(text(&output.stdout).trim(), "{}");
}

//! What findings of detectors come to: the rung that the contract names, or the one their confidence picks.

use crate::site::Site;
use crate::witnesses::with;
use serde_json::{Value, json};

fn guarding(lines: &str) -> Site {
    let site = Site::guarding(&["claude-code"]);
    if !lines.is_empty() {
        with(&site, lines);
    }
    site
}

fn hook(site: &Site, event: &str, payload: &Value) -> Value {
    let output = site.run(&["hook", event, "--host", "claude-code"], &payload.to_string());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn payload(site: &Site, event: &str) -> Value {
    serde_json::from_str(&site.payload("claude-code", event, "")).unwrap()
}

fn stop_saying(site: &Site, words: &str) -> Value {
    let mut payload = payload(site, "stop");
    payload["last_assistant_message"] = json!(words);
    hook(site, "stop", &payload)
}

fn prompt(site: &Site) -> String {
    let told = hook(site, "prompt", &payload(site, "prompt"));
    told["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// What the host is told before a tool runs: `runs`, `warned`, `ask` or `deny`, and why.
fn before(site: &Site, tool: &str, input: &Value) -> (String, String) {
    let mut payload = payload(site, "pre-tool");
    payload["tool_name"] = json!(tool);
    payload["tool_input"] = input.clone();
    let told = &hook(site, "pre-tool", &payload)["hookSpecificOutput"];
    let said = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    match told["permissionDecision"].as_str() {
        Some(word) => (word.to_owned(), said("permissionDecisionReason")),
        None if told["additionalContext"].is_string() => ("warned".to_owned(), said("additionalContext")),
        None => ("runs".to_owned(), String::new()),
    }
}

fn shell(site: &Site, command: &str) -> (String, String) {
    before(site, "Bash", &json!({ "command": command }))
}

fn returned(site: &Site, command: &str, response: &Value) {
    let mut payload = payload(site, "post-tool");
    payload["tool_name"] = json!("Bash");
    payload["tool_input"] = json!({ "command": command });
    payload["tool_response"] = response.clone();
    hook(site, "post-tool", &payload);
}

const PROMISE: &str = "The tests pass. I still need to push the branch.";

#[test]
fn a_promise_is_told_when_the_agent_goes_on() {
    let site = guarding("");
    assert_eq!(stop_saying(&site, PROMISE), json!({}), "a stop is not held up");
    let told = prompt(&site);
    assert!(told.contains("`I still need to`"), "{told}");
    assert_eq!(prompt(&site), "", "it is told once");
    assert_eq!(stop_saying(&site, "Everything is pushed."), json!({}));
    assert_eq!(prompt(&site), "");
}

#[test]
fn a_promise_holds_a_stop_up_once_where_the_contract_says_so() {
    for lines in ["detectors: { dangling_intent: { on_stop: BLOCK } }", "enforcement: { confidence: { low: BLOCK } }"] {
        let site = guarding(lines);
        let held = stop_saying(&site, PROMISE);
        assert_eq!(held["decision"], json!("block"), "{lines}: {held}");
        assert!(held["reason"].as_str().unwrap().contains("`I still need to`"), "{held}");
        assert_eq!(stop_saying(&site, PROMISE), json!({}), "{lines}: it never goes round in circles");
        prompt(&site);
        assert_eq!(stop_saying(&site, PROMISE)["decision"], json!("block"), "{lines}: a new turn");
    }
    let site = guarding("detectors: { dangling_intent: { on_stop: OBSERVE } }");
    assert_eq!(stop_saying(&site, PROMISE), json!({}));
    assert_eq!(prompt(&site), "");
    let softened = guarding("detectors: { dangling_intent: { on_stop: BLOCK } }\nenforcement: { handler: observe }");
    assert_eq!(stop_saying(&softened, PROMISE), json!({}), "a handler may soften a finding");
}

#[test]
fn a_breaker_that_opens_has_the_consequence_that_the_contract_names() {
    let check = |on_trip: &str, expected: &str| {
        let site = guarding(&format!("detectors: {{ breaker: {{ max_consecutive: 2{on_trip} }} }}"));
        for round in 0..2 {
            let command = format!("make step-{round}");
            assert_eq!(shell(&site, &command).0, "runs", "{on_trip}");
            returned(&site, &command, &json!({ "stdout": "", "is_error": true, "n": round }));
        }
        let (word, why) = shell(&site, "make other");
        assert_eq!(word, expected, "{on_trip}: {why}");
        assert!(why.contains("2 failures in a row"), "{on_trip}: {why}");
        let (word, _) = shell(&site, "ls");
        assert_eq!(word, "warned", "{on_trip}: what changes nothing is never withheld");
        returned(&site, "ls", &json!({ "stdout": "a.py" }));
        assert_eq!(shell(&site, "make other").0, "runs", "{on_trip}: a success ends the row");
    };
    check("", "warned");
    check(", on_trip: NONE", "warned");
    check(", on_trip: JUDGE", "warned");
    check(", on_trip: HUMAN", "ask");
    check(", on_trip: REFUSE", "deny");
}

#[test]
fn a_withheld_call_is_on_record_and_leaves_nothing_open() {
    let site = guarding("detectors: { breaker: { max_consecutive: 1, on_trip: REFUSE } }");
    shell(&site, "make a");
    returned(&site, "make a", &json!({ "stdout": "", "is_error": true }));
    assert_eq!(shell(&site, "make b").0, "deny");
    let told = site.says(&["flows", "show", "claude-code:abc123", "--json"], 0);
    assert!(told.contains(r#""rung":"BLOCK""#) && told.contains(r#""run":false"#), "{told}");
    assert!(told.contains("CANCEL"), "{told}");
}

#[test]
fn confidence_picks_the_rung() {
    let check = |lines: &str, expected: [&str; 5]| {
        let site = guarding(lines);
        let rounds = (0..5).map(|_| {
            let (word, _) = shell(&site, "make deploy-check");
            returned(&site, "make deploy-check", &json!({ "stdout": "waiting" }));
            word
        });
        assert_eq!(rounds.collect::<Vec<_>>(), expected, "{lines}");
    };
    check("", ["runs", "runs", "runs", "warned", "warned"]);
    check("enforcement: { confidence: { low: BLOCK } }", ["runs", "runs", "runs", "deny", "deny"]);
    check("enforcement: { confidence: { low: OBSERVE, floor: OBSERVE } }", ["runs", "runs", "runs", "runs", "runs"]);
    check("enforcement: { confidence: { none: WARN } }", ["warned", "warned", "warned", "warned", "warned"]);
    let softened = "enforcement: { handler: observe, confidence: { low: BLOCK } }";
    check(softened, ["runs", "runs", "runs", "runs", "runs"]);
}

#[test]
fn what_is_written_outside_the_declared_tree_is_noticed() {
    let check = |lines: &str, file: &str, expected: &str| {
        let site = guarding(lines);
        let path = site.workspace().join(file);
        let (word, why) = before(&site, "Write", &json!({ "file_path": path, "content": "x" }));
        assert_eq!(word, expected, "{lines} {file}: {why}");
    };
    let declared = "detectors: { scope: { tree: [docs, \"**/*.md\"] } }";
    check(declared, "docs/a.txt", "runs");
    check(declared, "src/notes.md", "runs");
    check(declared, "src/a.py", "warned");
    check(declared, "docs/../src/a.py", "warned");
    check(declared, "docs2/a.txt", "warned");
    check("", "src/a.py", "runs");
    let harder = "enforcement: { confidence: { high: BLOCK } }";
    check(&format!("{declared}\n{harder}"), "src/a.py", "deny");
}

#[test]
fn a_turn_that_moves_nothing_is_noticed_where_the_contract_asks_for_it() {
    let check = |lines: &str, expected: &str| {
        let site = guarding(lines);
        prompt(&site);
        let (word, why) = shell(&site, "ls");
        assert_eq!(word, expected, "{lines}: {why}");
        returned(&site, "make a", &json!({ "stdout": "done" }));
        assert_eq!(shell(&site, "ls").0, "runs", "{lines}: an effect is a move");
    };
    check("", "runs");
    check("detectors: { liveness: { grace: 1ms } }", "warned");
    check("detectors: { liveness: { grace: 1h } }", "runs");
}

//! Questions that a person puts off: off their own list for a while, and as they were for everybody else.

use crate::http::Answer;
use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};
use std::process::Command;

fn asked(server: &Server, token: &str, order: &str) -> Value {
    let params = json!({ "order_id": order, "amount": 40 });
    let proposal = json!({ "agent": "refund-bot", "action": "issue_refund", "params": params });
    server.post("/v1/proposals", token, &proposal).json()["question"].clone()
}

/// The contract of every test, whose questions stay open for so long.
fn lasting(length: &str) -> String {
    let kept = format!("escalation: {{ approvers: [refund-desk], timeout: {{ after: {length}, then: ABORT }} }}");
    CONTRACT.replace("approvers: [refund-desk]", &kept)
}

fn path(question: &Value) -> String {
    format!("/v1/escalations/{}", question["id"].as_str().unwrap())
}

fn put_off(server: &Server, question: &Value, key: &str, length: &str) -> Answer {
    server.post(&format!("{}/snooze", path(question)), key, &json!({ "for": length }))
}

/// The questions of a list, how many are put off, and whether the page says so.
fn list(server: &Server, key: &str, query: &str) -> (Vec<String>, u64) {
    let inbox = server.get(&format!("/v1/escalations{query}"), key).json();
    let ids = inbox["questions"].as_array().unwrap().iter();
    (ids.map(|one| one["id"].as_str().unwrap().to_owned()).collect(), inbox["snoozed"].as_u64().unwrap())
}

#[test]
fn it_leaves_one_persons_list_and_stays_on_those_of_others() {
    let server = Server::start();
    let [ann, bob] = ["ann", "bob"].map(|name| server.key("approver", name, &["refund-desk"]));
    let token = server.register(&lasting("2d"));
    let (one, two) = (asked(&server, &token, "A"), asked(&server, &token, "B"));
    let id = |question: &Value| question["id"].as_str().unwrap().to_owned();
    let before = server.get(&path(&one), &bob).json();
    let told = put_off(&server, &one, &ann, "2h");
    assert_eq!((told.status, &told.json()["question"]), (200, &one["id"]), "{}", told.text());

    assert_eq!(list(&server, &ann, ""), (vec![id(&two)], 1));
    assert_eq!(list(&server, &ann, "?snoozed=only"), (vec![id(&one)], 1));
    assert_eq!(list(&server, &bob, "").0.len(), 2);
    assert_eq!(list(&server, &server.admin, "").0.len(), 2);
    assert_eq!(list(&server, &server.admin, "?snoozed=only"), (vec![], 0));
    let page = |key: &str, path: &str| server.get(path, key).text();
    assert!(page(&ann, "/approve").contains("Put off by you: 1"), "{}", page(&ann, "/approve"));
    let hidden = page(&ann, "/approve?snoozed=only");
    assert!(hidden.contains(&id(&one)) && !hidden.contains(&id(&two)), "{hidden}");
    assert!(!page(&bob, "/approve").contains("Put off"));

    let now = server.get(&path(&one), &bob).json();
    assert_eq!(now, before, "nothing changed for others");
    assert_eq!(server.get(&path(&one), &ann).json()["snoozed"], told.json()["snoozed"]);
    // Handed to her since, so it waits for her.
    let hand = json!({ "to": "ann", "because": "she knows them" });
    assert_eq!(server.post(&format!("{}/hand-over", path(&one)), &bob, &hand).status, 200);
    assert_eq!((list(&server, &ann, "").1, list(&server, &ann, "").0.len()), (0, 2));
    // And off again; answering needs no list.
    assert_eq!(put_off(&server, &one, &ann, "15m").status, 200);
    let yes = json!({ "decision": "approve", "because": "late", "digest": one["digest"] });
    assert_eq!(server.post(&format!("{}/answer", path(&one)), &ann, &yes).status, 200);
    assert_eq!(list(&server, &ann, ""), (vec![id(&two)], 0), "what is answered is not put off");
    let late = put_off(&server, &one, &ann, "1h");
    assert_eq!((late.status, late.member("code")), (409, "ALREADY_ANSWERED".to_owned()), "{}", late.text());
}

#[test]
fn nobody_puts_off_for_others_or_for_longer_than_there_is() {
    let server = Server::start();
    let [ann, eve] =
        [("ann", "refund-desk"), ("eve", "others")].map(|(name, group)| server.key("approver", name, &[group]));
    let token = server.register(&lasting("3h"));
    let question = asked(&server, &token, "A");
    let check = |key: &str, length: &str, expected: (u16, &str)| {
        let refused = put_off(&server, &question, key, length);
        assert_eq!((refused.status, &*refused.member("code")), expected, "{length}: {}", refused.text());
        refused.text()
    };
    check(&eve, "1h", (403, "APPROVER_NOT_ENTITLED"));
    check(&server.admin, "1h", (403, "ROLE_FORBIDDEN"));
    check(&token, "1h", (403, "ROLE_FORBIDDEN"));
    assert!(check(&ann, "30s", (422, "USAGE")).contains("for 1m to 7d, not for 30s"));
    check(&ann, "8d", (422, "USAGE"));
    assert!(check(&ann, "3h", (422, "USAGE")).contains("put it off for less"));
    check(&ann, "soon", (422, "REQUEST_INVALID"));
    let short = server.register(&lasting("1m").replace("refund-bot", "short-bot"));
    let params = json!({ "order_id": "S", "amount": 40 });
    let proposal = json!({ "agent": "short-bot", "action": "issue_refund", "params": params });
    let soon = server.post("/v1/proposals", &short, &proposal).json()["question"].clone();
    let refused = put_off(&server, &soon, &ann, "1m");
    assert!(refused.status == 422 && refused.text().contains("too soon to put it off"), "{}", refused.text());
    // Nor by writing the state that says so.
    let id = question["id"].as_str().unwrap();
    let kept = json!({ id: { "since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z" } });
    let put = server.ask("PUT", "/v1/state/snooze/ann", &server.admin, Some(&json!({ "value": kept })));
    assert_eq!(put.status, 403, "{}", put.text());
    let merge = |key: &str, name: &str, value: &Value| {
        let write = json!({ "key": format!("snooze/{name}"), "value": value, "expect": 0 });
        server.post("/v1/changes", key, &json!({ "act": "merge_state", "command": { "writes": [write] } })).status
    };
    assert_eq!(merge(&server.admin, "ann", &kept), 403);
    assert_eq!(merge(&eve, "ann", &kept), 403, "for somebody else");
    assert_eq!(merge(&ann, "ann", &json!({ id: 1 })), 403);
    let long = json!({ id: { "since": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z" } });
    assert_eq!(merge(&ann, "ann", &long), 422);
    let other = json!({ id: { "since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z" },
        "q-2": { "since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z" } });
    assert_eq!(merge(&ann, "ann", &other), 403, "two at once");
    assert_eq!(list(&server, &ann, "").1, 0);
    assert_eq!(merge(&ann, "ann", &kept), 200);
    let since = server.get(&path(&question), &ann).json()["snoozed"]["since"].clone();
    assert_ne!(since, json!("2026-01-01T00:00:00Z"), "when it happened is for the service to say");
}

#[test]
fn the_command_line_puts_off_at_a_server_and_at_its_store() {
    let server = Server::start();
    let ann = server.key("approver", "ann", &["refund-desk"]);
    let token = server.register(&lasting("2d"));
    let question = asked(&server, &token, "A")["id"].as_str().unwrap().to_owned();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        let output = command.arg("escalations").args(words).env("WRITKEEPER_KEY", &ann).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let address = format!("http://{}", server.address);
    let said = run(&["snooze", &question, "--for", "2h", "--server", &address]);
    assert!(said.contains(&format!("ann put question {question} off until 20")), "{said}");
    let listed = run(&["list", "--server", &address]);
    assert!(listed.contains("nothing waits") && listed.contains("1 question put off"), "{listed}");
    assert!(run(&["list", "--snoozed", "--server", &address]).contains("put off until 20"));
    assert!(run(&["show", &question, "--server", &address]).contains("put off   by you until 20"));
    let store = server.store.to_string_lossy().into_owned();
    assert!(run(&["list", "--as", "Ann", "--store", &store]).contains("nothing waits"));
    assert!(run(&["list", "--as", "bob", "--store", &store]).contains("issue_refund"));
    assert!(run(&["--store", &store]).contains("issue_refund"), "nobody's list in particular");
    let said = run(&["snooze", &question, "--for", "30m", "--as", "ann", "--store", &store, "--json"]);
    assert!(said.contains(r#""snoozed":{"since":""#), "{said}");
}

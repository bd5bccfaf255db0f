//! Questions that are handed to somebody else: recorded, and nobody may answer because of it who might not before.

use crate::http::Answer;
use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};
use std::process::Command;

fn asked(server: &Server, order: &str) -> Value {
    let token = server.register(CONTRACT);
    let params = json!({ "order_id": order, "amount": 40 });
    let proposal = json!({ "agent": "refund-bot", "action": "issue_refund", "params": params });
    server.post("/v1/proposals", &token, &proposal).json()["question"].clone()
}

fn hand(server: &Server, question: &Value, key: &str, to: &str) -> Answer {
    let path = format!("/v1/escalations/{}/hand-over", question["id"].as_str().unwrap());
    server.post(&path, key, &json!({ "to": to, "because": "I know the customer" }))
}

#[test]
fn a_question_moves_from_one_list_to_another_and_both_may_answer() {
    let server = Server::start();
    let [ann, bob, cid] = ["ann", "bob", "cid"].map(|name| server.key("approver", name, &["refund-desk"]));
    let question = asked(&server, "A");
    let list = |key: &str| server.get("/approve", key).text();
    assert!(list(&ann).contains("refund-bot") && list(&bob).contains("refund-bot"));
    let handed = hand(&server, &question, &ann, "bob");
    assert_eq!((handed.status, &handed.json()["handed"]["to"]), (200, &json!("bob")), "{}", handed.text());
    assert!(!list(&ann).contains("asked by") && list(&ann).contains("You handed 1 to others"), "{}", list(&ann));
    assert!(list(&bob).contains("handed to you by <bdi>ann</bdi>"), "{}", list(&bob));
    assert!(list(&cid).contains("asked by"), "who was not meant still sees it");
    let path = format!("/v1/escalations/{}", question["id"].as_str().unwrap());
    let card = server.get(&path, &bob).json();
    assert_eq!((&card["handed"]["by"], &card["handed"]["because"]), (&json!("ann"), &json!("I know the customer")));
    assert_eq!(card["digest"], question["digest"], "what an answer is bound to stays the same");
    // Back again, and then the first one answers all the same.
    assert_eq!(hand(&server, &question, &bob, "ann").status, 200);
    assert!(list(&ann).contains("handed to you by <bdi>bob</bdi>"), "{}", list(&ann));
    let yes = json!({ "decision": "approve", "because": "late", "digest": question["digest"] });
    assert_eq!(server.post(&format!("{path}/answer"), &bob, &yes).status, 200);
    let late = hand(&server, &question, &ann, "bob");
    assert_eq!((late.status, late.member("code")), (409, "ALREADY_ANSWERED".to_owned()), "{}", late.text());
}

#[test]
fn nobody_hands_over_what_is_not_theirs_or_to_whom_it_is_not() {
    let server = Server::start();
    let ann = server.key("approver", "ann", &["refund-desk"]);
    let [eve, _bob] = [server.key("approver", "eve", &["others"]), server.key("approver", "bob", &["refund-desk"])];
    let question = asked(&server, "A");
    let check = |key: &str, to: &str, expected: (u16, &str)| {
        let refused = hand(&server, &question, key, to);
        assert_eq!((refused.status, &*refused.member("code")), expected, "to {to}: {}", refused.text());
    };
    check(&eve, "bob", (403, "APPROVER_NOT_ENTITLED"));
    check(&ann, "eve", (403, "APPROVER_NOT_ENTITLED"));
    check(&ann, "refund-bot", (403, "APPROVER_NOT_ENTITLED"));
    check(&ann, "nobody-known", (403, "APPROVER_NOT_ENTITLED"));
    check(&ann, "Ann", (422, "USAGE"));
    check(&ann, "bob ", (422, "USAGE"));
    check(&ann, "bob\n", (422, "USAGE"));
    check(&server.admin, "bob", (403, "ROLE_FORBIDDEN"));
    // Nor by writing the state that says so.
    let id = question["id"].as_str().unwrap();
    let handed = json!({ "by": "ann", "to": "bob", "at": "2026-01-01T00:00:00Z", "because": "" });
    let put = server.ask("PUT", &format!("/v1/state/handed/{id}"), &server.admin, Some(&json!({ "value": handed })));
    assert_eq!(put.status, 403, "{}", put.text());
    let merge = |key: &str, by: &str, to: &str| {
        let value = json!({ "by": by, "to": to, "at": "2026-01-01T00:00:00Z", "because": "" });
        let write = json!({ "key": format!("handed/{id}"), "value": value, "expect": 0 });
        server.post("/v1/changes", key, &json!({ "act": "merge_state", "command": { "writes": [write] } })).status
    };
    assert_eq!(merge(&server.admin, "ann", "bob"), 403);
    assert_eq!(merge(&ann, "bob", "ann"), 403, "in the name of somebody else");
    assert_eq!(merge(&ann, "ann", "eve"), 403);
    assert_eq!(server.get(&format!("/v1/escalations/{id}"), &ann).json()["handed"], Value::Null);
    assert_eq!(merge(&ann, "ann", "bob"), 200);
    let at = server.get(&format!("/v1/escalations/{id}"), &ann).json()["handed"]["at"].clone();
    assert_ne!(at, json!("2026-01-01T00:00:00Z"), "when it happened is for the service to say");
}

#[test]
fn the_command_line_hands_over_at_a_server_and_at_its_store() {
    let server = Server::start();
    let [ann, _bob] = ["ann", "bob"].map(|name| server.key("approver", name, &["refund-desk"]));
    let question = asked(&server, "A")["id"].as_str().unwrap().to_owned();
    let run = |place: [&str; 2], by: Option<&str>, to: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(["escalations", "hand-over", &question, "--to", to, "--because", "on leave"]).args(place);
        let output = command.args(by.into_iter().flat_map(|by| ["--as", by])).env("WRITKEEPER_KEY", &ann).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let address = format!("http://{}", server.address);
    assert!(run(["--server", &address], None, "bob").contains("ann handed question"));
    let store = server.store.to_string_lossy().into_owned();
    assert!(run(["--store", &store], Some("bob"), "ann").contains("bob handed question"));
}

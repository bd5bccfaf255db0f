//! What could be meant in two ways is refused, and what nobody could read later is not begun.

use crate::http::{request, send};
use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

fn raw(server: &Server, head: &str, body: &str) -> (u16, Value, Option<String>) {
    let text = format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let answer = send(&server.address, text.as_bytes());
    let media = answer.header("content-type").map(str::to_owned);
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default(), media)
}

#[test]
fn a_header_that_stands_there_twice_or_not_at_all_is_refused() {
    let server = Server::start();
    let (admin, token) = (server.admin.clone(), server.register(CONTRACT));
    let check = |lines: &str, expected: u16| {
        let (status, body, media) = raw(&server, &format!("GET /v1/whoami HTTP/1.1\r\n{lines}"), "");
        assert_eq!((status, media.is_some_and(|media| media.contains("json"))), (expected, true), "{lines}: {body}");
    };
    check(&format!("host: t\r\nauthorization: Bearer {admin}\r\n"), 200);
    check(&format!("authorization: Bearer {admin}\r\n"), 400);
    check(&format!("host: t\r\nhost: u\r\nauthorization: Bearer {admin}\r\n"), 400);
    check(&format!("host: t\r\nauthorization: Bearer {admin}\r\nauthorization: Bearer {token}\r\n"), 400);
}

/// Who has no key may send a form, so what it costs must not grow with the square of its fields.
#[test]
fn a_form_has_each_field_once_and_not_too_many() {
    let server = Server::start();
    let check = |fields: &str, expected: &str| {
        let head = "POST /login HTTP/1.1\r\nhost: t\r\ncontent-type: application/x-www-form-urlencoded\r\n";
        let text = format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n{fields}", fields.len());
        let answer = send(&server.address, text.as_bytes());
        assert!(answer.status == 400 && answer.text().contains(expected), "{} {}", answer.status, answer.text());
    };
    let names: Vec<String> = (0..12_000).map(|number| format!("{number:x}")).collect();
    check(&names.join("&"), "more than 1024 fields");
    check("key=a&next=/&key=b", "`key` twice");
}

#[test]
fn a_path_that_is_no_text_names_nothing() {
    let server = Server::start();
    for path in ["/v1/escalations/%ff", "/v1/intents/%c0%80", "/approve/%ff"] {
        for key in [None, Some(server.admin.as_str())] {
            let answer = send(&server.address, &request("GET", path, key, None));
            let media = answer.header("content-type").unwrap_or_default();
            assert!(answer.status == 404 && media.contains("problem+json"), "{path}: {}", answer.text());
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        }
    }
}

fn sent(server: &Server, path: &str, key: &str, repeated: &str, body: &Value) -> (u16, Value) {
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {key}\r\nidempotency-key: {repeated}\r\n");
    let (status, body, _) = raw(server, &head, &body.to_string());
    (status, body)
}

#[test]
fn a_key_of_repetition_counts_or_is_refused() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let proposal = |order: &str, amount: u32| {
        let params = json!({ "order_id": order, "amount": amount });
        json!({ "agent": "refund-bot", "action": "issue_refund", "params": params })
    };
    let batch = json!([proposal("A", 1), proposal("B", 2)]);
    let first = sent(&server, "/v1/proposals/batch", &token, "k1", &batch);
    assert_eq!(first.1["answers"][1]["verdict"], "ACCEPT", "{first:?}");
    assert_eq!(sent(&server, "/v1/proposals/batch", &token, "k1", &batch), first);
    let changed = json!([proposal("A", 1), proposal("B", 3)]);
    let (status, problem) = sent(&server, "/v1/proposals/batch", &token, "k1", &changed);
    assert_eq!((status, &problem["code"]), (422, &json!("IDEMPOTENCY_KEY_REUSED")), "{problem}");
    // Where it would count for nothing it is not taken.
    let key = json!({ "role": "auditor", "name": "eve" });
    let (status, problem) = sent(&server, "/v1/keys", &server.admin, "k1", &key);
    assert!(status == 400 && problem["detail"].as_str().unwrap().contains("Idempotency-Key"), "{problem}");
    for unfit in ["", "a b", &"x".repeat(121), "\"", "a\"b"] {
        assert_eq!(sent(&server, "/v1/proposals", &token, unfit, &proposal("C", 1)).0, 400, "{unfit}");
    }
    let quoted = sent(&server, "/v1/proposals", &token, "\"k2\"", &proposal("C", 1));
    assert_eq!(sent(&server, "/v1/proposals", &token, "k2", &proposal("C", 1)), quoted);
}

#[test]
fn a_no_has_a_reason_and_a_reason_has_bounds() {
    let server = Server::start();
    let (token, ann) = (server.register(CONTRACT), server.key("approver", "ann", &["refund-desk"]));
    let params = json!({ "order_id": "A", "amount": 40 });
    let asked = json!({ "agent": "refund-bot", "action": "issue_refund", "params": params });
    let question = server.post("/v1/proposals", &token, &asked).json()["question"].clone();
    let path = format!("/v1/escalations/{}/answer", question["id"].as_str().unwrap());
    let answer = |decision: &str, because: Value| {
        let body = json!({ "decision": decision, "because": because, "digest": question["digest"] });
        server.post(&path, &ann, &body).status
    };
    for because in [Value::Null, json!(""), json!("  ")] {
        assert_eq!(answer("deny", because), 422);
    }
    assert_eq!(answer("approve", json!("x".repeat(1_001))), 422);
    assert_eq!(answer("deny", json!("the parcel arrived")), 200);
}

#[test]
fn a_blank_line_is_answered_as_at_the_store() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let answer = send(&server.address, &request("POST", "/v1/proposals?line=3", Some(&token), Some(b"\n")));
    let said = answer.json();
    assert_eq!((answer.status, &said["id"], &said["verdict"]), (200, &json!("line-3"), &json!("REJECT")), "{said}");
    assert_eq!(said["reasons"], json!(["JSON_MALFORMED"]));
}

/// The first start with standard output somewhere that nobody reads.
fn started_into(place: &str) -> (i32, String, bool) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("kept.db");
    let line = format!("exec \"$0\" serve --listen 127.0.0.1:0 --store \"$1\" {place}");
    let output = Command::new("sh")
        .args(["-c", &line, env!("CARGO_BIN_EXE_writkeeper")])
        .arg(&store)
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .unwrap();
    let keys =
        Command::new(env!("CARGO_BIN_EXE_writkeeper")).args(["keys", "list", "--store"]).arg(&store).output().unwrap();
    let keys = String::from_utf8_lossy(&keys.stdout).into_owned();
    let is_lost = keys.lines().any(|line| !line.contains("revoked") && !line.starts_with("no keys"));
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned(), is_lost)
}

#[test]
fn a_first_key_that_nobody_could_read_does_not_count() {
    for place in [">/dev/full", ">/dev/null", ">&-"] {
        let (code, said, is_lost) = started_into(place);
        assert!(code == 75 && said.contains("keys new --role admin"), "{place}: {code} {said}");
        assert!(!is_lost, "{place}: an admin key that nobody knows counts");
    }
}

//! Reading again and reading on: tags of what did not change, versions, and pages.

use crate::http::{headed, request, send};
use crate::server::{CONTRACT, Server};
use serde_json::json;
use std::process::Command;

#[test]
fn what_did_not_change_is_not_sent_again() {
    let server = Server::start();
    server.register(CONTRACT);
    for path in ["/v1/ledger/checkpoint", "/v1/ledger/tile/entries/000.p/1", "/v1/ledger/tile/0/000.p/1"] {
        let ask =
            |lines: &[&str]| send(&server.address, &headed(&request("GET", path, Some(&server.admin), None), lines));
        let first = ask(&[]);
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path}: {first:?}")).to_owned();
        assert_eq!(first.status, 200);
        let again = ask(&[&format!("if-none-match: {tag}")]);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(ask(&["if-none-match: \"other\""]).status, 200, "{path}");
    }
}

#[test]
fn a_version_that_was_overtaken_writes_nothing() {
    let server = Server::start();
    let put = |lines: &[&str], value: u32| {
        let body = json!({ "value": value }).to_string();
        let asked = request("PUT", "/v1/state/limits/eur", Some(&server.admin), Some(body.as_bytes()));
        send(&server.address, &headed(&asked, lines))
    };
    let first = put(&[], 1);
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(put(&[&format!("if-match: {tag}")], 2).status, 200);
    let late = put(&[&format!("if-match: {tag}")], 3);
    assert_eq!(late.status, 409, "{}", late.text());
    assert_eq!(server.get("/v1/state/limits/eur", &server.admin).json()["value"], 2);
}

#[test]
fn pages_hold_everything_once() {
    let server = Server::start();
    for number in 0..7 {
        let body = json!({ "value": number });
        assert_eq!(server.ask("PUT", &format!("/v1/state/n{number}"), &server.admin, Some(&body)).status, 200);
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/state?limit=3{after}"), &server.admin).json();
        let keys = page["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap().to_owned());
        seen.extend(keys.filter(|key| key.starts_with('n')));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, (0..7).map(|number| format!("n{number}")).collect::<Vec<_>>());
}

#[test]
fn pages_of_questions_hold_each_once_over_http_on_the_page_and_at_the_command_line() {
    let server = Server::start();
    let ann = server.key("approver", "ann", &["refund-desk"]);
    let token = server.register(CONTRACT);
    let ask = |order: &str| {
        let params = json!({ "order_id": order, "amount": 40 });
        let proposal = json!({ "agent": "refund-bot", "action": "issue_refund", "id": order, "params": params });
        assert_eq!(server.post("/v1/proposals", &token, &proposal).member("verdict"), "ESCALATE");
    };
    ["o1", "o2", "o3", "o4", "o5"].into_iter().for_each(ask);
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/escalations?limit=2{after}"), &ann).json();
        seen.extend(
            page["questions"].as_array().unwrap().iter().map(|one| one["proposal_id"].as_str().unwrap().to_owned()),
        );
        assert_eq!(page["more"].as_bool().unwrap(), page["next"].is_string());
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, ["o1", "o2", "o3", "o4", "o5"], "the oldest first, where the impact is the same");
    for query in ["after=soon", "limit=0", "limit=1001"] {
        assert_eq!(server.get(&format!("/v1/escalations?{query}"), &ann).status, 422, "{query}");
    }
    let behind = after.trim_start_matches("&after=");
    assert_eq!(server.get(&format!("/approve?after={behind}"), &ann).text().matches("asked by").count(), 1);
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        let place = format!("http://{}", server.address);
        let output =
            command.args(["escalations", "list", "--server", &place]).args(words).env("WRITKEEPER_KEY", &ann).output();
        let output = output.unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (first, note) = run(&["--limit", "4"]);
    assert_eq!(first.matches("order_id=").count(), 4, "{first}");
    let next = note.split("--after ").nth(1).unwrap().split('`').next().unwrap();
    let (rest, note) = run(&["--after", next]);
    assert!(rest.contains("o5") && rest.matches("order_id=").count() == 1 && note.is_empty(), "{rest} {note}");
    assert!(run(&["--after", "soon"]).1.contains("is not what another list said"));
}

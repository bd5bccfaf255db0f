//! Reading again and reading on: tags of what did not change, versions, and pages.

use crate::http::{headed, request, send};
use crate::server::{CONTRACT, Server};
use serde_json::json;

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

//! Events: from any index on, again after a break, only one's own, and without harm by whoever reads slowly.

use crate::http::{connect, request};
use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

/// Reads so many events of a stream.
pub fn read(server: &Server, path: &str, count: usize) -> String {
    read_as(server, path, &server.admin, count)
}

fn read_as(server: &Server, path: &str, key: &str, count: usize) -> String {
    let mut stream = connect(&server.address);
    stream.write_all(&request("GET", path, Some(key), None)).unwrap();
    let (mut text, mut seen) = (String::new(), 0);
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        seen += usize::from(line.starts_with("data: "));
        text.push_str(&line);
        text.push('\n');
        if seen == count {
            break;
        }
    }
    text
}

pub fn ids(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

pub fn propose(server: &Server, token: &str, order: usize) {
    let params = json!({ "order_id": format!("A-{order}"), "amount": 1 });
    let proposal = json!({ "agent": "refund-bot", "action": "issue_refund", "params": params });
    assert_eq!(server.post("/v1/proposals", token, &proposal).status, 200);
}

#[test]
fn every_event_comes_once_and_in_order_also_after_a_break() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    for order in 0..10 {
        propose(&server, &token, order);
    }
    let all = read(&server, "/v1/events", 12);
    assert_eq!(ids(&all), (0..12).collect::<Vec<u64>>(), "{all}");
    let rest = read(&server, "/v1/events?after=4", 7);
    assert_eq!(ids(&rest), (5..12).collect::<Vec<u64>>(), "{rest}");
    let event = all.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    let event: Value = serde_json::from_str(event).unwrap();
    assert_eq!((&event["specversion"], &event["source"]), (&json!("1.0"), &json!("/tenants/default")), "{event}");
    let decided = read(&server, "/v1/events?type=writkeeper.decision&agent=refund-bot", 3);
    assert_eq!(decided.matches("event: writkeeper.decision").count(), 3, "{decided}");
}

/// A reader that knows of more than there is read a ledger that was lost, after a restore for example.
#[test]
fn a_reader_ahead_of_the_ledger_is_told_of_a_gap_and_misses_nothing() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    (0..4).for_each(|order| propose(&server, &token, order));
    let mut stream = connect(&server.address);
    stream.write_all(&request("GET", "/v1/events?after=1000", Some(&server.admin), None)).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "event: gap"), "nothing was said");
    let said: Value = serde_json::from_str(lines.next().unwrap().strip_prefix("data: ").unwrap()).unwrap();
    let next = said["from"].as_u64().unwrap();
    assert!((6..1_000).contains(&next) && said["to"] == json!(1_000), "{said}");
    propose(&server, &token, 4);
    assert_eq!(lines.find(|line| line.starts_with("id: ")), Some(format!("id: {next}")), "one was left out");
}

#[test]
fn an_agent_hears_of_its_own() {
    let server = Server::start();
    let other = server.register(&CONTRACT.replace("refund-bot", "other-bot"));
    let token = server.register(CONTRACT);
    propose(&server, &token, 1);
    let heard = read_as(&server, "/v1/events?after=0", &token, 3);
    assert!(!heard.contains("other-bot") && heard.contains("refund-bot"), "{heard}");
    let theirs = read_as(&server, "/v1/events", &other, 2);
    assert!(!theirs.contains("refund-bot"), "{theirs}");
}

#[test]
fn a_key_that_is_revoked_hears_no_more() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let made = server.post("/v1/keys", &server.admin, &json!({ "role": "auditor", "name": "eve" })).json();
    let mut stream = connect(&server.address);
    stream.write_all(&request("GET", "/v1/events", made["key"].as_str(), None)).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("data: ")), "it heard nothing at all");
    let id = made["id"].as_str().unwrap();
    assert_eq!(server.ask("DELETE", &format!("/v1/keys/{id}"), &server.admin, None).status, 200);
    // A second later, whatever is committed next ends it; without it the next sign of life would.
    std::thread::sleep(Duration::from_millis(1_500));
    propose(&server, &token, 1);
    let rest: Vec<String> = lines.collect();
    assert!(!rest.iter().any(|line| line.contains("A-1")), "{rest:?}");
}

#[test]
fn whoever_reads_nothing_holds_nobody_up() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let mut idle = Vec::new();
    for _ in 0..64 {
        let mut stream = connect(&server.address);
        stream.write_all(&request("GET", "/v1/events", Some(&server.admin), None)).unwrap();
        idle.push(stream);
    }
    for order in 0..50 {
        propose(&server, &token, order);
    }
    let told = read(&server, "/v1/events", 52);
    assert!(ids(&told).len() >= 52, "{}", told.len());
}

//! Whoever waits costs no thread and no decision: readers of events, one that reads slowly, and requests with `?wait=`.

use crate::events::{ids, propose};
use crate::http::{PATIENCE, connect, read_answer, request, send};
use crate::server::{CONTRACT, Server};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Readers that hear of everything and say nothing.
const IDLE: usize = 512;

/// More than the threads that may block.
const WAITING: usize = 600;

/// Far below a thread for each who waits.
const THREADS_MAX: u64 = 300;

/// What so many connections may take, and no more.
const GROWTH_MAX_KB: u64 = 200 * 1024;

/// A number of `/proc/PID/status`.
fn status(server: &Server, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
}

fn listen(server: &Server) -> TcpStream {
    let mut stream = connect(&server.address);
    stream.write_all(&request("GET", "/v1/events?after=0", Some(&server.admin), None)).unwrap();
    stream
}

#[test]
fn idle_readers_and_a_slow_one_cost_no_decision() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let before = status(&server, "VmRSS");
    let idle: Vec<TcpStream> = (0..IDLE).map(|_| listen(&server)).collect();
    // It takes the first bytes, and then nothing until the end.
    let mut slow = listen(&server);
    let mut first = [0; 16];
    slow.read_exact(&mut first).unwrap();
    for order in 0..200 {
        propose(&server, &token, order);
    }
    let (grown, threads) = (status(&server, "VmRSS").saturating_sub(before), status(&server, "Threads"));
    assert!(grown < GROWTH_MAX_KB, "{grown} kB for {IDLE} readers");
    assert!(threads < THREADS_MAX, "{threads} threads for {IDLE} readers");
    let last = server.get("/v1/ledger/size", &server.admin).json()["size"].as_u64().unwrap() - 1;
    for stream in idle.into_iter().chain([slow]).step_by(64) {
        let mut heard = Vec::new();
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            heard.extend(ids(&line));
            if heard.last() == Some(&last) {
                break;
            }
        }
        assert_eq!(heard.last(), Some(&last), "a reader missed the last event");
        assert!(heard.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a reader missed something: {heard:?}");
    }
}

#[test]
fn requests_that_wait_hold_up_nobody_and_hear_at_once() {
    let mut server = Server::start();
    let token = server.register(CONTRACT);
    let asked = |order: usize| {
        let params = json!({ "order_id": format!("W-{order}"), "amount": 40 });
        let body = json!({ "agent": "refund-bot", "action": "issue_refund", "params": params }).to_string();
        let mut stream = connect(&server.address);
        let path = "/v1/proposals?wait=60s";
        stream.write_all(&request("POST", path, Some(&token), Some(body.as_bytes()))).unwrap();
        stream
    };
    // The contract lets only few questions be open, so most wait for an intent that nobody performs.
    let mut waiting = vec![asked(0)];
    let small = |order: usize| {
        let params = json!({ "order_id": format!("S-{order}"), "amount": 1 });
        let body = json!({ "agent": "refund-bot", "action": "issue_refund", "params": params }).to_string();
        let mut stream = connect(&server.address);
        stream.write_all(&request("POST", "/v1/proposals?wait=60s", Some(&token), Some(body.as_bytes()))).unwrap();
        stream
    };
    waiting.extend((0..WAITING).map(small));
    while server.get("/v1/ledger/size", &server.admin).json()["size"].as_u64().unwrap() < WAITING as u64 {
        std::thread::yield_now();
    }
    for order in 0..20 {
        propose(&server, &token, order);
    }
    let threads = status(&server, "Threads");
    assert!(threads < THREADS_MAX, "{threads} threads for {WAITING} requests");
    let ann = server.key("approver", "ann", &["refund-desk"]);
    let question = server.get("/v1/escalations", &ann).json()["questions"][0].clone();
    let no = json!({ "decision": "deny", "because": "no", "digest": question["digest"] });
    let path = format!("/v1/escalations/{}/answer", question["id"].as_str().unwrap());
    assert_eq!(server.post(&path, &ann, &no).status, 200);
    let told = read_answer(&mut waiting.remove(0)).json();
    assert_eq!((&told["answer"]["state"], &told["answer"]["by"]), (&json!("ABORTED"), &json!("ann")), "{told}");
    // Whoever still waits when the service ends is told how things stand.
    server.end();
    let told = read_answer(&mut waiting.remove(0)).json();
    assert_eq!((&told["verdict"], &told["outcome"]["state"]), (&json!("ACCEPT"), &json!("HANDED_OUT")), "{told}");
}

#[test]
fn a_quiet_stream_says_that_it_lives() {
    let server = Server::start();
    let stream = listen(&server);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == ": "), "no sign of life");
}

#[test]
fn a_reader_that_comes_back_goes_on_where_it_was() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    (0..4).for_each(|order| propose(&server, &token, order));
    let check = |path: &str, header: &[&str], expected: &[u64]| {
        let asked = crate::http::headed(&request("GET", path, Some(&server.admin), None), header);
        let told = send(&server.address, &asked);
        assert_eq!(ids(&told.text()), expected, "{path} {header:?}: {}", told.text());
    };
    check("/v1/events?after=1&limit=3", &[], &[2, 3, 4]);
    check("/v1/events?limit=2", &["last-event-id: 2"], &[3, 4]);
    check("/v1/events?after=0&limit=2", &["last-event-id: 2"], &[3, 4]);
    let wrong = crate::http::headed(&request("GET", "/v1/events", Some(&server.admin), None), &["last-event-id: x"]);
    assert_eq!(send(&server.address, &wrong).status, 422);
}

#[test]
fn what_was_erased_is_told_as_a_gap() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    (0..3).for_each(|order| propose(&server, &token, order));
    let size = server.get("/v1/ledger/size", &server.admin).json()["size"].as_u64().unwrap();
    let last = size - 1;
    let command = json!({ "from": last.to_string(), "to": size.to_string(), "intents": [], "questions": [],
        "because": "privacy" });
    let erased = server.post("/v1/changes", &server.admin, &json!({ "act": "erase", "command": command }));
    assert_eq!(erased.status, 200, "{}", erased.text());
    let told = server.get(&format!("/v1/events?after={}&limit=2", last - 1), &server.admin).text();
    let gap = format!("id: {last}\nevent: gap\ndata: {{\"from\":{last},\"to\":{last}}}\n\n");
    assert!(told.contains(&gap) && ids(&told) == [last, size], "{told}");
}

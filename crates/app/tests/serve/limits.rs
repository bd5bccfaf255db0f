//! What one caller may use up: requests a second, time, and bytes; and what others notice of it.

use crate::http::{PATIENCE, connect, headed, read_answer, request, send};
use crate::server::{CONTRACT, Server};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a body without an end may take, and no more.
const GROWTH_MAX_KB: u64 = 50 * 1024;

fn resident_kb(server: &Server) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn each_key_has_its_own_rate() {
    let server = Server::start_with(&["--rate", "10"]);
    let [ann, bob] = ["ann", "bob"].map(|name| server.key("auditor", name, &[]));
    let answers: Vec<_> = (0..40).map(|_| server.get("/v1/whoami", &ann)).collect();
    let limited: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(!limited.is_empty(), "nobody was limited");
    for answer in limited {
        assert_eq!(answer.member("code"), "RATE_LIMITED");
        let wait = answer.header("retry-after").and_then(|wait| wait.parse::<u32>().ok());
        assert!(wait.is_some_and(|wait| wait >= 1), "{answer:?}");
    }
    assert_eq!(server.get("/v1/whoami", &bob).status, 200, "another key pays for it");
}

/// Opens streams of events until one is refused; those that are open, and the refusal.
fn streams(server: &Server, key: &str) -> (Vec<TcpStream>, crate::http::Answer) {
    let mut open = Vec::new();
    loop {
        let mut stream = connect(&server.address);
        stream.write_all(&request("GET", "/v1/events", Some(key), None)).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        if &first == b"HTTP/1.1 200" {
            open.push(stream);
            continue;
        }
        return (open, server.get("/v1/events", key));
    }
}

#[test]
fn each_key_has_so_many_streams_and_an_agent_far_fewer() {
    let server = Server::start_with(&["--streams", "40"]);
    let token = server.register(CONTRACT);
    let other = server.register(&CONTRACT.replace("refund-bot", "other-bot"));
    let (of_agent, refused) = streams(&server, &token);
    assert_eq!((of_agent.len(), refused.status), (16, 429), "{}", refused.text());
    assert_eq!(refused.member("code"), "TOO_MANY_STREAMS");
    assert!(refused.header("retry-after").is_some() && refused.text().contains("refund-bot has 16"), "{refused:?}");
    let (of_admin, refused) = streams(&server, &server.admin);
    assert_eq!((of_admin.len(), refused.member("code")), (40, "TOO_MANY_STREAMS".to_owned()));
    assert_eq!(streams(&server, &other).0.len(), 16, "another agent pays for it");
    assert_eq!(server.get("/v1/agents/refund-bot", &token).status, 200, "everything else goes on");
    drop(of_agent);
    let since = Instant::now();
    while streams(&server, &token).0.len() < 16 {
        assert!(since.elapsed() < PATIENCE, "what was closed counts for ever");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_ends_ends_by_itself() {
    let server = Server::start();
    let made = server.post("/v1/agents", &server.admin, &json!({ "contract": CONTRACT, "ttl": "1s" })).member("token");
    let key = json!({ "role": "auditor", "name": "eve", "ttl": "1s" });
    let key = server.post("/v1/keys", &server.admin, &key).member("key");
    for shown in [made, key] {
        let since = Instant::now();
        while server.get("/v1/whoami", &shown).status != 401 {
            assert!(since.elapsed() < PATIENCE, "it counts for ever");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_body_without_an_end_is_cut_off_and_not_kept() {
    let server = Server::start();
    let before = resident_kb(&server);
    let mut stream = connect(&server.address);
    let head = format!(
        "POST /v1/halt HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        server.admin
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 64 * 1024, "x".repeat(64 * 1024));
    // Far more than the bound; whoever is cut off cannot write on.
    let sent = (0..4_096).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    let said = String::from_utf8_lossy(&rest);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 413"), "{said}");
    assert!(sent < 4_096 || said.starts_with("HTTP/1.1 413"), "all of it was taken");
    let grown = resident_kb(&server).saturating_sub(before);
    assert!(grown < GROWTH_MAX_KB, "{grown} kB");
    assert_eq!(server.get("/healthz", "").status, 200);
}

#[test]
fn a_body_that_comes_too_slowly_is_given_up() {
    let server = Server::start();
    let mut stream = connect(&server.address);
    let head = headed(&request("POST", "/v1/halt", Some(&server.admin), None), &["content-length: 100"]);
    stream.write_all(&head).unwrap();
    stream.write_all(b"{").unwrap();
    let answer = read_answer(&mut stream);
    assert_eq!((answer.status, answer.member("code")), (408, "BODY_LATE".to_owned()), "{}", answer.text());
}

/// Reads one answer of a connection that stays open.
fn next_answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"{\"status\":\"ok\"}") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "closed after {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&byte);
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_connection_may_be_silent_for_a_while_and_not_for_ever() {
    let server = Server::start();
    let mut stream = connect(&server.address);
    let ask = b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n";
    stream.write_all(ask).unwrap();
    assert!(next_answer(&mut stream).starts_with("HTTP/1.1 200"));
    // Longer than headers may take: whoever has nothing to ask has not begun any.
    std::thread::sleep(Duration::from_secs(8));
    stream.write_all(ask).unwrap();
    assert!(next_answer(&mut stream).starts_with("HTTP/1.1 200"));
    let since = Instant::now();
    // It reads to the end, so an end there must be; the patience of the socket is longer than the bound.
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert!(since.elapsed() > Duration::from_secs(20), "after {:?}", since.elapsed());
}

#[test]
fn headers_that_never_end_are_given_up_on_a_connection_that_was_used_before() {
    let server = Server::start();
    let mut stream = connect(&server.address);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").unwrap();
    assert!(next_answer(&mut stream).starts_with("HTTP/1.1 200"));
    stream.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    // A letter now and then is no more time; in the end nobody takes it any more.
    let since = Instant::now();
    while stream.write_all(b"x-a: b\r\n").is_ok() {
        assert!(since.elapsed() < Duration::from_secs(25), "it goes on for ever");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Connections that the service has open.
fn sockets(server: &Server) -> usize {
    let port = server.address.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", server.id())).unwrap();
    let is_own = |line: &&str| {
        let mut parts = line.split_whitespace().skip(1);
        parts.next().is_some_and(|local| local.ends_with(&format!(":{port:04X}"))) && parts.nth(1) == Some("01")
    };
    table.lines().filter(is_own).count()
}

#[test]
fn whoever_reads_nothing_of_what_is_answered_is_let_go() {
    let server = Server::start();
    let mut stream = connect(&server.address);
    // Far more than sockets hold on their way.
    let ask = "GET /v1/openapi.json HTTP/1.1\r\nhost: test\r\n\r\n".repeat(200);
    stream.write_all(ask.as_bytes()).unwrap();
    let since = Instant::now();
    while sockets(&server) > 0 {
        assert!(since.elapsed() < PATIENCE, "it is kept for ever");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(server.get("/healthz", "").status, 200);
}

#[test]
fn one_address_has_so_many_connections_and_no_more() {
    let mut server = Server::start_with(&["--per-address", "3"]);
    let ask = b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n";
    let mut open = Vec::new();
    let since = Instant::now();
    // Those that made keys may not all be gone yet.
    while open.len() < 3 {
        let mut stream = connect(&server.address);
        stream.write_all(ask).unwrap();
        if stream.read(&mut [0; 256]).is_ok_and(|count| count > 0) {
            open.push(stream);
        }
        assert!(since.elapsed() < PATIENCE, "not even three");
    }
    let mut more = connect(&server.address);
    let _ = more.write_all(ask);
    assert!(!more.read(&mut [0; 256]).is_ok_and(|count| count > 0), "a fourth was served");
    open.pop();
    while !{
        let mut next = connect(&server.address);
        let _ = next.write_all(ask);
        next.read(&mut [0; 256]).is_ok_and(|count| count > 0)
    } {
        assert!(since.elapsed() < PATIENCE, "a place that is free stays taken");
    }
    drop(open);
    let said = server.end();
    assert_eq!(said.matches("127.0.0.1 has 3 connections open").count(), 1, "{said}");
}

#[test]
fn headers_that_flood_or_cannot_be_read_are_refused() {
    let server = Server::start();
    let check = |lines: &[&str], expected: &[u16]| {
        let answer = send(&server.address, &headed(&request("GET", "/v1/whoami", None, None), lines));
        assert!(expected.contains(&answer.status), "{lines:?}: {answer:?}");
    };
    let many: Vec<String> = (0..2_000).map(|number| format!("x-{number}: 1")).collect();
    check(&many.iter().map(String::as_str).collect::<Vec<_>>(), &[431]);
    check(&["authorization: Bearer \u{ff}\u{fe}"], &[400, 401]);
    check(&["authorization: Basic YTpi"], &[401]);
    let paths: [(&[u8], &[u16]); 4] = [
        (b"/v1/agents/\xff\xfe", &[400]),
        (b"/v1/agents/%ff%fe", &[400, 404]),
        (b"/v1/agents?after=%ff", &[200, 400, 422]),
        (b"/v1/agents/%00", &[400, 404]),
    ];
    for (path, expected) in paths {
        let start = [b"GET ", path, b" HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer "].concat();
        let answer = send(&server.address, &[&start, server.admin.as_bytes(), b"\r\n\r\n"].concat());
        assert!(expected.contains(&answer.status), "{}: {answer:?}", String::from_utf8_lossy(path));
    }
    assert_eq!(server.get("/healthz", "").status, 200);
}

//! Hostile input: bounded in time and size, refused with a code, and never the end of the service.

use crate::http::{Answer, connect, read_answer, request, send};
use crate::server::{CONTRACT, Server};
use std::io::{Read, Write};

fn check(server: &Server, token: &str, body: &[u8], expected: u16) {
    let answer = send(&server.address, &request("POST", "/v1/proposals", Some(token), Some(body)));
    let start = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
    assert_eq!(answer.status, expected, "{start}: {}", answer.text());
    let healthy = send(&server.address, &request("GET", "/healthz", None, None));
    assert_eq!(healthy.status, 200, "after {start}");
}

#[test]
fn bodies_that_break_others_are_refused_with_a_code() {
    let server = Server::start();
    let token = server.register(CONTRACT);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!("{{{}}}", (0..100_000).map(|key| format!("\"k{key}\":1")).collect::<Vec<_>>().join(","));
    let digits = format!(
        "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"params\":{{\"amount\":{}}}}}",
        "9".repeat(100_000)
    );
    // Whoever is known and sends what cannot be read is told so in a verdict, and it is recorded.
    let bodies: [&[u8]; 11] = [
        b"not json",
        b"{\"agent\":\"refund-bot\",\"agent\":\"refund-bot\"}",
        b"{\"a\":NaN}",
        b"{\"a\":1e999999}",
        b"{\"a\":\"\\ud800\"}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\xc0\x80\"}",
        b"{\"a\":\"\\u0000\"}",
        deep.as_bytes(),
        wide.as_bytes(),
        digits.as_bytes(),
    ];
    for body in bodies {
        check(&server, &token, body, 200);
    }
    check(&server, &token, b"", 400);
    check(&server, &token, &vec![b'x'; 17 * 1024 * 1024], 413);
}

fn raw(server: &Server, text: &str) -> Answer {
    send(&server.address, text.as_bytes())
}

#[test]
fn requests_that_break_others_are_refused() {
    let server = Server::start();
    let admin = server.admin.clone();
    let big = raw(&server, &format!("GET /v1/whoami HTTP/1.1\r\nhost: t\r\nx-big: {}\r\n\r\n", "a".repeat(1_000_000)));
    assert_eq!(big.status, 431);
    let zipped = raw(
        &server,
        &format!(
            "POST /v1/halt HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {admin}\r\n\
             content-encoding: gzip\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        ),
    );
    assert_eq!(zipped.status, 415);
    let both = raw(
        &server,
        "POST /v1/halt HTTP/1.1\r\nhost: t\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\n",
    );
    assert!((400..500).contains(&both.status), "{both:?}");
    assert_eq!(raw(&server, "GET /nothing HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").status, 404);
    let wrong = raw(&server, "DELETE /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET")), "{wrong:?}");
    for key in ["", "wk_default.x.y", "wks_default.refund-bot.0", "ey.ey.ey", "wk_acme.0af3.00"] {
        let answer = server.get("/v1/whoami", key);
        assert_eq!((answer.status, answer.member("code")), (401, "NOT_AUTHENTICATED".to_owned()), "{key}");
    }
    let asked = server.get("/v1/agents?more=1", &admin);
    assert_eq!((asked.status, asked.member("code")), (400, "REQUEST_INVALID".to_owned()));
}

#[test]
fn whoever_sends_slowly_waits_alone() {
    let server = Server::start();
    let mut slow: Vec<_> = (0..200).map(|_| connect(&server.address)).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: ").unwrap();
    }
    for _ in 0..20 {
        assert_eq!(send(&server.address, &request("GET", "/healthz", None, None)).status, 200);
    }
    // The service lets go of it: what comes is an answer that says so, or the end.
    let mut last = slow.pop().unwrap();
    let mut rest = Vec::new();
    assert!(last.read_to_end(&mut rest).is_ok(), "it was never let go");
}

#[test]
fn several_requests_on_one_connection_are_answered_in_order() {
    let server = Server::start();
    let mut stream = connect(&server.address);
    let one = "GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n".repeat(9);
    stream.write_all(format!("{one}GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
    let all = read_answer(&mut stream);
    assert_eq!(all.text().matches("HTTP/1.1 200").count(), 9, "{}", all.text());
}

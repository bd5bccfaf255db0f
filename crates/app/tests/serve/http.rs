//! HTTP as bytes on a socket: the tests see what is really sent.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest time any answer may take in these tests.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// A member of the body that must be text.
    pub fn member(&self, name: &str) -> String {
        let json = self.json();
        json[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {json}")).to_owned()
    }
}

/// One request on a connection of its own.
pub fn send(address: &str, request: &[u8]) -> Answer {
    let mut stream = connect(address);
    // A server that refuses early may close before everything is sent.
    let _ = stream.write_all(request);
    read_answer(&mut stream)
}

pub fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The bytes of a request that closes its connection.
pub fn request(method: &str, path: &str, key: Option<&str>, body: Option<&[u8]>) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
    if let Some(key) = key {
        text.push_str(&format!("authorization: Bearer {key}\r\n"));
    }
    if let Some(body) = body {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    [text.as_bytes(), body.unwrap_or_default()].concat()
}

/// Reads one answer to the end of the connection.
pub fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 64 * 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) => {
                assert!(!bytes.is_empty(), "no answer: {error}");
                break;
            }
        }
    }
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer in {:?}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok()).unwrap();
    let header = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(header).collect();
    let body = &bytes[end + 4..];
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    Answer { status, headers, body: if is_chunked { unchunked(body) } else { body.to_vec() } }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(String::from_utf8_lossy(&bytes[..end]).trim(), 16).unwrap_or(0);
        let piece = &bytes[end + 2..];
        if length == 0 || piece.len() < length {
            break;
        }
        body.extend_from_slice(&piece[..length]);
        bytes = piece.get(length + 2..).unwrap_or_default();
    }
    body
}

/// A request with more headers.
pub fn headed(request: &[u8], lines: &[&str]) -> Vec<u8> {
    let start = b"host: test\r\n";
    let at = request.windows(start.len()).position(|window| window == start).unwrap() + start.len();
    let more: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    [&request[..at], more.as_bytes(), &request[at..]].concat()
}

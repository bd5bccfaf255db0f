//! Just enough HTTP/1.1 for clients on this machine: one request, one answer, and the connection ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest request that is read; whole conversations come with each.
const REQUEST_BYTES: u64 = 64 * 1024 * 1024;

/// How long a client may be silent in the middle of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as far as a model needs it.
pub struct Request {
    pub method: String,
    /// Without what follows a question mark.
    pub path: String,
    pub body: Vec<u8>,
}

/// Reads a request; `None` where the client said nothing.
pub fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream).take(REQUEST_BYTES);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let path = words.next().unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or((header.as_str(), ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => is_chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        read_chunks(&mut reader, &mut body)?;
    } else {
        reader.take(length).read_to_end(&mut body)?;
    }
    Ok(Some(Request { method, path, body }))
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        if size == 0 {
            return Ok(());
        }
        reader.take(size).read_to_end(body)?;
        reader.read_line(&mut line)?;
    }
}

/// What is sent back.
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: String,
}

impl Answer {
    /// An object.
    pub fn json(body: &serde_json::Value) -> Answer {
        Answer { status: 200, kind: "application/json", body: body.to_string() }
    }

    /// Events, one after the other; `named` says whether each begins with its type.
    pub fn events(events: &[serde_json::Value], named: bool, last: &str) -> Answer {
        let mut body = String::new();
        for event in events {
            if let (true, Some(name)) = (named, event.get("type").and_then(serde_json::Value::as_str)) {
                body.push_str(&format!("event: {name}\n"));
            }
            body.push_str(&format!("data: {event}\n\n"));
        }
        body.push_str(last);
        Answer { status: 200, kind: "text/event-stream", body }
    }
}

/// Sends an answer and ends the connection.
pub fn send(mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    let Answer { status, kind, body } = answer;
    let head = format!(
        "HTTP/1.1 {status} .\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

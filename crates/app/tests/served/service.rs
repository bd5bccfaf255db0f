//! The real service, with a key for each part of a day.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Who works: the part, the role of the key, and its name. Whoever looks after people and the ledger is an admin.
const WORKERS: [(&str, &str, &str); 4] = [
    ("operator", "admin", "root"),
    ("approver", "approver", "ann"),
    ("agent", "agent", "bot"),
    ("executor", "executor", "worker"),
];

/// The process, which ends with this value.
pub struct Service {
    pub address: String,
    keys: BTreeMap<&'static str, String>,
    process: Child,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Service {
    pub fn start(store: &Path) -> Service {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(store);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut said = |start: &str| lines.find_map(|line| line.strip_prefix(start).map(str::to_owned)).unwrap();
        let (admin, address) = (said("admin key: "), said("listening on "));
        let key = |role: &str, name: &str| made(&address, &admin, &json!({ "role": role, "name": name }));
        let keys = WORKERS.map(|(part, role, name)| (part, key(role, name))).into();
        Service { address, keys, process }
    }

    pub fn key(&self, part: &str) -> &str {
        self.keys.get(part).unwrap()
    }
}

fn made(address: &str, admin: &str, wanted: &Value) -> String {
    let body = wanted.to_string();
    let head = format!(
        "POST /v1/keys HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {admin}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let made: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    made.get("key").and_then(Value::as_str).map(str::to_owned).unwrap_or_else(|| panic!("{answer}"))
}

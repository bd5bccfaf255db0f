//! The same steps through HTTP: a service on a store of its own, and `writkeeper decide` as its client.

use crate::file::Step;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_writkeeper");

/// A service whose clock is that of the proposals; it ends with this value.
struct Service {
    process: Child,
    address: String,
    admin: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Service {
    fn start(folder: &Path) -> Service {
        let mut command = Command::new(BINARY);
        command.args(["serve", "--clock-of-lines", "--listen", "127.0.0.1:0", "--store", "served.db"]);
        let mut process = command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut said = |start: &str| lines.find_map(|line| line.strip_prefix(start).map(str::to_owned)).unwrap();
        let (admin, address) = (said("admin key: "), said("listening on http://"));
        Service { process, address, admin }
    }

    /// A key that may do everything, under the name that the command line has beside a store.
    fn key(&self) -> String {
        let body = json!({ "role": "admin", "name": "root" }).to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST /v1/keys HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.admin,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let made: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        made["key"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

/// Answers of one step.
pub fn through_the_service(step: &Step) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("contract.yaml"), &step.contract).unwrap();
    std::fs::write(folder.path().join("context.json"), &step.context).unwrap();
    let service = Service::start(folder.path());
    let key = service.key();
    let mut lines = Vec::new();
    for run in step.runs() {
        let mut process = Command::new(BINARY)
            .args(["decide", "--quiet", "--contract", "contract.yaml", "--context", "context.json"])
            .args(["--allow-inert", "--open-flows", "--server", &format!("http://{}", service.address)])
            .env("WRITKEEPER_KEY", &key)
            .env("HOME", folder.path())
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input: String = run.iter().map(|case| format!("{}\n", case.proposal)).collect();
        process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        let found: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(found.len(), run.len(), "{}", String::from_utf8_lossy(&output.stderr));
        lines.extend(found);
    }
    lines
}

//! A service that runs for one test.

use crate::http::{Answer, request, send};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The contract of every test: small ones pass, larger ones are asked about.
pub const CONTRACT: &str = "\
agent: refund-bot
actions:
  issue_refund:
    once: \"refund:{order_id}\"
    params: { order_id: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
  read_order: { reads: true, params: { order_id: text } }
approvers: [refund-desk]
";

/// A service on a store of its own.
pub struct Server {
    pub address: String,
    /// The key of the first start.
    pub admin: String,
    process: Child,
    said: Arc<Mutex<String>>,
    hearing: Option<JoinHandle<()>>,
    _folder: Option<tempfile::TempDir>,
    pub store: PathBuf,
}

impl Server {
    /// On a new store.
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    pub fn start_with(words: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("kept.db");
        let mut server = Server::on(&store, words);
        server._folder = Some(folder);
        server
    }

    /// On a store that may be there.
    pub fn on(store: &Path, words: &[&str]) -> Server {
        Server::listening("127.0.0.1:0", store, words)
    }

    /// Wherever it is to listen.
    pub fn listening(place: &str, store: &Path, words: &[&str]) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
            .args(["serve", "--listen", place, "--store"])
            .arg(store)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let (mut admin, mut line) = (String::new(), String::new());
        let address = loop {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "the service did not start");
            if let Some(key) = line.strip_prefix("admin key: ") {
                key.trim().clone_into(&mut admin);
            }
            if let Some(address) = line.strip_prefix("listening on ") {
                let address = address.trim();
                break address.split_once("://").map_or(address, |(_, address)| address).to_owned();
            }
        };
        let said = Arc::new(Mutex::new(String::new()));
        let (heard, errors) = (said.clone(), BufReader::new(process.stderr.take().unwrap()));
        let hearing = std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                heard.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let store = store.to_owned();
        Server { address, admin, process, said, hearing: Some(hearing), _folder: None, store }
    }

    pub fn ask(&self, method: &str, path: &str, key: &str, body: Option<&Value>) -> Answer {
        let body = body.map(|body| body.to_string().into_bytes());
        send(&self.address, &request(method, path, Some(key), body.as_deref()))
    }

    pub fn get(&self, path: &str, key: &str) -> Answer {
        self.ask("GET", path, key, None)
    }

    pub fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.ask("POST", path, key, Some(body))
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Makes a key.
    pub fn key(&self, role: &str, name: &str, groups: &[&str]) -> String {
        let made = self.post("/v1/keys", &self.admin, &json!({ "role": role, "name": name, "groups": groups }));
        assert_eq!(made.status, 201, "{}", made.text());
        made.member("key")
    }

    /// Registers the agent of a contract; its token.
    pub fn register(&self, contract: &str) -> String {
        let made = self.post("/v1/agents", &self.admin, &json!({ "contract": contract }));
        assert_eq!(made.status, 201, "{}", made.text());
        made.member("token")
    }

    /// Tells it to end, and waits until it has; what it wrote to standard error.
    pub fn end(&mut self) -> String {
        let status = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
        assert!(self.process.wait().unwrap().success(), "{}", self.said.lock().unwrap());
        let _ = self.hearing.take().map(JoinHandle::join);
        self.said.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

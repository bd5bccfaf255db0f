//! A service on a scratch store, and a client as plain as HTTP itself.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A contract that asks from 25 on, for people of the desk.
pub const CONTRACT: &str = r"
agent: bot
mission: Pay what was broken.
actions:
  refund:
    once: 'refund:{order}'
    params: { order: text, amount: money EUR, note: optional text }
    allow: amount <= 25
    ask: amount <= 500
    budget: { sum: amount, max: 1000, per: 24h }
    impact: HIGH
    undo: { kind: REVERT, http: 'DELETE https://bank.example/refunds/{order}', within: 2h }
    run: { http: 'POST https://bank.example/refunds/{order}', class: keyed }
approvers: [desk]
";

/// A service that runs.
pub struct Service {
    _folder: tempfile::TempDir,
    process: Child,
    /// `127.0.0.1:PORT`
    pub host: String,
    /// The key that the first start prints.
    pub admin: String,
}

/// What was answered.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// A header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}\n{}", self.head, self.body))
    }

    /// The value of a hidden field.
    #[track_caller]
    pub fn hidden(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let rest = self.body.split(&start).nth(1).unwrap_or_else(|| panic!("no field {name} in {}", self.body));
        rest.split('"').next().unwrap().to_owned()
    }
}

/// Somebody who is signed in with a browser.
pub struct Browser<'s> {
    service: &'s Service,
    pub cookie: String,
}

impl Service {
    /// On a new store.
    pub fn start() -> Service {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(["serve", "--store", "kept.db", "--listen", "127.0.0.1:0"]).current_dir(folder.path());
        command.env_remove("WRITKEEPER_STORE").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut told = |start: &str| {
            let line = lines.next().expect("the service ended").unwrap();
            line.strip_prefix(start).unwrap_or_else(|| panic!("{line}")).to_owned()
        };
        let admin = told("admin key: ");
        let host = told("listening on http://");
        Service { _folder: folder, process, host, admin }
    }

    /// Sends a request as it is written, and reads everything.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.host);
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(text.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A request with a key.
    pub fn call(&self, key: &str, method: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {key}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, &[("Authorization", &bearer), ("Content-Type", "application/json")], &body)
    }

    /// A key of a role.
    #[track_caller]
    pub fn key(&self, role: &str, name: &str, groups: &[&str]) -> String {
        let wanted = match role {
            "approver" => json!({ "role": role, "name": name, "groups": groups }),
            _ => json!({ "role": role, "name": name }),
        };
        let made = self.call(&self.admin, "POST", "/v1/keys", &wanted).json();
        made["key"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// Registers an agent, and gives its token.
    #[track_caller]
    pub fn agent(&self, contract: &str) -> String {
        let made = self.call(&self.admin, "POST", "/v1/agents", &json!({ "contract": contract })).json();
        made["token"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// Proposes something that becomes a question, and gives its id.
    #[track_caller]
    pub fn ask(&self, token: &str, params: Value, why: &str) -> String {
        let proposal = json!({ "agent": "bot", "action": "refund", "params": params, "justification": why });
        let answer = self.call(token, "POST", "/v1/proposals", &proposal).json();
        answer["question"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Signs in.
    #[track_caller]
    pub fn sign_in(&self, key: &str) -> Browser<'_> {
        let own = format!("http://{}", self.host);
        let answer = self.send("POST", "/login", &[("Origin", &own)], &form(&[("key", key)]));
        assert_eq!(answer.status, 303, "{}", answer.body);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Browser { service: self, cookie }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser<'_> {
    /// Looks at a page.
    pub fn get(&self, path: &str) -> Answer {
        self.service.send("GET", path, &[("Cookie", &self.cookie)], "")
    }

    /// Sends a form as a browser does from one of the service's own pages.
    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let own = format!("http://{}", self.service.host);
        let headers = [("Cookie", &*self.cookie), ("Origin", &own), ("Sec-Fetch-Site", "same-origin")];
        self.service.send("POST", path, &headers, &form(fields))
    }

    /// Opens a card, and sends one of its forms with what its hidden fields hold.
    pub fn answer(&self, card: &Answer, id: &str, fields: &[(&str, &str)]) -> Answer {
        let (token, digest) = (card.hidden("csrf"), card.hidden("digest"));
        let mut all = vec![("csrf", token.as_str()), ("digest", digest.as_str())];
        all.extend(fields);
        self.post(&format!("/approve/{id}"), &all)
    }
}

/// A form as browsers write it.
pub fn form(fields: &[(&str, &str)]) -> String {
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

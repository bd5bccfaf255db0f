//! A folder with a store, a provider, and a log of everything callers were told.

use crate::history::{Broken, History};
use adapters::location::{OpenOptions as StoreOptions, view_store};
use adapters::system_clock::SystemClock;
use kernel::world::{Entity, Row};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

pub const BINARY: &str = env!("CARGO_BIN_EXE_writkeeper");

/// Times ahead after which whatever can end by itself has ended: claims, doubts and the tries after them.
pub const LATER: &[&str] = &["1s", "20s", "40s", "60s"];

/// How far ahead of the machine's clock a test goes at most.
const AHEAD_MAX: i64 = 25 * 3_600_000_000;

pub struct Site {
    pub folder: tempfile::TempDir,
    provider: Child,
    port: u16,
    clients: Mutex<File>,
    began: i64,
    /// Where the store is.
    pub location: String,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.provider.kill();
        let _ = self.provider.wait();
    }
}

/// Microseconds of the machine's clock, which all processes here share.
pub fn now() -> i64 {
    i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap()
}

impl Site {
    pub fn new() -> Site {
        Site::on(None)
    }

    /// With its store elsewhere than in a file of the folder.
    pub fn on(location: Option<String>) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let built = std::env::current_exe().unwrap();
        let binary = built.parent().and_then(|deps| deps.parent()).unwrap().join("examples/fake_provider");
        let mut provider = Command::new(binary).arg(folder.path().join("log")).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(provider.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        let clients = OpenOptions::new().create(true).append(true).open(folder.path().join("clients.jsonl")).unwrap();
        let location = location.unwrap_or_else(|| folder.path().join("db").display().to_string());
        let site = Site { folder, provider, port, clients: Mutex::new(clients), began: now(), location };
        site.write_contract();
        site
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// One action per class, and one that runs a program which writes into the provider's log.
    fn write_contract(&self) {
        let script = self.path("program");
        let log = self.path("log");
        let text = format!("#!/bin/sh\necho \"$WRITKEEPER_KEY $WRITKEEPER_EPOCH $WRITKEEPER_INTENT\" >> '{log}'\n");
        std::fs::write(&script, text).unwrap();
        // Does it and does not say so; asked again it refuses.
        let fickle = self.path("fickle");
        let text = format!(
            "#!/bin/sh\ngrep -q \"$WRITKEEPER_KEY\" '{log}' && exit 3\n\
             echo \"$WRITKEEPER_KEY $WRITKEEPER_EPOCH $WRITKEEPER_INTENT\" >> '{log}'\nexit 1\n"
        );
        std::fs::write(&fickle, text).unwrap();
        assert!(Command::new("chmod").args(["+x", &script, &fickle]).status().unwrap().success());
        let adviser = self.path("adviser");
        std::fs::write(&adviser, "echo '{\"verdict\":\"pass\",\"version\":\"1\"}'\n").unwrap();
        let action = |name: &str, run: &str| {
            format!(
                "  {name}:\n    once: '{name}:{{order}}'\n    params: {{ order: text, amount: number, how: text }}\n    \
                 limits: {{ amount: {{ max: 50 }} }}\n    reserves: [ {{ resource: pool, amount: amount }} ]\n    \
                 run: {run}\n"
            )
        };
        let http = |name: &str, class: &str, timeout: &str| {
            let address = format!("http://127.0.0.1:{}/{class}/{{how}}", self.port);
            action(name, &format!("{{ http: 'POST {address}', class: {class}, timeout: {timeout} }}"))
        };
        // A busy machine may take seconds for an answer; only those who are meant to give up do so soon.
        let mut actions: String = ["keyed", "fenced", "opaque"]
            .map(|class| http(class, class, "5s") + &http(&format!("brief_{class}"), class, "300ms"))
            .concat();
        actions += &http("scarce", "keyed", "5s").replace("resource: pool", "resource: few");
        actions += &action("program", &format!("{{ command: ['{script}'], class: opaque, timeout: 5s }}"));
        actions += &action("fickle", &format!("{{ command: ['{fickle}'], class: keyed, timeout: 5s }}"));
        actions += &http("advised", "keyed", "5s");
        actions += "    validators: [by_program, by_address]\n";
        let text = format!(
            "agent: bot\nactions:\n{actions}\
             resources: {{ pool: {{ kind: stock, capacity: 100000 }}, few: {{ kind: stock, capacity: 100 }} }}\n\
             validators:\n  by_program: {{ command: [sh, '{adviser}'] }}\n  \
             by_address: {{ url: 'http://127.0.0.1:{}/advice' }}\n\
             proposal: {{ ttl: {{ default: 5m, max: 5m }} }}\napprovers: [desk]\n",
            self.port
        );
        std::fs::write(self.path("bot.yaml"), text).unwrap();
    }

    pub fn writkeeper(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).args(["--store", &self.location]).env("USER", "ann");
        command.env("XDG_STATE_HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn deciding(&self) -> Command {
        let mut command = self.writkeeper(&["decide", "--quiet", "--contract", &self.path("bot.yaml")]);
        command.stdin(Stdio::piped());
        command
    }

    pub fn performing(&self, more: &[&str]) -> Command {
        let host = format!("127.0.0.1:{}", self.port);
        let mut command = self.writkeeper(&["run", "--allow-programs", "--allow-host", &host]);
        command.args(["--allow-private", "127.0.0.0/8", "--lease", "5s"]).args(more);
        command
    }

    /// Lets a command stop at a point; one at a time.
    pub fn pausing<'c>(&self, command: &'c mut Command, point: &str) -> &'c mut Command {
        let _ = std::fs::remove_file(self.path("awake"));
        command.env("WRITKEEPER_PAUSE_AT", point).env("WRITKEEPER_PAUSE_UNTIL", self.path("awake"))
    }

    /// Lets a stopped process go on.
    pub fn wake(&self, child: &Child) {
        std::fs::write(self.path("awake"), "").unwrap();
        assert!(Command::new("kill").args(["-CONT", &child.id().to_string()]).status().unwrap().success());
    }

    /// Decides these keys with one process and logs what it said; how many it answered.
    pub fn decide(&self, mut command: Command, keys: &[&str], text: impl Fn(&str) -> String) -> (usize, Output) {
        let began = now();
        let mut child = command.spawn().unwrap();
        let lines: String = keys.iter().map(|key| text(key) + "\n").collect();
        // It may die before it has read them.
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout.clone()).unwrap();
        let whole: Vec<&str> = said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).collect();
        for (number, key) in keys.iter().enumerate() {
            self.log(key, &text(key), began, whole.get(number).copied());
        }
        (whole.len(), output)
    }

    /// Decides something that no history knows of.
    pub fn unheard(&self, text: &str) -> Output {
        let mut child = self.deciding().spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Notes a call that has just returned, or never will.
    pub fn log(&self, key: &str, args: &str, began: i64, response: Option<&str>) {
        self.log_at(key, args, began, now(), response);
    }

    pub fn log_at(&self, key: &str, args: &str, began: i64, ended: i64, response: Option<&str>) {
        let said: Option<Value> = response.map(|line| serde_json::from_str(line).unwrap());
        let undecided = |said: &Value| said["reasons"][0] == "UNAVAILABLE";
        let status = match &said {
            Some(said) if undecided(said) => "unknown",
            Some(said) if said["verdict"] == "ACCEPT" => "ok",
            Some(_) => "rejected",
            None => "unknown",
        };
        let ended = (status != "unknown").then_some(ended);
        let line =
            json!({"key": key, "args": args, "t_inv": began, "t_ret": ended, "status": status, "response": response});
        writeln!(self.clients.lock().unwrap(), "{line}").unwrap();
    }

    pub fn effects(&self) -> usize {
        std::fs::read_to_string(self.path("log")).unwrap_or_default().lines().count()
    }

    /// Lets time pass until everything that can end by itself has ended.
    pub fn heal(&self, times: &[&str]) {
        for ahead in times {
            let output = self.performing(&["--once", "--threads", "32", "--clock-ahead", ahead]).output().unwrap();
            assert!(output.status.code().is_some_and(|code| code <= 2), "{output:?}");
        }
    }

    /// Exports, verifies and checks everything; hands back the history and what `verify` said.
    pub fn judge(&self) -> (History, Vec<Broken>, i32) {
        let export = self.path("final.export");
        let output = self.writkeeper(&["ledger", "export", "--out", &export]).output().unwrap();
        if !output.status.success() {
            return (History::default(), vec![("export", format!("{output:?}"))], -1);
        }
        let verified = Command::new(BINARY).args(["verify", &export]).output().unwrap();
        let code = verified.status.code().unwrap_or(-1);
        let path = |name: &str| self.folder.path().join(name);
        let mut history = History::read(&path("clients.jsonl"), &path("log"), &path("final.export"));
        history.bounds = (self.began, now() + AHEAD_MAX);
        history.counters = self.counters();
        let mut broken = history.check();
        // A history may be long; the beginning of what is wrong says enough.
        broken.iter_mut().for_each(|(_, problem)| problem.truncate(problem.floor_char_boundary(600)));
        if !matches!(code, 0 | 2) {
            broken.push(("verify", format!("exit code {code}: {}", String::from_utf8_lossy(&verified.stdout))));
        }
        (history, broken, code)
    }

    /// Also demands that everything has come to an end, which is right once time has passed.
    pub fn judge_settled(&self) -> (History, Vec<Broken>, i32) {
        let (history, mut broken, code) = self.judge();
        broken.extend(history.check_settled());
        (history, broken, code)
    }

    fn counters(&self) -> std::collections::BTreeMap<String, (i64, i64)> {
        let (place, options) = (self.location.parse().unwrap(), StoreOptions::default());
        let store = view_store(&place, values::ids::TENANT_DEFAULT, Arc::new(SystemClock), options).unwrap();
        let mut reader = store.reader().unwrap();
        let whole = |number: &values::decimal::Decimal| number.to_string().parse().unwrap();
        let mut counters = std::collections::BTreeMap::new();
        for name in ["pool", "few"] {
            if let Some(Row::Resource(row)) = reader.get(&Entity::Resource(name.to_owned())).unwrap() {
                counters.insert(name.to_owned(), (whole(&row.held), whole(&row.consumed)));
            }
        }
        counters
    }
}

/// A proposal whose order is its key.
pub fn proposal(key: &str, action: &str, how: &str, amount: u32) -> String {
    format!(
        r#"{{"agent":"bot","action":"{action}","idempotency_key":"{key}","params":{{"order":"{key}","amount":{amount},"how":"{how}"}}}}"#
    )
}

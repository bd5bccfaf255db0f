//! People are told, by the real binary and a real receiver that checks every signature by itself.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on should stop loudly")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_writkeeper");

/// Longer than any of these tests may take.
const LONG: Duration = Duration::from_secs(60);

const CONTRACT: &str = "agent: bot
actions:
  pay:
    params: { type: object, additionalProperties: false, required: [order, pin], properties: { order: { type: string }, pin: { type: string, secret: true } } }
    ask: 'true'
escalation:
  approvers: [desk]
  timeout: { remind: 1ms, reroute: 2ms, to: 'group:leads', after: 1h, then: ABORT }
";

/// A request as the receiver got it.
#[derive(Clone, Debug)]
struct Received {
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Received {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The question, and what happened to it.
    fn told(&self) -> (String, String) {
        let json = self.json();
        let kind = json["type"].as_str().unwrap().strip_prefix("writkeeper.question.").unwrap().to_owned();
        (json["data"]["question"].as_str().unwrap().to_owned(), kind)
    }

    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }
}

/// What a receiver answers to the request with this number; nothing breaks the connection off.
type Answers = dyn Fn(usize, &Received) -> Option<String> + Send + Sync;

struct Receiver {
    port: u16,
    seen: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    fn answering(answers: impl Fn(usize, &Received) -> Option<String> + Send + Sync + 'static) -> Receiver {
        Receiver::at(TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(answers))
    }

    fn fine() -> Receiver {
        Receiver::answering(|_, _| Some(status("204 No Content")))
    }

    fn at(listener: TcpListener, answers: Arc<Answers>) -> Receiver {
        let (port, seen) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(Vec::new())));
        let kept = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(mut stream) = stream.ok() else { continue };
                let Some(received) = read(&mut stream) else { continue };
                let number = kept.lock().unwrap().len();
                kept.lock().unwrap().push(received.clone());
                if let Some(answer) = answers(number, &received) {
                    let _ = stream.write_all(answer.as_bytes());
                }
            }
        });
        Receiver { port, seen }
    }

    fn seen(&self) -> Vec<Received> {
        self.seen.lock().unwrap().clone()
    }

    fn until(&self, count: usize) -> Vec<Received> {
        let end = Instant::now() + LONG;
        while self.seen().len() < count {
            assert!(Instant::now() < end, "{} of {count} came", self.seen().len());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.seen()
    }
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Received { path, headers, body: String::from_utf8(body).ok()? })
}

struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        let site = Site { folder: tempfile::tempdir().unwrap() };
        site.write("contract.yaml", CONTRACT);
        site.write("people.yaml", "desk: [ann]\n");
        site.says(&["people", "set", "people.yaml"], 0);
        site
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).args(["--store", "kept.db"]).current_dir(self.folder.path());
        command
    }

    fn says(&self, arguments: &[&str], code: i32) -> String {
        let output = self.command(arguments).output().unwrap();
        said(&output, code)
    }

    /// Asks about an order; the question.
    fn ask(&self, order: &str) -> String {
        let mut command = self.command(&["decide", "--contract", "contract.yaml"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let line =
            format!(r#"{{"agent":"bot","action":"pay","id":"{order}","params":{{"order":"{order}","pin":"CANARY"}}}}"#);
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_str(said(&output, 2).trim()).unwrap();
        answer["question"]["id"].as_str().unwrap().to_owned()
    }

    fn deny(&self, question: &str) {
        self.says(&["escalations", "answer", question, "deny", "--as", "ann", "--because", "TYPED"], 0);
    }

    fn webhooks(&self, entries: &[String]) {
        self.write("hooks.yaml", &format!("webhooks: [{}]\n", entries.join(", ")));
    }

    fn notify(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["notify", "--webhooks", "hooks.yaml", "--retry", "5ms"]);
        command.args(more);
        command
    }

    fn once(&self, code: i32) -> String {
        let output = self.notify(&["--once", "--allow-private", "127.0.0.0/8"]).output().unwrap();
        said(&output, code)
    }

    fn serving(&self) -> Serving {
        let mut command = self.notify(&["--allow-private", "127.0.0.0/8"]);
        Serving(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// The public key, read without our own code.
    fn key(&self) -> VerifyingKey {
        let text = self.says(&["notify", "key"], 0);
        let bytes = STANDARD.decode(text.trim().strip_prefix("whpk_").unwrap()).unwrap();
        VerifyingKey::from_bytes(&bytes.try_into().unwrap()).unwrap()
    }

    /// Every message is signed over exactly its id, its second and its body, and holds nothing that is secret.
    fn verify(&self, received: &[Received]) {
        let key = self.key();
        for message in received {
            let signed = format!("{}.{}.{}", message.id(), message.headers["webhook-timestamp"], message.body);
            let signature = message.headers["webhook-signature"].strip_prefix("v1a,").unwrap();
            let signature = Signature::from_slice(&STANDARD.decode(signature).unwrap()).unwrap();
            key.verify_strict(signed.as_bytes(), &signature).unwrap();
            assert!(key.verify_strict(format!("{signed} ").as_bytes(), &signature).is_err());
            assert_eq!(message.headers["content-type"], "application/cloudevents+json");
            assert_eq!(message.json()["specversion"], "1.0");
            for kept in ["CANARY", "TYPED"] {
                assert!(!message.body.contains(kept), "{}", message.body);
            }
        }
    }
}

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn said(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}{errors}");
    text + &errors
}

fn hook(port: u16, more: &str) -> String {
    format!("{{ url: 'http://127.0.0.1:{port}/hook'{more} }}")
}

fn kinds(received: &[Received], question: &str) -> Vec<String> {
    let told = received.iter().map(Received::told).filter(|(about, _)| about == question);
    told.map(|(_, kind)| kind).collect()
}

#[test]
fn a_question_is_told_from_its_beginning_to_its_end() {
    let (site, receiver) = (Site::new(), Receiver::fine());
    site.webhooks(&[hook(receiver.port, "")]);
    site.once(0);
    let (one, two) = (site.ask("one"), site.ask("two"));
    site.says(&["tick"], 0);
    site.deny(&one);
    site.says(&["flows", "abort", "two"], 0);
    site.once(0);
    let seen = receiver.seen();
    site.verify(&seen);
    assert_eq!(kinds(&seen, &one), ["asked", "rerouted", "reminded", "answered"]);
    assert_eq!(kinds(&seen, &two), ["asked", "rerouted", "reminded", "aborted"]);
    let asked = seen[0].json();
    assert_eq!(asked["data"]["action"], "pay");
    assert_eq!(asked["data"]["approvers"], serde_json::json!(["desk"]));
    assert_eq!(asked["subject"], format!("questions/{one}"));
    assert!(asked["data"]["deadline"].is_string());
    let answered = seen.iter().find(|message| message.told() == (one.clone(), "answered".to_owned())).unwrap().json();
    assert_eq!((&answered["data"]["by"], &answered["data"]["decision"]), (&"ann".into(), &"ABORT".into()));
    site.once(0);
    assert_eq!(receiver.seen().len(), seen.len(), "nothing is told twice without need");
}

#[test]
fn a_service_tells_people_while_it_serves() {
    let (site, receiver) = (Site::new(), Receiver::fine());
    site.webhooks(&[hook(receiver.port, "")]);
    let mut command = site.command(&["serve", "--listen", "127.0.0.1:0", "--webhooks", "hooks.yaml"]);
    command.args(["--allow-private", "127.0.0.0/8"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let _serving = Serving(process);
    assert!(lines.any(|line| line.starts_with("listening on ")), "it did not start");
    let question = site.ask("one");
    // The service lets time act, so the question is rerouted and people are reminded before anybody answers.
    receiver.until(3);
    site.deny(&question);
    let seen = receiver.until(4);
    site.verify(&seen);
    assert_eq!(kinds(&seen, &question), ["asked", "rerouted", "reminded", "answered"]);
}

#[test]
fn each_endpoint_hears_what_it_asked_for() {
    let (site, ends, leads) = (Site::new(), Receiver::fine(), Receiver::fine());
    site.webhooks(&[hook(ends.port, ", events: [answered]"), hook(leads.port, ", groups: [leads]")]);
    site.once(0);
    let question = site.ask("one");
    site.says(&["tick"], 0);
    site.deny(&question);
    site.once(0);
    assert_eq!(kinds(&ends.seen(), &question), ["answered"]);
    assert_eq!(kinds(&leads.seen(), &question), ["rerouted", "reminded", "answered"], "leads may answer from then on");
}

#[test]
fn an_outage_stops_no_decision_and_no_other_endpoint_and_is_caught_up() {
    let (site, receiver) = (Site::new(), Receiver::fine());
    // A port where nobody listens for now.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    site.webhooks(&[hook(port, ""), hook(receiver.port, "")]);
    let mut questions = vec![site.ask("q0")];
    let text = site.once(75);
    assert!(text.contains("has not heard of entry"), "{text}");
    assert_eq!(receiver.seen().len(), 1);
    let _serving = site.serving();
    for number in 1..6 {
        questions.push(site.ask(&format!("q{number}")));
    }
    receiver.until(6);
    let back = Receiver::at(TcpListener::bind(("127.0.0.1", port)).unwrap(), Arc::new(|_, _| Some(status("200 OK"))));
    for question in &questions {
        site.deny(question);
    }
    for seen in [back.until(12), receiver.until(12)] {
        site.verify(&seen);
        for question in &questions {
            assert_eq!(kinds(&seen, question), ["asked", "answered"]);
        }
    }
}

#[test]
fn faults_of_a_receiver_are_tried_again_in_order() {
    let answers = |number: usize, _: &Received| match number {
        0 | 4 => Some(status("503 Service Unavailable")),
        1 | 5 => None,
        2 => Some(status("429 Too Many Requests")),
        _ => Some(status("200 OK")),
    };
    let (site, receiver) = (Site::new(), Receiver::answering(answers));
    site.webhooks(&[hook(receiver.port, "")]);
    let _serving = site.serving();
    let question = site.ask("one");
    receiver.until(4);
    site.deny(&question);
    let seen = receiver.until(7);
    site.verify(&seen);
    let ids: Vec<&str> = seen.iter().map(Received::id).collect();
    assert!(ids[..4].iter().all(|id| *id == ids[0]), "the same message keeps its id: {ids:?}");
    assert!(ids[4..7].iter().all(|id| *id == ids[4] && *id != ids[0]), "{ids:?}");
    assert_eq!(kinds(&seen[3..4], &question), ["asked"]);
    assert_eq!(kinds(&seen[6..7], &question), ["answered"]);
}

#[test]
fn a_notifier_killed_after_a_delivery_loses_nothing() {
    let child: Arc<Mutex<Option<Serving>>> = Arc::default();
    let killed = child.clone();
    // The receiver has the whole message and kills the notifier before it can know: SIGKILL, three times.
    let answers = move |number: usize, _: &Received| {
        if [0, 2, 4].contains(&number) {
            killed.lock().unwrap().take();
        }
        Some(status("200 OK"))
    };
    let (site, receiver) = (Site::new(), Receiver::answering(answers));
    site.webhooks(&[hook(receiver.port, "")]);
    let questions: Vec<String> = (0..4).map(|number| site.ask(&format!("q{number}"))).collect();
    for count in [1, 3, 5] {
        // Held while it starts, so that the receiver finds it.
        let mut held = child.lock().unwrap();
        *held = Some(site.serving());
        drop(held);
        receiver.until(count);
        let end = Instant::now() + LONG;
        while child.lock().unwrap().is_some() {
            assert!(Instant::now() < end, "it is killed");
        }
    }
    site.once(0);
    let seen = receiver.seen();
    site.verify(&seen);
    let mut told: Vec<(String, String)> = seen.iter().map(Received::told).collect();
    told.dedup();
    let asked: Vec<(String, String)> =
        questions.iter().map(|question| (question.clone(), "asked".to_owned())).collect();
    assert_eq!(told, asked, "each comes once or several times in a row, in order, and none is missing");
    assert!(seen.len() > questions.len(), "what the notifier did not know came again");
    let ids: std::collections::BTreeSet<&str> = seen.iter().map(Received::id).collect();
    assert_eq!(ids.len(), questions.len(), "what comes again has the same id");
}

#[test]
fn redirects_and_the_inside_are_refused() {
    let target = Receiver::fine();
    let to = format!("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{}/\r\ncontent-length: 0\r\n\r\n", target.port);
    let redirecting = Receiver::answering(move |_, _| Some(to.clone()));
    let site = Site::new();
    site.ask("one");
    site.webhooks(&[hook(redirecting.port, "")]);
    let text = site.once(1);
    assert!(text.contains("HTTP 302"), "{text}");
    assert!(target.seen().is_empty(), "no redirect is followed");
    assert_eq!(redirecting.seen().len(), 8, "tried again a bounded number of times, then left out");
    assert_eq!(redirecting.seen()[0].path, "/hook");
    site.webhooks(&[hook(target.port, "")]);
    let output = site.notify(&["--once"]).output().unwrap();
    let text = said(&output, 75);
    assert!(text.contains("loopback"), "{text}");
    assert!(target.seen().is_empty(), "nobody named the address");
    let gone = Receiver::answering(|_, _| Some(status("410 Gone")));
    site.webhooks(&[hook(gone.port, "")]);
    assert!(site.once(75).contains("410"));
    assert_eq!(gone.seen().len(), 1, "who wants nothing any more is told nothing any more");
}

#[test]
fn what_was_typed_wrongly_is_said() {
    let site = Site::new();
    let check = |arguments: &[&str], code: i32, words: &str| {
        let text = site.says(arguments, code);
        assert!(text.contains(words), "{text}");
    };
    check(&["notify"], 64, "--webhooks FILE");
    site.write("hooks.yaml", "webhooks: [{ url: 'https://a.example', events: [opened] }]\n");
    check(&["notify", "--webhooks", "hooks.yaml"], 65, "known events: asked");
    site.write("hooks.yaml", "webhooks: [{ url: 'https://a.example' }]\n");
    check(&["notify", "--webhooks", "hooks.yaml", "--retry", "soon"], 64, "--retry");
    check(&["notify", "--webhooks", "hooks.yaml", "--allow-private", "inside"], 64, "10.0.0.0/8");
}

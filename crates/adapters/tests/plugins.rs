//! Validators and judges as real programs and real servers, through the runtime and back out of the ledger.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and says what it counted"
)]

use adapters::advisor::PluginAdvisor;
use adapters::http_client::HttpClient;
use adapters::program::{Limits, run};
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::escalation::EscalationRow;
use kernel::evaluator::Compiled;
use kernel::proposal::Proposal;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::Store;
use runtime::replay::replay;
use runtime::{Answered, Arrival, Options, PersonAnswer, Runtime};
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use values::json::Json;
use values::time::Instant;

fn limits(milliseconds: u64) -> Limits {
    Limits { timeout: Duration::from_millis(milliseconds), output_bytes_max: 1_000 }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What a program answers, or the start of why it does not.
#[track_caller]
fn check(program: &[&str], milliseconds: u64, expected: Result<&str, &str>) {
    let said = run(&words(program), &[], b"question", limits(milliseconds));
    let said = said.map(|bytes| String::from_utf8(bytes).unwrap());
    match (&said, expected) {
        (Ok(said), Ok(expected)) => assert_eq!(said, expected, "{program:?}"),
        (Err(said), Err(expected)) => assert!(said.contains(expected), "{program:?}: {said}"),
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => panic!("{program:?}: {said:?} where {expected:?} was due"),
    }
}

#[test]
fn a_program_answers_or_it_does_not() {
    check(&["cat"], 10_000, Ok("question"));
    check(&["sh", "-c", "echo late; exit 3"], 10_000, Err("ended with exit status: 3"));
    check(&["sh", "-c", "kill -9 $$"], 10_000, Err("ended with signal: 9"));
    check(&["sh", "-c", "yes | head -c 5000"], 10_000, Err("longer than 1000 bytes"));
    check(&["yes"], 10_000, Err("longer than 1000 bytes"));
    check(&["/nowhere/at/all"], 10_000, Err("cannot be started"));
    check(&["sleep", "600"], 100, Err("did not answer within 100 ms"));
    // Its output is closed, but it does not end.
    check(&["sh", "-c", "exec >&-; sleep 600"], 200, Err("did not answer within 200 ms"));
    // It has ended, but a child of it keeps the output open.
    check(&["sh", "-c", "sleep 600 & echo said"], 200, Err("did not answer within 200 ms"));
    // Nobody reads the question.
    check(&["sh", "-c", "exec <&-; echo answer"], 10_000, Ok("answer\n"));
    // No shell looks at the words.
    check(&["echo", "$HOME; $(id)"], 10_000, Ok("$HOME; $(id)\n"));
}

#[test]
fn a_program_gets_only_the_named_variables() {
    let said = run(
        &words(&["env"]),
        &words(&["CARGO_MANIFEST_DIR"]),
        b"",
        Limits { output_bytes_max: 64_000, ..limits(10_000) },
    );
    let said = String::from_utf8(said.unwrap()).unwrap();
    let mut names: Vec<&str> = said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["CARGO_MANIFEST_DIR", "PATH"]);
}

#[test]
fn children_end_with_the_program() {
    let folder = Folder::new("children");
    let file = folder.0.join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", file.display());
    check(&["sh", "-c", &script], 1_000, Err("did not answer"));
    let pid = std::fs::read_to_string(&file).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    // Killed at once; whoever inherits it takes its status when it gets to it.
    let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
    let waited = (0..500).position(|_| {
        let gone = !alive();
        if !gone {
            std::thread::sleep(Duration::from_millis(10));
        }
        gone
    });
    assert!(waited.is_some(), "the child of a killed program lives on");
}

/// A folder of its own, removed when dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("plugins-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left_behind = std::fs::remove_dir_all(&self.0);
    }
}

/// Answers every request with these bytes; with nothing, it never answers.
fn server(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4_096];
            let mut seen = Vec::new();
            while !String::from_utf8_lossy(&seen).contains("question") {
                let Ok(count @ 1..) = stream.read(&mut bytes) else { break };
                seen.extend_from_slice(&bytes[..count]);
            }
            if answer.is_empty() {
                silent.push(stream);
            } else {
                let _gone = stream.write_all(answer.as_bytes());
            }
        }
    });
    address
}

fn post(address: SocketAddr, name: &str, pinned: Vec<SocketAddr>) -> Result<(u16, String), String> {
    let client = HttpClient { timeout: Duration::from_millis(2_000), answer_bytes_max: 1_000, pinned };
    let answer = client.post_json(&format!("http://{name}:{}/judge", address.port()), b"question")?;
    Ok((answer.status, String::from_utf8(answer.body).unwrap()))
}

#[test]
fn an_address_answers_or_it_does_not() {
    let fine = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    assert_eq!(post(fine, "127.0.0.1", Vec::new()), Ok((200, "{}".to_owned())));
    let moved = server("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(post(moved, "127.0.0.1", Vec::new()), Ok((302, String::new())), "a redirect is an answer of its own");
    let long: &'static str =
        Box::leak(format!("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{}", "x".repeat(5_000)).into_boxed_str());
    assert!(post(server(long), "127.0.0.1", Vec::new()).unwrap_err().contains("longer than 1000 bytes"));
    assert!(post(server(""), "127.0.0.1", Vec::new()).unwrap_err().contains("did not answer within 2000 ms"));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(post(nobody, "127.0.0.1", Vec::new()).is_err());
    // The name says something else than the address it is pinned to.
    assert_eq!(post(fine, "pay.invalid", vec![fine]), Ok((200, "{}".to_owned())));
}

struct Bench {
    runtime: Runtime,
    store: MemoryStore,
    folder: Folder,
}

fn compiled(text: &str) -> Arc<Compiled> {
    Arc::new(engines::load::load(text).unwrap_or_else(|problems| panic!("{problems:?}")).compiled)
}

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

impl Bench {
    fn new(name: &str) -> Bench {
        let store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
        let options = Options { advisor: Some(Arc::new(PluginAdvisor)), ..Options::default() };
        let runtime = Runtime::start(Box::new(store.clone()), options).unwrap();
        Bench { runtime, store, folder: Folder::new(name) }
    }

    /// A validator that leaves a line in a file for every question, and passes.
    fn contract(&self, allow: u32) -> Arc<Compiled> {
        let asked = self.folder.0.join("asked");
        compiled(&format!(
            r#"
agent: refunds
validators:
  count: [sh, -c, "cat >> {asked}; echo >> {asked}; echo '{{\"verdict\":\"pass\",\"version\":\"1\"}}'"]
actions:
  refund: {{ params: {{ order: text, amount: number }}, allow: amount <= {allow}, ask: amount <= 100, validators: count, run: host }}
approvers: [leads]
"#,
            asked = asked.display()
        ))
    }

    fn enroll(&self, contract: &Arc<Compiled>) {
        yes(&self.runtime.register(operator(), contract.clone(), None, None).wait());
        yes(&self.runtime.activate(operator(), contract.clone()).wait());
        yes(&self.runtime.change(operator(), Act::Merge(vec![Write::groups("bob", ["leads"])])).wait());
    }

    fn questions(&self) -> usize {
        std::fs::read_to_string(self.folder.0.join("asked")).unwrap_or_default().lines().count()
    }

    fn refund(&self, order: &str, amount: u32) -> Answered {
        let text =
            format!(r#"{{"agent":"refunds","action":"refund","params":{{"order":"{order}","amount":{amount}}}}}"#);
        self.runtime.judge(text.as_bytes(), Arrival::through(Door::PURE)).wait()
    }

    fn answer(&self, decision: &str, instead: Option<&str>) -> Answered {
        let mut reader = self.store.reader().unwrap();
        let open = reader.due(Kind::Escalation, Instant::from_micros(i64::MAX), 9).unwrap();
        let [(key, Row::Escalation(row))] = open.as_slice() else { panic!("one question: {open:?}") };
        let agent = Entity::Agent(row.agent.clone());
        let Some(Row::Agent(agent)) = reader.get(&agent).unwrap() else { panic!("no agent") };
        let in_force = agent.contract.unwrap();
        let answer = PersonAnswer {
            person: "bob".to_owned(),
            question: key.entity.parts().0.to_owned(),
            decision: decision.to_owned(),
            // What a person is shown now: the proposal under the contract in force.
            digest: EscalationRow::digest_of(&row.proposal, in_force),
            reason: String::new(),
            instead: instead.map(|text| Proposal::parse(text.as_bytes()).unwrap()),
            door: Door::PURE,
            identity: kernel::person::Identity::default(),
        };
        self.runtime.answer(answer).wait()
    }

    /// Every record folds again to the same bytes, and nobody is asked again.
    fn replays(&self) {
        let before = self.questions();
        let replayed = replay(self.store.reader().unwrap().as_mut()).unwrap();
        assert_eq!((replayed.differs, replayed.withheld), (None, 0));
        assert_eq!(self.questions(), before, "a replay asks nobody");
        println!("replayed {} records, {before} questions", replayed.same);
    }
}

fn yes(answered: &Answered) {
    assert_eq!(answered.answer.verdict.word(), "ACCEPT", "{}", answered.answer.to_line());
}

#[test]
fn advice_is_asked_once_recorded_and_replayed() {
    let bench = Bench::new("replayed");
    bench.enroll(&bench.contract(50));
    yes(&bench.refund("a", 5));
    assert_eq!(bench.questions(), 1);
    // What the validator said when the question was asked counts at the answer.
    assert_eq!(bench.refund("b", 60).answer.verdict.word(), "ESCALATE");
    assert_eq!(bench.questions(), 2);
    yes(&bench.answer("OVERRIDE", None));
    assert_eq!(bench.questions(), 2);
    // Something else instead is another question.
    assert_eq!(bench.refund("c", 60).answer.verdict.word(), "ESCALATE");
    let less = r#"{"agent":"refunds","action":"refund","params":{"order":"c","amount":7}}"#;
    yes(&bench.answer("MODIFY", Some(less)));
    assert_eq!(bench.questions(), 4);
    // An abort judges nothing.
    assert_eq!(bench.refund("d", 60).answer.verdict.word(), "ESCALATE");
    yes(&bench.answer("ABORT", None));
    assert_eq!(bench.questions(), 5);
    bench.replays();
}

#[test]
fn another_contract_asks_again() {
    let bench = Bench::new("again");
    bench.enroll(&bench.contract(50));
    assert_eq!(bench.refund("b", 60).answer.verdict.word(), "ESCALATE");
    let other = bench.contract(40);
    // Another process puts it in force: this one learns of it from the kernel.
    let elsewhere = Runtime::start(Box::new(bench.store.clone()), Options::default()).unwrap();
    yes(&elsewhere.register(operator(), other.clone(), None, None).wait());
    yes(&elsewhere.activate(operator(), other).wait());
    let asked = bench.questions();
    yes(&bench.answer("OVERRIDE", None));
    assert_eq!(bench.questions(), asked + 1, "what was said under another contract does not count");
    yes(&bench.refund("e", 5));
    bench.replays();
}

#[test]
fn without_anyone_who_asks_nothing_passes() {
    let bench = Bench::new("nobody");
    let contract = bench.contract(50);
    bench.enroll(&contract);
    let silent = Runtime::start(Box::new(bench.store.clone()), Options::default()).unwrap();
    let text = r#"{"agent":"refunds","action":"refund","params":{"order":"a","amount":5}}"#;
    let answered = silent.judge(text.as_bytes(), Arrival::through(Door::PURE)).wait();
    assert_eq!(answered.answer.reasons(), ["VALIDATOR_FAILED"]);
    let write = Write { key: "x".to_owned(), value: Json::Null, expect: None };
    yes(&silent.change(operator(), Act::Merge(vec![write])).wait());
    bench.replays();
}

//! The live screen on a real pseudo-terminal: what it shows, what keys do, and how it leaves the terminal.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop loudly")]

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longer than a loaded machine needs for a second's work; only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

const CONTRACT: &str = r"
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: money EUR, note: text }
    allow: amount <= 25
    ask: amount <= 50
approvers: [desk]
";

struct Desk(tempfile::TempDir);

impl Desk {
    /// An agent, two people, and a question for each amount over 25.
    fn new(payments: &[(&str, &str, &str)]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("contract.yaml"), CONTRACT).unwrap();
        std::fs::write(folder.path().join("people.yaml"), "desk: [ann, bob]\n").unwrap();
        let desk = Desk(folder);
        desk.says(&["agents", "register", "--contract", "contract.yaml"]);
        desk.says(&["agents", "activate", "--contract", "contract.yaml"]);
        desk.says(&["people", "set", "people.yaml"]);
        for (order, amount, note) in payments {
            desk.pay(order, amount, note);
        }
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn pay(&self, order: &str, amount: &str, note: &str) {
        let params = serde_json::json!({"order": order, "amount": serde_json::from_str::<serde_json::Value>(amount).unwrap(), "note": note});
        let line = serde_json::json!({"agent": "bot", "action": "pay", "params": params}).to_string();
        std::fs::write(self.path().join("line.jsonl"), line).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(["decide", "--store", "writkeeper.db", "line.jsonl"]).current_dir(self.path());
        assert!(command.output().unwrap().status.code().is_some_and(|code| code <= 2));
    }

    fn says(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(words).current_dir(self.path()).env_remove("WRITKEEPER_STORE").env("USER", "ann");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn questions(&self) -> Vec<serde_json::Value> {
        self.says(&["escalations", "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn top(&self, words: &[&str]) -> Screen {
        Screen::start(self.path(), words)
    }
}

/// A terminal with the program inside.
struct Screen {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    bytes: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Everything that came, for what a parser does not tell.
    raw: Vec<u8>,
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn cells(count: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(count).unwrap()
}

impl Screen {
    fn start(folder: &Path, words: &[&str]) -> Screen {
        let pair = native_pty_system().openpty(size(30, 110)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args([&["top"], words].concat());
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        command.env_remove("WRITKEEPER_STORE");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, bytes) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else { break };
                if sender.send(read.to_vec()).is_err() {
                    break;
                }
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Screen {
            master: pair.master,
            keys,
            child,
            bytes,
            parser: vt100::Parser::new(cells(30), cells(110), 0),
            raw: Vec::new(),
        }
    }

    fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// Waits until the screen shows this.
    #[track_caller]
    fn sees(&mut self, wanted: &str) {
        self.until(wanted, |text| text.contains(wanted));
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_it(&self.text()) {
            match self.bytes.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => {
                    self.parser.process(&bytes);
                    self.raw.extend(bytes);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("never saw {what} but:\n{}", self.text())
                }
            }
        }
    }

    /// Whether the screen shows this before the time is over.
    fn saw(&mut self, is_it: impl Fn(&str) -> bool, within: Duration) -> bool {
        let end = Instant::now() + within;
        while !is_it(&self.text()) {
            let Ok(bytes) = self.bytes.recv_timeout(end.saturating_duration_since(Instant::now())) else {
                return false;
            };
            self.parser.process(&bytes);
            self.raw.extend(bytes);
        }
        true
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end and takes what is left.
    fn end(&mut self) -> u32 {
        let status = self.child.wait().unwrap();
        while let Ok(bytes) = self.bytes.recv_timeout(Duration::from_secs(5)) {
            self.parser.process(&bytes);
            self.raw.extend(bytes);
        }
        status.exit_code()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

#[test]
fn the_screen_shows_what_there_is_and_leaves_the_terminal_as_it_was() {
    let desk = Desk::new(&[("A-1", "20", "ok"), ("A-2", "40", "much"), ("A-3", "900", "too much")]);
    let mut screen = desk.top(&[]);
    screen.sees("waiting for people: 1");
    for wanted in ["bot pay", "\"A-2\"", "agents: 1", "ACTIVE", "ACCEPT", "REJECT", "ESCALATE", "1 proposal,"] {
        screen.sees(wanted);
    }
    assert!(screen.parser.screen().alternate_screen());
    // Live: what is decided now appears without a key.
    desk.pay("A-4", "45", "later");
    screen.sees("waiting for people: 2");
    screen.press("q");
    assert_eq!(screen.end(), 0);
    let after = screen.parser.screen();
    assert!(!after.alternate_screen() && !after.hide_cursor(), "the terminal is as it was");
    assert!(screen.text().trim().is_empty(), "{}", screen.text());
}

#[test]
fn keys_select_a_question_and_answer_exactly_what_was_shown() {
    let desk = Desk::new(&[("A-1", "30", "first"), ("A-2", "40", "second")]);
    let mut screen = desk.top(&["--as", "bob"]);
    screen.sees("waiting for people: 2");
    screen.press("j");
    screen.until("the second line selected", |text| {
        text.lines().any(|line| line.starts_with("> ") && line.contains("\"A-2\""))
    });
    screen.press("\r");
    screen.sees("exactly these bytes");
    let questions = desk.questions();
    let wanted = questions.iter().find(|question| question.to_string().contains("A-2")).unwrap();
    let digest = wanted.get("digest").unwrap().as_str().unwrap().to_owned();
    screen.sees(&digest);
    let flat: String = screen.text().replace('\n', "");
    assert!(flat.contains(r#""note":"second""#), "the exact bytes are shown: {flat}");
    screen.press("o");
    screen.sees("OVERRIDE because:");
    // What is pasted with the reason confirms nothing.
    screen.press("seen the invoice\ryyyy");
    screen.sees("send it? y");
    screen.sees("OVERRIDE as bob because: seen the invoice");
    assert_eq!(desk.questions().len(), 2, "nothing is sent before it is confirmed");
    screen.press("n");
    screen.sees("nothing was sent");
    screen.press("o");
    screen.sees("OVERRIDE because: _");
    screen.press("seen the invoice\r");
    screen.sees("send it? y");
    screen.press("y");
    screen.sees("the question is OVERRIDDEN");
    screen.sees("may now be performed: intent");
    screen.press(" ");
    screen.sees("waiting for people: 1");
    screen.press("\x1b");
    assert_eq!(screen.end(), 0);
    let left = desk.questions();
    assert!(left.len() == 1 && left.iter().all(|question| question.to_string().contains("A-1")), "{left:?}");
    let id = wanted.get("id").unwrap().as_str().unwrap();
    let shown = desk.says(&["escalations", "show", id]);
    assert!(shown.contains("OVERRIDE by bob") && shown.contains("seen the invoice"), "{shown}");
}

#[test]
fn who_is_nobody_or_is_in_no_group_answers_nothing() {
    let desk = Desk::new(&[("A-1", "30", "first")]);
    let mut screen = desk.top(&[]);
    screen.sees("waiting for people: 1");
    screen.press("\r");
    screen.sees("exactly these bytes");
    screen.press("o");
    screen.sees("say who you are");
    screen.press("\x03");
    assert_eq!(screen.end(), 0, "Ctrl-C ends it everywhere");
    let mut screen = desk.top(&["--as", "eve"]);
    screen.sees("waiting for people: 1");
    screen.press("\r");
    screen.sees("exactly these bytes");
    screen.press("a");
    screen.sees("ABORT because:");
    screen.press("because\r");
    screen.sees("send it? y");
    screen.press("y");
    screen.sees("not answered: ");
    screen.press("\x03");
    assert_eq!(screen.end(), 0);
    assert_eq!(desk.questions().len(), 1);
}

#[test]
fn a_smaller_terminal_is_used_to_its_edges_and_a_long_question_is_read_to_its_end() {
    let long = "x".repeat(3_000);
    let desk = Desk::new(&[("A-1", "30", &long)]);
    let mut screen = desk.top(&["--as", "ann"]);
    screen.sees("waiting for people: 1");
    screen.master.resize(size(22, 60)).unwrap();
    screen.parser.screen_mut().set_size(cells(22), cells(60));
    screen.press("\r");
    // A key that comes in the same moment as the new size is handed over with the next one.
    let wait = Duration::from_secs(2);
    let as_wide = |text: &str| text.lines().any(|line| line == "x".repeat(60));
    let (mut nudges, mut presses) = (0, 0);
    while !screen.saw(as_wide, wait) {
        screen.press("\x1b[A");
        nudges += 1;
        assert!(nudges < 20, "{}", screen.text());
    }
    while !screen.saw(|text| text.contains("read to the end first"), wait) {
        screen.press("o");
        presses += 1;
        assert!(presses < 20, "{}", screen.text());
    }
    screen.press("\x1b[F");
    screen.sees("digest ");
    screen.press("o");
    screen.sees("OVERRIDE because:");
    screen.press("\x03");
    assert_eq!(screen.end(), 0);
}

#[test]
fn what_agents_write_never_reaches_the_terminal_as_commands() {
    // Ends the alternate screen, sets the title, moves the cursor, as C0 and as C1; turns the direction of writing.
    let hostile = "\u{1b}[?1049l\u{1b}]0;owned\u{7}\u{9b}2J\u{1b}[1;1Hfake\r\n\u{202e}txt";
    let desk = Desk::new(&[("A-1", "30", hostile)]);
    let mut screen = desk.top(&["--as", "ann"]);
    screen.sees("waiting for people: 1");
    screen.press("\r");
    screen.sees("exactly these bytes");
    assert!(screen.parser.screen().alternate_screen());
    let text = screen.text();
    assert!(text.contains("owned") && text.contains("fake"), "{text}");
    screen.press("\x03");
    assert_eq!(screen.end(), 0);
    let raw = String::from_utf8_lossy(&screen.raw).into_owned();
    for sent in ["\u{1b}]0;", "\u{9b}", "\u{7}", "\u{202e}", "\u{1b}[1;1Hfake"] {
        assert!(!raw.contains(sent), "{sent:?}");
    }
    assert_eq!(raw.matches("\u{1b}[?1049l").count(), 1, "the other screen is left once, at the end");
}

#[test]
fn without_a_terminal_one_picture_is_printed() {
    let desk = Desk::new(&[("A-1", "20", "ok"), ("A-2", "40", "\u{1b}[31mred")]);
    for words in [&["top"][..], &["top", "--once"]] {
        let said = desk.says(words);
        let wanted =
            ["waiting for people (1)", "agents (1)", "flows, latest first", "verdicts, latest first", "ESCALATE"];
        for wanted in wanted {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        assert!(!said.contains('\u{1b}'), "{said}");
    }
    let json: serde_json::Value = serde_json::from_str(&desk.says(&["top", "--json"])).unwrap();
    let count = |key: &str| json.get(key).and_then(serde_json::Value::as_array).map(Vec::len);
    assert_eq!(
        (count("agents"), count("flows"), count("verdicts"), count("questions")),
        (Some(1), Some(2), Some(2), Some(1))
    );
}

//! Deciding and performing processes killed at any moment: nothing acknowledged is lost, nothing happens twice.

use crate::site::{Site, now, proposal};
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::command::{Door, Performer, UnseenFlow};
use runtime::{Arrival, Options, Runtime};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const STORE: &str = "WRITKEEPER_TEST_STORE";
const FROM: &str = "WRITKEEPER_TEST_FROM";

/// Callers at once in the process that submits many; so many fit into one commit.
const THREADS: usize = 32;

/// Keys before the highest acknowledged one that the next writer asks for again.
const OVERLAP: u64 = 40;

const HOWS: &[&str] = &["ok", "lost", "ok", "error", "ok", "refuse", "ok", "lost", "ok", "slow", "ok", "ok", "hang"];
const CLASSES: &[&str] = &["keyed", "fenced", "opaque"];

/// One of sixteen is accepted, and then performed.
fn text(number: u64) -> String {
    let place = usize::try_from(number / 16).unwrap();
    let (class, how) = (CLASSES[place % CLASSES.len()], HOWS[place % HOWS.len()]);
    proposal(&format!("w-{number}"), class, how, if number.is_multiple_of(16) { 5 } else { 500 })
}

/// Does nothing unless the process was started as a writer.
#[test]
fn writer() {
    let Ok(path) = std::env::var(STORE) else { return };
    let next = AtomicU64::new(std::env::var(FROM).unwrap().parse().unwrap());
    let store = SqliteStore::open(path, Arc::new(SystemClock)).unwrap();
    let runtime = Runtime::start(Box::new(store), Options::default()).unwrap();
    let door = Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let began = now();
                    let answered = runtime.judge(text(number).as_bytes(), Arrival::through(door.clone())).wait();
                    let ended = now();
                    if answered.at.is_some() {
                        let line = format!("\n=\t{number}\t{began}\t{ended}\t{}\n", answered.answer.to_line());
                        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                    }
                }
            });
        }
    });
}

/// Lines of a process until it has ended; half a line told nobody anything.
fn next_line(output: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.strip_suffix('\n').map(str::to_owned)
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A process that submits many at once, killed after so many answers; the numbers it answered.
fn write_and_die(site: &Site, from: u64, life: u64) -> BTreeSet<u64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["kill_loop::writer", "--exact", "--nocapture", "--quiet"]);
    command.env(STORE, site.path("db")).env(FROM, from.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut answered = BTreeSet::new();
    let mut child = Some(child);
    while let Some(line) = next_line(&mut output) {
        let fields: Vec<&str> = line.split('\t').collect();
        let ["=", number, began, ended, response] = fields.as_slice() else { continue };
        let number: u64 = number.parse().unwrap();
        let (began, ended) = (began.parse().unwrap(), ended.parse().unwrap());
        site.log_at(&format!("w-{number}"), &text(number), began, ended, Some(response));
        answered.insert(number);
        if answered.len() as u64 >= life
            && let Some(child) = child.take()
        {
            kill(child);
        }
    }
    assert!(child.is_none(), "a writer ended by itself");
    answered
}

/// The binary deciding line by line, killed after so many answers with one more on its way.
fn decide_and_die(site: &Site, from: u64, life: u64) -> u64 {
    let mut child = site.deciding().stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let text = |number: u64| {
        let class = CLASSES[usize::try_from(number).unwrap() % CLASSES.len()];
        let amount = if number.is_multiple_of(4) { 5 } else { 500 };
        (format!("d-{number}"), proposal(&format!("d-{number}"), class, "ok", amount))
    };
    for number in from..from + life {
        let ((key, args), began) = (text(number), now());
        input.write_all(format!("{args}\n").as_bytes()).unwrap();
        let line = next_line(&mut output);
        assert!(line.is_some(), "it ended by itself");
        site.log(&key, &args, began, line.as_deref());
    }
    let ((key, args), began) = (text(from + life), now());
    input.write_all(format!("{args}\n").as_bytes()).unwrap();
    kill(child);
    site.log(&key, &args, began, next_line(&mut output).as_deref());
    // The one on its way is asked for again by the next.
    from + life
}

#[test]
fn killed_deciders_and_performers_lose_nothing_and_do_nothing_twice() {
    let scale = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (kills_wanted, answers_wanted) = (scale("WRITKEEPER_KILLS", 63), scale("WRITKEEPER_ANSWERS", 5_000));
    let begin = std::time::Instant::now();
    let seed = u64::from(std::process::id()) ^ now().cast_unsigned();
    let mut dice = Dice(seed);
    let site = Site::new();
    let (answered, output) = site.decide(site.deciding(), &["first"], |key| proposal(key, "keyed", "ok", 500));
    assert_eq!(answered, 1, "{output:?}");
    let (mut kills, mut acknowledged, mut decided, mut rounds) = (0, BTreeSet::new(), 0, 0_u64);
    while kills < kills_wanted || (acknowledged.len() as u64 + decided) < answers_wanted {
        let worker = site.performing(&["--threads", "8"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let from = acknowledged.last().map_or(0, |last: &u64| last.saturating_sub(OVERLAP));
        let (life, lines) = (150 + dice.below(250), dice.below(8));
        let (next, written) = std::thread::scope(|scope| {
            let writing = scope.spawn(|| write_and_die(&site, from, life));
            (decide_and_die(&site, decided, lines), writing.join().unwrap())
        });
        acknowledged.extend(written);
        decided = next;
        kill(worker);
        kills += 3;
        rounds += 1;
    }
    let killed = begin.elapsed();
    site.heal(&["1s", "20s", "40s", "60s", "80s", "100s"]);
    let (history, broken, code) = site.judge();
    let unknown = history.calls.iter().filter(|call| call["status"] == "unknown").count();
    println!(
        "kill loop: seed {seed}, {kills} kills in {rounds} rounds in {:.1} s, {} calls answered and {unknown} not, {} keys \
         acknowledged, {} entries, {} effects, {:?}, verify {code}; whole {:.1} s",
        killed.as_secs_f64(),
        history.calls.len() - unknown,
        acknowledged.len() as u64 + decided,
        history.size,
        site.effects(),
        history.states(),
        begin.elapsed().as_secs_f64()
    );
    assert_eq!(broken, [], "seed {seed}");
    println!("kill loop: 0 lost, 0 duplicate, 0 gaps, 0 wrong outcomes by {} invariants", 15);
}

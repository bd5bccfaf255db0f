//! Deciding and performing processes killed at any moment: nothing acknowledged is lost, nothing happens twice.

use crate::site::{Site, now, proposal};
use adapters::store_sqlite::SqliteStore;
use adapters::system_clock::SystemClock;
use kernel::command::{Door, Performer, UnseenFlow};
use runtime::{Arrival, Options, Runtime};
use std::collections::{BTreeMap, BTreeSet};
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

/// What the provider does, and whether the call is one that does not wait for long.
const HOWS: &[(&str, bool)] = &[
    ("ok", false),
    ("lost", false),
    ("ok", false),
    ("error", false),
    ("ok", false),
    ("refuse", false),
    ("ok", false),
    ("lost", false),
    ("ok", false),
    ("slow", true),
    ("ok", true),
    ("ok", false),
    ("hang", true),
];
const CLASSES: &[&str] = &["keyed", "fenced", "opaque"];

/// One of thirty-two is accepted, and then performed.
fn text(number: u64) -> String {
    let place = usize::try_from(number / 32).unwrap();
    let (class, (how, brief)) = (CLASSES[place % CLASSES.len()], HOWS[place % HOWS.len()]);
    let action = if brief { format!("brief_{class}") } else { class.to_owned() };
    proposal(&format!("w-{number}"), &action, how, if number.is_multiple_of(32) { 5 } else { 500 })
}

/// Does nothing unless the process was started as a writer.
#[test]
fn writer() {
    let Ok(path) = std::env::var(STORE) else { return };
    let next = AtomicU64::new(std::env::var(FROM).unwrap().parse().unwrap());
    let store = SqliteStore::open(path, Arc::new(SystemClock)).unwrap();
    let runtime = Runtime::start(Box::new(store), Options::default()).unwrap();
    let door = Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let began = now();
                    // Known before it begins: what dies with this process may have been decided all the same.
                    tell(&format!("{number}\t{began}"));
                    let answered = runtime.judge(text(number).as_bytes(), Arrival::through(door.clone())).wait();
                    let ended = now();
                    if answered.at.is_some() {
                        tell(&format!("{number}\t{began}\t{ended}\t{}", answered.answer.to_line()));
                    }
                }
            });
        }
    });
}

/// One line at once; the harness of tests writes to the same place.
fn tell(text: &str) {
    std::io::stdout().lock().write_all(format!("\n=\t{text}\n").as_bytes()).unwrap();
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
    let (mut begun, mut answered) = (BTreeMap::new(), BTreeSet::new());
    let mut child = Some(child);
    while let Some(line) = next_line(&mut output) {
        let fields: Vec<&str> = line.split('\t').collect();
        let time = |text: &str| text.parse::<i64>().unwrap();
        match fields.as_slice() {
            ["=", number, began] => drop(begun.insert(number.parse::<u64>().unwrap(), time(began))),
            ["=", number, began, ended, response] => {
                let number = number.parse().unwrap();
                begun.remove(&number);
                site.log_at(&format!("w-{number}"), &text(number), time(began), time(ended), Some(response));
                answered.insert(number);
            }
            _ => {}
        }
        if answered.len() as u64 >= life
            && let Some(child) = child.take()
        {
            kill(child);
        }
    }
    assert!(child.is_none(), "a writer ended by itself");
    for (number, began) in begun {
        site.log_at(&format!("w-{number}"), &text(number), began, began, None);
    }
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
    // In the end a person is asked about what was tried until its horizon.
    site.heal(&["1s", "20s", "40s", "60s", "24h"]);
    let healed = begin.elapsed();
    let (history, broken, code) = site.judge_settled();
    let unknown = history.calls.iter().filter(|call| call["status"] == "unknown").count();
    println!(
        "kill loop: seed {seed}, {kills} kills in {rounds} rounds in {:.1} s, {} calls answered and {unknown} not, {} keys \
         acknowledged, {} entries, {} effects, {:?}, verify {code}; healed after {:.1} s, judged after {:.1} s",
        killed.as_secs_f64(),
        history.calls.len() - unknown,
        acknowledged.len() as u64 + decided,
        history.size,
        site.effects(),
        history.states(),
        healed.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    assert_eq!(broken, [], "seed {seed}");
    println!("kill loop: 0 lost, 0 duplicate, 0 gaps, 0 wrong outcomes, 0 left behind");
}

//! Whoever waits for a commit is woken: by another process at the same file, and by this one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use kernel::change::{Act, Write};
use runtime::execute;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use values::json::Json;
use writkeeper::{Actor, Executors, Function, HumanDecision, Keeper, Observation, SystemClock};

/// Longer than any of these tests may take.
const LONG: Duration = Duration::from_secs(60);

const CONTRACT: &str = "
agent: bot
actions:
  pay:
    params: { order: text, amount: number }
    allow: amount <= 25
    ask: amount <= 200
    run: { function: pay }
approvers: [desk]
";

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn proposal(order: &str, amount: u32) -> String {
    format!(r#"{{"agent":"bot","action":"pay","id":"{order}","params":{{"order":"{order}","amount":{amount}}}}}"#)
}

/// Two handles on one file, as two processes have them: neither announces to the other.
fn two() -> (tempfile::TempDir, Keeper, Keeper) {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("kept.db").display().to_string();
    let one = writkeeper::open(&location).unwrap();
    one.enrol(&operator(), &Keeper::contract(CONTRACT).unwrap()).unwrap();
    one.set_groups(&operator(), "bob", &["desk"]).unwrap();
    let other = writkeeper::open(&location).unwrap();
    (folder, one, other)
}

#[test]
fn what_another_handle_commits_is_noticed() {
    let (_folder, one, other) = two();
    let size = one.runtime().size().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| one.runtime().commits().wait_beyond(size, Instant::now() + LONG));
        other.decide(proposal("a", 5).as_bytes()).unwrap();
        assert_eq!(waiting.join().unwrap(), other.runtime().size().unwrap());
    });
    let asked = one.decide(proposal("b", 100).as_bytes()).unwrap().answer;
    let (began, begun) = mpsc::channel();
    std::thread::scope(|scope| {
        let followed = scope.spawn(|| {
            began.send(()).unwrap();
            one.follow(&asked, LONG).unwrap()
        });
        begun.recv().unwrap();
        other.respond(&other.question("b").unwrap(), "bob", HumanDecision::Abort, "no").unwrap();
        let person = followed.join().unwrap().answer.unwrap().person;
        assert_eq!(person.as_deref(), Some("bob"));
    });
}

#[test]
fn the_size_that_is_announced_is_the_size_of_the_ledger() {
    let (_folder, one, _) = two();
    for number in 0..20 {
        one.decide(proposal(&format!("o{number}"), 5).as_bytes()).unwrap();
        one.decide(b"no proposal").unwrap();
        assert_eq!(one.runtime().commits().size(), one.runtime().size().unwrap());
    }
}

/// Ends a worker also where the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_worker_is_woken_by_what_becomes_ready() {
    let (_folder, one, _) = two();
    let (performed, told) = mpsc::channel();
    let performed = std::sync::Mutex::new(performed);
    let pay = Function(|_: &writkeeper::Attempt| Observation::positive("paid"));
    let executors = Executors::default().with_function("pay", Arc::new(pay));
    let stop = AtomicBool::new(false);
    // Whoever slept for a pause, or only looked when nobody told it to, would not get through the orders in time.
    const ORDERS: u64 = 40;
    let end = Instant::now() + LONG;
    let options = execute::Options {
        worker: "w".to_owned(),
        clock: Arc::new(SystemClock),
        lease: None,
        threads: 1,
        pause: LONG * 10,
        once: false,
        waits: Arc::new(|_, _| {}),
        away: Arc::new(|_| {}),
        performed: Arc::new(move |one| performed.lock().unwrap().send(one.intent.clone()).unwrap()),
    };
    std::thread::scope(|scope| {
        let stop_at_the_end = Stop(&stop);
        let worker = scope.spawn(|| execute::run(one.runtime(), &executors, &options, &stop));
        for number in 0..ORDERS {
            let order = format!("o{number}");
            let intent = one.decide(proposal(&order, 5).as_bytes()).unwrap().answer.intent.unwrap().id().to_owned();
            assert_eq!(told.recv_timeout(end.saturating_duration_since(Instant::now())).unwrap(), intent);
        }
        drop(stop_at_the_end);
        let write = Write { key: "region/x".to_owned(), value: Json::text("end"), expect: None };
        one.runtime().change(operator(), Act::Merge(vec![write])).wait();
        assert_eq!(worker.join().unwrap().unwrap().succeeded, ORDERS);
    });
}

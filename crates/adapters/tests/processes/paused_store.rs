//! A store that stands still while callers go on: everyone is answered, and memory stays bounded.

use crate::crew::Crew;
use crate::site::{Site, enroll};
use crate::worker::{Desk, report, scale};
use adapters::system_clock::SystemClock;
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::world::KeySet;
use runtime::memory::MemoryStore;
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use runtime::{Answered, Arrival, Options, Runtime};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

const TASKS: usize = 512;
const THREADS: usize = 4;
/// Answers one task waits for at once; together the tasks want to wait for more than the runtime lets wait.
const IN_FLIGHT_MAX: usize = 16;
const MEGABYTES_MAX: u64 = 200;

const CONTRACT: &str = "agent: bot\nactions: { look: { reads: true } }\n";

/// Stands still until an instant.
struct PausedStore {
    inner: MemoryStore,
    until: Arc<Mutex<Option<Instant>>>,
}

impl Store for PausedStore {
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let until = *self.until.lock().unwrap();
        if let Some(left) = until.and_then(|until| until.checked_duration_since(Instant::now())) {
            std::thread::sleep(left);
        }
        self.inner.transact(batch, keys, fold)
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        self.inner.has_settled(batch)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        self.inner.reader()
    }
}

#[test]
fn every_submit_is_answered_while_the_store_stands_still_and_memory_is_bounded() {
    // A process of its own: the peak of this one would count every other test.
    let reports = Crew::run("paused_store", &Site::new(), 1, None, "");
    let figures: Vec<u64> = reports[0].iter().map(|text| text.parse().unwrap()).collect();
    let [submitted, done, refused, during, idle, peak] = figures[..] else { panic!("{figures:?}") };
    println!(
        "paused store: {TASKS} tasks submitted {submitted} commands, {during} of them answered while it stood still \
         for {} s; {done} decided, {refused} unavailable; {idle} kB idle, {peak} kB at most",
        seconds()
    );
    assert_eq!(submitted, (commands() / TASKS * TASKS) as u64);
    assert_eq!(done + refused, submitted, "someone was not answered");
    assert!(done > 0 && refused > 0 && during > 0, "the store did not stand still under load");
    assert!(peak - idle <= MEGABYTES_MAX * 1_024, "{} kB over idle", peak - idle);
}

fn commands() -> usize {
    scale("WRITKEEPER_PAUSED_COMMANDS", 100_000)
}

fn seconds() -> usize {
    scale("WRITKEEPER_PAUSED_SECONDS", 5)
}

/// In kB, as the system counts it.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

#[derive(Default)]
struct Counts {
    done: AtomicU64,
    refused: AtomicU64,
    during: AtomicU64,
}

pub fn work(_desk: &Desk) {
    let until = Arc::new(Mutex::new(None));
    let store = PausedStore { inner: MemoryStore::new(Arc::new(SystemClock)), until: until.clone() };
    let runtime = Runtime::start(Box::new(store), Options::default()).unwrap();
    enroll(&runtime, CONTRACT);
    let idle = memory("VmRSS");
    let end = Instant::now() + Duration::from_secs(seconds() as u64);
    *until.lock().unwrap() = Some(end);
    let counts = Counts::default();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| drive(&runtime, end, &counts));
        }
    });
    let [done, refused, during] =
        [&counts.done, &counts.refused, &counts.during].map(|count| count.load(Ordering::SeqCst));
    let figures = [(commands() / TASKS * TASKS) as u64, done, refused, during, idle, memory("VmHWM")];
    let figures = figures.map(|figure| figure.to_string());
    report(&figures.each_ref().map(String::as_str));
}

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

type Waiting = Pin<Box<dyn Future<Output = Answered>>>;

struct Task {
    left: usize,
    waiting: VecDeque<Waiting>,
}

/// A share of the tasks on one thread: each submits one command after another without waiting for the last one.
fn drive(runtime: &Runtime, end: Instant, counts: &Counts) {
    const TEXT: &[u8] = br#"{"agent":"bot","action":"look","params":{}}"#;
    let door = Door { flows: UnseenFlow::Refused, performer: Performer::Caller, session: None };
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let new = |_| Task { left: commands() / TASKS, waiting: VecDeque::new() };
    let mut tasks: Vec<Task> = (0..TASKS / THREADS).map(new).collect();
    while tasks.iter().any(|task| task.left > 0 || !task.waiting.is_empty()) {
        let mut moved = false;
        for task in &mut tasks {
            if task.left > 0 && task.waiting.len() < IN_FLIGHT_MAX {
                task.left -= 1;
                task.waiting.push_back(Box::pin(runtime.judge(TEXT, Arrival::through(door.clone())).answer()));
                moved = true;
            }
            task.waiting.retain_mut(|waiting| {
                let Poll::Ready(answered) = waiting.as_mut().poll(&mut context) else { return true };
                let count = if answered.at.is_some() { &counts.done } else { &counts.refused };
                count.fetch_add(1, Ordering::SeqCst);
                counts.during.fetch_add(u64::from(Instant::now() < end), Ordering::SeqCst);
                moved = true;
                false
            });
        }
        if !moved {
            std::thread::park();
        }
    }
}

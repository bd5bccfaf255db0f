//! A store that stands still while callers go on: everyone is answered, and memory stays bounded.

use crate::crew::Crew;
use crate::site::{Site, enroll};
use crate::worker::{Desk, report, scale};
use adapters::system_clock::SystemClock;
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::world::Key;
use runtime::memory::MemoryStore;
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use runtime::{Arrival, Options, Pending, Runtime};
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

const CONTRACT: &str = "agent: bot\nactions: { look: { reads: true, params: { note: text } } }\n";
/// What a proposal may carry and a careless agent does carry.
const LARGE: usize = 30_000;

/// A pause, and what happens during it.
#[derive(Default)]
struct Pause {
    /// Not before this it ends; without it, it has not begun.
    end: Mutex<Option<Instant>>,
    /// Peak memory when it ended; 0 before.
    peak: AtomicU64,
    done: AtomicU64,
    refused: AtomicU64,
    during: AtomicU64,
}

impl Pause {
    /// Over once its time is over and callers have felt it, however slow this machine is.
    fn is_over(&self) -> bool {
        let end = *self.end.lock().unwrap();
        end.is_none_or(|end| Instant::now() >= end && self.refused.load(Ordering::SeqCst) >= TASKS as u64)
    }
}

/// Stands still during a pause.
struct PausedStore {
    inner: MemoryStore,
    pause: Arc<Pause>,
}

impl Store for PausedStore {
    fn tenant(&self) -> &Arc<str> {
        self.inner.tenant()
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        while !self.pause.is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // From now on the store fills up, which is in memory here and nowhere else.
        if self.pause.end.lock().unwrap().take().is_some() {
            self.pause.peak.store(memory("VmHWM"), Ordering::SeqCst);
        }
        self.inner.transact(batch, keys, fold)
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        self.inner.has_settled(batch)
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        self.inner.erase(from, to)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        self.inner.reader()
    }
}

#[test]
fn every_submit_is_answered_while_the_store_stands_still_and_memory_is_bounded() {
    check(scale("WRITKEEPER_PAUSED_COMMANDS", 100_000), "small");
}

/// Few of these fill what may wait; their number alone would not bound them.
#[test]
fn memory_is_bounded_for_large_proposals_too() {
    for shape in ["long", "many"] {
        check(scale("WRITKEEPER_PAUSED_COMMANDS", 100_000) / 45, shape);
    }
}

/// What a proposal carries: next to nothing, one long text, or many small values.
fn note(shape: &str) -> String {
    match shape {
        "long" => format!("\"{}\"", "x".repeat(LARGE)),
        "many" => {
            format!("{{{}}}", (0..LARGE / 30).map(|number| format!("\"m{number}\":0")).collect::<Vec<_>>().join(","))
        }
        _ => "\"x\"".to_owned(),
    }
}

fn check(commands: usize, shape: &str) {
    let commands = commands / TASKS * TASKS;
    // A process of its own: the peak of this one would count every other test.
    let reports = Crew::run("paused_store", &Site::new(), 1, None, &format!("{} {shape}", commands / TASKS));
    let figures: Vec<u64> = reports[0].iter().map(|text| text.parse().unwrap()).collect();
    let [done, refused, during, idle, peak, at_last] = figures[..] else { panic!("{figures:?}") };
    println!(
        "paused store: {TASKS} tasks submitted {commands} {shape} commands, {during} of them answered while it stood still \
         for {} s and more; {done} decided, {refused} unavailable; {idle} kB idle, at most {peak} kB then and \
         {at_last} kB with all that this store keeps in memory",
        seconds()
    );
    assert_eq!(done + refused, commands as u64, "someone was not answered");
    assert!(done > 0 && refused > 0 && during > 0, "the store did not stand still under load");
    assert!(peak - idle <= MEGABYTES_MAX * 1_024, "{} kB over idle", peak - idle);
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

pub fn work(desk: &Desk) {
    let (commands, shape) = desk.words.split_once(' ').unwrap();
    let commands = commands.parse().unwrap();
    let text = format!(r#"{{"agent":"bot","action":"look","params":{{"note":{}}}}}"#, note(shape));
    let pause = Arc::new(Pause::default());
    let store = PausedStore { inner: MemoryStore::new(Arc::new(SystemClock)), pause: pause.clone() };
    // Nobody gives up waiting: a pause is no answer.
    let options = Options { wait: Duration::from_secs(3_600), ..Options::default() };
    let runtime = Runtime::start(Box::new(store), options).unwrap();
    enroll(&runtime, CONTRACT);
    let idle = memory("VmRSS");
    *pause.end.lock().unwrap() = Some(Instant::now() + Duration::from_secs(seconds() as u64));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| drive(&runtime, (commands, text.as_bytes()), &pause));
        }
    });
    let counts = [&pause.done, &pause.refused, &pause.during, &pause.peak].map(|count| count.load(Ordering::SeqCst));
    let [done, refused, during, peak] = counts;
    let figures = [done, refused, during, idle, peak, memory("VmHWM")].map(|figure| figure.to_string());
    report(&figures.each_ref().map(String::as_str));
}

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

struct Task {
    left: usize,
    waiting: VecDeque<Pending>,
}

/// A share of the tasks on one thread: each submits one command after another without waiting for the last one.
fn drive(runtime: &Runtime, (commands, text): (usize, &[u8]), pause: &Pause) {
    let door = Door { flows: UnseenFlow::Refused, performer: Performer::Caller, session: None, by: None };
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let new = |_| Task { left: commands, waiting: VecDeque::new() };
    let mut tasks: Vec<Task> = (0..TASKS / THREADS).map(new).collect();
    while tasks.iter().any(|task| task.left > 0 || !task.waiting.is_empty()) {
        let mut moved = false;
        for task in &mut tasks {
            if task.left > 0 && task.waiting.len() < IN_FLIGHT_MAX {
                task.left -= 1;
                task.waiting.push_back(runtime.judge(text, Arrival::through(door.clone())));
                moved = true;
            }
            task.waiting.retain_mut(|waiting| {
                let Poll::Ready(answered) = Pin::new(waiting).poll(&mut context) else { return true };
                let count = if answered.at.is_some() { &pause.done } else { &pause.refused };
                count.fetch_add(1, Ordering::SeqCst);
                let during = pause.peak.load(Ordering::SeqCst) == 0;
                pause.during.fetch_add(u64::from(during), Ordering::SeqCst);
                moved = true;
                false
            });
        }
        if !moved {
            std::thread::park();
        }
    }
}

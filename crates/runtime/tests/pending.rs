//! An answer is awaited without any async runtime: by one task, by many, and by one that gives up.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use kernel::agent::Actor;
use kernel::change::Act;
use kernel::command::Door;
use kernel::flow::FlowEvent;
use kernel::world::Key;
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use runtime::{Answered, Arrival, Options, Pending, Runtime};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use values::time::Instant;

/// Wakes the thread that polls, and counts.
struct Unpark(Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// All an async caller needs.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current(), AtomicUsize::new(0))));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Holds every batch back until it is told to go on.
struct Held {
    inner: MemoryStore,
    begun: Sender<()>,
    go_on: Receiver<()>,
}

impl Store for Held {
    fn tenant(&self) -> &Arc<str> {
        self.inner.tenant()
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.begun.send(()).unwrap();
        self.go_on.recv().map_err(|_| StoreFault::Unavailable("the test is over".to_owned()))?;
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

fn memory() -> MemoryStore {
    MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)))
}

fn ask(runtime: &Runtime, flow: &str) -> Pending {
    let act = Act::EndFlow { flow: flow.to_owned(), event: FlowEvent::Close };
    runtime.change(Actor::Operator("ann".to_owned()), act)
}

fn reasons(answered: &Answered) -> Vec<String> {
    answered.answer.reasons().into_iter().map(str::to_owned).collect()
}

#[test]
fn an_answer_is_awaited() {
    let runtime = Runtime::start(Box::new(memory()), Options::default()).unwrap();
    let answered = block_on(async {
        let malformed = runtime.judge(b"no json", Arrival::through(Door::PURE)).await;
        (malformed, ask(&runtime, "f").await)
    });
    assert_eq!(
        (reasons(&answered.0), reasons(&answered.1)),
        (vec!["JSON_MALFORMED".into()], vec!["FLOW_UNKNOWN".into()])
    );
    assert_eq!(runtime.size().unwrap(), 2);
}

#[test]
fn a_task_is_woken_once_its_command_is_durable_and_not_before() {
    let ((begun, has_begun), (go, go_on)) = (channel(), channel());
    let mut store = memory();
    let runtime = Runtime::start(Box::new(Held { inner: store.clone(), begun, go_on }), Options::default()).unwrap();
    let counted = Arc::new(Unpark(std::thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(counted.clone());
    let mut pending = ask(&runtime, "f");
    has_begun.recv().unwrap();
    for _ in 0..3 {
        assert!(Pin::new(&mut pending).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!((counted.1.load(Ordering::SeqCst), store.size().unwrap()), (0, 0));
    go.send(()).unwrap();
    while counted.1.load(Ordering::SeqCst) == 0 {
        std::thread::park();
    }
    let Poll::Ready(answered) = Pin::new(&mut pending).poll(&mut Context::from_waker(&waker)) else {
        panic!("woken without an answer")
    };
    assert_eq!((reasons(&answered), store.size().unwrap()), (vec!["FLOW_UNKNOWN".into()], 1));
}

#[test]
fn a_task_that_gives_up_takes_nothing_with_it() {
    let ((begun, has_begun), (go, go_on)) = (channel(), channel());
    let mut store = memory();
    let runtime = Runtime::start(Box::new(Held { inner: store.clone(), begun, go_on }), Options::default()).unwrap();
    let mut polled = ask(&runtime, "polled");
    has_begun.recv().unwrap();
    assert!(Pin::new(&mut polled).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // One was polled, one never was; a third one waits behind them.
    drop(polled);
    drop(ask(&runtime, "never polled"));
    let third = ask(&runtime, "third");
    (0..3).for_each(|_| go.send(()).unwrap());
    assert_eq!(reasons(&block_on(third)), ["FLOW_UNKNOWN"]);
    assert_eq!(store.size().unwrap(), 3, "what was asked is decided and recorded, whoever listens");
}

#[test]
fn nobody_awaits_a_runtime_that_has_ended() {
    let ((begun, has_begun), (go, go_on)) = (channel(), channel());
    let runtime = Runtime::start(Box::new(Held { inner: memory(), begun, go_on }), Options::default()).unwrap();
    let pending = ask(&runtime, "f");
    has_begun.recv().unwrap();
    drop(go);
    assert_eq!(reasons(&block_on(pending)), ["UNAVAILABLE"]);
}

#[test]
fn many_tasks_await_on_one_thread() {
    let runtime = Runtime::start(Box::new(memory()), Options::default()).unwrap();
    let answered = Mutex::new(0);
    block_on(async {
        let pending: Vec<Pending> = (0..500).map(|number| ask(&runtime, &format!("f{number}"))).collect();
        for pending in pending {
            assert_eq!(reasons(&pending.await), ["FLOW_UNKNOWN"]);
            *answered.lock().unwrap() += 1;
        }
    });
    assert_eq!((answered.into_inner().unwrap(), runtime.size().unwrap()), (500, 500));
}

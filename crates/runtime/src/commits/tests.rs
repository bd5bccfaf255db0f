//! Who waits is woken, by whom, and when nobody is left to wake.

use super::*;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::task::Wake;

/// Longer than any of these tests may take: who waits so long was not woken.
const LONG: Duration = Duration::from_secs(60);

fn soon() -> Instant {
    Instant::now() + LONG
}

/// A store whose size is set by hand, and which counts the looks at it.
#[derive(Default)]
struct Store {
    size: AtomicU64,
    looks: AtomicUsize,
}

impl Store {
    fn commits(self: &Arc<Store>) -> Commits {
        let store = self.clone();
        Commits::new(Arc::new(move || {
            store.looks.fetch_add(1, Ordering::SeqCst);
            Some(store.size.load(Ordering::SeqCst))
        }))
    }
}

fn nobody_looks() -> Commits {
    Commits::new(Arc::new(|| None))
}

/// Waits until something is so; fails if it never is.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = soon();
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_commit_of_this_process_wakes_without_a_look_at_the_store() {
    let commits = nobody_looks();
    let waiter = commits.clone();
    let thread = std::thread::spawn(move || waiter.wait_beyond(3, soon()));
    until("it sleeps", || commits.shared.lock().asleep == 1);
    commits.announce(3);
    commits.announce(4);
    assert_eq!(thread.join().unwrap(), 4, "the look says nothing here, so only the announcement can have woken it");
    assert_eq!(commits.wait_beyond(2, Instant::now()), 4, "what is known needs no waiting");
}

#[test]
fn everybody_who_waits_is_woken() {
    let commits = nobody_looks();
    let threads: Vec<_> = (0..64)
        .map(|number| {
            let waiter = commits.clone();
            std::thread::spawn(move || waiter.wait_beyond(number % 8, soon()))
        })
        .collect();
    until("all sleep", || commits.shared.lock().asleep == 64);
    commits.announce(8);
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 8));
    assert_eq!(commits.shared.waiting.load(Ordering::SeqCst), 0);
}

#[test]
fn waiting_ends_at_the_deadline() {
    let commits = nobody_looks();
    commits.announce(5);
    assert_eq!(commits.wait_beyond(5, Instant::now() + Duration::from_millis(5)), 5);
    assert_eq!(commits.wait_beyond(9, Instant::now()), 5);
}

#[test]
fn what_another_process_commits_is_noticed_and_the_thread_ends() {
    let store = Arc::new(Store::default());
    let commits = store.commits();
    assert_eq!(commits.size(), 0);
    let waiter = commits.clone();
    let thread = std::thread::spawn(move || waiter.wait_beyond(0, soon()));
    until("it sleeps", || commits.shared.lock().asleep == 1);
    store.size.store(7, Ordering::SeqCst);
    assert_eq!(thread.join().unwrap(), 7);
    until("nobody waits, so nobody looks", || commits.shared.lock().looking.is_none());
    let looks = store.looks.load(Ordering::SeqCst);
    assert!(looks >= 1);
    // The next one who waits starts it again.
    store.size.store(8, Ordering::SeqCst);
    assert_eq!(commits.wait_beyond(7, soon()), 8);
}

#[test]
fn nobody_looks_while_nobody_waits() {
    let store = Arc::new(Store::default());
    let commits = store.commits();
    for size in 1..1_000 {
        commits.announce(size);
    }
    assert!(commits.shared.lock().looking.is_none());
    assert_eq!(store.looks.load(Ordering::SeqCst), 0);
}

#[test]
fn a_watch_keeps_the_size_up_to_date() {
    let store = Arc::new(Store::default());
    let commits = store.commits();
    let watch = commits.watch();
    store.size.store(2, Ordering::SeqCst);
    until("the watch sees it", || watch.size() == 2);
    drop(watch);
    until("the thread ends", || commits.shared.lock().looking.is_none());
}

#[test]
fn closing_ends_all_waiting_and_the_thread() {
    let store = Arc::new(Store::default());
    let commits = store.commits();
    let waiter = commits.clone();
    let thread = std::thread::spawn(move || waiter.wait_beyond(1, soon()));
    until("it sleeps", || commits.shared.lock().asleep == 1);
    let (woken, mut task) = (Arc::new(Woken::default()), Box::pin(commits.beyond(1)));
    assert_eq!(polled(&woken, &mut task), Poll::Pending);
    commits.close();
    assert_eq!(thread.join().unwrap(), 0);
    assert!(woken.0.load(Ordering::SeqCst));
    assert_eq!(polled(&woken, &mut task), Poll::Ready(0));
    assert_eq!(commits.wait_beyond(1, soon()), 0);
    drop((commits, task));
    assert_eq!(Arc::strong_count(&store), 1, "nobody holds the store any more");
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn polled(woken: &Arc<Woken>, task: &mut Pin<Box<Beyond>>) -> Poll<u64> {
    task.as_mut().poll(&mut Context::from_waker(&Waker::from(woken.clone())))
}

#[test]
fn a_task_is_woken_by_the_commit_it_waits_for_and_by_no_earlier_one() {
    let commits = nobody_looks();
    let (woken, mut task) = (Arc::new(Woken::default()), Box::pin(commits.beyond(2)));
    assert_eq!(polled(&woken, &mut task), Poll::Pending);
    commits.announce(2);
    assert!(!woken.0.load(Ordering::SeqCst));
    commits.announce(3);
    assert!(woken.0.load(Ordering::SeqCst));
    assert_eq!(polled(&woken, &mut task), Poll::Ready(3));
    let mut dropped = Box::pin(commits.beyond(3));
    assert_eq!(polled(&woken, &mut dropped), Poll::Pending);
    assert_eq!(commits.shared.lock().tasks.len(), 1);
    drop(dropped);
    assert!(commits.shared.lock().tasks.is_empty());
    assert_eq!(commits.shared.waiting.load(Ordering::SeqCst), 0);
}

/// A thread that only counts its own wake-ups as tasks.
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

fn block_on(mut task: Pin<Box<Beyond>>) -> u64 {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let end = soon();
    loop {
        match task.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(size) => return size,
            Poll::Pending => std::thread::park_timeout(end.saturating_duration_since(Instant::now())),
        }
        assert!(Instant::now() < end, "a wake-up was lost");
    }
}

std::thread_local! {
    /// Where the next choice of this thread comes from; nothing where it does not dawdle.
    static DAWDLES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Takes a while, or none, by choice of a generator: it makes interleavings common that are rare by themselves.
pub(super) fn dawdle() {
    let seed = DAWDLES.get();
    if seed == 0 {
        return;
    }
    let next = seed ^ (seed << 13);
    let next = next ^ (next >> 7);
    let next = next ^ (next << 17);
    DAWDLES.set(next);
    for _ in 0..next % 4 * 500 {
        std::hint::spin_loop();
    }
}

/// Two sides hand the turn to each other as fast as they can: one commits, the other waits for exactly that commit. A
/// wake-up that is lost leaves both waiting, because the look at the store says nothing.
#[test]
fn no_wake_up_is_lost() {
    const TURNS: u64 = 20_000;
    for is_task in [false, true] {
        let commits = nobody_looks();
        let (turn, turns) = mpsc::channel::<u64>();
        let announcer = commits.clone();
        let thread = std::thread::spawn(move || {
            DAWDLES.set(0x9E37_79B9_7F4A_7C15);
            turns.into_iter().for_each(|size| announcer.announce(size));
        });
        DAWDLES.set(0xD1B5_4A32_D192_ED03);
        let end = soon();
        for size in 0..TURNS {
            turn.send(size + 1).unwrap();
            let seen = if is_task { block_on(Box::pin(commits.beyond(size))) } else { commits.wait_beyond(size, end) };
            assert_eq!(seen, size + 1, "as a task: {is_task}");
            assert!(Instant::now() < end, "a wake-up was lost, as a task: {is_task}");
        }
        drop(turn);
        thread.join().unwrap();
    }
}

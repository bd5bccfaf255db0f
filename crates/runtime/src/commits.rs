//! Tells whoever waits that something was committed, so that nobody has to look at the store again and again.
//!
//! The writer of this process announces every batch once it is durable. Of what other processes commit nobody tells this
//! one, so one thread looks at the size of the ledger for all who wait. It is started with the first of them and ends when
//! there is none. While nobody waits, an announcement is one write and one read of an atomic number.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the store is looked at for what other processes commit, while somebody waits.
pub const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How many records the store has; `None` if it does not say so now.
pub type Look = dyn Fn() -> Option<u64> + Send + Sync;

/// The commits of one ledger. Handles are cheap to clone, and all of them are of the same ledger.
#[derive(Clone)]
pub struct Commits {
    shared: Arc<Shared>,
}

struct Shared {
    /// How many records are known to be durable. There may be more.
    size: AtomicU64,
    /// How many wait or watch. Raised before the size is read, and read after the size is raised: one of both sides sees
    /// the other.
    waiting: AtomicUsize,
    state: Mutex<State>,
    /// Wakes threads that wait for commits.
    committed: Condvar,
    /// Wakes the thread that looks, when it is to end.
    ended: Condvar,
}

struct State {
    /// Threads that sleep until a commit.
    asleep: usize,
    /// Tasks that wait, by number.
    tasks: BTreeMap<u64, Task>,
    next: u64,
    /// The thread that looks at the store, as long as it runs.
    looking: Option<JoinHandle<()>>,
    /// How to look. Nothing once it is over.
    look: Option<Arc<Look>>,
}

struct Task {
    /// The size beyond which it is woken.
    beyond: u64,
    waker: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Commits {
    /// Of a ledger whose size can be looked at.
    pub fn new(look: Arc<Look>) -> Commits {
        let (tasks, look) = (BTreeMap::new(), Some(look));
        let shared = Shared {
            size: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            state: Mutex::new(State { asleep: 0, tasks, next: 0, looking: None, look }),
            committed: Condvar::new(),
            ended: Condvar::new(),
        };
        Commits { shared: Arc::new(shared) }
    }

    /// How many records are known to be durable, without a look at the store. Whoever reads this, then the store, and then
    /// waits beyond it misses nothing that was committed in between.
    pub fn size(&self) -> u64 {
        self.shared.size.load(Ordering::SeqCst)
    }

    /// Says that so many records are durable.
    pub fn announce(&self, size: u64) {
        let before = self.shared.size.fetch_max(size, Ordering::SeqCst);
        meanwhile();
        if before >= size || self.shared.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut state = self.shared.lock();
        let is_slept = state.asleep > 0;
        let woken = state.tasks.values_mut().filter(|task| task.beyond < size).filter_map(|task| task.waker.take());
        let woken: Vec<Waker> = woken.collect();
        drop(state);
        if is_slept {
            self.shared.committed.notify_all();
        }
        woken.into_iter().for_each(Waker::wake);
    }

    /// Looks at the store at once, where a commit was lost sight of; whether it answered.
    pub fn look(&self) -> bool {
        let look = self.shared.lock().look.clone();
        let size = look.and_then(|look| look());
        if let Some(size) = size {
            self.announce(size);
        }
        size.is_some()
    }

    /// Waits until there are more than so many records, or until a deadline; how many are known then. After the runtime
    /// has ended it waits for nothing.
    pub fn wait_beyond(&self, size: u64, deadline: Instant) -> u64 {
        let known = self.size();
        if known > size {
            return known;
        }
        let _counted = Counted::among(&self.shared);
        meanwhile();
        let mut state = self.shared.lock();
        loop {
            let (known, left) = (self.size(), deadline.saturating_duration_since(Instant::now()));
            if known > size || left.is_zero() || state.look.is_none() {
                return known;
            }
            let is_looking = self.demand_look(&mut state);
            state.asleep += 1;
            // Without a thread that looks, whoever waits looks itself after a while.
            let most = if is_looking { left } else { left.min(LOOK_EVERY) };
            state = self.shared.committed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0;
            state.asleep = state.asleep.saturating_sub(1);
            if !is_looking {
                return self.size();
            }
        }
    }

    /// Waits, as a task, until there are more than so many records; how many are known then. It has no deadline: whoever
    /// drops it waits no longer.
    pub fn beyond(&self, size: u64) -> Beyond {
        Beyond { commits: self.clone(), size, registered: None }
    }

    /// Keeps the size up to date for as long as the watch is held, also for what other processes commit.
    pub fn watch(&self) -> Watch {
        let counted = Counted::among(&self.shared);
        self.demand_look(&mut self.shared.lock());
        Watch { commits: self.clone(), _counted: counted }
    }

    /// Ends all waiting, and lets go of the store.
    pub fn close(&self) {
        let mut state = self.shared.lock();
        state.look = None;
        let looking = state.looking.take();
        let woken: Vec<Waker> = state.tasks.values_mut().filter_map(|task| task.waker.take()).collect();
        drop(state);
        self.shared.committed.notify_all();
        self.shared.ended.notify_all();
        woken.into_iter().for_each(Waker::wake);
        if let Some(thread) = looking.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // A look that panicked has nothing left to say.
            let _ = thread.join();
        }
    }

    /// Sees to it that a thread looks at the store; whether one does.
    fn demand_look(&self, state: &mut State) -> bool {
        // One that panicked is finished without having said so.
        let is_looking = state.looking.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_looking || state.look.is_none() {
            return true;
        }
        let commits = self.clone();
        let spawned = std::thread::Builder::new().name("commits".to_owned()).spawn(move || commits.keep_looking());
        state.looking = spawned.ok();
        state.looking.is_some()
    }

    /// Looks every so often until nobody waits. A wait that begins soon after another finds the thread still there.
    fn keep_looking(&self) {
        loop {
            let state = self.shared.lock();
            let is_on = |state: &mut State| state.look.is_some();
            let waited = self.shared.ended.wait_timeout_while(state, LOOK_EVERY, is_on);
            let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let is_over = self.shared.waiting.load(Ordering::SeqCst) == 0;
            let look = match &state.look {
                Some(look) if !is_over => look.clone(),
                Some(_) | None => {
                    // Whoever begins to wait from here on starts another.
                    state.looking = None;
                    return;
                }
            };
            drop(state);
            // A store that does not answer now may answer at the next look.
            if let Some(size) = look() {
                self.announce(size);
            }
        }
    }
}

/// Between two steps of which another thread may do anything: tests take their time here.
fn meanwhile() {
    #[cfg(test)]
    tests::dawdle();
}

/// Someone who waits, as long as they do.
struct Counted(Arc<Shared>);

impl Counted {
    fn among(shared: &Arc<Shared>) -> Counted {
        shared.waiting.fetch_add(1, Ordering::SeqCst);
        Counted(shared.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Keeps the size of a ledger up to date without waiting for it.
pub struct Watch {
    commits: Commits,
    _counted: Counted,
}

impl Watch {
    /// How many records are known to be durable.
    pub fn size(&self) -> u64 {
        self.commits.size()
    }
}

/// Waits, as a task, for a commit.
#[must_use = "a future does nothing until it is awaited"]
pub struct Beyond {
    commits: Commits,
    size: u64,
    /// Its number among the tasks that wait, once it does.
    registered: Option<(u64, Counted)>,
}

impl Future for Beyond {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let (commits, size) = (self.commits.clone(), self.size);
        if self.registered.is_none() {
            let counted = Counted::among(&commits.shared);
            let mut state = commits.shared.lock();
            let number = state.next;
            state.next = state.next.wrapping_add(1);
            drop(state);
            self.registered = Some((number, counted));
        }
        let Some((number, _)) = &self.registered else { return Poll::Pending };
        let number = *number;
        meanwhile();
        let mut state = commits.shared.lock();
        let known = commits.size();
        if known > size || state.look.is_none() {
            state.tasks.remove(&number);
            drop(state);
            self.registered = None;
            return Poll::Ready(known);
        }
        // The task may have moved since the last poll: only the latest waker counts.
        state.tasks.insert(number, Task { beyond: size, waker: Some(context.waker().clone()) });
        commits.demand_look(&mut state);
        Poll::Pending
    }
}

impl Drop for Beyond {
    fn drop(&mut self) {
        if let Some((number, _)) = self.registered.take() {
            self.commits.shared.lock().tasks.remove(&number);
        }
    }
}

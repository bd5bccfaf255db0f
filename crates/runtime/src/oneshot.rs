//! A oneshot channel: a thread can wait for the value with a bound, a task can await it. It needs no async runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    sent: Condvar,
}

#[derive(Debug)]
enum State<T> {
    /// Nothing was sent yet. A thread may be asleep, a task may have left its waker.
    Empty {
        asleep: bool,
        waker: Option<Waker>,
    },
    Full(T),
    /// The value was received, or the sender is gone.
    Closed,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // A value is moved in or out whole; a panic elsewhere cannot leave half of one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends one value. If it is dropped before that, the receiver gets nothing.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

/// Receives the value. Dropping it is allowed at any time; what is sent afterwards is dropped.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Shared<T>>);

/// A channel for one value.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = Mutex::new(State::Empty { asleep: false, waker: None });
    let shared = Arc::new(Shared { state, sent: Condvar::new() });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Sender<T> {
    /// Sends the value.
    pub fn send(self, value: T) {
        self.put(State::Full(value));
    }

    fn put(&self, next: State<T>) {
        let mut state = self.0.lock();
        if let State::Empty { asleep, waker } = &mut *state {
            let (asleep, waker) = (*asleep, waker.take());
            *state = next;
            drop(state);
            // A wake-up is a system call, also if no thread sleeps.
            if asleep {
                self.0.sent.notify_all();
            }
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.put(State::Closed);
    }
}

impl<T> Receiver<T> {
    /// Waits at most so long; `None` if nothing was sent in time, or nothing will be.
    pub fn recv_timeout(self, timeout: Duration) -> Option<T> {
        let until = Instant::now().checked_add(timeout)?;
        let mut state = self.0.lock();
        loop {
            match std::mem::replace(&mut *state, State::Closed) {
                State::Full(value) => return Some(value),
                State::Closed => return None,
                State::Empty { waker, .. } => *state = State::Empty { asleep: true, waker },
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self.0.sent.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// `None` if the sender was dropped without a value.
impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Closed) {
            State::Full(value) => Poll::Ready(Some(value)),
            State::Closed => Poll::Ready(None),
            State::Empty { asleep, waker } => {
                // The task may have moved since the last poll: only the latest waker counts.
                let waker = waker.filter(|waker| waker.will_wake(context.waker()));
                let waker = waker.or_else(|| Some(context.waker().clone()));
                *state = State::Empty { asleep, waker };
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[test]
    fn a_value_arrives_once_and_waiting_is_bounded() {
        let (sender, receiver) = channel();
        let thread = std::thread::spawn(move || receiver.recv_timeout(Duration::from_secs(60)));
        sender.send(7);
        assert_eq!(thread.join().unwrap(), Some(7));
        let (sender, receiver) = channel::<u8>();
        assert_eq!(receiver.recv_timeout(Duration::from_millis(5)), None, "nothing is sent");
        drop(sender);
        let (sender, receiver) = channel::<u8>();
        drop(sender);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), None, "the sender is gone");
    }

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Count>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn only_the_task_that_polled_last_is_woken() {
        let counts = [Arc::new(Count(AtomicUsize::new(0))), Arc::new(Count(AtomicUsize::new(0)))];
        let wakers = counts.each_ref().map(|count| Waker::from(count.clone()));
        let (sender, mut receiver) = channel();
        for waker in [&wakers[0], &wakers[1], &wakers[1]] {
            assert_eq!(Pin::new(&mut receiver).poll(&mut Context::from_waker(waker)), Poll::Pending);
        }
        sender.send(3);
        assert_eq!(counts.each_ref().map(|count| count.0.load(Ordering::SeqCst)), [0, 1]);
        let mut context = Context::from_waker(&wakers[1]);
        assert_eq!(Pin::new(&mut receiver).poll(&mut context), Poll::Ready(Some(3)));
        assert_eq!(Pin::new(&mut receiver).poll(&mut context), Poll::Ready(None), "once");
    }
}

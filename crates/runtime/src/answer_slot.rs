//! Where an answer arrives once: a thread can wait for it with a bound, a task can await it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

#[derive(Debug)]
struct Slot<T> {
    held: Mutex<Held<T>>,
    arrived: Condvar,
}

#[derive(Debug)]
enum Held<T> {
    /// Who waits for it, if anyone does yet: a thread asleep, a task.
    Nothing {
        asleep: bool,
        waker: Option<Waker>,
    },
    Answer(T),
    /// Taken, or never to come.
    Over,
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        // A value is moved in or out whole; a panic elsewhere cannot leave half of one.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side that gives the answer. Dropped without one, it says so.
#[derive(Debug)]
pub struct Giver<T>(Arc<Slot<T>>);

/// The side that waits.
#[derive(Debug)]
pub struct Waiter<T>(Arc<Slot<T>>);

/// A slot for one answer.
pub fn slot<T>() -> (Giver<T>, Waiter<T>) {
    let slot =
        Arc::new(Slot { held: Mutex::new(Held::Nothing { asleep: false, waker: None }), arrived: Condvar::new() });
    (Giver(slot.clone()), Waiter(slot))
}

impl<T> Giver<T> {
    /// Gives the answer.
    pub fn give(self, answer: T) {
        self.put(Held::Answer(answer));
    }

    fn put(&self, value: Held<T>) {
        let mut held = self.0.lock();
        if let Held::Nothing { asleep, waker } = &mut *held {
            let (asleep, waker) = (*asleep, waker.take());
            *held = value;
            drop(held);
            // Waking nobody is a system call too.
            if asleep {
                self.0.arrived.notify_all();
            }
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        self.put(Held::Over);
    }
}

impl<T> Waiter<T> {
    /// Waits at most so long; `None` if nothing came.
    pub fn wait(self, longest: Duration) -> Option<T> {
        let until = Instant::now().checked_add(longest)?;
        let mut held = self.0.lock();
        loop {
            match std::mem::replace(&mut *held, Held::Over) {
                Held::Answer(answer) => return Some(answer),
                Held::Over => return None,
                Held::Nothing { waker, .. } => *held = Held::Nothing { asleep: true, waker },
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            held = self.0.arrived.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T> Future for Waiter<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut held = self.0.lock();
        match std::mem::replace(&mut *held, Held::Over) {
            Held::Answer(answer) => Poll::Ready(Some(answer)),
            Held::Over => Poll::Ready(None),
            Held::Nothing { asleep, .. } => {
                *held = Held::Nothing { asleep, waker: Some(context.waker().clone()) };
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_arrives_once_and_waiting_is_bounded() {
        let (giver, waiter) = slot();
        let thread = std::thread::spawn(move || waiter.wait(Duration::from_secs(60)));
        giver.give(7);
        assert_eq!(thread.join().unwrap(), Some(7));
        let (giver, waiter) = slot::<u8>();
        assert_eq!(waiter.wait(Duration::from_millis(5)), None, "nobody answers for ever");
        drop(giver);
        let (giver, waiter) = slot::<u8>();
        drop(giver);
        assert_eq!(waiter.wait(Duration::from_secs(60)), None, "a giver that is gone will not answer");
    }
}

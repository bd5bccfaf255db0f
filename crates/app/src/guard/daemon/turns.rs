//! Whose turn it is to take the next call. The system would go round all workers in a circle; here the one that ended
//! last goes first: its memory is warm, and those that are not needed stay asleep.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

/// Workers that stand in line, the last one in front.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    /// Whether somebody is waiting for a call.
    is_taken: bool,
    sleeping: Vec<Sleeper>,
}

#[derive(Debug)]
struct Sleeper {
    thread: Thread,
    is_next: Arc<AtomicBool>,
}

impl Turns {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the next call is this worker's.
    pub fn wait(&self) {
        let is_next = {
            let mut line = self.line();
            if !line.is_taken {
                line.is_taken = true;
                return;
            }
            let is_next = Arc::new(AtomicBool::new(false));
            line.sleeping.push(Sleeper { thread: std::thread::current(), is_next: is_next.clone() });
            is_next
        };
        while !is_next.load(Ordering::Acquire) {
            std::thread::park();
        }
    }

    /// The worker has a call; the one after it is somebody else's.
    pub fn pass(&self) {
        let mut line = self.line();
        match line.sleeping.pop() {
            Some(sleeper) => {
                sleeper.is_next.store(true, Ordering::Release);
                sleeper.thread.unpark();
            }
            None => line.is_taken = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn one_at_a_time_has_the_turn_and_everybody_gets_one_when_all_are_busy() {
        let (turns, holders, most, done) =
            (Turns::default(), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        // All hold their call until everybody has one, as with slow calls: nobody may be left asleep.
        let everybody = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        turns.wait();
                        most.fetch_max(holders.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        turns.pass();
                        everybody.wait();
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!((most.into_inner(), done.into_inner()), (1, 1_600));
        assert!(!turns.line().is_taken);
    }

    #[test]
    fn who_came_last_goes_first() {
        let turns = Arc::new(Turns::default());
        turns.wait();
        let (say, heard) = std::sync::mpsc::channel();
        let mut workers = Vec::new();
        for number in 0..4 {
            let (own, say) = (turns.clone(), say.clone());
            workers.push(std::thread::spawn(move || {
                own.wait();
                let _ = say.send(number);
                own.pass();
            }));
            while turns.line().sleeping.len() <= number {
                std::thread::yield_now();
            }
        }
        turns.pass();
        let order: Vec<usize> = (0..4).filter_map(|_| heard.recv().ok()).collect();
        assert_eq!(order, [3, 2, 1, 0]);
        for worker in workers {
            worker.join().unwrap();
        }
    }
}

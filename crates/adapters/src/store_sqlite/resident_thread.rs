//! A thread that stays and does one piece of work after another: starting one for every batch costs more than some do.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// A piece of work. It has to catch what panics inside of it: nobody looks after the thread.
pub(super) type Work = Box<dyn FnOnce() + Send>;

/// Pieces of work that may wait.
const ORDERS_MAX: usize = 4;

/// The thread, from its first work on.
#[derive(Debug)]
pub(super) struct ResidentThread {
    name: &'static str,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    orders: Option<SyncSender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl ResidentThread {
    pub(super) const fn named(name: &'static str) -> ResidentThread {
        ResidentThread { name, running: None }
    }

    /// Whether there is such a thread; it is started where there is none yet.
    pub(super) fn is_there(&mut self) -> bool {
        if self.running.as_ref().is_none_or(Running::has_ended) {
            self.running = Running::start(self.name);
        }
        self.running.is_some()
    }

    /// Has work done.
    pub(super) fn order(&mut self, work: Work) {
        let orders = self.running.as_ref().and_then(|running| running.orders.as_ref());
        // Who orders has asked whether it is there, and nothing ends it but a panic, which work has to catch.
        let _undone = orders.map(|orders| orders.send(work));
    }
}

impl Running {
    fn start(name: &str) -> Option<Running> {
        let (orders, received) = sync_channel::<Work>(ORDERS_MAX);
        let serve = move || received.into_iter().for_each(|work| work());
        let thread = Builder::new().name(name.to_owned()).spawn(serve).ok()?;
        Some(Running { orders: Some(orders), thread: Some(thread) })
    }
}

impl Running {
    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // What panicked there was told where it was waited for.
            let _told = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn work_is_done_in_order_also_after_the_thread_was_lost() {
        let mut thread = ResidentThread::named("resident");
        let (said, heard) = mpsc::channel();
        assert!(thread.is_there());
        for number in 0..3 {
            let said = said.clone();
            thread.order(Box::new(move || said.send(number).unwrap()));
        }
        assert_eq!(heard.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
        thread.order(Box::new(|| panic!("on purpose")));
        while thread.running.as_ref().is_some_and(|running| !running.has_ended()) {
            std::thread::yield_now();
        }
        assert!(thread.is_there(), "another one");
        thread.order(Box::new(move || said.send(3).unwrap()));
        assert_eq!(heard.recv(), Ok(3));
    }
}

//! What time does by itself: questions that nobody answered end, people are reminded, intents nobody started are
//! called off, idempotency keys are forgotten. A bounded pass at a time; the kernel decides what is due.

use crate::ports::clock::Clock;
use crate::ports::store::StoreFault;
use crate::runtime::Runtime;
use kernel::agent::Actor;
use kernel::change::Act;
use kernel::event::Event;
use kernel::outcome::Verdict;
use kernel::stored::Kind;
use kernel::world::{DUE_INTENTS_MAX, Row};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use values::time::Instant;

/// Questions one command looks at.
const QUESTIONS_MAX: usize = 64;

/// Commands of one pass; what is left is due at the next one.
const ROUNDS_MAX: usize = 16;

/// What one pass did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ticked {
    /// Questions that ended without an answer.
    pub expired: u64,
    /// Questions people were reminded of.
    pub reminded: u64,
    /// Questions that someone else may answer from now on.
    pub rerouted: u64,
    /// Intents that were called off.
    pub called_off: u64,
    /// Intents whose worker or host said nothing in time: nobody knows whether they happened.
    pub doubted: u64,
    /// Rows of forgotten idempotency keys that were removed.
    pub keys_removed: u64,
}

impl Runtime {
    /// Lets time act once, as far as something is due at an instant.
    pub fn tick(&self, now: Instant) -> Result<Ticked, StoreFault> {
        let mut ticked = Ticked::default();
        self.tick_questions(now, &mut ticked)?;
        self.tick_intents(now, &mut ticked)?;
        ticked.keys_removed = self.tick_keys(now)?;
        Ok(ticked)
    }

    fn tick_questions(&self, now: Instant, ticked: &mut Ticked) -> Result<(), StoreFault> {
        for _ in 0..ROUNDS_MAX {
            let due = self.due(Kind::Escalation, now, QUESTIONS_MAX)?;
            if due.is_empty() {
                return Ok(());
            }
            let names = due.iter().map(|(key, _)| key.entity.parts().0.to_owned()).collect();
            let event = self.by_itself(Act::ExpireQuestions(names))?;
            let Some(Event::QuestionsExpired { expired, reminded, rerouted }) = event.as_deref() else {
                return Ok(());
            };
            ticked.expired += expired;
            ticked.reminded += reminded;
            ticked.rerouted += rerouted;
            // The store's clock may stand before ours: what it does not call due will be.
            if expired + reminded + rerouted == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn tick_intents(&self, now: Instant, ticked: &mut Ticked) -> Result<(), StoreFault> {
        for _ in 0..ROUNDS_MAX {
            let due = self.due(Kind::Intent, now, 1)?;
            if !due.iter().any(|(_, row)| matches!(row, Row::Intent(_))) {
                return Ok(());
            }
            let event = self.by_itself(Act::ExpireIntents)?;
            let Some(Event::IntentsExpired { called_off, doubted, retried }) = event.as_deref() else { return Ok(()) };
            ticked.called_off += called_off;
            ticked.doubted += doubted;
            if called_off + doubted + retried < DUE_INTENTS_MAX as u64 {
                return Ok(());
            }
        }
        Ok(())
    }

    pub(crate) fn by_itself(&self, act: Act) -> Result<Option<Arc<Event>>, StoreFault> {
        let answered = self.change(Actor::Kernel, act).wait();
        match answered.answer.verdict {
            Verdict::Accept => Ok(answered.event),
            Verdict::Reject | Verdict::Escalate => {
                let said: Vec<String> = answered.answer.findings.iter().map(|finding| finding.message()).collect();
                Err(StoreFault::Unavailable(said.join("; ")))
            }
        }
    }
}

#[derive(Default)]
struct Turns {
    stop: bool,
    asked: u64,
    done: u64,
    passes: u64,
    last: Option<Result<Ticked, StoreFault>>,
}

struct Shared {
    turns: Mutex<Turns>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that lets time act again and again. Dropping it ends the thread after the pass it is in.
pub struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts; `pause` is the time between two passes, and the clock says what time it is in each.
    pub fn start(runtime: Arc<Runtime>, clock: Arc<dyn Clock>, pause: Duration) -> Result<Ticker, StoreFault> {
        let shared = Arc::new(Shared { turns: Mutex::default(), changed: Condvar::new() });
        let turning = shared.clone();
        let spawned = std::thread::Builder::new().name("ticker".to_owned());
        let thread = spawned.spawn(move || turn(&runtime, clock.as_ref(), &turning, pause));
        let thread = thread.map_err(|error| StoreFault::Unavailable(format!("no thread for the clock: {error}")))?;
        Ok(Ticker { shared, thread: Some(thread) })
    }

    /// Asks for a pass now, and waits for one that began afterwards.
    pub fn now(&self) -> Result<Ticked, StoreFault> {
        let mut turns = self.shared.lock();
        turns.asked += 1;
        let mine = turns.asked;
        self.shared.changed.notify_all();
        while turns.done < mine {
            turns = self.shared.changed.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
        turns.last.clone().unwrap_or(Ok(Ticked::default()))
    }
}

impl Ticker {
    /// Waits for the next pass, whoever asked for it.
    pub fn wait(&self) -> Result<Ticked, StoreFault> {
        let turns = self.shared.lock();
        let seen = turns.passes;
        let waiting = |turns: &mut Turns| turns.passes == seen;
        let turns = self.shared.changed.wait_while(turns, waiting).unwrap_or_else(PoisonError::into_inner);
        turns.last.clone().unwrap_or(Ok(Ticked::default()))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A pass that panicked has nothing left to do.
            let _ = thread.join();
        }
    }
}

fn turn(runtime: &Runtime, clock: &dyn Clock, shared: &Shared, pause: Duration) {
    loop {
        let asked = {
            let turns = shared.lock();
            let idle = |turns: &mut Turns| !turns.stop && turns.asked == turns.done;
            let waited = shared.changed.wait_timeout_while(turns, pause, idle);
            let (turns, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if turns.stop {
                return;
            }
            turns.asked
        };
        // A store that cannot be reached now may be reached at the next pass.
        let ticked = runtime.tick(clock.now());
        let mut turns = shared.lock();
        turns.done = asked;
        turns.passes += 1;
        turns.last = Some(ticked);
        drop(turns);
        shared.changed.notify_all();
    }
}

//! Deciding, answering and performing.

use super::{Keeper, carried_out};
use crate::error::Error;
use kernel::command::Door;
use kernel::outcome::Answer;
use runtime::execute::{self, Executors, Options, Tally};
use runtime::ports::clock::Clock;
use runtime::{Answered, Arrival, FollowUp, Minted, PersonAnswer};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How long to wait when nothing is ready.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

impl Keeper {
    /// Judges a proposal, which is JSON. When it returns, the decision is durable.
    ///
    /// A refusal is an answer, not an error: an error means that nothing was decided.
    pub fn decide(&self, proposal: &[u8]) -> Result<Answered, Error> {
        let answered = self.runtime().judge(proposal, Arrival::through(Door::STORED)).wait();
        if answered.at.is_some() { Ok(answered) } else { Err(Error::of_answer(&answered)) }
    }

    /// Waits until it is known what became of a decision, for at most this long: how the question ended, what became of
    /// the effect, and what the other side answered.
    pub fn follow(&self, answer: &Answer, wait: std::time::Duration) -> Result<FollowUp, Error> {
        Ok(self.runtime().follow(answer, std::time::Instant::now() + wait)?)
    }

    /// Gives a person's answer to a question.
    pub fn answer(&self, answer: PersonAnswer) -> Result<Answered, Error> {
        carried_out(self.runtime().answer(answer))
    }

    /// Performs everything that is due, once, on this thread's behalf.
    pub fn perform(&self, executors: &Executors, clock: Arc<dyn Clock>) -> Result<Tally, Error> {
        let options = Options {
            worker: format!("{}@{}", std::process::id(), Minted::id()),
            clock,
            lease: None,
            threads: 1,
            pause: PAUSE,
            once: true,
            waits: Arc::new(|_, _| {}),
            away: Arc::new(|_| {}),
            performed: Arc::new(|_| {}),
        };
        Ok(execute::run(self.runtime(), executors, &options, &AtomicBool::new(false))?)
    }
}

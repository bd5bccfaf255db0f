//! A store that fails on purpose: commits whose answer is lost, and batches it will never take.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use kernel::agent::Actor;
use kernel::change::Act;
use kernel::world::{Entity, Key};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use runtime::{Answered, Options, Pending, Runtime};
use std::sync::Arc;
use values::time::Instant;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    /// The first commit happens and its answer is lost.
    LostAfterCommit,
    /// The first commit does not happen, and nobody says so.
    LostBeforeCommit,
    /// Whatever touches the flow `poison` is refused.
    Refuses,
    /// Whatever touches the flow `poison` brings the fold down.
    Panics,
}

struct Faulty {
    store: MemoryStore,
    trouble: Trouble,
    happened: bool,
}

impl Store for Faulty {
    fn tenant(&self) -> &Arc<str> {
        self.store.tenant()
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        let poisoned = keys.iter().any(|key| key.entity == Entity::Flow("poison".to_owned()));
        let first = !std::mem::replace(&mut self.happened, true);
        match self.trouble {
            Trouble::LostAfterCommit if first => {
                self.store.transact(batch, keys, fold)?;
                Err(StoreFault::Ambiguous("cut".to_owned()))
            }
            Trouble::LostBeforeCommit if first => Err(StoreFault::Ambiguous("cut".to_owned())),
            Trouble::Refuses if poisoned => Err(StoreFault::Refused("no".to_owned())),
            Trouble::Panics if poisoned => std::panic::resume_unwind(Box::new("poison")),
            Trouble::LostAfterCommit | Trouble::LostBeforeCommit | Trouble::Refuses | Trouble::Panics => {
                self.store.transact(batch, keys, fold)
            }
        }
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        self.store.has_settled(batch)
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        self.store.erase(from, to)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        self.store.reader()
    }
}

fn run(trouble: Trouble, flows: &[&str]) -> (Vec<Answered>, u64) {
    let mut store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
    let faulty = Faulty { store: store.clone(), trouble, happened: false };
    let runtime = Runtime::start(Box::new(faulty), Options::default()).unwrap();
    let end = |flow: &&str| {
        let act = Act::EndFlow { flow: (*flow).to_owned(), event: kernel::flow::FlowEvent::Close };
        runtime.change(Actor::Operator("ann".to_owned()), act)
    };
    let pending: Vec<Pending> = flows.iter().map(end).collect();
    let answered = pending.into_iter().map(Pending::wait).collect();
    (answered, store.size().unwrap())
}

#[test]
fn a_commit_whose_answer_was_lost_counts_once() {
    for trouble in [Trouble::LostAfterCommit, Trouble::LostBeforeCommit] {
        let (answered, size) = run(trouble, &["f"]);
        assert_eq!(answered[0].answer.reasons(), ["FLOW_UNKNOWN"]);
        assert_eq!(answered[0].at, Some(Instant::PURE_DEFAULT));
        assert_eq!(size, 1, "one command, one record");
    }
}

#[test]
fn poison_stands_alone_and_the_others_are_answered() {
    for trouble in [Trouble::Refuses, Trouble::Panics] {
        let flows = ["a", "b", "poison", "c", "d", "e"];
        let (answered, size) = run(trouble, &flows);
        for (flow, answered) in flows.iter().zip(&answered) {
            let expected = if *flow == "poison" { "KERNEL_FAULT" } else { "FLOW_UNKNOWN" };
            assert_eq!(answered.answer.reasons(), [expected], "{flow}");
        }
        assert_eq!(size, flows.len() as u64, "the poison is recorded too, by its digest");
    }
}

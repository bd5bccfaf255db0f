//! What queues while a batch is made durable is the next batch of the chain; a batch that fails takes no other with it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use kernel::command::Door;
use kernel::world::{Key, KeySet, Row};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{Batch, BatchId, Batches, Committed, Fold, Reader, Store, StoreFault, seal};
use runtime::{Arrival, Options, Pending, Runtime};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use values::time::Instant;

/// What becomes of the second batch of the first chain, after the first one was committed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Trouble {
    None,
    Conflict,
    Panic,
    /// It is committed, and the answer is lost.
    LostAfterCommit,
    /// It is not committed, and nobody says so.
    LostBeforeCommit,
    Unavailable,
}

/// A store that takes two batches before it commits the first, says when it has one and waits to be told to go on.
struct Ahead {
    inner: MemoryStore,
    has_first: Sender<()>,
    go_on: Receiver<()>,
    trouble: Trouble,
    /// Batches each chain took.
    taken: Arc<Mutex<Vec<usize>>>,
}

impl Ahead {
    fn commit(&mut self, Batch { id, keys, fold }: Batch) -> Result<Committed, StoreFault> {
        let mut fold = Some(fold);
        self.inner.transact(id, &keys.into_iter().collect(), &mut |world, at| {
            let mut records = Vec::new();
            fold.take().into_iter().for_each(|fold| fold(world, at, &mut records));
            records.iter().map(seal).collect()
        })
    }
}

impl Store for Ahead {
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.inner.transact(batch, keys, fold)
    }

    fn transact_chain(&mut self, batches: &mut dyn Batches) -> Result<(), StoreFault> {
        let first = batches.next().unwrap();
        self.has_first.send(()).unwrap();
        self.go_on.recv().unwrap();
        let second = batches.next();
        self.taken.lock().unwrap().push(1 + usize::from(second.is_some()));
        let committed = self.commit(first)?;
        batches.committed(committed);
        let Some(second) = second else { return Ok(()) };
        match std::mem::replace(&mut self.trouble, Trouble::None) {
            Trouble::None => {
                let committed = self.commit(second)?;
                batches.committed(committed);
                Ok(())
            }
            Trouble::Conflict => Err(StoreFault::Conflict("on purpose".to_owned())),
            Trouble::Panic => std::panic::resume_unwind(Box::new("on purpose")),
            Trouble::LostAfterCommit => {
                self.commit(second)?;
                Err(StoreFault::Ambiguous("on purpose".to_owned()))
            }
            Trouble::LostBeforeCommit => Err(StoreFault::Ambiguous("on purpose".to_owned())),
            Trouble::Unavailable => Err(StoreFault::Unavailable("on purpose".to_owned())),
        }
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        self.inner.has_settled(batch)
    }

    fn look(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        self.inner.look(key)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        self.inner.reader()
    }
}

/// What four commands are answered of which the last three queue while the first is folded, how many batches each chain
/// took, and how many records there are.
fn run(trouble: Trouble) -> (Vec<String>, Vec<usize>, u64) {
    let (has_first, first) = channel();
    let (go, go_on) = channel();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let inner = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
    let store = Ahead { inner, has_first, go_on, trouble, taken: taken.clone() };
    let runtime = Runtime::start(Box::new(store), Options::default()).unwrap();
    let ask = |text: &str| runtime.judge(text.as_bytes(), Arrival::through(Door::PURE));
    let mut asked = vec![ask("first")];
    first.recv().unwrap();
    asked.extend(["second", "third", "fourth"].map(ask));
    // One for each chain there may be; those that find nothing to carry do not ask.
    (0..8).for_each(|_| go.send(()).unwrap());
    let answers = asked.into_iter().map(Pending::wait).map(|answered| answered.answer.reasons().join(" ")).collect();
    let size = runtime.size().unwrap();
    drop(runtime);
    (answers, Arc::into_inner(taken).unwrap().into_inner().unwrap(), size)
}

#[test]
fn what_queues_while_a_batch_is_folded_is_the_next_of_its_chain() {
    let (answers, taken, size) = run(Trouble::None);
    assert_eq!((answers, taken, size), (vec!["JSON_MALFORMED".to_owned(); 4], vec![2], 4));
}

#[test]
fn a_batch_that_fails_takes_none_before_it_and_is_tried_again() {
    for trouble in [Trouble::Conflict, Trouble::LostBeforeCommit] {
        let (answers, taken, size) = run(trouble);
        assert_eq!(answers, ["JSON_MALFORMED"; 4], "{trouble:?}");
        assert_eq!((taken, size), (vec![2, 1], 4), "{trouble:?}: each command once");
    }
}

#[test]
fn a_batch_whose_answer_was_lost_is_answered_from_what_was_judged() {
    let (answers, taken, size) = run(Trouble::LostAfterCommit);
    assert_eq!((answers, taken, size), (vec!["JSON_MALFORMED".to_owned(); 4], vec![2], 4));
}

#[test]
fn a_batch_that_panics_is_halved_alone() {
    let (answers, taken, size) = run(Trouble::Panic);
    assert_eq!((answers, size), (vec!["JSON_MALFORMED".to_owned(); 4], 4));
    assert_eq!(taken, [2, 1, 1], "three commands in two halves");
}

#[test]
fn a_batch_that_cannot_be_kept_is_unavailable_alone() {
    let (answers, taken, size) = run(Trouble::Unavailable);
    assert_eq!(answers, ["JSON_MALFORMED", "UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]);
    assert_eq!((taken, size), (vec![2], 1));
}

//! What arrives while a batch is folded joins it, and nobody waits for what does not arrive.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use kernel::command::Door;
use kernel::time::Instant;
use kernel::world::{Key, KeySet, Row};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{BatchId, Committed, Fold, Part, Parts, Reader, Store, StoreFault, seal};
use runtime::{Arrival, Options, Pending, Runtime};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// A store that says when it has the first part of a batch, and asks for the next when it is told to.
struct Watched {
    inner: MemoryStore,
    has_first: Sender<()>,
    go_on: Receiver<()>,
    /// Parts of each batch.
    parts: Arc<Mutex<Vec<usize>>>,
}

impl Store for Watched {
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.inner.transact(batch, keys, fold)
    }

    fn transact_in_parts(&mut self, batch: BatchId, parts: &mut Parts<'_>) -> Result<Committed, StoreFault> {
        let mut taken: Vec<Part> = parts().into_iter().collect();
        self.has_first.send(()).unwrap();
        self.go_on.recv().unwrap();
        taken.extend(std::iter::from_fn(parts));
        self.parts.lock().unwrap().push(taken.len());
        let keys: KeySet = taken.iter().flat_map(|part| part.keys.iter().cloned()).collect();
        let mut taken = Some(taken);
        self.inner.transact(batch, &keys, &mut |world, at| {
            let mut records = Vec::new();
            taken.take().into_iter().flatten().for_each(|part| (part.fold)(world, at, &mut records));
            records.iter().map(seal).collect()
        })
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

#[test]
fn what_arrives_while_a_batch_is_folded_joins_it() {
    let (has_first, first) = channel();
    let (go, go_on) = channel();
    let parts = Arc::new(Mutex::new(Vec::new()));
    let inner = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
    let store = Watched { inner, has_first, go_on, parts: parts.clone() };
    let runtime = Runtime::start(Box::new(store), Options::default()).unwrap();
    let ask = |text: &str| runtime.judge(text.as_bytes(), Arrival::through(Door::PURE));
    let codes = |asked: Vec<Pending>| -> Vec<String> {
        asked.into_iter().map(|pending| pending.wait().answer.reasons().join(" ")).collect()
    };

    let mut asked = vec![ask("first")];
    first.recv().unwrap();
    asked.extend(["second", "third", "fourth"].map(ask));
    go.send(()).unwrap();
    assert_eq!(codes(asked), ["JSON_MALFORMED"; 4]);
    assert_eq!((parts.lock().unwrap().clone(), runtime.size().unwrap()), (vec![2], 4), "one commit for both parts");

    let alone = vec![ask("fifth")];
    first.recv().unwrap();
    go.send(()).unwrap();
    assert_eq!(codes(alone), ["JSON_MALFORMED"]);
    assert_eq!((parts.lock().unwrap().clone(), runtime.size().unwrap()), (vec![2, 1], 5), "nobody waits for more");
}

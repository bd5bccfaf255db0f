//! A store whose answers get lost: the in-memory store behind the port, with one mishap at a time.

use crate::memory::MemoryStore;
use crate::ports::store::{BatchId, Committed, Fold, Forgotten, Reader, Store, StoreFault};
use kernel::world::Key;
use std::sync::Arc;

/// What happens to the next transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mishap {
    /// An error before the commit.
    Down,
    /// Another transaction was in the way.
    Conflict,
    /// Durable, and the answer is lost.
    Unheard,
    /// Not durable, and the answer is lost.
    Lost,
}

/// The store of the simulated processes. Clones share what it holds.
#[derive(Clone)]
pub struct UnsteadyStore {
    inner: MemoryStore,
    /// For the next transaction.
    pub mishap: Option<Mishap>,
    /// How often it cannot say whether a commit is durable.
    pub silent: u32,
}

impl UnsteadyStore {
    /// Over a store in memory.
    pub fn over(inner: MemoryStore) -> UnsteadyStore {
        UnsteadyStore { inner, mishap: None, silent: 0 }
    }

    /// What is durable, for whoever looks from outside.
    pub fn durable(&self) -> MemoryStore {
        self.inner.clone()
    }
}

impl Store for UnsteadyStore {
    fn tenant(&self) -> &Arc<str> {
        self.inner.tenant()
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        match self.mishap.take() {
            Some(Mishap::Down) => Err(StoreFault::Unavailable("down".to_owned())),
            Some(Mishap::Conflict) => Err(StoreFault::Conflict("busy".to_owned())),
            Some(Mishap::Lost) => Err(StoreFault::Ambiguous("the connection broke".to_owned())),
            Some(Mishap::Unheard) => {
                self.inner.transact(batch, keys, fold)?;
                Err(StoreFault::Ambiguous("the connection broke".to_owned()))
            }
            None => self.inner.transact(batch, keys, fold),
        }
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        if self.silent > 0 {
            self.silent -= 1;
            return Err(StoreFault::Unavailable("down".to_owned()));
        }
        self.inner.has_settled(batch)
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        self.inner.erase(from, to)
    }

    fn forget(&mut self, before: u64, after: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        self.inner.forget(before, after)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        self.inner.reader()
    }
}

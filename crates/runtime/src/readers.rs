//! A bounded pool of readers: callers read side by side, and beyond its size they take turns.

use crate::ports::store::{Reader, Store, StoreFault};
use kernel::world::{Entity, Row};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Readers of one runtime. A store connects each when it is first used, and the first one that is free is used, so a process
/// that reads one thing at a time has one connection.
const READERS_MAX: usize = 4;

/// A reader, as long as it is in use.
pub type PooledReader<'a> = MutexGuard<'a, Box<dyn Reader>>;

/// The readers of a runtime.
pub struct Readers {
    readers: Vec<Mutex<Box<dyn Reader>>>,
    /// Which one the next caller waits for where all are in use.
    next: AtomicUsize,
}

impl Readers {
    /// Of a store.
    pub fn of(store: &dyn Store) -> Result<Readers, StoreFault> {
        let reader = |_| store.reader().map(Mutex::new);
        let readers = (0..READERS_MAX).map(reader).collect::<Result<_, _>>()?;
        Ok(Readers { readers, next: AtomicUsize::new(0) })
    }

    /// A reader; waits while all are in use.
    pub fn take(&self) -> Result<PooledReader<'_>, StoreFault> {
        for reader in &self.readers {
            match reader.try_lock() {
                Ok(free) => return Ok(free),
                // A reader has nothing that a panic could leave by half.
                Err(TryLockError::Poisoned(free)) => return Ok(free.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let place = self.next.fetch_add(1, Ordering::Relaxed) % READERS_MAX;
        let missing = || StoreFault::Unavailable("there is no reader".to_owned());
        let reader = self.readers.get(place).ok_or_else(missing)?;
        Ok(reader.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One entity.
    pub fn get(&self, entity: &Entity) -> Result<Option<Row>, StoreFault> {
        self.take()?.get(entity)
    }
}

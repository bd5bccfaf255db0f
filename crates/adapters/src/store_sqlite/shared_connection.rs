//! The connection that writes, shared with the thread that saves and, between batches, with readers.

use rusqlite::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

/// The connection of a store.
#[derive(Clone, Debug)]
pub(super) struct SharedConnection(Arc<Mutex<Connection>>);

impl SharedConnection {
    pub(super) fn new(connection: Connection) -> SharedConnection {
        SharedConnection(Arc::new(Mutex::new(connection)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Connection> {
        // What a panic leaves is an open transaction, and that is rolled back.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Undoes an open transaction, if there is one.
    pub(super) fn roll_back(&self) {
        let connection = self.lock();
        if !connection.is_autocommit() {
            // SQLite undoes some failures by itself, and then there is nothing to undo.
            let _undone = connection.execute_batch("ROLLBACK");
        }
    }

    /// For readers, as long as the store is open.
    pub(super) fn between_batches(&self) -> BetweenBatches {
        BetweenBatches(Arc::downgrade(&self.0))
    }
}

/// The connection of a store for as long as it writes nothing.
///
/// A process that makes one decision reads a few rows before it: over this connection, because to open a second one would
/// cost it as much as the decision.
#[derive(Clone, Debug, Default)]
pub(super) struct BetweenBatches(Weak<Mutex<Connection>>);

impl BetweenBatches {
    /// What a look gives; `None` if the store writes, or is closed.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Connection) -> T) -> Option<T> {
        let shared = self.0.upgrade()?;
        let connection = match shared.try_lock() {
            Ok(connection) => connection,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // Inside of a transaction it would see what is not committed.
        connection.is_autocommit().then(|| look(&connection))
    }
}

//! One batch on its way into the file: a transaction from `BEGIN` to `COMMIT`.

use super::SharedConnection;
use super::fault::{commit_fault, start_fault};
use super::place::Head;
use super::{FORGETTING_EVERY, SqliteCache, fault, load, save};
use kernel::world::Key;
use runtime::crash::{around, commit_is_doubted};
use runtime::ports::store::{BatchId, StoreFault};
use std::sync::Arc;
use values::time::Instant;

/// A transaction that is open. Dropped before its commit, it leaves nothing.
///
/// The connection is locked for single steps only, because another thread saves while this one folds. Nobody else uses it
/// meanwhile: readers look whether a transaction is open first.
pub(super) struct OpenBatch<'a> {
    connection: &'a SharedConnection,
    tenant: &'a Arc<str>,
    /// Where the ledger ended before it.
    pub(super) head: Head,
}

/// What was saved of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saved {
    pub(super) records: u64,
    pub(super) any_row: bool,
}

/// Who commits, under which name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub(super) batch: BatchId,
    pub(super) process: [u8; 16],
    /// Whether this process has committed anything yet.
    pub(super) is_known: bool,
}

impl<'a> OpenBatch<'a> {
    /// Takes the write lock. What is cached counts only if no other connection has written since.
    pub(super) fn begin(
        connection: &'a SharedConnection,
        tenant: &'a Arc<str>,
        cache: &mut SqliteCache,
    ) -> Result<OpenBatch<'a>, StoreFault> {
        let locked = connection.lock();
        locked.execute_batch("BEGIN IMMEDIATE").map_err(start_fault)?;
        // From here on it has to be rolled back.
        let open = |head| OpenBatch { connection, tenant, head };
        let found = load::data_version(&locked).and_then(|version| {
            cache.validate(version);
            match load::head(&locked, tenant)? {
                Some(head) => Ok(head),
                None => load::new_head(&locked),
            }
        });
        drop(locked);
        match found {
            Ok(head) => Ok(open(head)),
            Err(fault) => {
                connection.roll_back();
                Err(fault)
            }
        }
    }

    /// Loads what the batch needs.
    pub(super) fn load(
        &self,
        keys: Vec<Key>,
        cache: &mut SqliteCache,
    ) -> Result<(load::Found, Option<Vec<String>>), StoreFault> {
        load::rows(&self.connection.lock(), keys, cache)
    }

    /// Makes it durable; nothing needs to reach the disk where nothing was saved.
    pub(super) fn commit(self, saved: Saved, at: Instant, name: Name) -> Result<bool, StoreFault> {
        let connection = self.connection.lock();
        if connection.is_autocommit() {
            // A disk that fails while something is saved undoes all of it. What were written now would stand alone.
            return Err(StoreFault::Unavailable("the transaction was undone before its commit".to_owned()));
        }
        if saved.records == 0 && !saved.any_row {
            connection.execute_batch("ROLLBACK").map_err(fault)?;
            return Ok(false);
        }
        let Head { ledger, size, .. } = self.head;
        save::head(&connection, self.tenant, ledger, size.saturating_add(saved.records), at)?;
        save::writer(&connection, ledger, &name.process, name.batch, size)?;
        if !name.is_known && name.process.last().is_some_and(|byte| byte % FORGETTING_EVERY == 0) {
            save::forget_old_writers(&connection, ledger)?;
        }
        if commit_is_doubted("before") {
            return Err(StoreFault::Ambiguous("made to fail before the commit".to_owned()));
        }
        around("store.transact", || connection.execute_batch("COMMIT")).map_err(commit_fault)?;
        if commit_is_doubted("after") {
            return Err(StoreFault::Ambiguous("made to fail after the commit".to_owned()));
        }
        Ok(true)
    }
}

impl Drop for OpenBatch<'_> {
    fn drop(&mut self) {
        self.connection.roll_back();
    }
}

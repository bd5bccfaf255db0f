//! A store in one SQLite file, for one machine: several processes may have it open.
//!
//! A whole batch is one `BEGIN IMMEDIATE` transaction, so the single writer of SQLite is the lock on every entity.

mod connection;
mod fault;
mod fold;

mod hot;
mod key;
mod load;
mod log;
mod packed;
mod packed_leaf;
mod prepared;
mod queue;
mod read;
mod resident_thread;
mod save;
mod schema;
mod statements;
mod view;

pub(crate) use connection::{configure, durability};
pub(crate) use fault::fault;
pub use log::LogKeeper;
pub use view::SqliteView;

use fault::{commit_fault, start_fault};
use fold::{Batch, Crew};
use hot::HotRows;
use kernel::time::Instant;
use kernel::world::{Key, KeySet, Row};
use log::Log;
use queue::Queue;
use runtime::crash::{around, commit_is_doubted};
use runtime::ports::clock::Clock;
use runtime::ports::store::{BatchId, Committed, Fold, Parts, Reader, Store, StoreFault};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a writer stands in line before it says that the store is unavailable.
pub const QUEUE_WAIT: Duration = Duration::from_secs(30);

/// After a commit whose answer was lost the question is asked often, so each time is short.
const SETTLING_WAIT: Duration = Duration::from_secs(2);

/// One process in so many forgets old writers: for one that decides once it would be a tenth of its work.
const FORGETTING_EVERY: u8 = 32;

/// A store in a SQLite file.
pub struct SqliteStore {
    // Before the connection, so that what helps it ends first.
    log: Log,
    connection: Connection,
    queue: Queue,
    hot: HotRows,
    crew: Crew,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    /// Names this opening of the store; the batches it committed are looked up by it.
    process: [u8; 16],
    /// Whether this process has committed anything yet.
    is_known: bool,
    /// The latest instant a fold here has seen, also where nothing came of it.
    last_seen: Option<Instant>,
}

/// Where the ledger ends.
#[derive(Clone, Copy, Debug)]
struct Head {
    size: u64,
    last: Option<Instant>,
}

impl SqliteStore {
    /// Opens the store in a file, making it first where there is none.
    pub fn open(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Result<SqliteStore, StoreFault> {
        SqliteStore::open_waiting(path, clock, QUEUE_WAIT, LogKeeper::USUAL)
    }

    /// Opens the store in a file; `wait` says how long it stands in line behind other writers, `keeper` who keeps the log
    /// short.
    pub fn open_waiting(
        path: impl AsRef<Path>,
        clock: Arc<dyn Clock>,
        wait: Duration,
        keeper: LogKeeper,
    ) -> Result<SqliteStore, StoreFault> {
        let path = path.as_ref().to_path_buf();
        let queue = Queue::beside(&path, wait)?;
        // Two processes that make the file at once would trip over each other's change of the journal.
        let turn = queue.wait()?;
        view::is_not_emptied(&path)?;
        let mut connection = connection::writer(&path)?;
        schema::migrate(&mut connection)?;
        drop(turn);
        let log = Log::of(&path, keeper, &connection);
        log.watch(&mut connection)?;
        Ok(SqliteStore {
            log,
            connection,
            queue,
            hot: HotRows::default(),
            crew: Crew::default(),
            clock,
            path,
            process: uuid::Uuid::now_v7().into_bytes(),
            is_known: false,
            last_seen: None,
        })
    }

    /// Prepares what an ordinary decision asks and writes, before there is one.
    pub fn prepare(&self) -> Result<(), StoreFault> {
        prepared::prepare(&self.connection)
    }

    /// `PRAGMA synchronous` and `PRAGMA journal_mode` as the connection that writes reads them back.
    pub fn durability(&self) -> Result<(String, String), StoreFault> {
        durability(&self.connection)
    }

    /// A reader for which time stands still: every look sees the same commit, whatever is committed meanwhile.
    ///
    /// The log cannot be taken into the file beyond that commit as long as the reader is open, so it should not be long.
    pub fn snapshot(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(read::SqliteReader::open_at_one_commit(&self.path)?))
    }
}

impl SqliteStore {
    /// Waits for the turn, lets fold and save, commits.
    fn in_turn(
        &mut self,
        batch: BatchId,
        fold: impl FnOnce(&mut Batch<'_>, &mut Crew) -> Result<(), StoreFault>,
    ) -> Result<Committed, StoreFault> {
        let turn = self.queue.wait()?;
        let transaction =
            Transaction::new(&mut self.connection, TransactionBehavior::Immediate).map_err(start_fault)?;
        // Put back only after the commit: after an error or a panic nothing remembered is trusted.
        let mut hot = std::mem::take(&mut self.hot);
        hot.validate(&transaction)?;
        let head = load::head(&transaction)?;
        let last = head.last.max(self.last_seen);
        let mut folded = Batch::new(&transaction, &*self.clock, &mut hot, head.size, last);
        fold(&mut folded, &mut self.crew)?;
        self.last_seen = folded.last;
        let at = folded.last.ok_or_else(|| StoreFault::Refused("a batch was not judged at any time".to_owned()))?;
        let committed = Committed { at, first: head.size, clock_ran_backwards: folded.clock_ran_backwards };
        if folded.is_nothing() {
            // Nothing can be lost, so nothing needs to reach the disk: a round that only asked for keys is cheap.
            transaction.rollback().map_err(fault)?;
            self.hot = hot;
            return Ok(committed);
        }
        let (count, changed) = (folded.count, std::mem::take(&mut folded.changed));
        save::head(&transaction, head.size.saturating_add(count), at)?;
        save::writer(&transaction, &self.process, batch, head.size)?;
        if !self.is_known && self.process.last().is_some_and(|byte| byte % FORGETTING_EVERY == 0) {
            save::forget_old_writers(&transaction)?;
        }
        if commit_is_doubted("before") {
            return Err(StoreFault::Ambiguous("made to fail before the commit".to_owned()));
        }
        around("store.transact", || transaction.commit()).map_err(commit_fault)?;
        if commit_is_doubted("after") {
            return Err(StoreFault::Ambiguous("made to fail after the commit".to_owned()));
        }
        drop(turn);
        self.is_known = true;
        hot.take_over(changed);
        self.hot = hot;
        Ok(committed)
    }
}

impl Store for SqliteStore {
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.in_turn(batch, |folded, _| folded.at_once(keys.iter().cloned().collect(), fold))
    }

    fn transact_in_parts(&mut self, batch: BatchId, parts: &mut Parts<'_>) -> Result<Committed, StoreFault> {
        self.in_turn(batch, |folded, crew| folded.in_parts(crew, parts))
    }

    fn tidy(&mut self) {
        self.log.after_commit(&self.connection);
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        let _turn = self.queue.wait_at_most(self.queue.patience().min(SETTLING_WAIT))?;
        // What an interrupted commit left in this connection must not come to life later.
        self.hot = HotRows::default();
        self.connection = connection::writer(&self.path)?;
        self.log.watch(&mut self.connection)?;
        let transaction =
            Transaction::new(&mut self.connection, TransactionBehavior::Immediate).map_err(start_fault)?;
        let found = transaction
            .query_row("SELECT 1 FROM writer WHERE batch = ?1", [batch.0.to_be_bytes()], |_| Ok(()))
            .optional()
            .map_err(fault)?;
        if found.is_some() {
            return Ok(true);
        }
        // A commit whose last sync failed may lie complete in the log, and a crash would revive it: write over it.
        save::fence(&transaction, batch)?;
        around("store.fence", || transaction.commit()).map_err(commit_fault)?;
        Ok(false)
    }

    fn erase(&mut self, from: u64, to: u64) -> Result<u64, StoreFault> {
        let _turn = self.queue.wait()?;
        // What is erased must not be left in free pages or in the log.
        self.connection.execute_batch("PRAGMA secure_delete = ON").map_err(fault)?;
        let transaction =
            Transaction::new(&mut self.connection, TransactionBehavior::Immediate).map_err(start_fault)?;
        let erased = save::erase(&transaction, from, to)?;
        around("store.erase", || transaction.commit()).map_err(commit_fault)?;
        let truncate = "PRAGMA secure_delete = FAST; PRAGMA wal_checkpoint(TRUNCATE);";
        around("store.truncate", || self.connection.execute_batch(truncate)).map_err(fault)?;
        Ok(erased)
    }

    fn look(&mut self, key: &Key) -> Result<Option<Row>, StoreFault> {
        load::one(&self.connection, key)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(read::SqliteReader::of(&self.path)))
    }
}

//! A store in one SQLite file, for one machine: several processes may have it open.
//!
//! A whole batch is one `BEGIN IMMEDIATE` transaction, so the single writer of SQLite is the lock on every entity.

mod chain;
mod connection;
mod fault;
mod folding;
mod hot;
mod key;
mod load;
mod log;
mod packed;
mod packed_leaf;
mod packed_records;
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

use chain::{Between, Chain};
use fault::{commit_fault, start_fault};
use hot::HotRows;
use kernel::world::{Key, KeySet, Row};
use log::Log;
use queue::Queue;
use resident_thread::ResidentThread;
use runtime::crash::around;
use runtime::ports::clock::Clock;
use runtime::ports::store::{Batch, BatchId, Batches, Committed, Fold, Reader, Store, StoreFault};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use values::time::Instant;

/// How long a writer stands in line before it says that the store is unavailable.
pub const QUEUE_WAIT: Duration = Duration::from_secs(30);

/// After a commit whose answer was lost the question is asked often, so each time is short.
const SETTLING_WAIT: Duration = Duration::from_secs(2);

/// A turn to write is not given up for others before it is so old.
const SHORT_TURN: Duration = Duration::from_millis(20);

/// Nor kept for longer than this, also where nobody waits: what a chain has seen is remembered until its end.
const LONG_TURN: Duration = Duration::from_millis(60);

/// One process in so many forgets old writers: for one that decides once it would be a tenth of its work.
const FORGETTING_EVERY: u8 = 32;

/// A store in a SQLite file.
pub struct SqliteStore {
    // Before the connection, so that what helps it ends first.
    log: Log,
    connection: Connection,
    queue: Queue,
    hot: HotRows,
    /// Folds large batches.
    folder: ResidentThread,
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
            folder: ResidentThread::named("folder"),
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
    /// Waits for the turn to write and keeps it for a chain.
    fn in_turn<T>(
        &mut self,
        write: impl FnOnce(&mut Chain<'_>, &mut ResidentThread, &mut Log, &Queue) -> Result<T, StoreFault>,
    ) -> Result<T, StoreFault> {
        let _turn = self.queue.wait()?;
        // Put back only if nothing failed: after an error or a panic nothing remembered is trusted.
        let hot = std::mem::take(&mut self.hot);
        let known = (self.process, self.is_known);
        let mut chain = Chain::new(&self.connection, &*self.clock, known, hot, self.last_seen);
        let written = write(&mut chain, &mut self.folder, &mut self.log, &self.queue);
        self.last_seen = chain.last;
        self.is_known = chain.is_known;
        if written.is_ok() {
            self.hot = chain.hot;
        }
        written
    }
}

/// Goes on with a chain as long as nobody else waits to write, and not for ever.
struct Turns<'a> {
    batches: &'a mut dyn Batches,
    log: &'a mut Log,
    queue: &'a Queue,
    /// When the first batch was asked for; that one is always taken.
    begin: Option<std::time::Instant>,
}

impl Between for Turns<'_> {
    fn next(&mut self) -> Option<Batch> {
        let age = self.begin.get_or_insert_with(std::time::Instant::now).elapsed();
        let may_go_on = age < SHORT_TURN || age < LONG_TURN && !self.queue.is_waited_in();
        may_go_on.then(|| self.batches.next()).flatten()
    }

    fn committed(&mut self, connection: &Connection, committed: Committed) {
        // Answers first, then tidying, and that only if nobody else waits: whoever ends the chain does it then.
        self.batches.committed(committed);
        if self.log.is_due() && !self.queue.is_waited_in() {
            self.log.after_commit(connection);
        }
    }
}

impl Store for SqliteStore {
    fn transact(&mut self, batch: BatchId, keys: &KeySet, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.in_turn(|chain, _, _, _| chain.alone(batch, keys.iter().cloned().collect(), fold))
    }

    fn transact_chain(&mut self, batches: &mut dyn Batches) -> Result<(), StoreFault> {
        let ran = self
            .in_turn(|chain, folder, log, queue| chain.run(folder, &mut Turns { batches, log, queue, begin: None }));
        self.log.after_commit(&self.connection);
        ran
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

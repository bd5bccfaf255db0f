//! A store in one SQLite file, for one machine: several processes may have it open.
//!
//! A whole batch is one `BEGIN IMMEDIATE` transaction, so the single writer of SQLite is the lock on every entity.

mod connection;
mod copying;
mod fault;
mod load;
mod log;
mod open_batch;
mod packed;
mod packed_leaf;
mod packed_records;
mod place;
mod prepared;
mod queue;
mod read;
mod resident_thread;
mod save;
mod saving;
mod schema;
mod shared_connection;
mod statements;
mod view;

pub(crate) use connection::{configure, durability};
pub(crate) use copying::{SqliteContents, SqliteFilling, tenants, write_whole};
pub(crate) use fault::fault;
pub use log::LogKeeper;
pub use queue::Waits;
pub use view::SqliteView;

use crate::row_cache::RowCache;
use fault::{commit_fault, start_fault};
use kernel::world::{Key, World};
use log::Log;
use open_batch::{Name, OpenBatch};
use queue::Queue;
use resident_thread::ResidentThread;
use runtime::crash::around;
use runtime::ports::clock::{Clock, decision_instant};
use runtime::ports::store::{BatchId, Committed, Fold, Forgotten, Reader, Steps, Store, StoreFault, demand_own};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use saving::Saver;
use shared_connection::SharedConnection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use values::ids::TENANT_DEFAULT;
use values::time::Instant;

/// How long a writer stands in line before it says that the store is unavailable.
pub const QUEUE_WAIT: Duration = Duration::from_secs(30);

/// After a commit whose answer was lost the question is asked often, so each time is short.
const SETTLING_WAIT: Duration = Duration::from_secs(2);

/// Finds a batch of a tenant that was committed.
const SETTLED: &str = "SELECT 1 FROM writer w JOIN head h ON h.number = w.number WHERE h.tenant = ?1 AND w.batch = ?2";

/// One process in so many forgets old writers: for one that decides once it would be a tenth of its work.
const FORGETTING_EVERY: u8 = 32;

/// Stamped with SQLite's `data_version`, which another connection's commit changes.
type SqliteCache = RowCache<i64>;

/// A tenant of a store in a SQLite file.
pub struct SqliteStore {
    // Before the connection, so that what helps it ends first.
    log: Log,
    saver: ResidentThread,
    connection: SharedConnection,
    tenant: Arc<str>,
    queue: Queue,
    cache: SqliteCache,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    /// Names this opening of the store; the batches it committed are looked up by it.
    process: [u8; 16],
    /// Whether this process has committed anything yet.
    is_known: bool,
    /// The latest instant a fold here has seen, also where nothing came of it.
    last_seen: Option<Instant>,
}

impl SqliteStore {
    /// Opens the default tenant of the store in a file, making it first where there is none.
    pub fn open(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Result<SqliteStore, StoreFault> {
        SqliteStore::open_for(path, TENANT_DEFAULT, clock)
    }

    /// Opens a tenant of the store in a file.
    pub fn open_for(path: impl AsRef<Path>, tenant: &str, clock: Arc<dyn Clock>) -> Result<SqliteStore, StoreFault> {
        SqliteStore::open_waiting(path, tenant, clock, Waits::each(QUEUE_WAIT), LogKeeper::USUAL)
    }

    /// Opens a tenant of the store in a file; `waits` say how long it stands in line behind other writers, and how
    /// long for a single one; `keeper` who keeps the log short.
    pub fn open_waiting(
        path: impl AsRef<Path>,
        tenant: &str,
        clock: Arc<dyn Clock>,
        waits: Waits,
        keeper: LogKeeper,
    ) -> Result<SqliteStore, StoreFault> {
        SqliteStore::opened(path.as_ref().to_path_buf(), tenant, clock, (waits, keeper), true)
    }

    /// Opens a tenant that is whole, or one that is being filled.
    fn opened(
        path: PathBuf,
        tenant: &str,
        clock: Arc<dyn Clock>,
        (waits, keeper): (Waits, LogKeeper),
        is_whole: bool,
    ) -> Result<SqliteStore, StoreFault> {
        view::is_no_folder(&path)?;
        // Another process may be making the store at this moment. It makes the line first, so whatever looks wrong without
        // the turn is looked at again with it.
        if !Queue::is_beside(&path)
            && let Err(fault) = view::may_be_a_store(&path)
            && !Queue::is_beside(&path)
        {
            return Err(fault);
        }
        let queue = Queue::beside(&path, waits)?;
        // Two processes that make the file at once would trip over each other's change of the journal.
        let turn = queue.wait()?;
        view::is_not_emptied(&path)?;
        // A foreign program that holds the file is one other writer.
        let mut connection = connection::writer_within(&path, waits.turn_left().min(connection::BUSY_WAIT))?;
        schema::migrate(&mut connection, is_whole.then_some(tenant))?;
        drop(turn);
        let log = Log::of(&path, keeper, &connection);
        log.watch(&mut connection)?;
        Ok(SqliteStore {
            log,
            saver: ResidentThread::named("saver"),
            connection: SharedConnection::new(connection),
            tenant: Arc::from(tenant),
            queue,
            cache: SqliteCache::default(),
            clock,
            path,
            process: uuid::Uuid::now_v7().into_bytes(),
            is_known: false,
            last_seen: None,
        })
    }

    /// Prepares what an ordinary decision asks and writes, before there is one.
    pub fn prepare(&self) -> Result<(), StoreFault> {
        prepared::prepare(&self.connection.lock())
    }

    /// `PRAGMA synchronous` and `PRAGMA journal_mode` as the connection that writes reads them back.
    pub fn durability(&self) -> Result<(String, String), StoreFault> {
        durability(&self.connection.lock())
    }

    /// A reader for which time stands still: every look sees the same commit, whatever is committed meanwhile.
    ///
    /// The log cannot be taken into the file beyond that commit as long as the reader is open, so it should not be long.
    pub fn snapshot(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(Box::new(read::SqliteReader::open_at_one_commit(&self.path, &self.tenant)?))
    }

    /// A WAL checkpoint, where one is due. Before a batch and not behind it: answers come first.
    fn tidy(&mut self) {
        if self.log.is_due() {
            self.log.after_commit(&self.connection.lock());
        }
    }
}

impl Store for SqliteStore {
    fn tenant(&self) -> &Arc<str> {
        &self.tenant
    }

    fn transact(&mut self, batch: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        demand_own(&self.tenant, &keys)?;
        self.tidy();
        let _turn = self.queue.wait()?;
        // Put back only if nothing failed: after an error or a panic nothing cached is trusted.
        let mut cache = std::mem::take(&mut self.cache);
        let open = OpenBatch::begin(&self.connection, &self.tenant, &mut cache)?;
        let (first, count) = (open.head.size, keys.len());
        let (rows, due) = open.load(keys, &mut cache)?;
        let last = open.head.last.max(self.last_seen);
        let (at, clock_ran_backwards) = decision_instant(self.clock.now(), last)?;
        self.last_seen = Some(at);
        let mut world = World::seeded_slice(cache.seed(), rows.len());
        rows.into_iter().for_each(|(key, row)| world.load(key, row));
        if let Some(names) = due {
            world.load_due_intents(names);
        }
        let (connection, thread, tenant) = (&self.connection, &mut self.saver, &self.tenant);
        let saver = Saver { connection, thread, tenant, head: open.head };
        let (saved, changed) = saver.run(count, &mut world, &mut Steps::new(fold, at))?;
        let name = Name { batch, process: self.process, is_known: self.is_known };
        self.is_known |= open.commit(saved, at, name)?;
        cache.take_over(changed);
        self.cache = cache;
        Ok(Committed { at, first, clock_ran_backwards })
    }

    fn has_settled(&mut self, batch: BatchId) -> Result<bool, StoreFault> {
        let _turn = self.queue.wait_at_most(self.queue.patience().min(SETTLING_WAIT))?;
        // What an interrupted commit left in this connection must not come to life later.
        self.cache = SqliteCache::default();
        let mut connection = self.connection.lock();
        *connection = connection::writer(&self.path)?;
        self.log.watch(&mut connection)?;
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate).map_err(start_fault)?;
        let found = transaction
            .query_row(SETTLED, (&*self.tenant, batch.0.to_be_bytes()), |_| Ok(()))
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
        let mut connection = self.connection.lock();
        // What is erased must not be left in free pages or in the log.
        connection.execute_batch("PRAGMA secure_delete = ON").map_err(fault)?;
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate).map_err(start_fault)?;
        let erased = match load::head(&transaction, &self.tenant)? {
            Some(head) => save::erase(&transaction, head.ledger, from, to)?,
            None => 0,
        };
        around("store.erase", || transaction.commit()).map_err(commit_fault)?;
        let truncate = "PRAGMA secure_delete = FAST; PRAGMA wal_checkpoint(TRUNCATE);";
        around("store.truncate", || connection.execute_batch(truncate)).map_err(fault)?;
        Ok(erased)
    }

    fn forget(&mut self, before: u64, after: Option<&[u8]>) -> Result<Forgotten, StoreFault> {
        let _turn = self.queue.wait()?;
        let mut connection = self.connection.lock();
        let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate).map_err(start_fault)?;
        let forgotten = match load::head(&transaction, &self.tenant)? {
            Some(head) => save::forget(&transaction, (head.ledger, &self.tenant), before, after)?,
            None => Forgotten::default(),
        };
        around("store.erase", || transaction.commit()).map_err(commit_fault)?;
        Ok(forgotten)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        let shared = self.connection.between_batches();
        Ok(Box::new(read::SqliteReader::of(&self.path, &self.tenant, shared)))
    }
}

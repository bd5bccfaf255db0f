//! A chain of batches on its way into the file, each a transaction of its own.
//!
//! While one batch is committed, which is mostly writing and waiting, the next one is folded over what this one changed.
//! Nobody else can write meanwhile, because the turn is kept. If the commit fails, what was folded over it is thrown away.

use super::fault::{commit_fault, start_fault};
use super::folding::{Folder, Left, Loaded, Piece, left_behind};
use super::hot::HotRows;
use super::packed_records::Packed;
use super::resident_thread::ResidentThread;
use super::save::{self, Rows};
use super::{FORGETTING_EVERY, fault, load};
use kernel::world::{Changed, Key, World};
use runtime::crash::{around, commit_is_doubted};
use runtime::ports::clock::{Clock, decision_instant};
use runtime::ports::store::{Batch, BatchId, Committed, Fold, StoreFault};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::any::Any;
use std::collections::{HashSet, VecDeque};
use std::panic::resume_unwind;
use values::time::Instant;

/// Keys of a batch from which on another thread is worth it.
const SHARED_FROM: usize = 24;

/// Whose batches they are, and what is done between two of them.
pub(super) trait Between {
    /// The next batch, if there is one and the turn to write may be kept for it.
    fn next(&mut self) -> Option<Batch>;

    /// A batch is durable.
    fn committed(&mut self, connection: &Connection, committed: Committed);
}

/// Batches on their way into the file.
pub(super) struct Chain<'a> {
    connection: &'a Connection,
    clock: &'a dyn Clock,
    process: [u8; 16],
    /// Whether this process has committed anything yet.
    pub(super) is_known: bool,
    /// What is remembered; of use to others only if nothing failed.
    pub(super) hot: HotRows,
    /// The latest instant anybody has seen.
    pub(super) last: Option<Instant>,
    /// Where the ledger ended before the first of them.
    first: u64,
    /// Records that were appended since.
    count: u64,
    /// Rows that were loaded already and that nearly every batch asks for.
    known: HashSet<Key>,
    /// The transaction of the oldest batch that is not committed.
    open: Option<Open<'a>>,
    /// Batches that were loaded and are not committed, oldest first: two at most.
    loaded: VecDeque<Judged>,
    /// Why the batch behind them could not be loaded.
    unloadable: Option<StoreFault>,
}

/// A batch, and when it is judged.
struct Judged {
    id: BatchId,
    at: Instant,
    clock_ran_backwards: bool,
}

struct Open<'a> {
    transaction: Transaction<'a>,
    /// Index of its first record.
    first: u64,
    /// Whether any row was saved.
    any_row: bool,
}

/// Why a chain ends early.
enum Fallen {
    Fault(StoreFault),
    Panic(Box<dyn Any + Send>),
}

impl From<StoreFault> for Fallen {
    fn from(fault: StoreFault) -> Fallen {
        Fallen::Fault(fault)
    }
}

impl<'a> Chain<'a> {
    /// A chain over a connection that nobody else writes beside.
    pub(super) fn new(
        connection: &'a Connection,
        clock: &'a dyn Clock,
        (process, is_known): ([u8; 16], bool),
        hot: HotRows,
        last: Option<Instant>,
    ) -> Chain<'a> {
        let (first, count, known, open, loaded) = (0, 0, HashSet::new(), None, VecDeque::new());
        Chain { connection, clock, process, is_known, hot, last, first, count, known, open, loaded, unloadable: None }
    }

    /// One batch by itself.
    pub(super) fn alone(&mut self, id: BatchId, keys: Vec<Key>, fold: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        self.begin_first()?;
        let (rows, at) = self.load(id, keys)?;
        let mut world = self.world();
        rows.into_iter().for_each(|(key, row)| world.load_unknown(key, row));
        let mut records = Packed::default();
        fold(&mut world, at).iter().for_each(|sealed| records.push(sealed));
        let left = Left { records, ..left_behind(&mut world, self.first) };
        let changed = self.save_left(left)?;
        self.commit(changed)
    }

    /// Batch after batch; from the first large one on another thread folds.
    pub(super) fn run(&mut self, thread: &mut ResidentThread, between: &mut dyn Between) -> Result<(), StoreFault> {
        self.begin_first()?;
        let mut folder = Folder::here(self.world(), self.first, thread);
        let ran = self.run_with(&mut folder, between);
        // What was lent for folds is free before anybody hears of the end.
        drop(folder);
        match ran {
            Ok(()) => self.unloadable.take().map_or(Ok(()), Err),
            Err(Fallen::Fault(fault)) => Err(fault),
            Err(Fallen::Panic(panic)) => resume_unwind(panic),
        }
    }

    fn run_with(&mut self, folder: &mut Folder<'_>, between: &mut dyn Between) -> Result<(), Fallen> {
        self.order_next(folder, between);
        while !self.loaded.is_empty() {
            let changed = self.receive(folder)?;
            // Before the commit, so that it is folded meanwhile.
            self.order_next(folder, between);
            let committed = self.commit(changed)?;
            between.committed(self.connection, committed);
            if self.loaded.is_empty() {
                self.order_next(folder, between);
            } else if self.open.is_none() {
                self.begin()?;
            }
        }
        Ok(())
    }

    /// Loads the next batch, if there is one, and has it folded. All before it are saved. If it cannot be loaded they are
    /// committed all the same, and the chain ends with it.
    fn order_next(&mut self, folder: &mut Folder<'_>, between: &mut dyn Between) {
        if self.unloadable.is_some() {
            return;
        }
        let Some(batch) = between.next() else { return };
        let is_large = batch.keys.len() >= SHARED_FROM;
        match self.load_next(batch) {
            Ok(loaded) => folder.order(loaded, is_large),
            Err(fault) => self.unloadable = Some(fault),
        }
    }

    fn load_next(&mut self, Batch { id, keys, fold }: Batch) -> Result<Loaded, StoreFault> {
        if self.open.is_none() {
            self.begin()?;
        }
        let (rows, at) = self.load(id, keys)?;
        Ok(Loaded { rows, at, fold })
    }

    /// Saves what a batch leaves behind, as it is folded; gives back what is worth remembering.
    fn receive(&mut self, folder: &mut Folder<'_>) -> Result<Vec<Changed>, Fallen> {
        while let Some(piece) = folder.piece() {
            match piece {
                Piece::Folded(records, rows) => {
                    self.append(records)?;
                    self.save(rows?)?;
                }
                Piece::End(left) => return Ok(self.save_left(left)?),
                Piece::Panic(panic) => return Err(Fallen::Panic(panic)),
            }
        }
        Err(Fallen::Fault(StoreFault::Refused("the thread that folds has ended".to_owned())))
    }

    fn save_left(&mut self, left: Left) -> Result<Vec<Changed>, StoreFault> {
        self.append(left.records)?;
        self.save(left.rows?)?;
        Ok(left.changed)
    }

    fn world(&self) -> World {
        World::seeded_slice(self.hot.seed(), 0)
    }

    /// Opens the transaction of the first batch. What is remembered counts only if nobody has written since.
    fn begin_first(&mut self) -> Result<(), StoreFault> {
        let transaction = immediate(self.connection)?;
        self.hot.validate(&transaction)?;
        let head = load::head(&transaction)?;
        self.first = head.size;
        self.last = head.last.max(self.last);
        self.open = Some(Open { transaction, first: head.size, any_row: false });
        Ok(())
    }

    /// Opens the transaction of a batch that follows another.
    fn begin(&mut self) -> Result<(), StoreFault> {
        let transaction = immediate(self.connection)?;
        if !self.hot.validate(&transaction)? {
            return Err(StoreFault::Conflict("another program wrote into the file out of turn".to_owned()));
        }
        self.open = Some(Open { transaction, first: self.first.saturating_add(self.count), any_row: false });
        Ok(())
    }

    /// Loads what a batch needs, then reads the instant it is judged at.
    fn load(&mut self, id: BatchId, mut keys: Vec<Key>) -> Result<(load::Found, Instant), StoreFault> {
        keys.retain(|key| !key.entity.kind().is_shared() || self.known.insert(key.clone()));
        let rows = load::rows(self.connection, keys, &mut self.hot)?;
        let (at, ran_backwards) = decision_instant(self.clock.now(), self.last)?;
        self.last = Some(at);
        self.loaded.push_back(Judged { id, at, clock_ran_backwards: ran_backwards });
        Ok((rows, at))
    }

    fn append(&mut self, records: Packed) -> Result<(), StoreFault> {
        records.append(self.connection, self.first.saturating_add(self.count))?;
        self.count += records.len() as u64;
        Ok(())
    }

    fn save(&mut self, rows: Rows) -> Result<(), StoreFault> {
        if let Some(open) = &mut self.open {
            open.any_row |= !rows.is_empty();
        }
        rows.save(self.connection)
    }

    /// Makes the oldest batch durable; `changed` are its rows worth remembering.
    fn commit(&mut self, changed: Vec<Changed>) -> Result<Committed, StoreFault> {
        let missing = || StoreFault::Refused("there is no batch to commit".to_owned());
        let Open { transaction, first, any_row } = self.open.take().ok_or_else(missing)?;
        let Judged { id, at, clock_ran_backwards } = self.loaded.pop_front().ok_or_else(missing)?;
        if self.connection.is_autocommit() {
            // A disk that fails while the next batch is loaded undoes this one too. Whatever were written now would stand alone.
            let why = self.unloadable.take().map_or_else(|| "nobody knows why".to_owned(), |fault| fault.to_string());
            return Err(StoreFault::Unavailable(format!("the transaction was undone before its commit: {why}")));
        }
        let committed = Committed { at, first, clock_ran_backwards };
        let end = self.first.saturating_add(self.count);
        if first == end && !any_row {
            // Nothing can be lost, so nothing needs to reach the disk: a round that only asked for keys is cheap.
            transaction.rollback().map_err(fault)?;
            return Ok(committed);
        }
        save::head(&transaction, end, at)?;
        save::writer(&transaction, &self.process, id, first)?;
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
        self.is_known = true;
        self.hot.take_over(changed);
        Ok(committed)
    }
}

fn immediate(connection: &Connection) -> Result<Transaction<'_>, StoreFault> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(start_fault)
}

#[cfg(test)]
mod tests {
    use super::super::{connection, schema};
    use super::*;
    use runtime::ports::store::Pieces;
    use values::sealed::Sealed;

    /// Stands still.
    struct Still;

    impl Clock for Still {
        fn now(&self) -> Instant {
            Instant::PURE_DEFAULT
        }
    }

    /// One batch that saves a row; while the next one is asked for, the disk fails.
    struct FailsBetween<'a> {
        connection: &'a Connection,
        asked: usize,
        told: usize,
    }

    impl Between for FailsBetween<'_> {
        fn next(&mut self) -> Option<Batch> {
            self.asked += 1;
            if self.asked > 1 {
                self.connection.execute_batch("ROLLBACK").unwrap();
                return None;
            }
            let key = Key { tenant: "t".into(), entity: kernel::world::Entity::Flow("f".to_owned()) };
            let keys = vec![key.clone()];
            let fold = move |world: &mut World, _: Instant, _: &mut dyn Pieces| {
                world.put(key, kernel::world::Row::Flow(kernel::world::FlowRow::default()));
            };
            Some(Batch { id: BatchId(7), keys, fold: Box::new(fold) })
        }

        fn committed(&mut self, _connection: &Connection, _committed: Committed) {
            self.told += 1;
        }
    }

    #[test]
    fn a_transaction_that_is_gone_leaves_nothing_and_is_told_of() {
        let path = std::env::temp_dir().join(format!("writkeeper-chain-{}", std::process::id()));
        let mut connection = connection::writer(&path).unwrap();
        schema::migrate(&mut connection).unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let chain = || Chain::new(&connection, &Still, ([1; 16], true), HotRows::default(), None);
        let mut between = FailsBetween { connection: &connection, asked: 0, told: 0 };
        let ran = chain().run(&mut ResidentThread::named("folder"), &mut between);
        assert!(matches!(ran, Err(StoreFault::Unavailable(_))), "{ran:?}");
        assert_eq!((between.asked, between.told), (2, 0));
        assert_eq!(count("SELECT count(*) FROM writer"), 0);
        assert_eq!(count("SELECT count(*) FROM flow"), 0);
        let sealed = Sealed { leaf: "leaf".to_owned(), body: "body".to_owned(), salt: [1; 16] };
        let committed = chain().alone(BatchId(8), Vec::new(), &mut |_, _| vec![sealed.clone()]).unwrap();
        assert_eq!((committed.first, count("SELECT size FROM head")), (0, 1), "no gap");
        for ending in ["", "-wal", "-shm"] {
            let _gone = std::fs::remove_file(format!("{}{ending}", path.display()));
        }
    }
}

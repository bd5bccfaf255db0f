//! Taking the log into the file while decisions go on.
//!
//! Once all of it is in the file the next commit begins the log anew, over what stands there: a log that does not grow
//! needs no room from the file system, and reaches the disk in one wait where a growing one needs two or three.
//!
//! A process that makes one decision and ends leaves the log behind, and the next one has to read all of it before it can
//! begin. What was taken into the file is forgotten by then, so a process that finds a long log takes it into the file
//! before its own commit, which then begins it anew.
//!
//! Left to itself, SQLite does it on the writer's thread, at the end of the commit that made the log long: everybody
//! waits. Here a second thread does most of it. The log can only begin anew once all of it is in the file, and more
//! arrives meanwhile, so the writer takes over the little that is left.

use super::connection;
use super::fault::fault;
use runtime::crash::{around, sooner};
use runtime::ports::store::StoreFault;
use rusqlite::Connection;
use rusqlite::hooks::Wal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

/// Who keeps the log short, and from how many pages on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogKeeper {
    /// A thread beside the writer, for a process that stays.
    Beside(u64),
    /// Whoever opens the store, for a process that makes one decision.
    Opener(u64),
}

impl LogKeeper {
    /// For who decides as much as it can.
    pub const USUAL: LogKeeper = LogKeeper::Beside(12_000);
}

/// Pages that the writer takes over itself; for more the second thread goes again.
const REST: u64 = 1_500;

/// Pages from which on the writer no longer counts on the second thread.
const MOST: u64 = 24_000;

/// Sees to it that the log of one store stays short.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    /// How long the log was after the last commit of the connection that is watched.
    pages: Arc<AtomicU64>,
    seen: u64,
    /// Pages from which on it is taken into the file; `None` if that was done when the store was opened.
    begin: Option<u64>,
    /// Nothing is done before the log is so long: a reader may hold an old commit, and trying at once again is vain.
    from: u64,
    second: Option<Second>,
}

/// The second thread. It says how many pages of the log are in the file.
#[derive(Debug)]
struct Second {
    orders: Option<SyncSender<()>>,
    taken: Receiver<Option<u64>>,
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    /// The log of the store in this file, which this connection has just opened.
    pub(super) fn of(path: &Path, keeper: LogKeeper, connection: &Connection) -> Log {
        let begin = match keeper {
            LogKeeper::Beside(pages) => Some(sooner(pages)),
            LogKeeper::Opener(pages) => {
                // Somebody may read, or be at it already: then the next one will.
                let _later = take_if_long(connection, sooner(pages));
                None
            }
        };
        let from = begin.unwrap_or(u64::MAX);
        Log { path: path.to_path_buf(), pages: Arc::default(), seen: 0, begin, from, second: None }
    }

    /// Watches how long the commits of a connection make the log, in place of what SQLite would do then.
    pub(super) fn watch(&self, connection: &mut Connection) -> Result<(), StoreFault> {
        let pages = self.pages.clone();
        let hook = move |_: &mut Wal, count| {
            pages.store(u64::try_from(count).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(hook)).map_err(fault)
    }

    /// Whether there is anything to do after a commit.
    pub(super) fn is_due(&self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        self.begin.is_some() && (pages < self.seen || pages >= self.from)
    }

    /// After a commit: nothing most of the time. Whatever goes wrong here is tried again later and loses nothing.
    pub(super) fn after_commit(&mut self, connection: &Connection) {
        let Some(begin) = self.begin else { return };
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.seen {
            self.from = begin;
            // It began anew, so what the second thread said of the old one means nothing any more.
            let _of_the_old = self.progress();
        }
        self.seen = pages;
        if pages < self.from {
            return;
        }
        match self.progress() {
            Progress::Running if pages < MOST => {}
            Progress::Idle if pages < MOST && self.start() => {}
            Progress::Taken(taken) if pages.saturating_sub(taken) > REST && pages < MOST && self.start() => {}
            Progress::Idle | Progress::Running | Progress::Taken(_) => {
                // Whether it came to the end is seen by the next commit: the log is short again, or long still.
                let _later = take(connection);
                self.from = pages.saturating_add(begin);
            }
        }
    }

    fn progress(&mut self) -> Progress {
        let Some(second) = self.second.as_mut().filter(|second| second.is_busy) else { return Progress::Idle };
        match second.taken.try_recv() {
            Ok(taken) => {
                second.is_busy = false;
                Progress::Taken(taken.unwrap_or_default())
            }
            Err(TryRecvError::Empty) => Progress::Running,
            Err(TryRecvError::Disconnected) => {
                self.second = None;
                Progress::Idle
            }
        }
    }

    /// Whether the second thread has begun.
    fn start(&mut self) -> bool {
        if self.second.is_none() {
            self.second = Second::start(&self.path);
        }
        let Some(second) = &mut self.second else { return false };
        second.is_busy = second.orders.as_ref().is_some_and(|orders| orders.try_send(()).is_ok());
        second.is_busy
    }
}

#[derive(Debug)]
enum Progress {
    Idle,
    Running,
    Taken(u64),
}

impl Second {
    /// `None` where the machine gives no thread; the writer does without.
    fn start(path: &Path) -> Option<Second> {
        let path = path.to_path_buf();
        let (orders, received) = sync_channel::<()>(1);
        let (say, taken) = sync_channel(1);
        let work = move || {
            let Ok(connection) = connection::writer(&path) else { return };
            while received.recv().is_ok() && say.send(take(&connection).ok()).is_ok() {}
        };
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(work).ok()?;
        Some(Second { orders: Some(orders), taken, is_busy: false, thread: Some(thread) })
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // Its connection is closed before the writer's, so that the last one to close is the one it always was.
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// Takes the log into the file if it is long.
fn take_if_long(connection: &Connection, pages: u64) -> Result<(), StoreFault> {
    let length: i64 = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1)).map_err(fault)?;
    if u64::try_from(length).is_ok_and(|length| length >= pages) {
        take(connection)?;
    }
    Ok(())
}

/// Takes as much of the log into the file as readers allow, without keeping anybody from anything. Says how much is there.
fn take(connection: &Connection) -> Result<u64, StoreFault> {
    let take = || connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2));
    let taken: i64 = around("store.checkpoint", take).map_err(fault)?;
    Ok(u64::try_from(taken).unwrap_or_default())
}

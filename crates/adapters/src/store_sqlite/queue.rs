//! Writers of several processes stand in line.
//!
//! SQLite lets a waiting writer sleep and try again; beside a busy writer that took up to a second. A file lock wakes
//! the next one at once. Who waits holds a second lock, so that a busy writer cannot overtake it for ever.

mod holder;
mod timed_lock;

use runtime::ports::store::StoreFault;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use timed_lock::{LockFault, TimedLock};

/// A line that moves this fast is not looked at.
const AT_ONCE: Duration = Duration::from_millis(20);

/// How long one writer may take on a busy machine. So long a line is looked at, at least, before it counts as standing still.
const ONE_WRITER: Duration = Duration::from_secs(1);

/// The line of writers of one store.
#[derive(Debug)]
pub(super) struct Queue {
    /// Held by the one who waits next.
    next: TimedLock,
    /// Held by the one who writes.
    turn: TimedLock,
    /// How long to stand in line: who holds a lock may have been stopped and may never go on.
    wait: Duration,
    /// How long one other writer may take, once it is only the one before us.
    turn_wait: Duration,
    /// When all waiting for somebody who does not go on ends, however often it began.
    until: Option<Instant>,
}

/// How long a store is waited for that others use.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Behind all other writers.
    pub line: Duration,
    /// For a single one.
    pub turn: Duration,
    /// Somebody who does not go on is waited for until then, if it is set.
    pub until: Option<Instant>,
}

impl Waits {
    /// As long in line as for one writer.
    pub const fn each(wait: Duration) -> Waits {
        Waits { line: wait, turn: wait, until: None }
    }

    /// How long a single writer is waited for from now on.
    pub(super) fn turn_left(&self) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(self.turn, |left| left.min(self.turn))
    }
}

/// The right to write, given back when dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a TimedLock);

impl Queue {
    /// The line of the store in this file.
    pub(super) fn beside(path: &Path, waits: Waits) -> Result<Queue, StoreFault> {
        let lock = |ending: &str| -> Result<TimedLock, StoreFault> { Ok(TimedLock::on(lock_file(path, ending)?)) };
        let Waits { line: wait, turn: turn_wait, until } = waits;
        Ok(Queue { next: lock("-queue")?, turn: lock("-turn")?, wait, turn_wait, until })
    }

    /// Whether a store was opened here before: its line is there.
    pub(super) fn is_beside(path: &Path) -> bool {
        beside(path, "-queue").exists()
    }

    /// Waits until it is our turn, and not for ever.
    pub(super) fn wait(&self) -> Result<Turn<'_>, StoreFault> {
        self.wait_at_most(self.wait)
    }

    /// Waits until it is our turn, and not longer than this.
    pub(super) fn wait_at_most(&self, most: Duration) -> Result<Turn<'_>, StoreFault> {
        let has_moved = self.step_up(most)?;
        let most = if has_moved { most.min(self.turn_wait) } else { self.patience_left(most) };
        let turn = self.turn.lock(Instant::now() + most);
        let stepped_forward = self.next.unlock();
        turn.map_err(|fault| unavailable(&self.turn, fault, most))?;
        let turn = Turn(&self.turn);
        stepped_forward.map_err(|error| unavailable(&self.next, LockFault::Io(error), most))?;
        Ok(turn)
    }

    /// Waits until only the one who writes is before us; whether others went on meanwhile. As long as they do, nobody is
    /// stuck, and the line is stood in to its end; where the same ones hold everything, one writer's time is enough.
    fn step_up(&self, most: Duration) -> Result<bool, StoreFault> {
        let end = Instant::now() + most;
        match self.next.lock(end.min(Instant::now() + AT_ONCE)) {
            Ok(()) => return Ok(false),
            Err(LockFault::TooLong) => {}
            Err(fault) => return Err(unavailable(&self.next, fault, most)),
        }
        let (mut seen, mut has_moved) = (self.holders(), false);
        loop {
            let patience = if has_moved { self.turn_wait } else { self.patience_left(self.turn_wait) };
            match self.next.lock(end.min(Instant::now() + patience)) {
                Ok(()) => return Ok(has_moved),
                // Where the system does not tell who holds what, the line counts as moving.
                Err(LockFault::TooLong) if Instant::now() < end && (seen == [None, None] || self.holders() != seen) => {
                    (seen, has_moved) = (self.holders(), true);
                }
                Err(fault) => return Err(unavailable(&self.next, fault, patience.min(most))),
            }
        }
    }

    /// How long one writer may take from now on.
    fn patience_left(&self, most: Duration) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        // Whoever came this far stood in a line that moved: one writer's ordinary time is left in any case.
        left.map_or(most, |left| left.max(ONE_WRITER).min(most)).min(self.turn_wait)
    }

    /// Who waits next and who writes.
    fn holders(&self) -> [Option<String>; 2] {
        [&self.next, &self.turn].map(|lock| holder::of(lock.file()))
    }

    /// The wait it was made with.
    pub(super) fn patience(&self) -> Duration {
        self.wait
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // A lock that cannot be given back is given back when the file is closed.
        let _closed_later = self.0.unlock();
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn lock_file(path: &Path, ending: &str) -> Result<File, StoreFault> {
    let beside = beside(path, ending);
    let opened = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&beside);
    let file = opened.map_err(|error| StoreFault::Unavailable(format!("`{}`: {error}", beside.display())))?;
    // Best effort: where it cannot be changed, whoever may not open it is told so.
    let _unchanged = as_the_store(path, &file);
    Ok(file)
}

/// Who may write the store may stand in its line, whoever made the file of the line.
#[cfg(unix)]
fn as_the_store(path: &Path, file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (store, own) = (std::fs::metadata(path)?, file.metadata()?);
    if (own.uid(), own.gid()) != (store.uid(), store.gid()) {
        fchown(file, Some(store.uid()), Some(store.gid()))?;
    }
    if own.permissions().mode() & 0o777 != store.permissions().mode() & 0o777 {
        file.set_permissions(store.permissions())?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn as_the_store(_path: &Path, _file: &File) -> io::Result<()> {
    Ok(())
}

fn unavailable(lock: &TimedLock, fault: LockFault, waited: Duration) -> StoreFault {
    StoreFault::Unavailable(match fault {
        LockFault::Io(error) => format!("the line of writers: {error}"),
        LockFault::TooLong => {
            let holder = holder::of(lock.file()).unwrap_or_else(|| "another process".to_owned());
            let waited = Duration::from_millis(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
            format!("waited {waited:?} for the turn to write, which {holder} holds; let it go on, or end it")
        }
    })
}

//! Writers of several processes stand in line.
//!
//! SQLite lets a waiting writer sleep and try again; beside a busy writer that took up to a second. A file lock wakes
//! the next one at once. Who waits holds a second lock, so that a busy writer cannot overtake it for ever.

use runtime::ports::store::StoreFault;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The line of writers of one store.
#[derive(Debug)]
pub(super) struct Queue {
    /// Held by the one who waits next.
    next: File,
    /// Held by the one who writes.
    turn: File,
}

/// The right to write, given back when dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a File);

impl Queue {
    /// The line of the store in this file.
    pub(super) fn beside(path: &Path) -> Result<Queue, StoreFault> {
        Ok(Queue { next: lock_file(path, "-queue")?, turn: lock_file(path, "-turn")? })
    }

    /// Waits until it is our turn.
    pub(super) fn wait(&self) -> Result<Turn<'_>, StoreFault> {
        self.next.lock().map_err(unavailable)?;
        let turn = self.turn.lock();
        self.next.unlock().map_err(unavailable)?;
        turn.map_err(unavailable)?;
        Ok(Turn(&self.turn))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // A lock that cannot be given back is given back when the file is closed.
        let _closed_later = self.0.unlock();
    }
}

fn lock_file(path: &Path, ending: &str) -> Result<File, StoreFault> {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    let beside = PathBuf::from(name);
    let opened = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&beside);
    opened.map_err(|error| StoreFault::Unavailable(format!("`{}`: {error}", beside.display())))
}

fn unavailable(error: io::Error) -> StoreFault {
    StoreFault::Unavailable(format!("the line of writers: {error}"))
}

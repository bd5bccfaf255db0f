//! How far events of a tenant were handed on to one receiver: a file beside the store, as the cursors of webhooks are.

use crate::error::Error;
use crate::keeper::place;
use adapters::durable_file::{private_folder, remove_leftovers, replace};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use values::ids::Digest;

/// The first word of the file.
const WORD: &str = "writkeeper/event-cursor/v1";

/// How far one receiver has a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandedOn {
    /// The next entry.
    pub next: u64,
    /// The log that the entries before it stand in: an index of another log is another entry.
    pub log: String,
}

/// Largest file that is read here.
const FILE_BYTES_MAX: u64 = 4_096;

/// The cursor of one receiver, held by one process.
pub struct EventCursor {
    path: PathBuf,
    /// Held as long as the process hands on: two of them would mix their orders.
    _lock: File,
}

impl EventCursor {
    /// Opens the cursor of a receiver, named by everything that makes it another one.
    pub fn open(location: &str, receiver: &str) -> Result<EventCursor, Error> {
        let memory = || Error::Usage("a store in memory is forgotten, and so would be what was handed on".to_owned());
        let folder = place(location)?.webhooks().ok_or_else(memory)?.join("events");
        private_folder(&folder).map_err(|error| unusable(&folder, &error))?;
        remove_leftovers(&folder);
        let name = Digest::of(receiver.as_bytes()).to_string();
        let name = name.get(..32).unwrap_or(&name);
        let lock_path = folder.join(format!("{name}.lock"));
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&lock_path);
        let lock = lock.map_err(|error| unusable(&lock_path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(EventCursor { path: folder.join(name), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::Unavailable(format!(
                "another process hands the events of `{location}` on already; end it first"
            ))),
            Err(TryLockError::Error(error)) => Err(unusable(&lock_path, &error)),
        }
    }

    /// How far the receiver has which log; nothing if nothing was ever handed on.
    pub fn handed_on(&self) -> Result<Option<HandedOn>, Error> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&self.path, &error)),
        };
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| unusable(&self.path, &error))?;
        let problem = || Error::Invalid(format!("`{}` is no cursor; remove it to start anew", self.path.display()));
        parse(&text).map(Some).ok_or_else(problem)
    }

    /// Remembers how far the receiver has which log; it is on the disk when this returns.
    pub fn keep(&self, HandedOn { next, log }: &HandedOn) -> Result<(), Error> {
        let text = format!("{WORD} {next} {log}\n");
        replace(&self.path, text.as_bytes(), 0o600).map_err(|error| unusable(&self.path, &error))
    }
}

fn parse(text: &str) -> Option<HandedOn> {
    let (word, rest) = text.trim_end().split_once(' ')?;
    let (next, log) = rest.split_once(' ').filter(|_| word == WORD)?;
    Some(HandedOn { next: next.parse().ok()?, log: log.to_owned() })
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::Unavailable(format!("`{}` cannot be used: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_outlives_its_process_and_belongs_to_one_receiver() {
        let scratch = tempfile::tempdir().unwrap();
        let location = scratch.path().join("kept.db").display().to_string();
        let first = EventCursor::open(&location, "nats://a").unwrap();
        assert_eq!(first.handed_on().unwrap(), None);
        let handed_on = HandedOn { next: 7, log: "ledger.example/1".to_owned() };
        first.keep(&handed_on).unwrap();
        assert!(matches!(EventCursor::open(&location, "nats://a"), Err(Error::Unavailable(_))), "one at a time");
        assert_eq!(EventCursor::open(&location, "nats://b").unwrap().handed_on().unwrap(), None);
        drop(first);
        assert_eq!(EventCursor::open(&location, "nats://a").unwrap().handed_on().unwrap(), Some(handed_on));
    }
}

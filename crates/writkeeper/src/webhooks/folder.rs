//! What a notifier keeps, in a folder beside the store:
//!
//! ```text
//! key              the private key that messages are signed with, readable by its owner only
//! lock             held by the one notifier that runs
//! cursors/NAME     how far an endpoint has heard: the index of the next entry of the ledger
//! ```

use super::endpoints::Endpoint;
use super::message::key_text;
use crate::error::Error;
use crate::keeper::place;
use adapters::durable_file::{private_folder, random_seed, remove_leftovers, replace};
use ledger::ed25519::SecretKey;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use values::ids::Digest;

/// The first word of the file of the key.
const KEY_WORD: &str = "writkeeper-webhooks-key";

/// The first word of a cursor.
const CURSOR_WORD: &str = "writkeeper/webhook-cursor/v1";

/// Largest file that is read here.
const FILE_BYTES_MAX: u64 = 4_096;

/// The folder of one store, held by one notifier.
pub struct Folder {
    cursors: PathBuf,
    key: SecretKey,
    /// Held as long as the notifier lives: two of them would tell everything twice.
    _lock: File,
}

impl Folder {
    /// Opens the folder of a store for delivering; it is made where there is none.
    pub fn open(location: &str) -> Result<Folder, Error> {
        let folder = made(location)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(folder.join("lock"));
        let lock = lock.map_err(|error| unusable(&folder, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = format!("another process delivers the webhooks of `{location}` already; end it first");
                return Err(Error::Unavailable(problem));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&folder, &error)),
        }
        let cursors = folder.join("cursors");
        private_folder(&cursors).map_err(|error| unusable(&cursors, &error))?;
        remove_leftovers(&folder);
        remove_leftovers(&cursors);
        Ok(Folder { cursors, key: key(&folder)?, _lock: lock })
    }

    /// The key that messages are signed with.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }

    /// The next entry that an endpoint has not heard of; nothing if it never heard of any.
    pub fn cursor(&self, endpoint: &Endpoint) -> Result<Option<u64>, Error> {
        let path = self.cursors.join(endpoint.name());
        let Some(text) = read(&path)? else { return Ok(None) };
        let index = text.trim_end().split_once(' ').filter(|(word, _)| *word == CURSOR_WORD);
        let index = index.and_then(|(_, index)| index.parse().ok());
        let problem = || Error::Invalid(format!("`{}` is no cursor; remove it to start anew", path.display()));
        index.map(Some).ok_or_else(problem)
    }

    /// Remembers how far an endpoint has heard; it is on the disk when this returns.
    pub fn keep_cursor(&self, endpoint: &Endpoint, next: u64) -> Result<(), Error> {
        let path = self.cursors.join(endpoint.name());
        replace(&path, format!("{CURSOR_WORD} {next}\n").as_bytes(), 0o600).map_err(|error| unusable(&path, &error))
    }
}

/// The public key of a store as receivers configure it; made where there is none.
pub fn public_key(location: &str) -> Result<String, Error> {
    Ok(key_text(&key(&made(location)?)?.public()))
}

fn made(location: &str) -> Result<PathBuf, Error> {
    let memory = || Error::Usage("a store in memory is forgotten, and so would be who was told what".to_owned());
    let folder = place(location)?.webhooks().ok_or_else(memory)?;
    private_folder(&folder).map_err(|error| unusable(&folder, &error))?;
    Ok(folder)
}

/// Reads the key, or makes one where there is none.
fn key(folder: &Path) -> Result<SecretKey, Error> {
    let path = folder.join("key");
    let Some(text) = read(&path)? else {
        let seed = random_seed().map_err(|error| unusable(&path, &error))?;
        let text = format!("{KEY_WORD} {}\n", Digest::from_bytes(seed));
        replace(&path, text.as_bytes(), 0o600).map_err(|error| unusable(&path, &error))?;
        return Ok(SecretKey::from_seed(&seed));
    };
    let metadata = std::fs::metadata(&path).map_err(|error| unusable(&path, &error))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let problem = format!("`{}` can be read by others; run `chmod 600` on it", path.display());
        return Err(Error::Invalid(problem));
    }
    let seed = text.trim_end().split_once(' ').filter(|(word, _)| *word == KEY_WORD);
    let seed = seed.and_then(|(_, seed)| Digest::parse(seed));
    let seed = seed.ok_or_else(|| Error::Invalid(format!("`{}` holds no key of webhooks", path.display())))?;
    Ok(SecretKey::from_seed(seed.bytes()))
}

/// The text of a small file; nothing if it is not there.
fn read(path: &Path) -> Result<Option<String>, Error> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(path, &error)),
    };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| unusable(path, &error))?;
    Ok(Some(text))
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::Unavailable(format!("`{}` cannot be used: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_and_a_key_outlive_the_notifier_and_one_runs_at_a_time() {
        let scratch = tempfile::tempdir().unwrap();
        let location = scratch.path().join("kept.db").display().to_string();
        let [endpoint] = super::super::read("webhooks: [{ url: 'https://a.example/h' }]").unwrap().try_into().unwrap();
        let folder = Folder::open(&location).unwrap();
        assert_eq!(folder.cursor(&endpoint).unwrap(), None);
        folder.keep_cursor(&endpoint, 7).unwrap();
        assert!(matches!(Folder::open(&location), Err(Error::Unavailable(_))), "one at a time");
        drop(folder);
        let again = Folder::open(&location).unwrap();
        assert_eq!(again.cursor(&endpoint).unwrap(), Some(7));
        assert_eq!(public_key(&location).unwrap(), key_text(&again.key().public()));
        let path = scratch.path().join("kept.db.webhooks/key");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(public_key(&location), Err(Error::Invalid(_))), "others can read it");
    }
}

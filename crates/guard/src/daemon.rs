//! A process that keeps a guard's store open and answers its hooks over a socket of their owner.
//!
//! It is a shortcut and nothing else: it runs the judgement a hook would run, and whatever it does not answer in time
//! the hook judges itself, under the same ticket, so that one call is decided once.

pub mod client;
pub mod frame;
pub mod peer;
pub mod server;
pub mod start;

use super::place::Guard;
use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Longest path of a socket that every system takes.
const ADDRESS_BYTES_MAX: usize = 100;

/// The folder of a guard's daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DaemonFolder {
    folder: PathBuf,
}

impl DaemonFolder {
    /// Of this guard.
    pub fn of(guard: &Guard) -> DaemonFolder {
        DaemonFolder { folder: guard.folder.join("daemon") }
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Locked by the daemon for its lifetime; holds its process, version and start.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// There if hooks may start a daemon; holds how long one stays without work.
    pub fn on_demand(&self) -> PathBuf {
        self.folder.join("on-demand")
    }

    /// Changed whenever a hook starts a daemon.
    fn attempt(&self) -> PathBuf {
        self.folder.join("attempt")
    }

    /// Changed whenever a hook waited for the daemon in vain.
    fn silence(&self) -> PathBuf {
        self.folder.join("silence")
    }

    /// Notes that the daemon let a hook wait in vain.
    fn leave_alone(&self) {
        // Where it cannot be noted, the next hook waits as long.
        let _ = std::fs::write(self.silence(), "");
    }

    /// Notes that the daemon answers.
    fn answered(&self) {
        let _ = std::fs::remove_file(self.silence());
    }

    /// Whether the daemon let a hook wait in vain not longer ago than this, and is the same one still.
    fn is_left_alone(&self, lasts: Duration) -> bool {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|found| found.modified()).ok();
        let Some(silent) = changed(&self.silence()) else { return false };
        let is_same = changed(&self.lock()).is_some_and(|started| started <= silent);
        is_same && SystemTime::now().duration_since(silent).is_ok_and(|since| since < lasts)
    }

    /// Makes the folder, and makes sure that only its owner may enter it.
    pub fn make(&self) -> io::Result<()> {
        if let Err(error) = DirBuilder::new().mode(0o700).create(&self.folder)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        let found = std::fs::symlink_metadata(&self.folder)?;
        if !found.is_dir() || found.uid() != peer::own_uid() {
            let problem = format!("`{}` is no folder of yours", self.folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        if found.mode() & 0o777 != 0o700 {
            std::fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Whether a daemon of any version lives.
    pub fn is_held(&self) -> bool {
        let file = File::options().read(true).write(true).open(self.lock());
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// What the file of the lock says: process, version and instant of the daemon that wrote it.
    pub fn holder(&self) -> Option<Holder> {
        let text = std::fs::read_to_string(self.lock()).ok()?;
        let mut words = text.split_whitespace();
        let process = words.next()?.parse().ok()?;
        Some(Holder { process, version: words.next()?.to_owned(), since: words.next()?.to_owned() })
    }
}

/// The daemon that holds the lock, as the lock file names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Its process.
    pub process: u32,
    /// Its version.
    pub version: String,
    /// When it started.
    pub since: String,
}

/// A path short enough for a socket's address. Systems take about a hundred bytes and folders lie deeper, so where the
/// path is too long it leads through the open folder.
struct Address {
    path: PathBuf,
    _folder: Option<File>,
}

impl Address {
    fn of(socket: &Path) -> io::Result<Address> {
        if socket.as_os_str().len() <= ADDRESS_BYTES_MAX {
            return Ok(Address { path: socket.to_path_buf(), _folder: None });
        }
        let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Address { path, _folder: Some(folder) })
    }
}

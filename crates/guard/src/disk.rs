//! What the reader of commands sees of the disk: links, and in bounds the files that a command would run or unpack.

use crate::place::Guard;
use crate::session;
use shell::{Content, Links, Member};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};
use values::ids::Digest;

/// Longest file that is read as a program. Longer ones are made by programs.
const TEXT_BYTES_MAX: u64 = 256 * 1024;

/// Longest file whose content is named by a digest of all of it; a longer one is named by its size and time.
const DIGEST_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Files looked into for one call.
const FILES_MAX: usize = 24;

/// How long before a session a file must have been left alone to count as lying there before.
const LATELY: Duration = Duration::from_secs(60 * 60);

/// The disk as one call sees it.
pub struct Disk<'a> {
    /// Whose session it is: the guard, and the session's name.
    session: Option<(&'a Guard, String)>,
    memory: OnceCell<session::Settled>,
    /// Files looked into, each with the digest of what was in it.
    seen: RefCell<BTreeMap<String, String>>,
}

impl<'a> Disk<'a> {
    /// The disk for a call of a session.
    pub fn of(session: Option<(&'a Guard, String)>) -> Disk<'a> {
        Disk { session, memory: OnceCell::new(), seen: RefCell::default() }
    }

    /// Files that were looked into, each with the digest of its content.
    pub fn seen(&self) -> Vec<(String, String)> {
        self.seen.borrow().iter().map(|(path, digest)| (path.clone(), digest.clone())).collect()
    }

    /// A regular file that may still be looked into.
    fn file(&self, path: &str) -> Content<(File, Metadata)> {
        let Ok(about) = std::fs::metadata(path) else { return Content::Missing };
        if about.is_dir() {
            return Content::Missing;
        }
        let is_over = !self.seen.borrow().contains_key(path) && self.seen.borrow().len() >= FILES_MAX;
        // Opening a pipe could wait until the host gives up.
        if !about.is_file() || is_over {
            return Content::Unseen;
        }
        File::open(path).map_or(Content::Unseen, |file| Content::Seen((file, about)))
    }

    fn remember(&self, path: &str, digest: Digest) {
        self.seen.borrow_mut().insert(path.to_owned(), digest.to_string());
    }

    fn memory(&self) -> &session::Settled {
        self.memory.get_or_init(|| {
            self.session.as_ref().map(|(guard, name)| session::settled(guard, name)).unwrap_or_default()
        })
    }
}

impl Links for Disk<'_> {
    fn target(&self, path: &str) -> Option<String> {
        std::fs::read_link(path).ok().map(|target| target.to_string_lossy().into_owned())
    }

    fn is_folder(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).symlink_metadata().is_ok()
    }

    fn text(&self, path: &str) -> Content<String> {
        let (file, about) = match self.file(path) {
            Content::Seen(found) => found,
            Content::Missing => return Content::Missing,
            Content::Unseen => return Content::Unseen,
        };
        if about.len() > TEXT_BYTES_MAX {
            self.remember(path, named(path, &about));
            return Content::Unseen;
        }
        let mut bytes = Vec::new();
        if file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes).is_err() {
            return Content::Unseen;
        }
        self.remember(path, Digest::of(&bytes));
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Content::Seen(text),
            Ok(_) | Err(_) => Content::Unseen,
        }
    }

    fn members(&self, path: &str) -> Content<Vec<Member>> {
        let (mut file, about) = match self.file(path) {
            Content::Seen(found) => found,
            Content::Missing => return Content::Missing,
            Content::Unseen => return Content::Unseen,
        };
        let mut bytes = Vec::new();
        let whole =
            about.len() <= DIGEST_BYTES_MAX && (&mut file).take(DIGEST_BYTES_MAX).read_to_end(&mut bytes).is_ok();
        self.remember(path, if whole { Digest::of(&bytes) } else { named(path, &about) });
        crate::archive_members::of(&mut file).map_or(Content::Unseen, Content::Seen)
    }

    fn is_settled(&self, path: &str) -> bool {
        let memory = self.memory();
        let digest = self.seen.borrow().get(path).cloned();
        if digest.is_some_and(|digest| memory.digests.contains(&digest)) {
            return true;
        }
        let before = memory.began.unwrap_or_else(SystemTime::now).checked_sub(LATELY);
        let changed = std::fs::metadata(path).ok().and_then(|about| changed(&about));
        before.zip(changed).is_some_and(|(before, changed)| changed < before)
    }
}

/// When a file was last changed in any way: this time nobody can set back, other than that of its content.
fn changed(about: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(about.ctime()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Stands for the content of a file that is too large to be read.
fn named(path: &str, about: &Metadata) -> Digest {
    use std::os::unix::fs::MetadataExt;
    Digest::of(format!("{path}\n{}\n{}\n{}.{}", about.ino(), about.len(), about.ctime(), about.ctime_nsec()))
}

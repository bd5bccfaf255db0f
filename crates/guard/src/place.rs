//! Where a guard lies: beside the code it guards, or in a home for everything its owner works on.

use crate::hooks::Host;
use std::path::{Component, Path, PathBuf};

/// The folder that holds contracts, store and sessions.
pub const FOLDER: &str = ".writkeeper";

/// A guard on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Its folder.
    pub folder: PathBuf,
}

impl Guard {
    /// The guard in a folder.
    pub fn at(folder: &Path) -> Guard {
        Guard { folder: folder.to_path_buf() }
    }

    /// The nearest guard above a folder, else the one in the home.
    pub fn find(from: &Path) -> Option<Guard> {
        let here = from.ancestors().map(|folder| folder.join(FOLDER));
        let mut candidates = here.chain(home().map(|home| home.join(FOLDER)));
        candidates.find(|folder| folder.is_dir()).map(|folder| Guard { folder })
    }

    /// The contract of a host's agent.
    pub fn contract(&self, host: Host) -> PathBuf {
        self.folder.join(format!("{}.yaml", host.word))
    }

    /// There while a host is only observed: what cannot be judged runs then. The mode itself stands in the contract.
    pub fn observed(&self, host: Host) -> PathBuf {
        self.folder.join(Guard::observed_name(host))
    }

    /// The name of that file.
    pub fn observed_name(host: Host) -> String {
        format!("guard.db-{}.observed", host.word)
    }

    /// The store.
    pub fn store(&self) -> PathBuf {
        self.folder.join("guard.db")
    }

    /// What sessions did lately.
    pub fn sessions(&self) -> PathBuf {
        self.folder.join("sessions")
    }

    /// Whether it guards everything its owner works on.
    pub fn is_of_user(&self) -> bool {
        let same = |home: PathBuf| canonical(&home.join(FOLDER)) == canonical(&self.folder);
        home().is_some_and(same)
    }

    /// The folder that may be written: the one the guard lies in, else the repository the agent works in.
    pub fn workspace(&self, cwd: &Path) -> PathBuf {
        if !self.is_of_user() {
            return self.folder.parent().map_or_else(|| canonical(cwd), canonical);
        }
        let repository = cwd.ancestors().find(|folder| folder.join(".git").exists());
        canonical(repository.unwrap_or(cwd))
    }
}

/// Whose machine this is, as far as it is known.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Links that are followed one by one where nothing lies at their end.
const LINKS_MAX: usize = 8;

/// Where a path leads if it is a link, also if nothing lies there yet.
pub fn destination(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let (Some(folder), Some(name)) = (path.parent().map(canonical), path.file_name()) else { return path };
        match std::fs::read_link(&path) {
            Ok(target) => path = without_parents(&folder.join(target)),
            Err(_) => return folder.join(name),
        }
    }
    path
}

/// The path with each `..` taken out together with the name before it.
fn without_parents(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
        plain
    })
}

/// The path without links, as far as it exists.
pub fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

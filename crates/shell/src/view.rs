//! What the caller knows about where the command would run.

/// Files of a host that agents run in. The caller knows the hosts; this crate knows what a file of one means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostFiles {
    /// Names that steer the host or its guard wherever they stand, such as `.claude`.
    pub names: &'static [&'static str],
    /// Further files and folders that steer it, relative to a home or to a workspace.
    pub paths: &'static [&'static str],
    /// Absolute paths that steer it for every user. A trailing `/` means the whole directory.
    pub system: &'static [&'static str],
    /// Where its logins lie, relative to a home. A trailing `/` means the whole directory.
    pub logins: &'static [&'static str],
}

/// One host, for documentation and tests.
const EXAMPLE: HostFiles = HostFiles {
    names: &[".claude"],
    paths: &[".claude.json"],
    system: &["/etc/claude-code/"],
    logins: &[".claude/.credentials.json"],
};

/// What the caller sees of a file that a command would run, apply or unpack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<T> {
    /// Nothing lies there, or nobody looked.
    Missing,
    /// All of it.
    Seen(T),
    /// Something lies there that is too large, of no known form, or not to be read.
    Unseen,
}

/// An entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its path in the archive.
    pub name: String,
    /// Where it leads, if it is a link.
    pub link: Option<String>,
}

/// Looks at the disk without changing anything. The caller decides how, and bounds what is read.
pub trait Links {
    /// Where the link at `path` points, or `None` when `path` is no link.
    fn target(&self, path: &str) -> Option<String>;

    /// Whether a folder lies at `path`; `false` if it cannot be told.
    fn is_folder(&self, _path: &str) -> bool {
        false
    }

    /// Whether anything lies at `path`; `false` if it cannot be told.
    fn exists(&self, _path: &str) -> bool {
        false
    }

    /// The text of the file at `path`, which the command would run or apply.
    fn text(&self, _path: &str) -> Content<String> {
        Content::Missing
    }

    /// The entries of the archive at `path`, which the command would unpack.
    fn members(&self, _path: &str) -> Content<Vec<Member>> {
        Content::Missing
    }

    /// Whether doubts about the file at `path` need not be raised: a person has looked at it, or nobody touched it lately.
    fn is_settled(&self, _path: &str) -> bool {
        false
    }
}

/// Where the command would run.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Absolute working directory.
    pub cwd: &'a str,
    /// Absolute home directory.
    pub home: &'a str,
    /// The disk, when the caller can look at it.
    pub links: Option<&'a dyn Links>,
    /// The hosts whose files matter.
    pub hosts: &'a [HostFiles],
    /// Whether text can be typed into a program that was started without any, unseen by the caller.
    pub is_typed_into: bool,
}

impl<'a> View<'a> {
    /// A view without symbolic links and hosts.
    #[must_use]
    pub const fn new(cwd: &'a str, home: &'a str) -> Self {
        Self { cwd, home, links: None, hosts: &[], is_typed_into: false }
    }
}

impl Default for View<'_> {
    /// A made-up place for documentation and tests, with one host.
    fn default() -> Self {
        Self { hosts: &[EXAMPLE], ..Self::new("/home/user/project", "/home/user") }
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("cwd", &self.cwd).field("home", &self.home).finish_non_exhaustive()
    }
}

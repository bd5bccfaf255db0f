//! What the caller knows about where the command would run.

/// Looks at symbolic links without touching anything else. The caller decides how.
pub trait Links {
    /// Where the link at `path` points, or `None` when `path` is no link.
    fn target(&self, path: &str) -> Option<String>;

    /// Whether a folder lies at `path`. Who cannot tell says no.
    fn is_folder(&self, _path: &str) -> bool {
        false
    }

    /// Whether anything lies at `path`. Who cannot tell says no.
    fn exists(&self, _path: &str) -> bool {
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
    /// Symbolic links, when the caller can look them up.
    pub links: Option<&'a dyn Links>,
}

impl<'a> View<'a> {
    /// A view without symbolic links.
    #[must_use]
    pub const fn new(cwd: &'a str, home: &'a str) -> Self {
        Self { cwd, home, links: None }
    }
}

impl Default for View<'_> {
    fn default() -> Self {
        Self::new("/home/user/project", "/home/user")
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("cwd", &self.cwd).field("home", &self.home).finish_non_exhaustive()
    }
}

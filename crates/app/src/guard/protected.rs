//! What no tool of an agent may change: hook configuration, contracts, store and the binary itself.
//!
//! Paths are compared by component after links were followed, without case, and by inode, so that a second name of a
//! file is the file.

use super::place::{self, Guard};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders and files of hosts, in a workspace and in a home.
const OF_HOSTS: &[&str] = &[
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".qwen",
    ".copilot",
    ".github/hooks",
    ".config/github-copilot",
    ".mcp.json",
    place::FOLDER,
];

/// Inside of those, where hosts let agents write plans and notes.
const SCRATCH: &[&str] = &[
    ".claude/plans",
    ".claude/projects",
    ".claude/todos",
    ".claude/tasks",
    ".cursor/plans",
    ".gemini/tmp",
    ".qwen/tmp",
    ".copilot/session-state",
];

/// Single files whose second names are looked for.
const CONFIGURATION: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".github/hooks/writkeeper.json",
    ".mcp.json",
];

/// How a path meets the guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meets {
    /// Not at all.
    Not,
    /// It is a file or folder of the guard.
    Is,
    /// A folder of the guard lies below it.
    Above,
}

/// Everything that is protected.
#[derive(Debug)]
pub struct Protected {
    entries: Vec<Vec<String>>,
    scratch: Vec<Vec<String>>,
    files: Vec<PathBuf>,
}

impl Protected {
    /// What an installation on this machine consists of.
    pub fn of(guard: Option<&Guard>, workspace: &Path) -> Protected {
        let mut protected = Protected { entries: Vec::new(), scratch: Vec::new(), files: Vec::new() };
        let bases = std::iter::once(workspace.to_path_buf()).chain(place::home().map(|home| place::canonical(&home)));
        for base in bases {
            for name in OF_HOSTS {
                protected.protect(&base.join(name));
            }
            protected.scratch.extend(SCRATCH.iter().map(|name| components(&base.join(name))));
            protected.files.extend(CONFIGURATION.iter().map(|name| base.join(name)));
        }
        if let Some(guard) = guard {
            protected.protect(&guard.folder);
            protected.files.push(guard.store());
            protected.files.extend(crate::hooks::Host::ALL.map(|host| guard.contract(host)));
        }
        if let Ok(binary) = std::env::current_exe() {
            protected.protect(&binary);
            protected.files.push(binary);
        }
        protected
    }

    /// The path itself, and where it leads if it is a link.
    fn protect(&mut self, path: &Path) {
        self.entries.push(components(path));
        let real = place::canonical(path);
        if real != path {
            self.entries.push(components(&real));
        }
    }

    /// Whether writing to a resolved path changes the guard. Wildcards meet whatever they can mean.
    pub fn meets(&self, path: &str) -> Meets {
        let parts = components(Path::new(path));
        if self.entries.iter().any(|root| covers(root, &parts)) && !self.is_scratch(path) {
            return Meets::Is;
        }
        if self.is_second_name(Path::new(path)) {
            return Meets::Is;
        }
        let above = self.entries.iter().any(|entry| covers(&parts, entry));
        if above { Meets::Above } else { Meets::Not }
    }

    /// A place where hosts let agents write. What only can mean such a place is none.
    pub fn is_scratch(&self, path: &str) -> bool {
        let parts = components(Path::new(path));
        self.scratch.iter().any(|root| parts.starts_with(root))
    }

    fn is_second_name(&self, path: &Path) -> bool {
        let identity = |path: &Path| {
            let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            Some((found.dev(), found.ino()))
        };
        let Some(own) = identity(path) else { return false };
        self.files.iter().any(|file| identity(file) == Some(own))
    }
}

/// Lower case, because on some file systems case does not count.
fn components(path: &Path) -> Vec<String> {
    let text = path.to_string_lossy().to_lowercase();
    text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
}

/// Whether `inner` is `outer` or lies below it; either side may hold wildcards.
fn covers(outer: &[String], inner: &[String]) -> bool {
    outer.len() <= inner.len() && outer.iter().zip(inner).all(|(left, right)| same(left, right))
}

fn same(left: &str, right: &str) -> bool {
    left == right || is_wild(left) && can_mean(left, right) || is_wild(right) && can_mean(right, left)
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// Whether a pattern can mean a name. A pattern does not meet a leading point unless it says so.
fn can_mean(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with(['.', '[']) {
        return false;
    }
    // Whatever follows a bracket is not looked at: rather one question too many.
    let pattern = pattern.split('[').next().map_or_else(String::new, |known| {
        if known.len() == pattern.len() { known.to_owned() } else { format!("{known}*") }
    });
    matches(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
}

fn matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => matches(rest, name) || name.split_first().is_some_and(|(_, n)| matches(pattern, n)),
        (Some(('?', rest)), Some((_, name))) => matches(rest, name),
        (Some((letter, rest)), Some((first, name))) => letter == first && matches(rest, name),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Meets) {
        let guard = Guard::at(Path::new("/w/app/.writkeeper"));
        let protected = Protected::of(Some(&guard), Path::new("/w/app"));
        assert_eq!(protected.meets(path), expected, "{path}");
    }

    #[test]
    fn the_guard_is_met_under_any_spelling() {
        check("/w/app/.claude/settings.json", Meets::Is);
        check("/w/app/.CLAUDE/Settings.json", Meets::Is);
        check("/w/app/.claude", Meets::Is);
        check("/w/app/.writkeeper/guard.db-wal", Meets::Is);
        check("/w/app/.c*/settings.json", Meets::Is);
        check("/w/app/.claude/*", Meets::Is);
        check("/w/app/.[c]laude/settings.json", Meets::Is);
        check("/w/app", Meets::Above);
        check("/w", Meets::Above);
        check("/w/app/*", Meets::Not);
        check("/w/app/.github/hooks/x.json", Meets::Is);
        check("/w/app/.github/workflows/ci.yml", Meets::Not);
        check("/w/app/.claude/plans/a.md", Meets::Not);
        check("/w/app/src/main.rs", Meets::Not);
        check("/w/app/claude/settings.json", Meets::Not);
        check("/w/app2/.claude/settings.json", Meets::Not);
    }
}

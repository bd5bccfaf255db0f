//! Paths without prefix traps: resolved against cwd and home, compared by component.

use serde::Serialize;

use crate::mark;
use crate::view::View;

/// How many links are followed before giving up; the kernel gives up at 40.
const LINK_HOPS_MAX: usize = 16;

/// A path after `~`, `.` and `..` are resolved. Unknown parts are shown as placeholders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Path(String);

impl Path {
    /// Resolves `text` against the view; `~` and `~/…` mean its home.
    #[must_use]
    pub fn resolve(text: &str, view: &View<'_>) -> Self {
        let expanded = match text.strip_prefix('~') {
            Some("") => view.home.to_owned(),
            Some(rest) if rest.starts_with('/') => format!("{}{rest}", view.home),
            Some(_) | None => text.to_owned(),
        };
        Self(mark::shown(&follow(&normalise(&expanded, view.cwd), view)))
    }

    /// Takes a value that is already resolved.
    pub(crate) fn from_resolved(value: &str) -> Self {
        Self(mark::shown(value))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this path is `root` or lies below it, by whole components.
    #[must_use]
    pub fn is_under(&self, root: &Self) -> bool {
        let mut own = components(&self.0);
        components(&root.0).all(|part| own.next() == Some(part))
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a tool call reads and writes; shared by the shell and by file tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Paths read.
    pub reads: Vec<Path>,
    /// Paths written, created, moved or removed.
    pub writes: Vec<Path>,
}

impl Footprint {
    /// Whether everything written lies under one of `roots`.
    #[must_use]
    pub fn writes_under(&self, roots: &[Path]) -> bool {
        self.writes.iter().all(|path| roots.iter().any(|root| path.is_under(root)))
    }

    /// The first written path that lies under none of `roots`.
    #[must_use]
    pub fn first_outside<'a>(&'a self, roots: &[Path]) -> Option<&'a Path> {
        self.writes.iter().find(|path| !roots.iter().any(|root| path.is_under(root)))
    }
}

/// The non-empty components of a path.
pub(crate) fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Joins to `cwd` when relative and resolves `.` and `..` by component. Marks stay where they are.
pub(crate) fn normalise(text: &str, cwd: &str) -> String {
    let starts_unknown =
        text.chars().next().is_some_and(|c| matches!(c, mark::UNSET | mark::OUTPUT | mark::REMOTE | mark::TEMP));
    let absolute = text.starts_with('/') || starts_unknown;
    let mut parts: Vec<&str> = if absolute { Vec::new() } else { components(cwd).collect() };
    for part in components(text) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let mut out = String::with_capacity(text.len() + cwd.len() + 1);
    for part in &parts {
        if !(out.is_empty() && part.chars().next().is_some_and(mark::is_hole) && starts_unknown) {
            out.push('/');
        }
        out.push_str(part);
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// Follows symbolic links in every prefix when the caller gave a view of them.
pub(crate) fn follow(path: &str, view: &View<'_>) -> String {
    let Some(links) = view.links else { return path.to_owned() };
    let mut current = path.to_owned();
    for _ in 0..LINK_HOPS_MAX {
        let mut prefix = String::new();
        let mut replaced = None;
        let parts: Vec<&str> = components(&current).collect();
        for (index, part) in parts.iter().enumerate() {
            let parent = prefix.clone();
            prefix.push('/');
            prefix.push_str(part);
            if let Some(target) = links.target(&prefix) {
                let rest = parts.get(index + 1..).unwrap_or_default().join("/");
                replaced = Some(normalise(&format!("{target}/{rest}"), &parent));
                break;
            }
        }
        match replaced {
            Some(next) => current = next,
            None => return current,
        }
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, root: &str, expected: bool) {
        let view = View::new("/w/app", "/home/me");
        assert_eq!(Path::resolve(path, &view).is_under(&Path::resolve(root, &view)), expected, "{path} under {root}");
    }

    #[test]
    fn scope_has_no_prefix_traps() {
        check("src/api/a.py", "src/api", true);
        check("./src/api/a.py", "src/api", true);
        check("src/api", "src/api/", true);
        check("src/api2/a.py", "src/api", false);
        check("src/api/../../etc/passwd", "src/api", false);
        check("/w/app/../app2/x", "/w/app", false);
        check("~/x", "/home/me", true);
        check("~me2/x", "/home/me", false);
        check("/anything", "/", true);
    }

    struct OneLink;
    impl Links for OneLink {
        fn target(&self, path: &str) -> Option<String> {
            (path == "/w/app/out").then(|| "../../etc".to_owned())
        }
    }
    use crate::view::Links;

    #[test]
    fn links_are_followed() {
        let view = View { cwd: "/w/app", home: "/home/me", links: Some(&OneLink) };
        assert_eq!(Path::resolve("out/passwd", &view).as_str(), "/etc/passwd");
        assert_eq!(Path::resolve("output/x", &view).as_str(), "/w/app/output/x");
    }
}

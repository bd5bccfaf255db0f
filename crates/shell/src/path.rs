//! Paths without prefix traps: resolved against cwd and home, compared by component.

use crate::mark;
use crate::view::View;
use serde::Serialize;

/// How many links are followed before giving up; the kernel gives up at 40.
const LINK_HOPS_MAX: usize = 40;

/// Longer paths no system takes, so no links are looked for in them.
const PATH_BYTES_MAX: usize = 4096;

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
        let target = |path: &str| view.links.and_then(|links| links.target(path));
        Self(mark::shown(&real(&expanded, view.cwd, &target)))
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

/// The non-empty components of a path.
pub(crate) fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Joins to `cwd` when relative and resolves `.` and `..` by component. Marks stay where they are.
pub(crate) fn normalise(text: &str, cwd: &str) -> String {
    let starts_unknown = starts_unknown(text);
    let absolute = text.starts_with('/') || starts_unknown;
    let mut parts: Vec<&str> = if absolute { Vec::new() } else { components(cwd).collect() };
    let mut is_lost = starts_unknown;
    for part in components(text) {
        if part != ".." {
            parts.push(part);
        } else if parts.last().is_some_and(|last| leads_anywhere(last)) {
            parts = vec![ANYWHERE];
            is_lost = true;
        } else {
            parts.pop();
        }
    }
    let mut out = String::with_capacity(text.len() + cwd.len() + 1);
    for part in &parts {
        if !(out.is_empty() && part.chars().next().is_some_and(mark::is_hole) && is_lost) {
            out.push('/');
        }
        out.push_str(part);
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// A place of which nothing is known.
const ANYWHERE: &str = "\u{E001}";

/// Whether a component stands for what may be several, or lead up itself: what lies above it is not known.
fn leads_anywhere(part: &str) -> bool {
    part.chars().any(|c| mark::is_hole(c) && c != mark::NUMBER)
}

/// Whether nothing is known of where a path begins.
fn starts_unknown(text: &str) -> bool {
    text.chars().next().is_some_and(|c| matches!(c, mark::UNSET | mark::OUTPUT | mark::REMOTE | mark::TEMP))
}

/// Where a path leads, as a system finds it: component by component, and a link is followed before `..` leads out of it.
///
/// The working directory is taken as it is; `target` says where a link leads, or `None` for what is no link.
pub(crate) fn real(text: &str, cwd: &str, target: &dyn Fn(&str) -> Option<String>) -> String {
    if text.len() + cwd.len() > PATH_BYTES_MAX {
        return normalise(text, cwd);
    }
    let absolute = text.starts_with('/') || starts_unknown(text);
    let mut here = String::new();
    if !absolute {
        for part in components(cwd) {
            here.push('/');
            here.push_str(part);
        }
    }
    let mut ahead: Vec<String> = components(text).rev().map(str::to_owned).collect();
    let mut hops = 0usize;
    while let Some(part) = ahead.pop() {
        if part == ".." {
            let last = here.rfind('/').unwrap_or_default();
            if here.get(last..).is_some_and(leads_anywhere) {
                here = ANYWHERE.to_owned();
            } else {
                here.truncate(last);
            }
            continue;
        }
        let folder = here.len();
        enter(&mut here, &part);
        if hops >= LINK_HOPS_MAX {
            continue;
        }
        if let Some(found) = target(&here).filter(|found| found.len() <= PATH_BYTES_MAX) {
            hops += 1;
            here.truncate(if found.starts_with('/') || starts_unknown(&found) { 0 } else { folder });
            ahead.extend(components(&found).rev().map(str::to_owned));
        }
    }
    if here.is_empty() {
        here.push('/');
    }
    here
}

/// One component further. What begins with something unknown is not below the root.
fn enter(here: &mut String, part: &str) {
    if !(here.is_empty() && starts_unknown(part)) {
        here.push('/');
    }
    here.push_str(part);
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
        let view = View { cwd: "/w/app", home: "/home/me", links: Some(&OneLink), ..View::default() };
        assert_eq!(Path::resolve("out/passwd", &view).as_str(), "/etc/passwd");
        assert_eq!(Path::resolve("output/x", &view).as_str(), "/w/app/output/x");
        // Out of a link leads the folder above its target, not the one above its name.
        assert_eq!(Path::resolve("out/../x", &view).as_str(), "/x");
        assert_eq!(Path::resolve("src/../x", &view).as_str(), "/w/app/x");
        // Above what is not known lies nothing that is known.
        for cwd in ["/w/app/\u{E000}", "\u{E001}"] {
            assert_eq!(mark::shown(&real("../../w/app/x", cwd, &|_| None)), "<unknown>/w/app/x");
            assert_eq!(mark::shown(&normalise("../../w/app/x", cwd)), "<unknown>/w/app/x");
        }
    }
}

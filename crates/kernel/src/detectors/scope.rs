//! Scope: whether what a run touches lies in the tree that its contract declares.
//!
//! Paths are compared component by component after `.` and `..` are resolved, so a neighbour with a longer name is
//! outside and a way around through `..` leads nowhere.

use super::Signal;
use crate::contract::words;
use crate::enforcement::gating::Confidence;
use crate::settings::{Fault, Fields};
use values::json::Json;

/// One line for people.
pub const ABOUT: &str = "files outside the declared tree are touched";

/// Files that nearly every change touches; they count as tolerated beside a declared tree, not anywhere.
pub const SHARED: [&str; 17] = [
    "__init__.py",
    "conftest.py",
    "config.py",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
    "Cargo.lock",
    "Cargo.toml",
    "go.mod",
    "go.sum",
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "tsconfig.json",
    "yarn.lock",
    "CHANGELOG.md",
];

/// What is touched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The folder that relative paths and the tree start at.
    pub root: String,
    /// The files, as they were named.
    pub touched: Vec<String>,
}

impl Evidence {
    /// Reads what labelled cases give.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Evidence, Fault> {
        let fields = Fields::of(path, written, &["root", "touched"])?;
        Ok(Evidence { root: fields.text("root", "")?, touched: fields.texts("touched")? })
    }
}

/// The tree and what is tolerated outside of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    tree: Option<Vec<String>>,
    tolerance: u64,
    shared: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { tree: None, tolerance: 0, shared: true }
    }
}

impl Settings {
    /// Reads what a contract gives. Without `tree` there is nothing to be in; an empty one holds nothing.
    pub fn read(path: &str, written: Option<&Json>) -> Result<Settings, Fault> {
        let fields = Fields::of(path, written, &["tree", "tolerance", "shared"])?;
        let tree = fields.texts("tree")?;
        if let Some(bad) = tree.iter().find(|pattern| components(pattern).is_none() || pattern.trim().is_empty()) {
            return Err(Fault::new(fields.at("tree"), format!("must name paths of the workspace, not `{bad}`")));
        }
        let tree = fields.get("tree").map(|_| tree);
        Ok(Settings { tree, tolerance: fields.count("tolerance", 0)?, shared: fields.flag("shared", true)? })
    }
}

words! {
    /// Where the touched files lie.
    State {
        /// In the tree, or tolerated.
        InScope = "IN_SCOPE",
        /// In the tree and outside.
        Creep = "SCOPE_CREEP",
        /// Nowhere in the tree.
        WrongTarget = "WRONG_TARGET",
    }
}

/// The judgement and the files it rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Where the files lie.
    pub state: State,
    /// Those in the tree, in order.
    pub inside: Vec<String>,
    /// Those outside, in order, tolerated or not.
    pub outside: Vec<String>,
}

impl Judgement {
    /// The files that the state is about; none while everything is in scope.
    pub fn refused(&self) -> &[String] {
        match self.state {
            State::InScope => &[],
            State::Creep | State::WrongTarget => &self.outside,
        }
    }
}

/// Sorts the files. Nothing touched is nothing to judge; a tree that holds nothing has nothing in it.
pub fn judge(evidence: &Evidence, settings: &Settings) -> Judgement {
    let quiet = Judgement { state: State::InScope, inside: Vec::new(), outside: Vec::new() };
    let Some(tree) = &settings.tree else { return quiet };
    let mut touched: Vec<&String> = evidence.touched.iter().filter(|path| !path.trim().is_empty()).collect();
    touched.sort();
    touched.dedup();
    if touched.is_empty() {
        return quiet;
    }
    let patterns: Vec<Vec<&str>> = tree.iter().filter_map(|pattern| components(pattern)).collect();
    let root = evidence.root.as_str();
    let is_inside =
        |path: &&String| below(root, path).is_some_and(|parts| patterns.iter().any(|pattern| fits(pattern, &parts)));
    let (inside, outside): (Vec<&String>, Vec<&String>) = touched.into_iter().partition(is_inside);
    let is_shared = |path: &str| {
        settings.shared
            && below(root, path).is_some_and(|parts| patterns.iter().any(|pattern| is_beside(pattern, &parts)))
    };
    let spilled = outside.iter().filter(|path| !is_shared(path)).count() as u64;
    let state = match (patterns.is_empty(), inside.is_empty()) {
        (true, _) => State::WrongTarget,
        (false, _) if spilled <= settings.tolerance => State::InScope,
        (false, true) => State::WrongTarget,
        (false, false) => State::Creep,
    };
    let owned = |paths: Vec<&String>| paths.into_iter().cloned().collect();
    Judgement { state, inside: owned(inside), outside: owned(outside) }
}

/// The components of a path without `.`, and with `..` resolved; `None` if it leads out, or nobody can say.
fn components(path: &str) -> Option<Vec<&str>> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            // Behind a wildcard nobody knows what `..` leaves.
            ".." => match parts.pop() {
                Some(left) if !left.contains(['*', '?']) => {}
                Some(_) | None => return None,
            },
            other => parts.push(other),
        }
    }
    Some(parts)
}

/// A path from the root on; `None` if it lies elsewhere.
fn below<'p>(root: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let parts = components(path)?;
    if !path.starts_with('/') {
        return Some(parts);
    }
    let root = components(root)?;
    let is_below = parts.len() >= root.len() && parts.iter().zip(&root).all(|(left, right)| left == right);
    is_below.then(|| parts.into_iter().skip(root.len()).collect())
}

/// A pattern without wildcards means the path and everything below it; `**` is any number of components.
fn fits(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((&"**", rest)), None) => rest.is_empty(),
        (Some((&"**", rest)), Some((_, behind))) => rest.is_empty() || fits(rest, path) || fits(pattern, behind),
        (Some(_), None) => false,
        // What ends in a wildcard names files, so nothing lies below it.
        (Some((part, [])), Some((name, behind))) if part.contains(['*', '?']) => {
            behind.is_empty() && is_named(part.as_bytes(), name.as_bytes())
        }
        (Some((part, rest)), Some((name, behind))) => is_named(part.as_bytes(), name.as_bytes()) && fits(rest, behind),
    }
}

/// One component, with `*` and `?` in it; letters are compared without case, as file systems may do.
fn is_named(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) if is_named(rest, name) => true,
        (Some((b'*', _)), Some((_, behind))) => is_named(pattern, behind),
        (Some((b'?', rest)), Some((_, behind))) => is_named(rest, behind),
        (Some((left, rest)), Some((right, behind))) => left.eq_ignore_ascii_case(right) && is_named(rest, behind),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether a file that is shared by name lies in a folder on the way to the tree.
fn is_beside(pattern: &[&str], path: &[&str]) -> bool {
    let Some((name, folder)) = path.split_last() else { return false };
    let certain: Vec<&&str> = pattern.iter().take_while(|part| !part.contains(['*', '?'])).collect();
    let is_on_the_way = folder.len() <= certain.len()
        && folder.iter().zip(&certain).all(|(left, right)| left.eq_ignore_ascii_case(right));
    SHARED.contains(name) && is_on_the_way
}

pub(super) fn signal(evidence: &Evidence, settings: &Settings) -> Signal {
    let judgement = judge(evidence, settings);
    let refused = judgement.refused();
    let named: Vec<&str> = refused.iter().take(3).map(String::as_str).collect();
    let named = format!("`{}`{}", named.join("`, `"), if refused.len() > 3 { " and more" } else { "" });
    Signal {
        detector: "scope",
        state: judgement.state.word(),
        confidence: match judgement.state {
            State::InScope => Confidence::None,
            State::Creep => Confidence::Low,
            State::WrongTarget => Confidence::High,
        },
        rung: None,
        reason: match judgement.state {
            State::InScope => "what is touched lies in the declared tree".to_owned(),
            State::Creep => format!("the declared tree is left: {named}"),
            State::WrongTarget => format!("nothing that is touched lies in the declared tree: {named}"),
        },
        details: Json::object([("outside", Json::texts(refused.iter().map(String::as_str)))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tree: &[&str], touched: &[&str], expected: &str) {
        let tree = tree.iter().map(|pattern| (*pattern).to_owned()).collect();
        let settings = Settings { tree: Some(tree), ..Settings::default() };
        let touched: Vec<String> = touched.iter().map(|path| (*path).to_owned()).collect();
        let judgement = judge(&Evidence { root: "/ws".to_owned(), touched }, &settings);
        let shown = format!("{} {}", judgement.state.word(), judgement.refused().join(" "));
        assert_eq!(shown.trim_end(), expected);
    }

    #[test]
    fn files_lie_inside_or_outside() {
        let api = &["src/api/**"];
        check(api, &[], "IN_SCOPE");
        check(api, &["src/api/a.py", "src/api/deep/b.py"], "IN_SCOPE");
        check(api, &["src/api/a.py", "src/web/b.py"], "SCOPE_CREEP src/web/b.py");
        check(api, &["src/web/b.py"], "WRONG_TARGET src/web/b.py");
        check(&[], &["src/web/b.py"], "WRONG_TARGET src/web/b.py");
        check(&["src/api"], &["src/api", "src/api/a.py"], "IN_SCOPE");
        check(api, &["/ws/src/api/a.py"], "IN_SCOPE");
        check(api, &["/elsewhere/src/api/a.py"], "WRONG_TARGET /elsewhere/src/api/a.py");
    }

    #[test]
    fn spelling_opens_nothing() {
        check(&["src/api"], &["src/api2/a.py"], "WRONG_TARGET src/api2/a.py");
        check(&["src/api/**"], &["src/api/../../etc/passwd"], "WRONG_TARGET src/api/../../etc/passwd");
        check(&["src/api/**"], &["src/api/../../../etc/passwd"], "WRONG_TARGET src/api/../../../etc/passwd");
        check(&["src/api/**"], &["./src/api/./a.py", "src//api/b.py", "src\\api\\c.py"], "IN_SCOPE");
        check(&["**/*.py"], &["a.py", "src/b.PY"], "IN_SCOPE");
        check(&["**/*.py"], &["src/b.sh"], "WRONG_TARGET src/b.sh");
        check(&["src/*.py"], &["src/deep/b.py"], "WRONG_TARGET src/deep/b.py");
        check(&["**"], &["a.py", "src/b.sh"], "IN_SCOPE");
    }

    #[test]
    fn shared_files_are_tolerated_on_the_way_to_the_tree_alone() {
        let api = &["src/api/**"];
        check(api, &["src/api/a.py", "pyproject.toml", "src/__init__.py"], "IN_SCOPE");
        check(api, &["pyproject.toml"], "IN_SCOPE");
        check(api, &["evil/__init__.py"], "WRONG_TARGET evil/__init__.py");
        check(api, &["src/api/a.py", "src/web/config.py"], "SCOPE_CREEP src/web/config.py");
    }

    #[test]
    fn settings_are_read() {
        let read = |text: &str| Settings::read("scope", Some(&Json::parse(text.as_bytes()).unwrap()));
        let touched = Evidence { root: "/".to_owned(), touched: vec!["x.py".to_owned(), "setup.py".to_owned()] };
        let state = |text: &str| judge(&touched, &read(text).unwrap()).state.word();
        assert_eq!(state("{}"), "IN_SCOPE");
        assert_eq!(state(r#"{"tree":["src"]}"#), "WRONG_TARGET");
        assert_eq!(state(r#"{"tree":["src"],"tolerance":1}"#), "IN_SCOPE");
        assert_eq!(state(r#"{"tree":["src"],"tolerance":1,"shared":false}"#), "WRONG_TARGET");
        let fault = read(r#"{"tree":["../x"]}"#).map_err(|fault| fault.to_string());
        assert_eq!(fault, Err("`scope.tree` must name paths of the workspace, not `../x`".to_owned()));
    }
}

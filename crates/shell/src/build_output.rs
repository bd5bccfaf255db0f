//! Folders that a build makes again. Losing one costs a minute, so removing it is an ordinary change.
//!
//! Only by name, only beside the file that says how it is made, and only where the disk can be looked at. A folder of
//! another name, one behind a link, or a name with a part that is not known is data like any other.

use crate::mark;
use crate::view::View;

/// Files that say how a project is built.
const MANIFESTS: &[&str] = &[
    "package.json",
    "pyproject.toml",
    "setup.py",
    "Cargo.toml",
    "CMakeLists.txt",
    "Makefile",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "mix.exs",
    "pubspec.yaml",
];

/// A folder, and the files of which one has to lie beside it; with none it is a cache wherever it lies.
const FOLDERS: &[(&str, &[&str])] = &[
    ("node_modules", &["package.json"]),
    (".next", &["package.json"]),
    (".nuxt", &["package.json"]),
    (".svelte-kit", &["package.json"]),
    (".turbo", &["package.json"]),
    (".parcel-cache", &["package.json"]),
    (".nyc_output", &["package.json"]),
    ("coverage", &["package.json"]),
    ("target", &["Cargo.toml", "pom.xml"]),
    ("dist", MANIFESTS),
    ("build", MANIFESTS),
    ("__pycache__", &[]),
    (".pytest_cache", &[]),
    (".mypy_cache", &[]),
    (".ruff_cache", &[]),
];

/// Whether a resolved path is such a folder, or lies in one, at or below where the command runs.
pub(crate) fn holds(path: &str, view: &View<'_>) -> bool {
    let Some(links) = view.links else { return false };
    // `dist/*` is what lies in it; `dist*` may be anything that begins so.
    let path =
        path.strip_suffix(mark::STAR).filter(|folder| folder.ends_with('/')).unwrap_or(path).trim_end_matches('/');
    let root = view.cwd.trim_end_matches('/');
    let Some(inside) = path.strip_prefix(root).filter(|rest| rest.starts_with('/') && !root.is_empty()) else {
        return false;
    };
    if !mark::is_literal(path) || inside.split('/').any(|part| part == "..") {
        return false;
    }
    let mut parent = root.to_owned();
    for part in inside.split('/').filter(|part| !part.is_empty()) {
        if let Some((_, beside)) = FOLDERS.iter().find(|(name, _)| *name == part) {
            return beside.is_empty() || beside.iter().any(|file| links.exists(&format!("{parent}/{file}")));
        }
        parent = format!("{parent}/{part}");
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::view::{Links, View};

    struct Disk;
    impl Links for Disk {
        fn target(&self, path: &str) -> Option<String> {
            match path {
                "/w/app/linked/dist" => Some("/w/app/src".to_owned()),
                "/w/app/coverage" => Some("/w/data/kept".to_owned()),
                _ => None,
            }
        }
        fn is_folder(&self, path: &str) -> bool {
            path.starts_with("/w/app")
        }
        fn exists(&self, path: &str) -> bool {
            matches!(path, "/w/app/package.json" | "/w/app/linked/package.json" | "/w/app/crates/a/Cargo.toml")
        }
    }

    #[track_caller]
    fn check(command: &str, class: &str) {
        let view = View { cwd: "/w/app", home: "/home/me", links: Some(&Disk), ..View::default() };
        let answer = crate::classify(command, &view);
        assert_eq!(answer.class.name(), class, "{command}\n{:#?}", answer.reasons);
    }

    #[test]
    fn what_a_build_makes_again_is_an_ordinary_change() {
        for command in [
            "rm -rf node_modules",
            "rm -rf dist build .next __pycache__",
            "rm -rf ./dist/",
            "rm -rf dist/*",
            "rm -rf /w/app/node_modules/.cache",
            "rm -rf src/__pycache__ .pytest_cache",
            "cd crates/a && rm -rf target",
            "rm -rf crates/a/target/debug",
        ] {
            check(command, "write");
        }
        for command in [
            "rm -rf src",
            "rm -rf src dist",
            "rm -rf target",
            "rm -rf crates/a/dist/../../../src",
            "rm -rf other/dist",
            "rm -rf ../dist",
            "rm -rf /w/other/node_modules",
            "rm -rf ~/node_modules",
            "rm -rf node_modules/../src",
            "rm -rf dis*",
            "rm -rf dist*",
            "rm -rf dist* build*",
            "rm -rf node_modules*",
            "rm -rf $x/dist",
            "rm -rf dist$x",
            "rm -rf dist/$x",
            "rm -rf linked/dist/",
            "rm -rf coverage/",
            "ln -s ../src dist; rm -rf dist/",
            "mv src dist; rm -rf dist",
            "cp -r ~/notes dist; rm -rf build",
            "cd nope; rm -rf dist",
            "rm -rf vendor out bin",
            "git clean -fdx dist",
            "git clean -fdX",
            "find dist -delete",
            "shred -u dist/a",
            "python3 -c \"import shutil; shutil.rmtree('dist')\"",
        ] {
            check(command, "destructive");
        }
        check("rm -rf dist /", "catastrophic");
        check("rm -rf dist .git", "catastrophic");
    }
}

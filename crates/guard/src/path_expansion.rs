//! Expansion of paths with wildcards and unknown parts to the paths on disk that they can mean.

use super::protected_files::is_wild;
use std::path::{Path, PathBuf};

/// Entries of folders looked at for one path.
const ENTRIES_MAX: usize = 4096;

/// Paths that one pattern may mean; beyond it the folder counts as a whole.
const FOUND_MAX: usize = 128;

/// Forms of patterns that are not matched one by one.
const CLASSES: &[&str] = &["[:", "[.", "[=", "@(", "+(", "!(", "*(", "?("];

/// What a path can mean.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Expansion {
    /// Files and folders that are there, links followed.
    pub found: Vec<String>,
    /// The folder below which it may be anything.
    pub below: Option<String>,
}

/// Looks a written path up, if it does not stand for itself.
pub fn of(path: &str) -> Expansion {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    if !path.starts_with('/') {
        return Expansion::default();
    }
    let mut folder = PathBuf::from("/");
    while let Some(part) = parts.next_if(|part| !is_wild(part) && !is_unknown(part)) {
        folder.push(part);
    }
    let open: Vec<&str> = parts.collect();
    if open.is_empty() {
        return Expansion::default();
    }
    let whole = || Expansion { found: Vec::new(), below: Some(folder.to_string_lossy().into_owned()) };
    if open.iter().any(|part| is_unknown(part) || *part == "**" || CLASSES.iter().any(|class| part.contains(class))) {
        return whole();
    }
    match matched(&folder, &open) {
        Some(found) => Expansion { found, below: None },
        None => whole(),
    }
}

fn is_unknown(part: &str) -> bool {
    part.contains(['<', '$'])
}

/// Everything below a folder that the parts can mean; nothing if that is too much.
fn matched(folder: &Path, parts: &[&str]) -> Option<Vec<String>> {
    let mut looked = 0usize;
    let mut places = vec![folder.to_path_buf()];
    for part in parts {
        let mut next = Vec::new();
        for place in &places {
            if !is_wild(part) {
                next.push(place.join(part));
                continue;
            }
            let Ok(entries) = std::fs::read_dir(place) else { continue };
            for entry in entries.flatten() {
                looked += 1;
                let name = entry.file_name().to_string_lossy().to_lowercase();
                let hidden = name.starts_with('.') && !part.starts_with('.');
                if !hidden && shell::wildcard_matches(&part.to_lowercase(), &name) {
                    next.push(entry.path());
                }
                if looked > ENTRIES_MAX || next.len() > FOUND_MAX {
                    return None;
                }
            }
        }
        places = next;
    }
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone()).to_string_lossy().into_owned();
    Some(places.iter().map(real).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("src")).unwrap();
        for name in ["src/a.py", "src/b.py", "src/c.rs", "src/.d.py"] {
            std::fs::write(base.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(base.join("src"), base.join("link")).unwrap();
        let check = |text: &str, found: &[&str], below: Option<&str>| {
            let at = |name: &str| base.join(name).to_string_lossy().into_owned();
            let mut spread = of(&at(text));
            spread.found.sort();
            let found = found.iter().map(|name| at(name)).collect();
            assert_eq!(spread, Expansion { found, below: below.map(at) }, "{text}");
        };
        check("src/a.py", &[], None);
        check("src/*", &["src/a.py", "src/b.py", "src/c.rs"], None);
        check("src/[ac].py", &["src/a.py"], None);
        check("src/[[:alpha:]].py", &[], Some("src"));
        check("s?c/*.PY", &["src/a.py", "src/b.py"], None);
        check("li*/a.py", &["src/a.py"], None);
        check("src/*.log", &[], None);
        check("src/**/a.py", &[], Some("src"));
        check("src/<item>", &[], Some("src"));
        assert_eq!(of("<unknown>/a"), Expansion::default());
        for n in 0..200 {
            std::fs::write(base.join(format!("src/many{n}")), "").unwrap();
        }
        check("src/*", &[], Some("src"));
    }
}

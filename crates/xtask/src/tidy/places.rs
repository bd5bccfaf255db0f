//! Paths that exist on one machine only.

use super::{Finding, SourceFile};
use std::path::Path;

/// Where people keep their files; `user` and `you` stand for anybody.
const HOMES: &[&str] = &["/home/", "/Users/"];
const NOBODY: &[&str] = &["user", "you", "agent", "alice", "bob"];

/// Tool folders of a home that is not named after a person.
const TOOL_FOLDERS: &[&str] = &["/root/.cargo", "/root/.rustup", "/root/.cache"];

/// Files whose subject are homes: this one, and what understands shell commands.
fn is_about_homes(file: &SourceFile) -> bool {
    file.path.ends_with("tidy/places.rs") || file.path.starts_with("crates/shell/")
}

/// Somebody's home folder in a file that everybody reads.
pub fn machine_specific(file: &SourceFile, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        let home = HOMES.iter().find_map(|home| person(line, home));
        let tools = TOOL_FOLDERS.iter().find(|folder| line.contains(*folder)).map(|folder| (*folder).to_owned());
        if let Some(place) = home.or(tools).filter(|_| !is_about_homes(file)) {
            findings.push(Finding { line: index + 1, message: format!("`{place}` exists on one machine only") });
        }
    }
}

/// The absolute path of this very clone.
pub fn this_clone(file: &SourceFile, root: &Path, findings: &mut Vec<Finding>) {
    let root = root.to_string_lossy();
    for (index, line) in file.text.lines().enumerate() {
        // A clone directly under `/` would make every path suspicious.
        if root.matches('/').count() > 1 && line.contains(&*root) {
            findings.push(Finding { line: index + 1, message: format!("`{root}` exists on one machine only") });
        }
    }
}

fn person(line: &str, home: &str) -> Option<String> {
    let (_, rest) = line.split_once(home)?;
    let name = rest.split(|character: char| !(character.is_alphanumeric() || "-_.".contains(character))).next()?;
    (!name.is_empty() && !NOBODY.contains(&name)).then(|| format!("{home}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rows::broken;

    #[test]
    fn homes() {
        let check = |line: &str, expected: &[&str]| assert_eq!(broken("docs/guide/start.md", line), expected, "{line}");
        check("cd /home/jane/writkeeper", &["places"]);
        check("cd /Users/jane/writkeeper", &["places"]);
        check("cd /home/user/project", &[]);
        check("deny everything under /home/", &[]);
        check("/root/.cargo/bin", &["places"]);
        check("cat /root/secrets", &[]);
    }

    #[test]
    fn the_path_of_the_clone() {
        let file = SourceFile::new("docs/a.md".to_owned(), "see /srv/build/writkeeper/docs".to_owned());
        let count = |root: &str| {
            let mut findings = Vec::new();
            this_clone(&file, Path::new(root), &mut findings);
            findings.len()
        };
        assert_eq!(count("/srv/build/writkeeper"), 1);
        assert_eq!(count("/srv/other"), 0);
        assert_eq!(count("/srv"), 0);
    }
}

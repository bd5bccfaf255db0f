//! The main branch that a push reaches, also where the command does not name it.

use std::path::{Path, PathBuf};

/// Branches that others build on.
const MAIN: &[&str] = &["main", "master", "production"];

/// Options of `git` before the word `push` that take a value.
const VALUED: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace"];

/// Options of `push` that take a value.
const PUSH_VALUED: &[&str] = &["-o", "--push-option", "--repo", "--receive-pack", "--exec"];

/// The main branch that one of the commands pushes to, if one does.
pub fn to_main(commands: &[Vec<String>], folder: &Path) -> Option<String> {
    let pushes: Vec<&[String]> = commands.iter().filter_map(|words| after("push", words)).collect();
    if pushes.is_empty() {
        return None;
    }
    // What is checked out first is what is pushed then.
    let changed = commands.iter().filter_map(|words| after("checkout", words).or_else(|| after("switch", words)));
    let checked_out = changed.flatten().find(|word| MAIN.contains(&word.as_str())).cloned();
    let current = checked_out.or_else(|| branch(folder)).filter(|branch| MAIN.contains(&branch.as_str()));
    pushes.into_iter().find_map(|words| target(words, current.as_deref()))
}

/// The words behind a verb of `git`.
fn after<'w>(verb: &str, words: &'w [String]) -> Option<&'w [String]> {
    let (program, mut rest) = words.split_first()?;
    if program.rsplit('/').next() != Some("git") {
        return None;
    }
    loop {
        let (first, behind) = rest.split_first()?;
        match first.as_str() {
            option if VALUED.contains(&option) => rest = behind.get(1..)?,
            option if option.starts_with('-') => rest = behind,
            found => return (found == verb).then_some(behind),
        }
    }
}

fn target(words: &[String], current: Option<&str>) -> Option<String> {
    let mut operands = Vec::new();
    let (mut only_tags, mut rest) = (false, words.iter().map(String::as_str));
    while let Some(word) = rest.next() {
        match word {
            "--all" | "--mirror" | "--branches" => return Some("every branch".to_owned()),
            "--tags" => only_tags = true,
            option if PUSH_VALUED.contains(&option) => _ = rest.next(),
            option if option.starts_with('-') => {}
            operand => operands.push(operand),
        }
    }
    let refspecs = operands.get(1..).unwrap_or_default();
    if refspecs.is_empty() {
        return current.filter(|_| !only_tags).map(str::to_owned);
    }
    refspecs.iter().find_map(|refspec| named(refspec.trim_start_matches('+'), current))
}

/// The main branch that a refspec means.
fn named(refspec: &str, current: Option<&str>) -> Option<String> {
    let to = refspec.rsplit(':').next().unwrap_or(refspec);
    let to = to.strip_prefix("refs/heads/").or_else(|| to.strip_prefix("heads/")).unwrap_or(to);
    if to.contains(['*', '?', '[']) {
        return Some(format!("every branch like `{to}`"));
    }
    match to {
        "HEAD" | "@" => current.map(str::to_owned),
        name if MAIN.contains(&name) => Some(name.to_owned()),
        _ => None,
    }
}

/// The branch that is checked out in a folder.
fn branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = if git.is_file() { linked(&git)? } else { git };
    let head = small(&git.join("HEAD"))?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// The folder that a file `.git` of a second working tree names.
fn linked(file: &Path) -> Option<PathBuf> {
    let text = small(file)?;
    let path = PathBuf::from(text.trim().strip_prefix("gitdir: ")?);
    Some(file.parent()?.join(path))
}

fn small(file: &Path) -> Option<String> {
    let found = std::fs::metadata(file).ok().filter(|found| found.is_file() && found.len() < 4096)?;
    (found.len() > 0).then(|| std::fs::read_to_string(file).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::to_main;

    #[test]
    fn a_main_branch_is_found_by_name_and_by_what_is_checked_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".git")).unwrap();
        let check = |head: &str, line: &str, expected: bool| {
            std::fs::write(folder.path().join(".git/HEAD"), format!("ref: refs/heads/{head}\n")).unwrap();
            let words = |part: &str| part.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let commands: Vec<Vec<String>> = line.split("&&").map(words).collect();
            assert_eq!(to_main(&commands, folder.path()).is_some(), expected, "on {head}: {line}");
        };
        for line in ["git push", "git push origin", "git push origin HEAD", "git -C x push -u origin @", "git push -f"]
        {
            check("master", line, true);
            check("fix-1", line, false);
        }
        for line in [
            "git push --all",
            "git push origin main",
            "git push origin HEAD:refs/heads/main",
            "git push origin +fix:production",
            "git push origin refs/heads/*:refs/heads/*",
            "git push origin ma*",
            "git push --mirror origin",
            "git checkout main && git push",
            "git switch master && git push origin HEAD",
        ] {
            check("fix-1", line, true);
        }
        for line in ["git push origin fix-2", "git push -u origin HEAD:fix-2", "git push --tags", "git status", "ls"] {
            check("master", line, false);
        }
    }
}

//! Paths of rules, written as in a `.gitignore`, as regular expressions over absolute paths.

use super::Places;

/// The regular expression of a path. `//x` is absolute, `~/x` lies in the home, `/x` in the project, and `x` anywhere
/// below it, or at its place if it has a slash inside. A folder means everything below it.
pub(super) fn regex(pattern: &str, places: &Places) -> Result<String, String> {
    if pattern.is_empty() || pattern.contains(['\\', '[', '!', '\n']) {
        return Err("is a path whose meaning is not known here".to_owned());
    }
    let (base, rest) = based(pattern, places);
    let rest = rest.trim_end_matches('/');
    if rest.is_empty() {
        return Err("is a path whose meaning is not known here".to_owned());
    }
    let is_placed = rest.contains('/') || base.is_exact;
    let anywhere = if is_placed { "" } else { "(.*/)?" };
    Ok(format!("^{}/{anywhere}{}(/.*)?$", escaped(base.folder.trim_end_matches('/')), parts(rest)))
}

struct Base<'p> {
    folder: &'p str,
    /// Whether the pattern says itself where it begins.
    is_exact: bool,
}

fn based<'p>(pattern: &'p str, places: &'p Places) -> (Base<'p>, &'p str) {
    let exact = |folder| Base { folder, is_exact: true };
    if let Some(rest) = pattern.strip_prefix("//") {
        (exact("/"), rest)
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        (exact(&places.home), rest)
    } else if let Some(rest) = pattern.strip_prefix('/') {
        (exact(&places.root), rest)
    } else if let Some(rest) = pattern.strip_prefix("./") {
        (exact(&places.root), rest)
    } else {
        (Base { folder: &places.root, is_exact: false }, pattern)
    }
}

/// A folder as an absolute path.
pub(super) fn absolute(folder: &str, places: &Places) -> String {
    let folder = folder.trim_end_matches('/');
    match (folder.strip_prefix("~/"), folder.strip_prefix('/')) {
        (Some(rest), _) => format!("{}/{rest}", places.home),
        (None, Some(_)) => folder.to_owned(),
        (None, None) => joined(&places.root, folder),
    }
}

/// A path below a folder, with each `..` taken out together with the name before it.
fn joined(folder: &str, path: &str) -> String {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// `**` is any number of folders, `*` and `?` stay in one.
fn parts(path: &str) -> String {
    let mut regex = String::new();
    let parts: Vec<&str> = path.split('/').collect();
    for (at, part) in parts.iter().enumerate() {
        let is_last = at + 1 == parts.len();
        match (*part, is_last) {
            ("**", true) => regex.push_str(".*"),
            ("**", false) => regex.push_str("(.*/)?"),
            (part, is_last) => {
                regex.push_str(&one(part));
                regex.push_str(if is_last { "" } else { "/" });
            }
        }
    }
    regex
}

fn one(part: &str) -> String {
    part.chars()
        .map(|letter| match letter {
            '*' => "[^/]*".to_owned(),
            '?' => "[^/]".to_owned(),
            letter => escaped(&letter.to_string()),
        })
        .collect()
}

/// A text that a regular expression takes as it stands.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_a_gitignore() {
        let places = Places { root: "/w".to_owned(), home: "/home/user".to_owned() };
        let check = |pattern: &str, expected: &str| {
            assert_eq!(regex(pattern, &places).unwrap_or_else(|why| why), expected, "{pattern}");
        };
        check("./.env", r"^/w/\.env(/.*)?$");
        check(".env", r"^/w/(.*/)?\.env(/.*)?$");
        check("secrets/**", "^/w/secrets/.*(/.*)?$");
        check("src/**/*.ts", r"^/w/src/(.*/)?[^/]*\.ts(/.*)?$");
        check("/docs/*.md", r"^/w/docs/[^/]*\.md(/.*)?$");
        check("//etc/passwd", "^/etc/passwd(/.*)?$");
        check("~/.ssh/**", r"^/home/user/\.ssh/.*(/.*)?$");
        check("**/*.key", r"^/w/(.*/)?[^/]*\.key(/.*)?$");
        check("[ab].txt", "is a path whose meaning is not known here");
        check("/", "is a path whose meaning is not known here");
        assert_eq!(absolute("../docs/", &places), "/docs");
        assert_eq!(absolute("~/notes", &places), "/home/user/notes");
    }
}

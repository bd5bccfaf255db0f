//! Work that was put off: allowed only where it says whose and why.

use super::{Finding, SourceFile};

/// Code that would stop the kernel when it is reached.
pub fn unfinished(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(rust) = &file.rust else { return };
    for (index, line) in rust.code.lines().enumerate() {
        for word in ["todo!", "unimplemented!"] {
            if line.contains(word) {
                findings.push(Finding { line: index + 1, message: format!("`{word}` is not an answer") });
            }
        }
    }
}

/// Tests that are switched off say why: `#[ignore = "…"]`.
pub fn ignored_without_reason(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(rust) = &file.rust else { return };
    for (index, line) in rust.code.lines().enumerate() {
        if line.contains("#[ignore]") {
            findings.push(Finding { line: index + 1, message: "an ignored test without a reason".to_owned() });
        }
    }
}

/// Comments may say `TODO(tag)`: the tag leads to whoever will do it.
pub fn todo_without_tag(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(rust) = &file.rust else { return };
    for (index, line) in rust.comments.lines().enumerate() {
        let untagged = |word: &str| line.match_indices(word).any(|(at, _)| !is_tagged(line, at + word.len()));
        // Words inside backticks are spoken about, not left behind.
        if !line.contains("`TODO") && (untagged("TODO") || untagged("FIXME") || untagged("XXX")) {
            findings.push(Finding { line: index + 1, message: "a leftover without a tag: `TODO(tag)`".to_owned() });
        }
    }
}

fn is_tagged(line: &str, behind: usize) -> bool {
    line.get(behind..).is_some_and(|rest| rest.starts_with('(') && !rest.starts_with("()") && rest.contains(')'))
}

#[cfg(test)]
mod tests {
    use crate::tidy::rows::broken;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(broken("crates/app/src/flow.rs", &format!("//! Flows.\n{text}\n")), expected, "{text}");
    }

    #[test]
    fn unfinished_code() {
        check("fn a() { todo!() }", &["unfinished"]);
        check("fn a() { unimplemented!(\"later\") }", &["unfinished"]);
        check("const A: &str = \"todo!\";", &[]);
    }

    #[test]
    fn ignored_tests() {
        check("#[test]\n#[ignore]\nfn a() {}", &["ignored"]);
        check("#[test]\n#[ignore = \"needs a network\"]\nfn a() {}", &[]);
    }

    #[test]
    fn leftovers_in_comments() {
        check("// TODO later", &["todo"]);
        check("// TODO() later", &["todo"]);
        check("/* FIXME */", &["todo"]);
        check("// TODO(budgets): later", &[]);
        check("// a draft says `TODO` where a number is needed", &[]);
        check("const A: &str = \"TODO\";", &[]);
    }
}

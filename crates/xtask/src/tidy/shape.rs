//! How a file begins, how long it is and how its lines end.

use super::{Finding, SourceFile};

/// Beyond this a file does more than one thing.
const FILE_LINES_MAX: usize = 800;

/// A reader who starts at the top is told what the file is for.
pub fn module_docs(file: &SourceFile, findings: &mut Vec<Finding>) {
    if file.rust.is_some() && !file.text.starts_with("//!") {
        findings.push(Finding { line: 1, message: "the file does not start with `//!`".to_owned() });
    }
}

/// No Rust file is longer than one can keep in mind.
pub fn file_length(file: &SourceFile, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().count();
    if file.rust.is_some() && lines > FILE_LINES_MAX {
        findings.push(Finding { line: 1, message: format!("{lines} lines, at most {FILE_LINES_MAX}") });
    }
}

/// Blanks that nobody sees make differences that nobody meant.
pub fn trailing_blanks(file: &SourceFile, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.split('\n').enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(Finding { line: index + 1, message: "blanks at the end of the line".to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::rows::broken;

    #[test]
    fn beginnings_lengths_and_ends() {
        let check = |text: &str, expected: &[&str]| assert_eq!(broken("crates/app/src/flow.rs", text), expected);
        check("fn a() {}\n", &["module-docs"]);
        check(&format!("//! Long.\n{}", "const A: u8 = 0;\n".repeat(799)), &[]);
        check(&format!("//! Long.\n{}", "const A: u8 = 0;\n".repeat(800)), &["file-length"]);
        check("//! Flows. \n", &["trailing-blanks"]);
        check("//! Flows.\r\n", &["trailing-blanks"]);
        assert_eq!(broken("docs/guide/start.md", "# Start\t\n"), ["trailing-blanks"]);
    }
}

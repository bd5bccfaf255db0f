//! Functions that do not fit on a screen.

use super::masked::{block_end, line_index};
use super::{Finding, SourceFile};

const LINES_MAX: usize = 70;

/// Counts from the signature to the closing brace; tests may tell longer stories.
pub fn too_long(file: &SourceFile, findings: &mut Vec<Finding>) {
    let Some(rust) = &file.rust else { return };
    if file.is_test {
        return;
    }
    for (start, name) in functions(&rust.code) {
        let first = line_index(&rust.code, start) + 1;
        let Some(end) = block_end(&rust.code, start) else { continue };
        let lines = line_index(&rust.code, end) + 2 - first;
        if lines > LINES_MAX && !rust.is_test_line(first) {
            findings.push(Finding { line: first, message: format!("`{name}` has {lines} lines, at most {LINES_MAX}") });
        }
    }
}

/// Where each function begins, and its name.
fn functions(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices("fn ").filter_map(move |(start, keyword)| {
        let begins_word = !code.get(..start)?.ends_with(is_word);
        let rest = code.get(start + keyword.len()..)?;
        let name = rest.split(|character| !is_word(character)).next()?;
        (begins_word && !name.is_empty()).then_some((start, name))
    })
}

#[cfg(test)]
mod tests {
    use crate::tidy::rows::broken;

    fn function(lines: usize) -> String {
        format!("fn long() -> [u8; 2] {{\n{}}}\n", "    let text = \"}\";\n".repeat(lines - 2))
    }

    #[test]
    fn long_functions() {
        let check = |path: &str, text: &str, expected: &[&str]| {
            assert_eq!(broken(path, &format!("//! Flows.\n{text}")), expected);
        };
        check("crates/app/src/flow.rs", &function(70), &[]);
        check("crates/app/src/flow.rs", &function(71), &["function-length"]);
        check("crates/app/src/flow.rs", &format!("{}{}", function(70), function(70)), &[]);
        check("crates/app/src/flow.rs", &format!("#[test]\n{}", function(71)), &[]);
        check("crates/app/src/flow.rs", &format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(71)), &[]);
        check("crates/app/tests/flow.rs", &function(71), &[]);
        check("crates/app/src/flow.rs", &format!("trait A {{ fn a();\n}}\n{}", function(70)), &[]);
    }
}

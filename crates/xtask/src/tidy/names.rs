//! Names that say nothing about what is inside.

use super::{Finding, SourceFile};

const VAGUE: &[&str] = &["util", "utils", "helper", "helpers", "manager", "common", "mgr"];

/// Files, folders, modules and types with a vague word in their name.
pub fn vague(file: &SourceFile, findings: &mut Vec<Finding>) {
    let words_of_path = file.path.split(['/', '.', '-', '_']);
    for word in words_of_path.filter(|word| VAGUE.contains(word)) {
        findings.push(Finding { line: 1, message: format!("`{word}` in a path: name what is inside") });
    }
    let Some(rust) = &file.rust else { return };
    for (index, line) in rust.code.lines().enumerate() {
        for name in declared(line) {
            if words_of(name).iter().any(|word| VAGUE.contains(&word.as_str())) {
                findings.push(Finding { line: index + 1, message: format!("`{name}`: name what it does") });
            }
        }
    }
}

/// `foo.rs` beside `foo/`: a tab called `mod.rs` says nothing.
pub fn mod_file(file: &SourceFile, findings: &mut Vec<Finding>) {
    if file.path.ends_with("/mod.rs") {
        findings.push(Finding { line: 1, message: "use `foo.rs` beside `foo/`".to_owned() });
    }
}

/// Names of modules and types that the line declares.
fn declared(line: &str) -> impl Iterator<Item = &str> {
    let mut words = line.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    std::iter::from_fn(move || {
        while let Some(word) = words.next() {
            if matches!(word, "mod" | "struct" | "enum" | "trait" | "type") {
                return words.next();
            }
        }
        None
    })
}

/// `FlowMgr` and `flow_mgr` are both `flow`, `mgr`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in name.chars() {
        if character == '_' || character.is_uppercase() {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), character != '_') {
            word.extend(character.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use crate::tidy::rows::broken;

    #[test]
    fn vague_names() {
        let check =
            |path: &str, text: &str, expected: &[&str]| assert_eq!(broken(path, text), expected, "{path} {text}");
        check("crates/app/src/utils.rs", "//! Things.\n", &["names"]);
        check("crates/common/src/lib.rs", "//! Things.\n", &["names"]);
        check("crates/app/src/flow_helpers.rs", "//! Things.\n", &["names"]);
        check("crates/app/src/flow.rs", "//! Flows.\npub struct FlowManager;\n", &["names"]);
        check("crates/app/src/flow.rs", "//! Flows.\nmod common;\n", &["names"]);
        check("crates/app/src/flow.rs", "//! Flows.\n// a manager approves\nstruct Flow;\n", &[]);
        check("crates/app/src/flow/mod.rs", "//! Flows.\n", &["mod-file"]);
    }
}

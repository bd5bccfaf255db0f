//! House rules that a compiler does not know.
//!
//! To add one: a function in a file under `tidy/`, a line in [`RULES`], rows beside it.

mod crash_points;
mod function_length;
mod leftovers;
mod masked;
mod names;
mod numbers;
mod places;
mod shape;

use crate::repository;
use anyhow::{Context, Result};
use masked::Masked;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One file as the rules see it.
pub struct SourceFile {
    /// From the root, with forward slashes.
    path: String,
    text: String,
    /// Rust files only.
    rust: Option<Masked>,
    /// The whole file is compiled for tests only.
    is_test: bool,
}

/// A broken rule.
pub struct Finding {
    line: usize,
    message: String,
}

type Rule = fn(&SourceFile, &mut Vec<Finding>);

const RULES: &[(&str, Rule)] = &[
    ("unfinished", leftovers::unfinished),
    ("ignored", leftovers::ignored_without_reason),
    ("todo", leftovers::todo_without_tag),
    ("names", names::vague),
    ("mod-file", names::mod_file),
    ("module-docs", shape::module_docs),
    ("function-length", function_length::too_long),
    ("file-length", shape::file_length),
    ("trailing-blanks", shape::trailing_blanks),
    ("floats", numbers::floats_in_kernel),
    ("places", places::machine_specific),
    ("crash-points", crash_points::uncovered),
];

/// Prints every broken rule; whether there was none.
pub fn run() -> Result<bool> {
    let root = repository::root()?;
    let files = read_sources(&root)?;
    let mut findings = 0;
    for file in &files {
        for finding in check(file, &root) {
            println!("{}:{finding}", file.path);
            findings += 1;
        }
    }
    for problem in crash_points::undeclared(&files) {
        println!("{problem}");
        findings += 1;
    }
    println!("tidy: {} rules over {} files, {findings} findings", RULES.len(), files.len());
    Ok(findings == 0)
}

fn read_sources(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in repository::files_under(root)? {
        let relative = repository::relative(root, &path);
        if is_source(&relative) {
            let text = fs::read_to_string(&path).with_context(|| format!("reading `{relative}`"))?;
            files.push(SourceFile::new(relative, text));
        }
    }
    let test_files: BTreeSet<String> = files.iter().flat_map(SourceFile::test_modules).collect();
    files.iter_mut().for_each(|file| file.is_test |= test_files.contains(&file.path));
    Ok(files)
}

fn check(file: &SourceFile, root: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, rule) in RULES {
        let mut met = Vec::new();
        rule(file, &mut met);
        findings.extend(met.into_iter().map(|finding| format!("{}: [{name}] {}", finding.line, finding.message)));
    }
    let mut met = Vec::new();
    places::this_clone(file, root, &mut met);
    findings.extend(met.into_iter().map(|finding| format!("{}: [places] {}", finding.line, finding.message)));
    findings
}

/// Written by people; corpora, lock files and licence texts are kept as they are.
fn is_source(path: &str) -> bool {
    let by_ending = [".rs", ".toml", ".md", ".yaml", ".yml", ".sh"].iter().any(|ending| path.ends_with(ending));
    by_ending || path == ".ci/run" || path == ".editorconfig"
}

impl SourceFile {
    fn new(path: String, text: String) -> SourceFile {
        let rust = path.ends_with(".rs").then(|| Masked::new(&text));
        let is_test = path.contains("/tests/") || path.starts_with("fuzz/");
        SourceFile { path, text, rust, is_test }
    }

    /// Paths of the files that this one declares as modules for tests only.
    fn test_modules(&self) -> Vec<String> {
        let Some(rust) = &self.rust else { return Vec::new() };
        let beside = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let folder = beside.strip_suffix("/lib").or(beside.strip_suffix("/main")).unwrap_or(beside);
        let declarations = rust.code.split("#[cfg(test)]").skip(1).filter_map(|rest| rest.split(['{', ';']).next());
        let names = declarations.filter_map(|declaration| declaration.trim().rsplit_once("mod ").map(|(_, name)| name));
        names.map(|name| format!("{folder}/{}.rs", name.trim())).collect()
    }
}

#[cfg(test)]
mod rows {
    use super::*;

    /// The names of the rules that the text breaks under this path.
    pub fn broken(path: &str, text: &str) -> Vec<&'static str> {
        let file = SourceFile::new(path.to_owned(), text.to_owned());
        let is_broken = |rule: &Rule| {
            let mut met = Vec::new();
            rule(&file, &mut met);
            !met.is_empty()
        };
        RULES.iter().filter(|(_, rule)| is_broken(rule)).map(|(name, _)| *name).collect()
    }

    #[test]
    fn a_plain_file_breaks_nothing() {
        assert!(broken("crates/kernel/src/flow.rs", "//! Flows.\n\npub fn open() {}\n").is_empty());
    }

    #[test]
    fn modules_for_tests_are_found_in_their_files() {
        let modules = |path: &str, text: &str| SourceFile::new(path.to_owned(), text.to_owned()).test_modules();
        assert_eq!(modules("crates/a/src/lib.rs", "#[cfg(test)]\nmod testing;\nmod b;"), ["crates/a/src/testing.rs"]);
        assert_eq!(modules("crates/a/src/cel.rs", "#[cfg(test)] pub(crate) mod rows;"), ["crates/a/src/cel/rows.rs"]);
        assert!(modules("crates/a/src/cel.rs", "mod rows;\n#[cfg(test)]\nuse x;").is_empty());
    }

    #[test]
    fn the_repository_is_tidy() {
        assert!(run().unwrap());
    }
}

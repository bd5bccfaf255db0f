//! The programs and rules the shell classifier knows, from its own tables.

use super::Page;
use anyhow::Result;

/// The page of programs.
pub fn pages() -> Result<Vec<Page>> {
    Ok(vec![Page { file: "shell.md".to_owned(), text: ::shell::reference_markdown() }])
}

//! Loading a contract file for a command: text in, compiled contract out, or what is wrong with it.

use crate::diagnostics;
use crate::files;
use contract::source::{Diagnostic, Severity};
use engines::load::{Loaded, load};
use std::fmt;
use std::path::{Path, PathBuf};

/// A contract file that compiles.
pub struct ContractFile {
    /// As it was written.
    pub text: String,
    /// Compiled, with warnings and inert keys.
    pub loaded: Loaded,
}

/// A contract that cannot be used, with everything that is wrong with it.
#[derive(Debug)]
pub struct InvalidContract {
    path: PathBuf,
    text: String,
    /// What is wrong, each with its place.
    pub diagnostics: Vec<Diagnostic>,
}

impl InvalidContract {
    /// Shows the places in the text.
    pub fn print(&self) {
        diagnostics::print(&self.path, &self.text, &self.diagnostics);
    }
}

impl fmt::Display for InvalidContract {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity != Severity::Warning).count();
        let errors = if count == 1 { "error" } else { "errors" };
        write!(formatter, "`{}` is not a valid contract: {count} {errors}", self.path.display())
    }
}

impl std::error::Error for InvalidContract {}

/// Reads and compiles.
pub fn open(path: &Path) -> anyhow::Result<ContractFile> {
    let text = files::read_text(path)?;
    match load(&text) {
        Ok(loaded) => Ok(ContractFile { text, loaded }),
        Err(errors) => Err(invalid(path, text, errors)),
    }
}

/// The error that tells of all of them.
pub fn invalid(path: &Path, text: String, diagnostics: Vec<Diagnostic>) -> anyhow::Error {
    InvalidContract { path: path.to_owned(), text, diagnostics }.into()
}

/// Keys that do nothing yet, as a list of paths.
pub fn inert_paths(inert: &[Diagnostic]) -> String {
    inert.iter().map(|diagnostic| format!("`{}`", diagnostic.path)).collect::<Vec<_>>().join(", ")
}

//! Loading a contract file for a command: text in, compiled contract out, or diagnostics printed.

use crate::diagnostics;
use crate::exit::InvalidData;
use crate::files;
use contract::source::{Diagnostic, Severity};
use engines::load::{Loaded, load};
use std::path::Path;

/// A contract file that compiles.
pub struct ContractFile {
    /// As it was written.
    pub text: String,
    /// Compiled, with warnings and inert keys.
    pub loaded: Loaded,
}

/// Reads and compiles; what is wrong is printed with its place.
pub fn open(path: &Path) -> anyhow::Result<ContractFile> {
    let text = files::read_text(path)?;
    match load(&text) {
        Ok(loaded) => Ok(ContractFile { text, loaded }),
        Err(errors) => {
            diagnostics::print(path, &text, &errors);
            Err(invalid(path, &errors))
        }
    }
}

/// The error that stands for printed diagnostics.
pub fn invalid(path: &Path, errors: &[Diagnostic]) -> anyhow::Error {
    let count = errors.iter().filter(|diagnostic| diagnostic.severity != Severity::Warning).count();
    let what = if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
    InvalidData(format!("`{}` is not a valid contract: {what}", path.display())).into()
}

/// Keys that do nothing yet, as a list of paths.
pub fn inert_paths(inert: &[Diagnostic]) -> String {
    inert.iter().map(|diagnostic| format!("`{}`", diagnostic.path)).collect::<Vec<_>>().join(", ")
}

//! The interpreters that the package is for, and where this machine has them.

use crate::process;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// Those that the package is for; a name that ends with `t` has no global lock.
pub const NAMES: &[&str] =
    &["python3.11", "python3.12", "python3.13", "python3.14", "python3.15", "python3.14t", "python3.15t"];

/// An interpreter that answers.
pub struct Interpreter {
    pub name: &'static str,
    pub program: PathBuf,
}

impl Interpreter {
    /// The one that the machine calls Python.
    pub fn usual() -> Interpreter {
        Interpreter { name: "python3", program: PathBuf::from("python3") }
    }

    /// The one of a name that the package is for.
    pub fn named(name: &str) -> Result<Interpreter> {
        let (found, missing) = of_this_machine();
        let mut named = found.into_iter().filter(|interpreter| interpreter.name == name);
        named.next().with_context(|| format!("no `{name}` here; not on this machine: {}", missing.join(", ")))
    }

    /// Whether one thread at a time runs in it. Only then the wheel for all versions fits.
    pub fn has_global_lock(&self) -> bool {
        self.version_without_lock().is_none()
    }

    /// The version, such as `3.14`, of one without a global lock.
    pub fn version_without_lock(&self) -> Option<&'static str> {
        self.name.strip_prefix("python")?.strip_suffix('t')
    }
}

/// Those that this machine has, and the names of those that it has not.
pub fn of_this_machine() -> (Vec<Interpreter>, Vec<&'static str>) {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for name in NAMES {
        match find(name) {
            Some(program) => found.push(Interpreter { name, program }),
            None => missing.push(*name),
        }
    }
    (found, missing)
}

/// The one that answers to a name, else the latest that pyenv keeps under it and has not put forward.
fn find(name: &str) -> Option<PathBuf> {
    let answers = |program: &PathBuf| process::answers(Command::new(program).arg("--version"));
    let named = PathBuf::from(name);
    if answers(&named) {
        return Some(named);
    }
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv")))?;
    let versions = std::fs::read_dir(root.join("versions")).ok()?;
    let programs = versions.flatten().map(|version| version.path().join("bin").join(name));
    programs.filter(answers).max()
}

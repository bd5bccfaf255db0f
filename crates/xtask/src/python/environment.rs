//! Environments of Python: fresh ones under `target`, and ones that are kept under the user's cache folder.

use super::interpreters::Interpreter;
use crate::process;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file that says what was installed into a kept environment.
const STAMP: &str = "installed.txt";

/// An environment of its own.
pub struct Environment {
    folder: PathBuf,
    python: PathBuf,
}

/// The Python of this machine, if there is one.
pub fn python() -> Option<&'static str> {
    process::answers(Command::new("python3").arg("--version")).then_some("python3")
}

impl Environment {
    /// One that is made now, in place of the one of the last run.
    pub fn fresh(root: &Path, interpreter: &Interpreter) -> Result<Environment> {
        let folder = process::target_folder(root)?.join("python").join(interpreter.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("removing `{}`", folder.display()))?;
        }
        Environment::made(folder, &interpreter.program)
    }

    /// One that is kept as long as it should hold the same packages.
    pub fn cached(name: &str, interpreter: &str, packages: &[&str]) -> Result<Environment> {
        let folder = cache()?.join(name);
        let wanted = format!("{interpreter}\n{}\n", packages.join("\n"));
        if std::fs::read_to_string(folder.join(STAMP)).is_ok_and(|installed| installed == wanted) {
            let python = folder.join("bin/python");
            return Ok(Environment { folder, python });
        }
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("removing `{}`", folder.display()))?;
        }
        let environment = Environment::made(folder, Path::new(interpreter))?;
        environment.install(packages)?;
        std::fs::write(environment.folder.join(STAMP), wanted)?;
        Ok(environment)
    }

    fn made(folder: PathBuf, interpreter: &Path) -> Result<Environment> {
        let mut command = Command::new(interpreter);
        command.args(["-m", "venv"]).arg(&folder);
        ensure!(process::succeeds(&mut command)?, "`{} -m venv` failed", interpreter.display());
        let python = folder.join("bin/python");
        Ok(Environment { folder, python })
    }

    /// The interpreter.
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// A program of it.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Installs packages from PyPI, or files.
    pub fn install(&self, packages: &[&str]) -> Result<()> {
        self.pip(&[&["install", "--quiet", "--disable-pip-version-check"], packages].concat())
    }

    /// Installs a wheel in place of an earlier build of the same version.
    pub fn install_again(&self, wheel: &Path) -> Result<()> {
        let wheel = wheel.to_string_lossy();
        self.install(&["--force-reinstall", "--no-deps", wheel.as_ref()])
    }

    fn pip(&self, words: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.python);
        command.args(["-m", "pip"]).args(words);
        ensure!(process::succeeds(&mut command)?, "pip {} failed", words.join(" "));
        Ok(())
    }
}

/// Where environments are kept.
pub fn cache() -> Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let folder = base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("writkeeper").join("python");
    std::fs::create_dir_all(&folder).with_context(|| format!("making `{}`", folder.display()))?;
    Ok(folder)
}

//! Runs one command after the other in a fresh folder.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A page is meant to be typed by a person; nothing in it may take longer.
const COMMAND_SECONDS_MAX: u64 = 60;

/// Two sessions of one process must not share a folder.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

/// A fresh folder, with a copy of `examples/` where it is wanted; removed when dropped.
pub struct Session {
    folder: PathBuf,
    path: OsString,
}

impl Session {
    /// `programs` comes first on the `PATH` of the commands.
    pub fn open(programs: &Path, examples: Option<&Path>) -> Result<Session> {
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("writkeeper-console-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("page")).with_context(|| format!("creating `{}`", folder.display()))?;
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([programs.to_path_buf()].into_iter().chain(std::env::split_paths(&inherited)))?;
        let session = Session { folder, path };
        if let Some(examples) = examples.filter(|examples| examples.is_dir()) {
            copy_folder(examples, &session.folder.join("page/examples"))?;
        }
        Ok(session)
    }

    /// Both outputs in order, line by line; a last line `[exit N]` if the command failed.
    pub fn run(&self, script: &str) -> Result<Vec<String>> {
        let output_path = self.folder.join("output");
        let output = File::create(&output_path)?;
        let mut child = Command::new("bash")
            .args(["-c", script])
            .current_dir(self.folder.join("page"))
            .env("PATH", &self.path)
            .env("HOME", &self.folder)
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("starting bash")?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if started.elapsed() > Duration::from_secs(COMMAND_SECONDS_MAX) {
                child.kill()?;
                child.wait()?;
                bail!("`{script}` took longer than {COMMAND_SECONDS_MAX} s");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let text = String::from_utf8_lossy(&fs::read(&output_path)?).into_owned();
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        if !status.success() {
            lines.push(format!("[exit {}]", status.code().map_or("by signal".to_owned(), |code| code.to_string())));
        }
        Ok(lines)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clean; the result of the run stands.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

//! Running a program to its end, or until patience ends.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// What became of a program.
#[derive(Debug)]
pub struct Ended {
    /// `None` if a signal ended it, ours among them.
    pub code: Option<i32>,
    pub ran_out_of_time: bool,
    pub output: String,
    pub errors: String,
}

impl Ended {
    /// Everything it said.
    pub fn both(&self) -> String {
        format!("{}{}", self.output, self.errors)
    }
}

/// Runs a program in a group of its own, so that its children end with it.
pub fn run(command: &mut Command, patience: Duration) -> Result<Ended> {
    let (mut output, mut errors) = (scratch()?, scratch()?);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?).process_group(0);
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().with_context(|| format!("starting `{name}`"))?;
    let begun = Instant::now();
    let mut ran_out_of_time = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > patience && !ran_out_of_time {
            ran_out_of_time = true;
            signal("KILL", &format!("-{}", child.id()))?;
        }
        std::thread::sleep(LOOK);
    };
    Ok(Ended { code: status.code(), ran_out_of_time, output: whole(&mut output)?, errors: whole(&mut errors)? })
}

/// Sends a signal; a minus before the number means a whole group.
pub fn signal(name: &str, process: &str) -> Result<()> {
    let mut command = Command::new("/bin/kill");
    command.args([&format!("-{name}"), "--", process]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().context("starting `kill`")?;
    Ok(())
}

/// A process that is ended when it is let go.
pub struct Resident(pub Child);

impl Drop for Resident {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file without a name: a pipe that nobody reads would stop whoever writes.
fn scratch() -> Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let path = std::env::temp_dir().join(format!("live-hosts-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn whole(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

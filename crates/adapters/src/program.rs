//! Running a program: never a shell, a bare environment, bounded output, and an end for all of its children.

use runtime::crash::around;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Between two looks whether a program that closed its output has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// What a program may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Then it is killed, with its children.
    pub timeout: Duration,
    /// The longest output.
    pub output_bytes_max: usize,
}

/// Runs a program with an input and returns its output. The error completes "it gave no answer: …".
///
/// It gets `PATH` and the named variables, nothing else. What it writes to its standard error is dropped: it could
/// hold secrets. A child that leaves the process group on purpose is not found again; its output is not waited for.
pub fn run(words: &[String], env: &[String], input: &[u8], limits: Limits) -> Result<Vec<u8>, String> {
    let deadline = Instant::now() + limits.timeout;
    let (program, arguments) = words.split_first().ok_or("no program is named")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    let named = env.iter().map(String::as_str).chain(["PATH"]);
    command.envs(named.filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let child = around("program.spawn", || command.spawn());
    let child = child.map_err(|error| format!("`{program}` cannot be started: {}", error.kind()))?;
    let mut running = Running::of(child);
    let output = talk(&mut running.child, input, deadline, limits)?;
    running.end(deadline, limits)?;
    Ok(output)
}

/// How a program ended that was only looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The end of what it printed.
    pub output: Vec<u8>,
}

/// Runs a program in a folder, in the environment of this process, and says how it ended: any exit is an answer.
///
/// Of a long output the end is kept. The error completes "there is no answer: …".
pub fn look(words: &[String], folder: &Path, limits: Limits) -> Result<Seen, String> {
    let deadline = Instant::now() + limits.timeout;
    let (program, arguments) = words.split_first().ok_or("no program is named")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let child = around("program.spawn", || command.spawn());
    let child = child.map_err(|error| format!("`{program}` cannot be started: {}", error.kind()))?;
    let mut running = Running::of(child);
    let stdout = running.child.stdout.take().ok_or("it has no output")?;
    let (sender, receiver) = mpsc::sync_channel(1);
    spawn("program output", keep_end(stdout, limits.output_bytes_max, sender))?;
    // First its end, then its output: a child it left behind may hold the output open for ever.
    let status = running.status(deadline).ok_or_else(|| too_late(limits))?;
    let status = status.map_err(|error| format!("it cannot be waited for: {}", error.kind()))?;
    let left = deadline.saturating_duration_since(Instant::now()).max(LOOK_AGAIN);
    let output = receiver.recv_timeout(left).map_err(|_| too_late(limits))?;
    Ok(Seen { code: status.code(), output })
}

fn keep_end(mut stdout: ChildStdout, bytes_max: usize, sender: mpsc::SyncSender<Vec<u8>>) -> impl FnOnce() + Send {
    move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(count) = stdout.read(&mut buffer) {
            let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else { break };
            kept.extend_from_slice(read);
            // Cut seldom, so that a talkative program costs no more than reading it.
            if kept.len() > bytes_max.saturating_mul(2).saturating_add(buffer.len()) {
                kept.drain(..kept.len().saturating_sub(bytes_max));
            }
        }
        kept.drain(..kept.len().saturating_sub(bytes_max));
        let _ = sender.send(kept);
    }
}

/// A program that is killed with its children when nobody waits for it any more.
pub(crate) struct Running {
    child: Child,
    /// Its status was taken, so its number may be another's.
    ended: bool,
}

impl Running {
    pub(crate) fn of(child: Child) -> Running {
        Running { child, ended: false }
    }

    /// Waits for its end; anything but success is no answer.
    fn end(&mut self, deadline: Instant, limits: Limits) -> Result<(), String> {
        match self.status(deadline) {
            None => Err(too_late(limits)),
            Some(Ok(status)) if status.success() => Ok(()),
            Some(Ok(status)) => Err(format!("it ended with {status}")),
            Some(Err(error)) => Err(format!("it cannot be waited for: {}", error.kind())),
        }
    }

    /// How it ended, if it did before the deadline. What it left running is killed first: afterwards its number may be
    /// another's.
    pub(crate) fn status(&mut self, deadline: Instant) -> Option<std::io::Result<ExitStatus>> {
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        self.kill();
        self.ended = true;
        Some(self.child.wait())
    }

    /// Without taking its status: as long as nobody does, no other process can have its number.
    fn has_ended(&self) -> bool {
        let Some(pid) = self.pid() else { return true };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
    }

    fn kill(&self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// Hands the input over and takes the output, neither of which may hold the caller up for longer than the deadline.
fn talk(child: &mut Child, input: &[u8], deadline: Instant, limits: Limits) -> Result<Vec<u8>, String> {
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("it has no input or output".to_owned());
    };
    spawn("plug-in input", feed(stdin, input.to_vec()))?;
    let (sender, receiver) = mpsc::sync_channel(1);
    spawn("plug-in output", drain(stdout, limits.output_bytes_max, sender))?;
    let left = deadline.saturating_duration_since(Instant::now());
    let output = receiver.recv_timeout(left).map_err(|_| too_late(limits))?;
    let output = output.map_err(|error| format!("its output cannot be read: {}", error.kind()))?;
    if output.len() > limits.output_bytes_max {
        return Err(format!("its answer is longer than {} bytes", limits.output_bytes_max));
    }
    Ok(output)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| format!("no thread to talk to it: {}", error.kind()))
}

fn feed(mut stdin: ChildStdin, input: Vec<u8>) -> impl FnOnce() + Send + 'static {
    // Who answers without reading the question has answered.
    move || drop(stdin.write_all(&input))
}

type Output = Result<Vec<u8>, std::io::Error>;

fn drain(stdout: ChildStdout, bytes_max: usize, sender: mpsc::SyncSender<Output>) -> impl FnOnce() + Send + 'static {
    move || {
        let mut output = Vec::new();
        let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let read = stdout.take(most).read_to_end(&mut output);
        let _ = sender.send(read.map(|_| output));
    }
}

fn too_late(limits: Limits) -> String {
    format!("it did not answer within {} ms", limits.timeout.as_millis())
}

//! Calls that nobody makes, sent through the very command line that a host was given.

use guard::hooks::Host;
use guard::hooks::dialect::ShellCall;
use guard::probe;
use kernel::outcome::Verdict;
use kernel::reasons::Reason;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Times a harmless call is sent to see how long one takes.
pub const SAMPLES: usize = 3;

/// How long a command line may take; hosts wait longer, and a person does not.
const PATIENCE: Duration = Duration::from_millis(3_000);

/// A command line that takes longer is not tried again and again.
const SLOW: Duration = Duration::from_millis(400);

/// What a probe showed.
pub struct Probed {
    /// Whether a catastrophe is refused; the error says what the host reads instead.
    pub canary: Result<(), String>,
    /// How long a call takes.
    pub millis: Option<u128>,
}

/// Tries out a command line.
pub fn probe(host: Host, command: &str, workspace: &Path) -> Probed {
    let start = Instant::now();
    let canary = match through(command, &payload(host, "rm -rf / --no-preserve-root", workspace), workspace) {
        Err(problem) => Err(problem),
        Ok(said) if probe::says(&said, Verdict::Reject, Reason::Catastrophic.code()) => Ok(()),
        Ok(said) if said.contains("deny") && !probe::is_answered(&said) => {
            Err(format!("the canary was refused because nothing could be judged; the host would read: {}", said.trim()))
        }
        Ok(said) => Err(format!("the canary was not refused; the host would read: {}", said.trim())),
    };
    let millis =
        if start.elapsed() < SLOW { latency(host, command, workspace) } else { Some(start.elapsed().as_millis()) };
    Probed { canary, millis }
}

fn latency(host: Host, command: &str, workspace: &Path) -> Option<u128> {
    let payload = payload(host, "ls", workspace);
    let mut times = Vec::new();
    for _ in 0..SAMPLES {
        let start = Instant::now();
        through(command, &payload, workspace).ok()?;
        times.push(start.elapsed().as_millis());
    }
    times.sort_unstable();
    times.get(SAMPLES / 2).copied()
}

/// Runs a command line as a host would, for so long and not longer.
fn through(command: &str, payload: &str, workspace: &Path) -> Result<String, String> {
    let process = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut process = process.map_err(|error| format!("the wired command cannot be run: {error}"))?;
    if let Some(mut input) = process.stdin.take() {
        // A hook reads it all; what is shorter than a pipe does not wait for it.
        let _ = input.write_all(payload.as_bytes());
    }
    if !ends_in_time(&mut process) {
        if let Some(group) = i32::try_from(process.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = process.wait();
        return Err(format!("the wired command did not answer within {} s", PATIENCE.as_secs()));
    }
    let mut said = Vec::new();
    if let Some(output) = process.stdout.take() {
        let _ = output.take(64 * 1024).read_to_end(&mut said);
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn ends_in_time(process: &mut Child) -> bool {
    let until = Instant::now() + PATIENCE;
    loop {
        match process.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) | Err(_) => return false,
        }
    }
}

/// What a host sends before it runs a command.
fn payload(host: Host, command: &str, workspace: &Path) -> String {
    let (cwd, session) = (workspace.to_string_lossy(), probe::session());
    (host.payload)(&ShellCall { command, cwd: &cwd, session: &session, id: &session }).to_string()
}

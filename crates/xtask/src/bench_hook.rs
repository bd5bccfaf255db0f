//! How long a hook takes, with a daemon and without, beside what no hook can be faster than: a program that does nothing
//! and one write that reaches the disk. All four are measured in turn, so that a busy machine is busy for all of them.

use crate::{process, repository, static_binary};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Rounds if nobody says otherwise.
const ROUNDS: usize = 300;

/// Rounds before the first that counts.
const WARM_UP: usize = 20;

/// Calls of one session; hooks look at what a session did lately.
const CALLS_OF_A_SESSION: usize = 50;

/// Bytes of the write that reaches the disk.
const WRITE_BYTES: usize = 4096;

#[derive(Default)]
struct Times {
    nothing: Vec<f64>,
    disk: Vec<f64>,
    daemon: Vec<f64>,
    direct: Vec<f64>,
}

/// `bench-hook [--json] [--rounds N] [--binary PATH]`: prints the figures.
pub fn run(options: &[&str]) -> Result<bool> {
    let (mut as_json, mut rounds, mut binary) = (false, ROUNDS, None);
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match *option {
            "--json" => as_json = true,
            "--rounds" => rounds = rest.next().and_then(|text| text.parse().ok()).context("--rounds takes a number")?,
            "--binary" => binary = Some(PathBuf::from(rest.next().context("--binary takes a path")?)),
            other => bail!("bench-hook takes --json, --rounds N and --binary PATH, not `{other}`"),
        }
    }
    let root = repository::root()?;
    let binary = match binary {
        Some(path) => path.canonicalize().with_context(|| format!("`{}`", path.display()))?,
        None => static_binary::build(&root)?,
    };
    let scratch = process::target_folder(&root)?.join(format!("bench-hook-{}", std::process::id()));
    let figures = measure(&binary, &scratch, rounds);
    let _ = std::fs::remove_dir_all(&scratch);
    let figures = figures?;
    println!("{}", if as_json { figures.to_string() } else { serde_json::to_string_pretty(&figures)? });
    Ok(true)
}

fn measure(binary: &Path, scratch: &Path, rounds: usize) -> Result<Value> {
    let resident = Site::new(binary, &scratch.join("daemon"))?;
    let alone = Site::new(binary, &scratch.join("direct"))?;
    let daemon = Daemon::start(&resident)?;
    let mut log = File::create(scratch.join("written"))?;
    let before = [resident.decisions()?, alone.decisions()?];
    let mut times = Times::default();
    for round in 0..rounds + WARM_UP {
        let (session, call) = (round / CALLS_OF_A_SESSION, round);
        let nothing = timed(|| spawn(Command::new("/bin/true"), None))?;
        let disk = timed(|| Ok(log.write_all(&[0x5a; WRITE_BYTES]).and_then(|()| log.sync_all())?))?;
        let with = resident.call(session, call)?;
        let without = alone.call(session, call)?;
        if round >= WARM_UP {
            times.nothing.push(nothing);
            times.disk.push(disk);
            times.daemon.push(with);
            times.direct.push(without);
        }
    }
    let wanted = u64::try_from(rounds + WARM_UP)?;
    let served = resident.daemon()?.pointer("/served").and_then(Value::as_u64);
    ensure!(served == Some(wanted), "the daemon answered {served:?} of {wanted} calls");
    drop(daemon);
    let after = [resident.decisions()?, alone.decisions()?];
    let left = [after[0] - before[0], after[1] - before[1]];
    ensure!(left == [wanted, wanted], "{wanted} calls left {left:?} records");
    let durable = |site: &Site| -> Result<Value> {
        let doctor = site.doctor()?;
        let said = |name: &str| doctor.pointer(&format!("/guards/0/{name}")).cloned().unwrap_or_default();
        let synchronous = said("synchronous");
        ensure!(synchronous == json!("FULL"), "synchronous is {synchronous}");
        Ok(json!({ "synchronous": synchronous, "journal": said("journal") }))
    };
    let [nothing, disk, with, without] =
        [times.nothing, times.disk, times.daemon, times.direct].map(|mut times| Figures::of(&mut times));
    let floor = nothing.median + disk.median;
    Ok(json!({
        "hook": {
            "true_ms": round(nothing.median), "fsync_ms": round(disk.median),
            "daemon_ms": round(with.median), "direct_ms": round(without.median),
            "daemon_ratio": round(with.median / floor), "direct_ratio": round(without.median / floor),
        },
        "p90_ms": {
            "true": round(nothing.p90), "fsync": round(disk.p90), "daemon": round(with.p90), "direct": round(without.p90),
        },
        "rounds": rounds,
        "records": { "daemon": left[0], "direct": left[1], "calls": wanted },
        "durability": { "daemon": durable(&resident)?, "direct": durable(&alone)? },
        "binary": { "bytes": std::fs::metadata(binary)?.len() },
    }))
}

struct Figures {
    median: f64,
    p90: f64,
}

impl Figures {
    fn of(times: &mut [f64]) -> Figures {
        times.sort_by(f64::total_cmp);
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or(f64::NAN);
        Figures { median: at(50), p90: at(90) }
    }
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Milliseconds.
fn timed(action: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    action()?;
    Ok(start.elapsed().as_secs_f64() * 1000.0)
}

fn spawn(mut command: Command, input: Option<File>) -> Result<()> {
    let input = input.map_or_else(Stdio::null, Stdio::from);
    let status = command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().to_string_lossy());
    Ok(())
}

/// A workspace with a guard.
struct Site {
    binary: PathBuf,
    folder: PathBuf,
}

impl Site {
    fn new(binary: &Path, folder: &Path) -> Result<Site> {
        let site = Site { binary: binary.to_path_buf(), folder: folder.to_path_buf() };
        std::fs::create_dir_all(folder.join("home"))?;
        std::fs::create_dir_all(folder.join("ws/.git"))?;
        site.says(&["init", "--host", "claude-code"])?;
        Ok(site)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.folder.join("ws")).env("HOME", self.folder.join("home"));
        command.env_remove("WRITKEEPER_STORE").env_remove("TMPDIR");
        command
    }

    fn says(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments).stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let problem = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "`writkeeper {}`: {problem}", arguments.join(" "));
        Ok(said)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let said = self.says(arguments)?;
        serde_json::from_str(said.lines().next().unwrap_or_default()).context("what it said is no JSON")
    }

    fn decisions(&self) -> Result<u64> {
        let report = self.json(&["report", "--json"])?;
        let verdicts =
            report.pointer("/verdicts").and_then(Value::as_object).context("the report counts no verdicts")?;
        Ok(verdicts.values().filter_map(Value::as_u64).sum())
    }

    fn daemon(&self) -> Result<Value> {
        self.json(&["daemon", "--status"])
    }

    fn doctor(&self) -> Result<Value> {
        self.json(&["doctor", "--json"])
    }

    /// One call as a host makes it; milliseconds. The payload is a file, so that nobody has to write while we wait.
    fn call(&self, session: usize, call: usize) -> Result<f64> {
        let workspace = self.folder.join("ws");
        let payload = json!({
            "session_id": format!("s{session}"), "transcript_path": "/dev/null", "cwd": workspace,
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": "cargo test --workspace", "description": "Run the tests" },
            "tool_use_id": format!("toolu_{call}"),
        });
        let file = self.folder.join("payload.json");
        std::fs::write(&file, payload.to_string())?;
        let guard = workspace.join(".writkeeper");
        let words = ["hook", "pre-tool", "--host", "claude-code", "--framed", "--guard"];
        let mut command = self.command(&words);
        command.arg(&guard);
        let input = File::open(&file)?;
        timed(|| spawn(command, Some(input)))
    }
}

/// A daemon that ends with the measurement.
struct Daemon(Child);

impl Daemon {
    fn start(site: &Site) -> Result<Daemon> {
        let mut command = site.command(&["daemon"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let daemon = Daemon(child);
        let until = Instant::now() + Duration::from_secs(20);
        while !site.daemon()?.is_object() {
            ensure!(Instant::now() < until, "the daemon does not answer");
        }
        Ok(daemon)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

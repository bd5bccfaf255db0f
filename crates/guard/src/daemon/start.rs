//! Starting a daemon from a hook, if a person has allowed it.

use super::DaemonFolder;
use crate::command_line::CommandLine;
use crate::place::{self, Guard};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;
use values::time::Duration;

/// How long a daemon that a hook started stays without work.
pub const IDLE: &str = "30m";

/// After one attempt hooks wait this long before the next: a daemon that cannot start must not cost every call.
const AGAIN_AFTER: std::time::Duration = std::time::Duration::from_secs(10);

/// Environment variables that a daemon inherits; secrets of a session do not outlive it.
const KEPT: [&str; 4] = ["HOME", "TMPDIR", "PATH", "USER"];

/// How long a daemon stays without work, if hooks of this guard may start one.
pub fn allowed(place: &DaemonFolder) -> Option<Duration> {
    let text = std::fs::read_to_string(place.on_demand()).ok()?;
    Duration::parse(text.trim()).or_else(|| Duration::parse(IDLE))
}

/// Starts a daemon that outlives this hook, if a person allowed it and no hook tried just now.
pub fn on_demand(guard: &Guard, program: &CommandLine) {
    let at = DaemonFolder::of(guard);
    let Some(idle) = allowed(&at) else { return };
    if tried_lately(&at.attempt()) || std::fs::write(at.attempt(), "").is_err() {
        return;
    }
    let Ok(binary) = std::env::current_exe() else { return };
    let mut command = Command::new(binary);
    command.args((program.daemon)(&idle.to_string())).arg(place::canonical(&guard.folder));
    // A pipe of the host that the daemon held open would keep the host waiting.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/").env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    // Without a daemon the next hook judges by itself, as this one did.
    let _ = command.spawn();
}

fn tried_lately(attempt: &Path) -> bool {
    let changed = std::fs::metadata(attempt).and_then(|file| file.modified());
    changed.is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|since| since < AGAIN_AFTER))
}

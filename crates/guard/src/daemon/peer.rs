//! Who is at the other end of a socket.

use std::io;
use std::os::unix::net::UnixStream;

/// Whose process this is.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The process at the other end, if it belongs to the same user; 0 where the system does not say which it is.
pub fn of_same_user(stream: &UnixStream) -> io::Result<Option<u32>> {
    let (process, user, _) = unix_cred::get_peer_pid_ids(stream)?;
    let process = process.and_then(|process| u32::try_from(process).ok()).unwrap_or(0);
    Ok((user == own_uid()).then_some(process))
}

/// Whether a process runs exactly this program. Then it is of the same version, and no script of an agent that sits on
/// the socket.
#[cfg(target_os = "linux")]
pub fn runs_this_program(process: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &str| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let own = identity("/proc/self/exe");
    own.is_some() && own == identity(&format!("/proc/{process}/exe"))
}

/// Here nobody can say.
#[cfg(not(target_os = "linux"))]
pub fn runs_this_program(_process: u32) -> bool {
    true
}

/// Whether a process is stopped, where the system tells.
pub fn is_stopped(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name stands in parentheses, and may hold some.
    status.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

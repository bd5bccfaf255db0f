//! Where things lie inside of the namespace in which hosts run. Nothing of the person's own home is visible there.

use std::path::{Path, PathBuf};

/// The cache: hosts, node, this program and the binary under test.
pub const CACHE: &str = "/mnt";

/// A home that nobody has.
pub const HOME: &str = "/home/user";

/// Where the agent works.
pub const WORKSPACE: &str = "/home/user/project";

/// Where calls that must not run would leave a mark.
pub const MARKS: &str = "/home/user/marks";

/// Programs that a host finds first.
pub const PROGRAMS: &str = "/home/user/bin";

/// The binary under test as hosts' configuration names it.
pub fn binary() -> PathBuf {
    Path::new(PROGRAMS).join("writkeeper")
}

/// A file in the workspace.
pub fn inside(name: &str) -> PathBuf {
    Path::new(WORKSPACE).join(name)
}

/// A mark outside of the workspace.
pub fn mark(name: &str) -> String {
    format!("{MARKS}/{name}")
}

/// The guard's folder.
pub fn guard() -> PathBuf {
    inside(".writkeeper")
}

/// The guard's store, as people name it.
pub fn store() -> String {
    guard().join("guard.db").to_string_lossy().into_owned()
}

/// A program that npm installed for a host.
pub fn installed(host: &str, program: &str) -> String {
    format!("{CACHE}/npm/{host}/node_modules/.bin/{program}")
}

/// A server of the Model Context Protocol that only touches files: this very program.
pub fn mcp_server() -> (String, &'static str) {
    (format!("{CACHE}/bin/live-hosts"), "mcp")
}

//! What the tests need beside the toolchain, installed where it is missing and can be.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sees to it that there are a PostgreSQL server and a pooler to test with. Where there is none and none can be installed,
/// the tests that need it say so and count as missing.
pub fn demand_postgresql() {
    if is_there() {
        return;
    }
    println!("PostgreSQL or pgbouncer is not installed; trying `apt-get install postgresql pgbouncer`");
    let apt =
        |words: &[&str]| process::answers(Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive"));
    let installed = apt(&["install", "--yes", "--quiet", "postgresql", "pgbouncer"])
        || apt(&["update", "--quiet"]) && apt(&["install", "--yes", "--quiet", "postgresql", "pgbouncer"]);
    if !installed || !is_there() {
        println!(
            "PostgreSQL could not be installed here: install it, or run the tests as root with access to Debian's packages"
        );
    }
}

fn is_there() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let packaged = versions.map(|version| version.path().join("bin"));
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    let has_server = |folder: &Path| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    let has_pooler = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().any(|path| Path::new(path).is_file());
    has_pooler && packaged.chain(on_path).any(|folder| has_server(&folder))
}

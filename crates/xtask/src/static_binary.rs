//! The one binary as it is given away: optimised, and on Linux with everything in it, so that it starts without a linker
//! and runs on machines of any age.

use crate::{process, repository};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One file that starts at once: nothing to link, no addresses to correct, randomness asked of the system by its own
/// call, and random numbers made without asking the processor what it can do, which is slow in a virtual machine.
/// docs/design/0013-daemon.md says what each of them saves.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static \
                     --cfg getrandom_backend=\"linux_getrandom\" --cfg chacha20_backend=\"sse2\"";

/// The allocator looks for no settings when it begins, and does not tidy up what ends with the process.
const C_FLAGS: &str = "-DMI_NO_GETENV=1 -DMI_SKIP_COLLECT_ON_EXIT=1";

/// The compiler that Debian's package and most others bring with the headers of musl.
const MUSL_COMPILER: &str = "musl-gcc";

/// `dist [--out FILE]`: builds it and says where it is.
pub fn run(options: &[&str]) -> Result<bool> {
    let out = match options {
        [] => None,
        ["--out", path] => Some(PathBuf::from(path)),
        [other, ..] => bail!("dist takes --out FILE, not `{other}`"),
    };
    let built = build(&repository::root()?)?;
    let binary = match out {
        Some(path) => {
            std::fs::copy(&built, &path).with_context(|| format!("copying to `{}`", path.display()))?;
            path
        }
        None => built,
    };
    let mebibytes = std::fs::metadata(&binary)?.len() >> 20;
    let said = Command::new(&binary).arg("--version").output().context("starting the binary")?;
    println!("{}: {mebibytes} MiB, {}", binary.display(), String::from_utf8_lossy(&said.stdout).trim_end());
    Ok(true)
}

/// Builds it, and says where it is. Without any of the faults that tests bring back.
pub fn build(root: &Path) -> Result<PathBuf> {
    let host = host()?;
    let target = musl_of(&host).filter(|musl| can_build_for(musl)).unwrap_or(host);
    let mut command = process::cargo(root);
    command.args(["build", "--profile", "dist", "--locked", "--package", "writkeeper-cli", "--bin", "writkeeper"]);
    // With a target named, what runs at build time is built without the flags; procedural macros cannot have them.
    command.args(["--target", &target]);
    if target.contains("linux") {
        command.env("RUSTFLAGS", FLAGS).env("CFLAGS", C_FLAGS);
    }
    if target.ends_with("musl") {
        command.env(format!("CC_{}", target.replace('-', "_")), MUSL_COMPILER);
    }
    ensure!(process::succeeds(&mut command)?, "the binary does not build");
    Ok(process::target_folder(root)?.join(target).join("dist/writkeeper"))
}

/// The same machine with musl, whose programs start without asking the processor some seventy questions.
fn musl_of(host: &str) -> Option<String> {
    Some(format!("{}-linux-musl", host.strip_suffix("-linux-gnu")?))
}

/// Whether library and C compiler for musl are here, or can be had without asking anybody.
fn can_build_for(musl: &str) -> bool {
    let library = has_library(musl) || (installs("rustup", &["target", "add", musl]) && has_library(musl));
    let compiler = || process::answers(Command::new(MUSL_COMPILER).arg("--version"));
    if library && (compiler() || (installs("apt-get", &["install", "-y", "musl-tools"]) && compiler())) {
        return true;
    }
    eprintln!(
        "xtask: builds with the C library of this machine, which starts slower; for musl: `rustup target add {musl}` and \
         the package musl-tools"
    );
    false
}

fn has_library(target: &str) -> bool {
    let asked = rustc().args(["--print", "target-libdir", "--target", target]).output();
    asked.is_ok_and(|said| said.status.success() && Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_dir())
}

fn installs(program: &str, words: &[&str]) -> bool {
    eprintln!("xtask: {program} {}", words.join(" "));
    process::answers(Command::new(program).args(words))
}

/// What this compiler builds for if nobody says otherwise.
fn host() -> Result<String> {
    let output = rustc().arg("-vV").output().context("starting rustc")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what it builds for")
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

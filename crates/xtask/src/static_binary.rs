//! The one binary as it is given away: optimised, and on Linux with everything in it, so that it starts without a linker
//! and runs on machines of any age.

use crate::process;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One file that starts at once: nothing to link, no addresses to correct, randomness asked of the system by its own
/// call, and random numbers made without asking the processor what it can do, which is slow in a virtual machine.
/// docs/design/0013-daemon.md says what each of them saves.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static \
                     --cfg getrandom_backend=\"linux_getrandom\" --cfg chacha20_backend=\"sse2\"";

/// The allocator looks for no settings when it begins, and does not tidy up what ends with the process.
const C_FLAGS: &str = "-DMI_NO_GETENV=1 -DMI_SKIP_COLLECT_ON_EXIT=1";

/// Builds it, and says where it is. Without any of the faults that tests bring back.
pub fn build(root: &Path) -> Result<PathBuf> {
    let target = host()?;
    let mut command = process::cargo(root);
    command.args(["build", "--release", "--locked", "--package", "writkeeper", "--target", &target]);
    if target.contains("linux") {
        // With a target named, what runs at build time is built without the flag; procedural macros cannot have it.
        command.env("RUSTFLAGS", FLAGS).env("CFLAGS", C_FLAGS);
    }
    ensure!(process::succeeds(&mut command)?, "the release binary does not build");
    Ok(process::target_folder(root)?.join(target).join("release/writkeeper"))
}

/// What this compiler builds for if nobody says otherwise.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().context("starting rustc")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what it builds for")
}

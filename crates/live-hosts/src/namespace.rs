//! A namespace with a network that ends at this machine, a home that nobody has, and processes that end with it.

use crate::places::{CACHE, HOME};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// What `unshare` is told as root.
const ROOT: &[&str] =
    &["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];

/// What it is told beside that by anybody else.
const USER: &[&str] = &["--user", "--map-root-user"];

/// The ways of entering, the one with fewer conditions first.
const WAYS: &[&[&[&str]]] = &[&[ROOT], &[USER, ROOT]];

/// The cache is bound first: it may lie in the home that is hidden next.
const ENTER: &str = "\
    { ip link set lo up || ifconfig lo up; } && mount --bind \"$1\" \"$2\" && mount -t tmpfs -o mode=755 live /home \
    && { [ ! -d \"$4\" ] || mount -t tmpfs -o mode=700 live \"$4\"; } && mount -t tmpfs -o mode=1777 live /tmp \
    && mkdir -p \"$3\" && cd \"$3\" && shift 4 && exec \"$@\"";

/// A command that runs inside.
pub fn enter(cache: &Path, program: &[&str]) -> Result<Command> {
    let Some(way) = WAYS.iter().find(|way| opens(way)) else {
        bail!("{}", missing());
    };
    let mut command = Command::new("unshare");
    let home = std::env::home_dir().filter(|home| !home.starts_with("/home") && home.parent().is_some());
    command.args(way.concat()).args(["/bin/sh", "-c", ENTER, "enter"]).arg(cache).args([CACHE, HOME]);
    command.arg(home.unwrap_or_default()).args(program).stdin(Stdio::null());
    Ok(command)
}

/// Enters once for nothing, so that what is missing is said before anything is fetched.
pub fn check(cache: &Path) -> Result<()> {
    let output = enter(cache, &["/bin/sh", "-c", ":"])?.output().context("starting `unshare`")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.success(),
        "the namespace for hosts cannot be set up (`ip` and `mount` are needed): {}",
        said.trim()
    );
    Ok(())
}

fn opens(way: &[&[&str]]) -> bool {
    let mut command = Command::new("unshare");
    command
        .args(way.concat())
        .args(["/bin/sh", "-c", ":"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Why there is no way in.
fn missing() -> String {
    let has = |name: &str| {
        let mut command = Command::new(name);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok()
    };
    if cfg!(not(target_os = "linux")) {
        return "hosts are driven on Linux only: elsewhere nothing keeps them off the network".to_owned();
    }
    if !has("unshare") {
        return "`unshare` is missing (package util-linux): hosts are only run where they reach no network".to_owned();
    }
    "neither root nor a user namespace is to be had, so that hosts could reach the network: run this as root, or allow user \
     namespaces (`sysctl kernel.unprivileged_userns_clone`, `kernel.apparmor_restrict_unprivileged_userns`)"
        .to_owned()
}

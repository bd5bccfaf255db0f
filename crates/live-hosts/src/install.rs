//! Hosts and node from npm, in a cache that stays.

use crate::hosts::Host;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Hosts refuse older ones, and npm silently picks old hosts for them.
const NODE: &str = "node@22";

/// The cache: what somebody names, or a folder among the user's own caches.
pub fn cache(named: Option<&Path>) -> Result<PathBuf> {
    let folder = match named {
        Some(folder) => folder.to_path_buf(),
        None => {
            let caches = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let caches = caches.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
            caches
                .context("neither `XDG_CACHE_HOME` nor a home is known; name a folder with --cache")?
                .join("writkeeper-hosts")
        }
    };
    fs::create_dir_all(&folder).with_context(|| format!("making the cache `{}`", folder.display()))?;
    Ok(folder.canonicalize()?)
}

/// Installs what is missing, and everything anew if `latest` says so.
pub fn hosts(cache: &Path, hosts: &[&dyn Host], latest: bool) -> Result<()> {
    package(cache, "node", NODE, "node", latest)?;
    for host in hosts {
        let newest = format!("{}@latest", host.package());
        package(cache, host.word(), &newest, host.program(), latest)?;
    }
    Ok(())
}

fn package(cache: &Path, name: &str, package: &str, program: &str, latest: bool) -> Result<()> {
    let folder = cache.join("npm").join(name);
    if folder.join("node_modules/.bin").join(program).exists() && !latest {
        return Ok(());
    }
    eprintln!("hosts: installing {package}");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), "{}\n")?;
    let node = cache.join("npm/node/node_modules/.bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(node).chain(std::env::split_paths(&path)))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", package])
        .env("PATH", path)
        .current_dir(&folder);
    let output = match npm.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => bail!("`npm` does not start ({error}); install Node.js with npm, which fetches the hosts"),
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "npm could not install `{package}`: {}", said.trim());
    Ok(())
}

/// The version of a host that is installed.
pub fn version(cache: &Path, host: &dyn Host) -> Result<String> {
    let path = cache.join("npm").join(host.word()).join("node_modules").join(host.package()).join("package.json");
    let text = fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
    let manifest: Value = serde_json::from_str(&text)?;
    manifest.get("version").and_then(Value::as_str).map(str::to_owned).context("a package without a version")
}

/// Puts this program and the one under test where the hosts' namespace sees them.
pub fn programs(cache: &Path, binary: &Path) -> Result<()> {
    let folder = cache.join("bin");
    fs::create_dir_all(&folder)?;
    for (from, name) in [(std::env::current_exe()?.as_path(), "live-hosts"), (binary, "writkeeper")] {
        let place = folder.join(name);
        // A program that runs cannot be written over, only replaced.
        let fresh = folder.join(format!("{name}.new"));
        fs::copy(from, &fresh).with_context(|| format!("copying `{}`", from.display()))?;
        fs::rename(&fresh, &place)?;
    }
    Ok(())
}

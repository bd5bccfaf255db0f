//! Where a path lies, and therefore how bad it is to lose it.

use crate::glob;
use crate::mark;
use crate::path::components;

/// What kind of place a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The root, or every entry of it.
    Root,
    /// Part of the operating system.
    System,
    /// A whole home directory.
    Home,
    /// A directory above the working directory.
    Ancestor,
    /// The history of a repository.
    History,
    /// A disk or kernel memory.
    Device,
    /// A variable that may be empty, so that the path may be the root.
    MaybeRoot,
    /// Scratch space.
    Temp,
    /// Anything else.
    Ordinary,
}

impl Zone {
    /// Whether losing the place is a catastrophe.
    pub const fn is_vital(self) -> bool {
        match self {
            Self::Root
            | Self::System
            | Self::Home
            | Self::Ancestor
            | Self::History
            | Self::Device
            | Self::MaybeRoot => true,
            Self::Temp | Self::Ordinary => false,
        }
    }

    /// How a sentence names the place.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "the root of the file system",
            Self::System => "part of the operating system",
            Self::Home => "a whole home directory",
            Self::Ancestor => "a directory above the working directory",
            Self::History => "the history of a repository",
            Self::Device => "a device",
            Self::MaybeRoot => "the root if the variable is empty",
            Self::Temp => "a temporary directory",
            Self::Ordinary => "data",
        }
    }
}

/// Top-level directories without which a machine or its data is gone.
const TOP: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "cores",
    "private",
    "nix",
    "data",
];

/// Below these every entry belongs to the system.
const DEEP: &[&str] =
    &["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr", "System"];

/// Block devices and kernel memory, by the first component below `/dev`.
const DISKS: &[&str] = &[
    "sd[a-z]*", "hd[a-z]*", "vd[a-z]*", "xvd*", "nvme*", "mmcblk*", "disk*", "rdisk*", "mapper", "dm-*", "md[0-9]*",
    "loop*", "nbd*", "sr[0-9]*", "mem", "kmem", "port", "block", "ram*", "zvol", "mtd*", "pmem*", "dasd*",
];

/// Entries of `/dev` that swallow or produce bytes and keep nothing.
const HARMLESS_DEVICES: &[&str] = &[
    "null", "zero", "full", "stdin", "stdout", "stderr", "tty*", "pts", "fd", "shm", "random", "urandom", "tcp", "udp",
    "ptmx", "console", "log", "snd", "dsp*", "lp[0-9]*", "usb", "fb[0-9]*", "input", "video*",
];

/// Judges a normalised path that a command removes, moves away or rewrites as a tree.
pub fn of(path: &str, cwd: &str, home: &str) -> Zone {
    // A variable may be empty: what the path is without it counts too.
    if path.contains(mark::UNSET) {
        let without: String = path.chars().filter(|c| *c != mark::UNSET).collect();
        let named = components(&without).count() > 0 || path.starts_with('/');
        if named && of(&crate::path::normalise(&without, "/"), cwd, home).is_vital() {
            return Zone::MaybeRoot;
        }
    }
    let unknown_start = path.chars().next().is_some_and(mark::is_hole);
    let parts: Vec<&str> = components(path).collect();
    if unknown_start {
        return unknown(path, &parts);
    }
    // `dir/*` empties dir: what is lost is dir.
    let emptied = matches!(parts.as_slice(), [.., last] if is_everything(last));
    let kept = if emptied { parts.get(..parts.len().saturating_sub(1)).unwrap_or_default() } else { parts.as_slice() };
    if same_or_glob(kept, home) {
        return Zone::Home;
    }
    let zone = absolute(kept);
    if zone == Zone::Ordinary && !emptied && is_above(kept, cwd) {
        return Zone::Ancestor;
    }
    zone
}

/// A path whose beginning is unknown.
fn unknown(path: &str, parts: &[&str]) -> Zone {
    let first = path.chars().next().unwrap_or(mark::OUTPUT);
    match (first, parts) {
        (mark::TEMP, _) => Zone::Temp,
        (_, [.., ".git"]) => Zone::History,
        // `$X/` and `$X/*` are `/` and `/*` when X is empty.
        (mark::UNSET, [only]) if only.chars().all(|c| c == mark::UNSET) && path.ends_with('/') => Zone::MaybeRoot,
        (mark::UNSET, [variable, last]) if variable.chars().count() == 1 && is_everything(last) => Zone::MaybeRoot,
        (mark::UNSET, [variable, top, ..])
            if variable.chars().count() == 1 && parts.len() == 2 && TOP.contains(top) =>
        {
            Zone::MaybeRoot
        }
        _ => Zone::Ordinary,
    }
}

/// Whether a last component means "everything here".
fn is_everything(part: &str) -> bool {
    part == "*"
        || part == "\u{E010}"
        || part == "\u{E003}"
        || part == ".\u{E010}"
        || part == "\u{E003}\u{E003}"
        || part == "**"
        || part == "\u{E010}\u{E010}"
}

fn absolute(parts: &[&str]) -> Zone {
    match parts {
        [] => Zone::Root,
        [top] if is_one_of(top, TOP) => {
            if is_one_of(top, &["home", "Users", "root"]) {
                Zone::Home
            } else {
                Zone::System
            }
        }
        ["tmp", ..] | ["var", "tmp" | "folders", ..] | ["private", "tmp", ..] | ["dev", "shm", ..] => Zone::Temp,
        [.., ".git"] => Zone::History,
        ["dev", device, ..] if DISKS.iter().any(|disk| glob::matches(disk, device)) => Zone::Device,
        ["dev", device, ..] if HARMLESS_DEVICES.iter().any(|safe| glob::matches(safe, device)) => Zone::Ordinary,
        ["home" | "Users", user] if *user != "Shared" => Zone::Home,
        ["usr", "local", _, _, ..] | ["usr", "src" | "share", _, _, ..] => Zone::Ordinary,
        [top, ..] if is_one_of(top, DEEP) => Zone::System,
        ["var" | "private" | "Library", _] | ["var", "lib" | "spool", _] | ["private", "var" | "etc", _] => {
            Zone::System
        }
        _ => Zone::Ordinary,
    }
}

/// Exact name, or a wildcard that can mean it.
fn is_one_of(part: &str, names: &[&str]) -> bool {
    names.contains(&part) || (mark::has_wild(part) && names.iter().any(|name| glob::matches(part, name)))
}

fn same_or_glob(parts: &[&str], home: &str) -> bool {
    let home: Vec<&str> = components(home).collect();
    !home.is_empty()
        && home.len() == parts.len()
        && home
            .iter()
            .zip(parts)
            .all(|(name, part)| name == part || (mark::has_wild(part) && glob::matches(part, name)))
}

fn is_above(parts: &[&str], cwd: &str) -> bool {
    let cwd: Vec<&str> = components(cwd).collect();
    parts.len() < cwd.len() && cwd.iter().zip(parts).all(|(a, b)| a == b)
}

/// Whether writing bytes to the path reaches hardware.
pub fn is_device(path: &str) -> bool {
    let parts: Vec<&str> = components(path).collect();
    matches!(parts.as_slice(), ["dev", device, ..] if DISKS.iter().any(|disk| glob::matches(disk, device)) && *device != "shm")
        || matches!(parts.as_slice(), ["proc", "sysrq-trigger" | "kcore" | "kmem"] | ["proc", "sys", "kernel", "sysrq"])
}

/// Whether the path is a device that swallows or produces bytes.
pub fn is_sink(path: &str) -> bool {
    let parts: Vec<&str> = components(path).collect();
    matches!(parts.as_slice(), ["dev", device, ..] if HARMLESS_DEVICES.iter().any(|safe| glob::matches(safe, device)))
        || matches!(parts.as_slice(), ["proc", "self", "fd", ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Zone) {
        let path = path.replace('*', "\u{E010}").replace('$', "\u{E000}");
        assert_eq!(of(&path, "/home/me/app", "/home/me"), expected, "{path}");
    }

    #[test]
    fn places() {
        check("/", Zone::Root);
        check("/*", Zone::Root);
        check("/etc", Zone::System);
        check("/e*", Zone::System);
        check("/etc/nginx/x", Zone::System);
        check("/home/me", Zone::Home);
        check("/home/me/*", Zone::Home);
        check("/home/other", Zone::Home);
        check("/home/me/app", Zone::Ordinary);
        check("/home/me/app/*", Zone::Ordinary);
        check("/home/me/app/.git", Zone::History);
        check("/tmp/x", Zone::Temp);
        check("/dev/sda1", Zone::Device);
        check("/dev/null", Zone::Ordinary);
        check("/var/lib", Zone::System);
        check("/usr/local/lib/node_modules/x", Zone::Ordinary);
        check("$/", Zone::MaybeRoot);
        check("$/*", Zone::MaybeRoot);
        check("$", Zone::Ordinary);
        check("$/build", Zone::Ordinary);
        check("/data/app/x", Zone::Ordinary);
    }
}

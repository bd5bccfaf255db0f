//! What a package links, as `cargo tree` prints it.
//!
//! `cargo metadata` also lists optional dependencies that no feature switched on; the tree does not.

use crate::process;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// Every package below one, each with the names that lead to it.
pub type Below = BTreeMap<String, Vec<String>>;

/// Asks cargo for the normal dependencies of a member on all platforms; neither tests nor build scripts.
pub fn below(root: &Path, member: &str) -> Result<Below> {
    let mut command = process::cargo(root);
    command.args(["tree", "--locked", "--edges", "normal", "--target", "all", "--prefix", "depth"]);
    let output = command.args(["--package", member]).output().context("starting cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

/// Each line is a depth, a name and a version: `2serde v1.0.229`.
pub fn read(tree: &str) -> Below {
    let mut path: Vec<String> = Vec::new();
    let mut below = Below::new();
    for line in tree.lines() {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, rest) = line.split_at_checked(digits).unwrap_or_default();
        let (Ok(depth), Some(name)) = (depth.parse::<usize>(), rest.split(' ').next()) else { continue };
        path.truncate(depth);
        if depth > 0 {
            below.entry(name.to_owned()).or_insert_with(|| path.clone());
        }
        path.push(name.to_owned());
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_is_found_with_its_path() {
        let below = read("0kernel v0.1.0 (folder)\n1sha2 v1.0.0\n2digest v1.0.0\n1semver v1.0.0\n2digest v1.0.0 (*)\n");
        let names: Vec<&str> = below.keys().map(String::as_str).collect();
        assert_eq!(names, ["digest", "semver", "sha2"]);
        assert_eq!(below.get("digest").map(|path| path.join(" ")), Some("kernel sha2".to_owned()));
    }
}

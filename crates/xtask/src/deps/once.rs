//! Whether the product alone and the whole workspace with its tests ask for the same features of foreign packages. Where they
//! do not, cargo compiles the package, and all that stands on it, once for `cargo run` and once more for the tests.

use crate::process;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;

/// Every package that would be compiled twice.
pub fn findings(root: &Path) -> Result<Vec<String>> {
    let product = tree(root, &["--edges", "normal,build", "--package", "writkeeper-cli"])?;
    let everything = tree(root, &["--edges", "normal,build,dev", "--workspace", "--features", process::FEATURES])?;
    Ok(compare(&product, &everything))
}

/// A line for each package: name, version, for a member its folder, and features in brackets.
fn tree(root: &Path, what: &[&str]) -> Result<String> {
    let mut command = process::cargo(root);
    command.args(["tree", "--locked", "--prefix", "none", "--format", "{p} [{f}]"]).args(what);
    let output = command.output().context("starting cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn compare(product: &str, everything: &str) -> Vec<String> {
    // A package whose lines were printed before is marked with a star.
    let lines = |tree| -> BTreeSet<&str> { str::lines(tree).map(|line| line.trim_end_matches(" (*)")).collect() };
    let everything = lines(everything);
    // Members stand with their folder; those differ on purpose, by the faults that tests bring back.
    let is_foreign = |line: &&str| !line.contains(" (");
    let missing = lines(product).into_iter().filter(is_foreign).filter(|line| !everything.contains(line));
    missing
        .map(|line| format!("`{line}` of the product is compiled again for the tests, which ask for other features"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_with_other_features_is_compiled_twice() {
        let check = |product: &str, everything: &str, expected: usize| {
            assert_eq!(compare(product, everything).len(), expected, "{product} in {everything}");
        };
        check("a v1 [std]\nb v1 []", "a v1 [std] (*)\nb v1 []\nc v1 []", 0);
        check("a v1 []\nb v1 []", "a v1 [std]\nb v1 []", 1);
        check("a v1 []", "a v1 []\na v1 [std]", 0);
        check("writkeeper-kernel v1 (folder) []", "writkeeper-kernel v1 (folder) [bugs]", 0);
    }
}

//! The packages of the workspace and everything they use, as `cargo metadata` knows them.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;

/// Every package of the lock file.
pub struct Graph {
    pub packages: Vec<Package>,
}

/// One package.
pub struct Package {
    pub name: String,
    pub licence: Option<String>,
    pub is_member: bool,
    /// Names of dependencies taken from a registry in any version.
    pub wildcards: Vec<String>,
}

impl Graph {
    /// Reads the answer of `cargo metadata --format-version 1`.
    pub fn read(metadata: &Value) -> Result<Graph> {
        let members: BTreeSet<&str> = list(metadata, "workspace_members")?.iter().filter_map(Value::as_str).collect();
        let mut packages = Vec::new();
        for package in list(metadata, "packages")? {
            packages.push(Package {
                name: text(package, "name")?.to_owned(),
                licence: package.get("license").and_then(Value::as_str).map(str::to_owned),
                is_member: members.contains(text(package, "id")?),
                wildcards: wildcards(package)?,
            });
        }
        Ok(Graph { packages })
    }

    /// Names of the workspace members.
    pub fn members(&self) -> Vec<&str> {
        self.packages.iter().filter(|package| package.is_member).map(|package| package.name.as_str()).collect()
    }
}

fn wildcards(package: &Value) -> Result<Vec<String>> {
    let from_registry = |dependency: &&Value| dependency.get("source").is_some_and(|source| !source.is_null());
    let any_version = |dependency: &&Value| dependency.get("req").and_then(Value::as_str) == Some("*");
    let found = list(package, "dependencies")?.iter().filter(from_registry).filter(any_version);
    found.map(|dependency| text(dependency, "name").map(str::to_owned)).collect()
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value]> {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).with_context(|| format!("no list `{key}`"))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value.get(key).and_then(Value::as_str).with_context(|| format!("no text `{key}`"))
}

//! Which crate stands on which, and what must never lie below a crate.

use super::tree::Below;

/// What one workspace member may know.
struct Row {
    member: &'static str,
    /// Members that it stands on; it may link these and whatever they stand on.
    stands_on: &'static [&'static str],
    /// Packages that must not lie anywhere below it.
    forbidden: &'static [&'static str],
}

/// Clocks, randomness, threads, files, sockets and logs: nothing of them can be replayed.
const IMPURE: &[&str] = &[
    "async-std",
    "chrono",
    "crossbeam-channel",
    "env_logger",
    "fastrand",
    "getrandom",
    "hyper",
    "log",
    "mio",
    "rand",
    "rayon",
    "reqwest",
    "rusqlite",
    "rustls",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "tokio-postgres",
    "tracing",
    "ureq",
    "uuid",
    "cedar-policy",
    "cedar-policy-core",
    "cel",
    "jsonschema",
    "regex",
    "saphyr-parser",
    "serde_json",
];

/// Engines bring libraries of their own, yet none that talks to the world.
const OUTSIDE: &[&str] = &[
    "async-std",
    "hyper",
    "mio",
    "rand",
    "reqwest",
    "rusqlite",
    "rustls",
    "socket2",
    "tempfile",
    "tokio",
    "tokio-postgres",
    "ureq",
];

/// A database, HTTP or broker library below the runtime would become its judgement.
const ADAPTED: &[&str] = &["async-nats", "axum", "hyper", "rdkafka", "reqwest", "rusqlite", "tokio-postgres"];

/// Every member has a row; a crate exists only if it forbids something or ships alone.
const ROWS: &[Row] = &[
    Row { member: "writkeeper-values", stands_on: &[], forbidden: IMPURE },
    Row { member: "writkeeper-ledger", stands_on: &["writkeeper-values"], forbidden: IMPURE },
    Row { member: "writkeeper-kernel", stands_on: &["writkeeper-ledger"], forbidden: IMPURE },
    Row { member: "writkeeper-contract", stands_on: &["writkeeper-kernel"], forbidden: IMPURE },
    Row { member: "writkeeper-engines", stands_on: &["writkeeper-contract"], forbidden: OUTSIDE },
    Row { member: "writkeeper-runtime", stands_on: &["writkeeper-engines"], forbidden: ADAPTED },
    Row { member: "writkeeper-adapters", stands_on: &["writkeeper-runtime"], forbidden: &[] },
    Row { member: "writkeeper-client", stands_on: &["writkeeper-runtime"], forbidden: &["rusqlite"] },
    Row { member: "writkeeper", stands_on: &["writkeeper-adapters", "writkeeper-client"], forbidden: &["clap"] },
    Row { member: "writkeeper-shell", stands_on: &[], forbidden: OUTSIDE },
    Row { member: "writkeeper-guard", stands_on: &["writkeeper", "writkeeper-shell"], forbidden: &["clap"] },
    Row { member: "writkeeper-server", stands_on: &["writkeeper"], forbidden: &["clap"] },
    Row {
        member: "writkeeper-cli",
        stands_on: &["writkeeper", "writkeeper-guard", "writkeeper-server"],
        forbidden: &[],
    },
    // It is Python's half of the library: what it may do, the library does.
    Row { member: "writkeeper-python", stands_on: &["writkeeper"], forbidden: &["clap", "tokio"] },
    Row {
        member: "workbench",
        stands_on: &["writkeeper-engines", "writkeeper-guard", "writkeeper-shell"],
        forbidden: &[],
    },
    // It judges the product from outside, by what its binary does.
    Row { member: "live-hosts", stands_on: &[], forbidden: &[] },
    // Everybody waits for it before anything else begins.
    Row { member: "xtask", stands_on: &[], forbidden: &[] },
];

/// Whether a member may link another: it stands on it, or on something that does.
fn may_link(member: &str, other: &str) -> bool {
    let row = ROWS.iter().find(|row| row.member == member);
    row.is_some_and(|row| row.stands_on.iter().any(|below| *below == other || may_link(below, other)))
}

/// Every link of a member that points the wrong way, with the path that leads to it.
pub fn findings(member: &str, members: &[&str], below: &Below) -> Vec<String> {
    let Some(row) = ROWS.iter().find(|row| row.member == member) else {
        return vec![format!("`{member}` has no row in the dependency arrow")];
    };
    let mut findings = Vec::new();
    for (name, path) in below {
        let name = name.as_str();
        let is_foreign_member = members.contains(&name) && !may_link(member, name);
        if is_foreign_member || row.forbidden.contains(&name) {
            findings.push(format!("`{member}` must not depend on `{name}`: {} → {name}", path.join(" → ")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    fn check(member: &str, tree: &str, expected: &[&str]) {
        let members = ["writkeeper", "writkeeper-cli", "writkeeper-engines", "writkeeper-kernel"];
        assert_eq!(findings(member, &members, &tree::read(tree)), expected);
    }

    #[test]
    fn the_arrow_points_down() {
        check("writkeeper-engines", "0writkeeper-engines v1\n1writkeeper-kernel v1\n1serde_json v1\n", &[]);
        check("writkeeper-cli", "0writkeeper-cli v1\n1writkeeper v1\n2writkeeper-kernel v1\n", &[]);
        check(
            "writkeeper-kernel",
            "0writkeeper-kernel v1\n1writkeeper-engines v1\n",
            &["`writkeeper-kernel` must not depend on `writkeeper-engines`: writkeeper-kernel → writkeeper-engines"],
        );
    }

    #[test]
    fn what_is_forbidden_is_found_at_any_depth() {
        check(
            "writkeeper-kernel",
            "0writkeeper-kernel v1\n1innocent v1\n2tokio v1\n",
            &["`writkeeper-kernel` must not depend on `tokio`: writkeeper-kernel → innocent → tokio"],
        );
    }

    #[test]
    fn a_new_member_needs_a_row() {
        check(
            "writkeeper-surprise",
            "0writkeeper-surprise v1\n",
            &["`writkeeper-surprise` has no row in the dependency arrow"],
        );
    }
}

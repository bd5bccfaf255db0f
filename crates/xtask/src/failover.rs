//! A cluster of PostgreSQL servers that loses its primary under load: minutes, so it is no part of the test command.

use crate::{installed, process, repository};
use anyhow::Result;

/// The tests are ordinary ones that nobody runs unless asked.
pub fn run() -> Result<bool> {
    let root = repository::root()?;
    installed::demand_cluster();
    // With targets named, cargo builds no examples, and the tests start one.
    process::built(&root)?;
    let mut command = process::cargo(&root);
    command.args(["test", "--workspace", "--locked", "--features", process::FEATURES, "--test", "faults"]);
    command.args(["--", "--ignored", "failover::", "--nocapture", "--test-threads=1"]);
    let (mut ran, mut missing) = (false, false);
    let succeeded = process::each_line(&mut command, |line| {
        ran |= line.starts_with("failover: ");
        missing |= line.starts_with("missing: ");
        println!("{line}");
    })?;
    Ok(succeeded && ran && !missing)
}

//! The simulation for as long as one likes.

use crate::{process, repository};
use anyhow::{Context, Result, bail};

const MINUTES_DEFAULT: u64 = 10;

/// Runs fresh seeds for so many minutes; what they came to is printed.
pub fn run(options: &[&str]) -> Result<bool> {
    let minutes = match options {
        [] => MINUTES_DEFAULT,
        ["--minutes", minutes] => minutes.parse().with_context(|| format!("`{minutes}` is no number of minutes"))?,
        _ => bail!("soak takes `--minutes N`"),
    };
    let root = repository::root()?;
    let mut command = process::cargo(&root);
    command.args(["test", "--workspace", "--locked", "--features", process::FEATURES, "--test", "simulation"]);
    command.args(["--", "--ignored", "--exact", "soak", "--nocapture"]);
    command.env("WRITKEEPER_SOAK_MINUTES", minutes.to_string());
    // Every soak takes other seeds; a failure prints its own.
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).context("reading the clock")?;
    command.env("WRITKEEPER_SOAK_FROM", (since.as_secs() << 16).to_string());
    process::succeeds(&mut command)
}

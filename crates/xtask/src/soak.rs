//! The simulation for as long as one likes.

use crate::{process, repository};
use anyhow::{Context, Result, bail};

const MINUTES_DEFAULT: &str = "10";

/// What can be asked for, and the variable the test reads it from.
const ASKED: [(&str, &str); 3] = [
    ("--minutes", "WRITKEEPER_SOAK_MINUTES"),
    ("--seeds", "WRITKEEPER_SOAK_SEEDS"),
    ("--from", "WRITKEEPER_SOAK_FROM"),
];

/// Runs fresh seeds for so many minutes, or so many of them; what they came to is printed.
pub fn run(options: &[&str]) -> Result<bool> {
    let root = repository::root()?;
    let mut command = process::cargo(&root);
    command.args(["test", "--workspace", "--locked", "--features", process::FEATURES, "--test", "simulation"]);
    command.args(["--", "--ignored", "--exact", "soak", "--nocapture"]);
    // Every soak takes other seeds; a failure prints its own.
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).context("reading the clock")?;
    command.env("WRITKEEPER_SOAK_FROM", (since.as_secs() << 16).to_string());
    for asked in options.chunks(2) {
        let [name, number] = asked else { bail!("{} takes a number", asked.concat()) };
        let Some((_, variable)) = ASKED.iter().find(|(known, _)| known == name) else {
            bail!("soak takes `--minutes N`, `--seeds N` and `--from SEED`, not `{name}`");
        };
        number.parse::<u64>().with_context(|| format!("`{number}` is no number"))?;
        command.env(variable, number);
    }
    if !options.iter().any(|option| matches!(*option, "--minutes" | "--seeds")) {
        command.env("WRITKEEPER_SOAK_MINUTES", MINUTES_DEFAULT);
    }
    process::succeeds(&mut command)
}

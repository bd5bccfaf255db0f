//! The relay to Kafka: it compiles librdkafka, which takes minutes, so it is no part of the test command.

use crate::{process, repository};
use anyhow::Result;

/// The binary with the feature, against the mock cluster of librdkafka; and what the compiler has to say about both.
pub fn run() -> Result<bool> {
    let root = repository::root()?;
    let features = format!("{},writkeeper-cli/kafka", process::FEATURES);
    let of = |task: &str| {
        let mut command = process::cargo(&root);
        command.args([task, "--workspace", "--locked", "--features", &features, "--test", "kafka"]);
        command
    };
    let checked = process::succeeds(of("clippy").args(["--quiet", "--", "-D", "warnings"]))?;
    Ok(process::succeeds(of("test").args(["--", "--nocapture"]))? && checked)
}

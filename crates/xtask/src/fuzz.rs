//! Fuzzing where its tools are installed; elsewhere a loud word that nothing was fuzzed.

use crate::{process, repository};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Targets under `fuzz/fuzz_targets`.
const TARGETS: &[&str] = &["json_door", "shell_classify"];

const SECONDS_DEFAULT: u32 = 60;

/// Fuzzes the named target, or each for the given time.
pub fn run(options: &[&str]) -> Result<bool> {
    let Options { seconds, seed, targets } = read_options(options)?;
    let root = repository::root()?;
    // A seed belongs to the blind fuzzer: it repeats what that one printed.
    if let Some(seed) = seed {
        return blindly(seconds, seed, &targets);
    }
    if !process::answers(process::cargo(&root).args(["fuzz", "--version"])) {
        println!("fuzz: cargo-fuzz is not installed (`cargo install cargo-fuzz`); inputs are changed blindly instead");
        let since = SystemTime::now().duration_since(UNIX_EPOCH).context("reading the clock")?;
        return blindly(seconds, since.as_secs(), &targets);
    }
    let mut clean = true;
    for target in targets {
        println!("fuzz: {target} for {seconds} s");
        clean &= process::succeeds(&mut fuzz_command(&root, target, seconds)?)?;
    }
    Ok(clean)
}

/// What the test command runs: needs no tools, changes the kept corpus at random.
pub fn run_blindly(seconds: u32, seed: u64) -> Result<bool> {
    blindly(seconds, seed, TARGETS)
}

fn blindly(seconds: u32, seed: u64, targets: &[&str]) -> Result<bool> {
    let (seconds, seed) = (seconds.to_string(), seed.to_string());
    process::workbench(&[&["fuzz", seconds.as_str(), seed.as_str()], targets].concat())
}

struct Options<'a> {
    seconds: u32,
    seed: Option<u64>,
    targets: Vec<&'a str>,
}

fn read_options<'a>(options: &[&'a str]) -> Result<Options<'a>> {
    let mut read = Options { seconds: SECONDS_DEFAULT, seed: None, targets: Vec::new() };
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match *option {
            "--seconds" => {
                let value = rest.next().context("`--seconds` needs a number")?;
                read.seconds = value.parse().with_context(|| format!("`{value}` is not a number of seconds"))?;
            }
            "--seed" => {
                let value = rest.next().context("`--seed` needs the number an earlier run printed")?;
                read.seed = Some(value.parse().with_context(|| format!("`{value}` is not a seed"))?);
            }
            target if TARGETS.contains(&target) => read.targets.push(target),
            other => bail!("`{other}` is not a fuzz target; there are: {}", TARGETS.join(", ")),
        }
    }
    if read.targets.is_empty() {
        read.targets.extend(TARGETS);
    }
    Ok(read)
}

fn fuzz_command(root: &Path, target: &str, seconds: u32) -> Result<Command> {
    // Finds are collected outside of the repository; what deserves to stay is moved into the kept corpus by hand.
    let folder = process::target_folder(root)?.join("fuzz");
    let found = folder.join("found").join(target);
    std::fs::create_dir_all(&found)?;
    let mut command = Command::new("cargo");
    // Instrumentation needs unstable flags: from the nightly compiler, or from the pinned one made to accept them.
    if process::answers(Command::new("cargo").args(["+nightly", "--version"])) {
        command.arg("+nightly");
    } else {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    command.current_dir(root).args(["fuzz", "run", "--target-dir"]).arg(&folder).arg(target);
    command.arg(&found).arg(root.join("fuzz/corpus").join(target));
    command.args(["--", &format!("-max_total_time={seconds}"), "-timeout=5", "-print_final_stats=1"]);
    // Rustup hands its choice down; the fuzzing compiler is another one.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("CARGO_TARGET_DIR");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_stand_in_any_order() {
        let read = |options: &[&'static str]| read_options(options).map(|read| (read.seconds, read.seed, read.targets));
        assert_eq!(read(&[]).unwrap(), (SECONDS_DEFAULT, None, TARGETS.to_vec()));
        assert_eq!(read(&["json_door", "--seconds", "5"]).unwrap(), (5, None, vec!["json_door"]));
        assert_eq!(read(&["--seed", "7", "json_door"]).unwrap(), (SECONDS_DEFAULT, Some(7), vec!["json_door"]));
        assert!(read(&["--seconds"]).is_err());
        assert!(read(&["--seed", "x"]).is_err());
        assert!(read(&["json_gate"]).unwrap_err().to_string().contains("json_door"));
    }
}

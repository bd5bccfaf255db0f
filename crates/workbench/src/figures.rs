//! Figures that are judged: how often the shell classifier is wrong on labelled cases, and how fast it is.

use crate::labelled::{self, Case};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long speed is measured.
const TIMED: Duration = Duration::from_secs(2);

/// `measure [--json] [--seed N]`: prints the figures.
pub fn run(options: &[&str]) -> Result<bool> {
    let (seed, as_json) = read_options(options)?;
    let view = shell::View::default();
    let cases = cases()?;
    let figures = json!({
        "shell": {
            "sources": labelled::figures(&cases, &view),
            "disguise": labelled::disguise_figures(seed, &view),
            "seed": seed,
            "commands_per_second": speed(&cases, &view),
        }
    });
    let text = if as_json { figures.to_string() } else { serde_json::to_string_pretty(&figures)? };
    println!("{text}");
    Ok(true)
}

fn read_options(options: &[&str]) -> Result<(u64, bool)> {
    match options {
        [] => Ok((1, false)),
        ["--json"] => Ok((1, true)),
        ["--seed", seed] => Ok((number(seed)?, false)),
        ["--json", "--seed", seed] | ["--seed", seed, "--json"] => Ok((number(seed)?, true)),
        _ => bail!("measure takes --json and --seed N"),
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().with_context(|| format!("`{text}` is not a number"))
}

/// The labelled cases that lie beside the repository, if they do.
fn cases() -> Result<Vec<Case>> {
    let Some(folder) = labelled::folder() else {
        eprintln!("skipped: shared cases not present");
        return Ok(Vec::new());
    };
    let mut cases = Vec::new();
    for name in ["commands_labelled.jsonl", "commands_public.jsonl"] {
        let lines = std::fs::read_to_string(folder.join(name)).with_context(|| format!("reading {name}"))?;
        cases.extend(labelled::cases(&lines));
    }
    Ok(cases)
}

fn speed(cases: &[Case], view: &shell::View<'_>) -> Value {
    if cases.is_empty() {
        return Value::Null;
    }
    let started = Instant::now();
    let mut count = 0_u64;
    while started.elapsed() < TIMED {
        for case in cases {
            std::hint::black_box(shell::classify(&case.command, view));
            count += 1;
        }
    }
    json!((count as f64 / started.elapsed().as_secs_f64()).round())
}

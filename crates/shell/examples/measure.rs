//! Prints the figures of the labelled cases as JSON: `measure [SEED]`.
//!
//! Cases are looked for in `shared/cases/shell` beside any directory above this crate.

use std::path::{Path, PathBuf};
use std::time::Instant;

fn shared_cases() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|above| above.join("shared/cases/shell"))
        .find(|folder| folder.is_dir())
}

fn main() {
    let view = shell::View::default();
    let seed = std::env::args().nth(1).and_then(|argument| argument.parse().ok()).unwrap_or(1);
    let mut cases = Vec::new();
    match shared_cases() {
        Some(folder) => {
            for name in ["commands_labelled.jsonl", "commands_public.jsonl"] {
                if let Ok(lines) = std::fs::read_to_string(folder.join(name)) {
                    cases.extend(shell::measure::cases(&lines));
                }
            }
        }
        None => eprintln!("skipped: shared cases not present"),
    }
    let figures = shell::measure::figures(&cases, &view);
    let start = Instant::now();
    let mut classified = 0u128;
    while start.elapsed().as_millis() < 2000 && !cases.is_empty() {
        for case in &cases {
            std::hint::black_box(shell::classify(&case.command, &view));
            classified += 1;
        }
    }
    let per_second = classified * 1_000_000 / start.elapsed().as_micros().max(1);
    let report = serde_json::json!({
        "shell": { "sources": figures, "disguise": shell::measure::disguise_figures(seed, &view), "commands_per_second": u64::try_from(per_second).unwrap_or(0) }
    });
    println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
}

//! Reads JSON lines `{"id","command"}` and writes one answer a line.
//!
//! `classify [--cwd DIR] [--home DIR]`

use std::io::{BufRead, Write};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1)).cloned()
    };
    let fallback = shell::View::default();
    let cwd = option("--cwd").unwrap_or_else(|| fallback.cwd.to_owned());
    let home = option("--home").unwrap_or_else(|| fallback.home.to_owned());
    let view = shell::View::new(&cwd, &home);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", shell::jsonl::classify_line(&line?, &view))?;
    }
    out.flush()
}

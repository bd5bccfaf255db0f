//! `writkeeper contract test`

use crate::cli::TestArgs;
use crate::contract_file::{self, ContractFile};
use crate::diagnostics;
use crate::exit::Exit;
use crate::terminal::{self, BAD, FAINT, GOOD, paint, verdict_style};
use kernel::contract::source::Diagnostic;
use kernel::json::Json;
use kernel::rehearse::{Rehearsed, rehearse};
use std::path::Path;
use std::sync::Arc;

/// Runs the tests of every file.
pub fn run(args: &TestArgs) -> anyhow::Result<Exit> {
    let mut passed = 0;
    let mut failed = 0;
    for path in &args.files {
        let file = contract_file::open(path)?;
        if !file.loaded.inert.is_empty() && !args.allow_inert {
            diagnostics::print(path, &file.text, &file.loaded.inert);
            return Err(contract_file::invalid(path, &file.loaded.inert));
        }
        let inert = file.loaded.inert.clone();
        let (digest, rows) = judge(file);
        passed += rows.iter().filter(|row| row.passed()).count();
        failed += rows.iter().filter(|row| !row.passed()).count();
        if args.json {
            anstream::println!("{}", to_json(path, &digest, &rows, &inert).to_canonical());
        } else {
            print(path, &digest, &rows, &inert);
        }
    }
    if !args.json {
        anstream::println!("{passed} passed, {failed} failed");
    }
    if passed + failed == 0 {
        terminal::note("no tests: add `tests:` with `given` and `rows` to the contract");
    }
    Ok(if failed == 0 { Exit::Fine } else { Exit::Rejected })
}

fn judge(file: ContractFile) -> (String, Vec<Rehearsed>) {
    let digest = file.loaded.compiled.digest.to_string();
    let contract = Arc::new(file.loaded.compiled);
    let rows = file.loaded.tests.map(|tests| rehearse(&contract, &tests)).unwrap_or_default();
    (digest, rows)
}

fn print(path: &Path, digest: &str, rows: &[Rehearsed], inert: &[Diagnostic]) {
    anstream::println!("{}  {}", path.display(), paint(FAINT, format!("sha256 {digest}")));
    if !inert.is_empty() {
        anstream::println!("  not enforced yet: {}", contract_file::inert_paths(inert));
    }
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    for row in rows {
        let mark = if row.passed() { paint(GOOD, "ok  ") } else { paint(BAD, "FAIL") };
        anstream::println!("  {mark} {:<width$}  {}", row.name, said(row));
        if !row.passed() {
            print_failure(row);
        }
    }
}

fn said(row: &Rehearsed) -> String {
    match &row.result {
        Ok(answer) => {
            let verdict = answer.verdict.word();
            let reasons = if verdict == "ACCEPT" { String::new() } else { answer.reasons().join(", ") };
            format!("{} {}", paint(verdict_style(verdict), verdict), paint(FAINT, reasons)).trim_end().to_owned()
        }
        Err(problem) => paint(BAD, problem),
    }
}

fn print_failure(row: &Rehearsed) {
    let expected = format!("{} {}", row.expect.verdict, row.expect.codes.join(", "));
    anstream::println!("         expected {}", expected.trim_end());
    let findings = row.result.as_ref().map(|answer| &*answer.findings).unwrap_or_default();
    for finding in findings {
        anstream::println!("         {} {}", paint(FAINT, finding.code.as_str()), finding.message());
    }
}

fn to_json(path: &Path, digest: &str, rows: &[Rehearsed], inert: &[Diagnostic]) -> Json {
    let row_json = |row: &Rehearsed| {
        let answer = row.result.as_ref().ok();
        Json::object([
            ("name", Json::text(row.name.as_str())),
            ("passed", Json::Bool(row.passed())),
            ("verdict", Json::from(answer.map(|answer| answer.verdict.word()))),
            ("reasons", answer.map_or(Json::Null, |answer| Json::texts(answer.reasons()))),
            ("problem", Json::from(row.result.as_ref().err().cloned())),
        ])
    };
    Json::object([
        ("file", Json::text(path.display().to_string())),
        ("digest", Json::text(digest)),
        ("inert", Json::texts(inert.iter().map(|diagnostic| diagnostic.path.as_str()))),
        ("rows", Json::List(rows.iter().map(row_json).collect())),
    ])
}

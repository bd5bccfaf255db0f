//! `writkeeper contract test`

use crate::cli::TestArgs;
use crate::contract_file::{self, ContractFile};
use crate::exit::Exit;
use crate::terminal::say;
use crate::terminal::{self, BAD, FAINT, GOOD, paint, verdict_style};
use adapters::advisor::PluginAdvisor;
use contract::rehearse::{Rehearsed, rehearse};
use contract::source::Diagnostic;
use kernel::finding::visible;
use std::path::Path;
use std::sync::Arc;
use values::json::Json;

/// Runs the tests of every file.
pub fn run(args: &TestArgs) -> anyhow::Result<Exit> {
    let mut passed = 0;
    let mut failed = 0;
    for path in &args.files {
        let file = contract_file::open(path)?;
        if !file.loaded.inert.is_empty() && !args.allow_inert {
            return Err(contract_file::invalid(path, file.text, file.loaded.inert));
        }
        let inert = file.loaded.inert.clone();
        let (digest, rows) = judge(file);
        passed += rows.iter().filter(|row| row.passed()).count();
        failed += rows.iter().filter(|row| !row.passed()).count();
        if args.json {
            say!("{}", to_json(path, &digest, &rows, &inert).to_canonical());
        } else {
            print(path, &digest, &rows, &inert)?;
        }
    }
    if !args.json {
        say!("{passed} passed, {failed} failed");
    }
    if passed + failed == 0 {
        terminal::note("no tests: add `tests:` with `given` and `rows` to the contract");
    }
    Ok(if failed == 0 { Exit::Fine } else { Exit::Rejected })
}

fn judge(file: ContractFile) -> (String, Vec<Rehearsed>) {
    let digest = file.loaded.compiled.digest.to_string();
    let contract = Arc::new(file.loaded.compiled);
    let mut advise = |submission| runtime::advised(submission, Some(&PluginAdvisor));
    let rows = file.loaded.tests.map(|tests| rehearse(&contract, &tests, &mut advise)).unwrap_or_default();
    (digest, rows)
}

fn print(path: &Path, digest: &str, rows: &[Rehearsed], inert: &[Diagnostic]) -> anyhow::Result<()> {
    say!("{}  {}", path.display(), paint(FAINT, format!("sha256 {digest}")));
    if !inert.is_empty() {
        say!("  not enforced yet: {}", contract_file::inert_paths(inert));
    }
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    for row in rows {
        let mark = if row.passed() { paint(GOOD, "ok  ") } else { paint(BAD, "FAIL") };
        say!("  {mark} {:<width$}  {}", visible(&row.name), said(row));
        if !row.passed() {
            print_failure(row)?;
        }
    }
    Ok(())
}

fn said(row: &Rehearsed) -> String {
    match &row.result {
        Ok(answer) => {
            let verdict = answer.verdict.word();
            let reasons = if verdict == "ACCEPT" { String::new() } else { answer.reasons().join(", ") };
            let separator = if reasons.is_empty() { "" } else { " " };
            format!("{}{separator}{}", paint(verdict_style(verdict), verdict), paint(FAINT, reasons))
        }
        Err(problem) => paint(BAD, problem),
    }
}

fn print_failure(row: &Rehearsed) -> anyhow::Result<()> {
    let expected = format!("{} {}", row.expect.verdict, row.expect.codes.join(", "));
    say!("         expected {}", expected.trim_end());
    let findings = row.result.as_ref().map(|answer| &*answer.findings).unwrap_or_default();
    for finding in findings {
        say!("         {} {}", paint(FAINT, finding.code.as_str()), finding.message());
    }
    Ok(())
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

//! The given cases on enforcement: same rule, same answer, and a table of the rows where we answer otherwise on purpose.
//!
//! The cases lie outside of the repository and are never copied into it. Prose is not compared; enums, flags, counts
//! and payloads are.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "everything here is a test")]

#[path = "enforcement_cases/breaker.rs"]
mod breaker;
#[path = "enforcement_cases/efficiency.rs"]
mod efficiency;
#[path = "enforcement_cases/handler.rs"]
mod handler;
#[path = "enforcement_cases/ladder.rs"]
mod ladder;
#[path = "enforcement_cases/misc.rs"]
mod misc;
#[path = "enforcement_cases/productivity.rs"]
mod productivity;

use serde_json::Value;
use std::path::Path;

/// A row where we answer otherwise on purpose.
struct Differs {
    id: &'static str,
    /// The fault of the reference that the row shows.
    fault: &'static str,
    /// What we answer instead, in the words of the runner.
    ours: &'static str,
}

/// Runs every row of a file through `answer`, which gives our answer and the expected one in the same words.
#[expect(clippy::disallowed_macros, reason = "a skipped test must say so")]
fn check(file: &str, rows_min: usize, differs: &[Differs], answer: impl Fn(&Value) -> Option<(String, String)>) {
    let Some(rows) = rows(file) else {
        println!("skipped: shared cases not present");
        return;
    };
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut met = Vec::new();
    for row in &rows {
        let Some((ours, theirs)) = answer(row) else { continue };
        seen += 1;
        let id = row["id"].as_str().unwrap();
        match differs.iter().find(|row| row.id == id) {
            None if ours != theirs => wrong.push(format!("{id}\n  ours   {ours}\n  theirs {theirs}")),
            None => {}
            Some(row) if row.ours != ours || ours == theirs => {
                wrong.push(format!("{id} ({})\n  ours   {ours}\n  listed {}\n  theirs {theirs}", row.fault, row.ours));
            }
            Some(_) => met.push(id.to_owned()),
        }
    }
    assert!(wrong.is_empty(), "{} of {seen} rows\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen >= rows_min, "only {seen} rows of {file}");
    assert_eq!(met.len(), differs.len(), "every listed row was met");
}

#[expect(clippy::disallowed_methods, reason = "a test reads its cases from disk")]
fn rows(file: &str) -> Option<Vec<Value>> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let path = above.map(|folder| folder.join("shared/cases/enforcement").join(file)).find(|path| path.is_file())?;
    let text = std::fs::read_to_string(path).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// The kernel's value of a JSON value of the cases.
fn json(value: &Value) -> values::json::Json {
    values::json::Json::parse(value.to_string().as_bytes()).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

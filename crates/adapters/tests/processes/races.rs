//! The races of the reference, each shown impossible with processes and threads on one file, and each seen red with
//! its fault brought back in the workers.

pub mod context;
pub mod decisions;
pub mod file;
pub mod leases;
pub mod people;
pub mod registry;

use values::bugs::Bug;

/// Processes in every race; each has threads besides.
const PROCESSES: usize = 2;

/// Asserts that the check holds, and that it fails with the fault brought back in the workers.
#[track_caller]
fn caught(bug: Bug, check: fn(Option<Bug>) -> Result<(), String>) {
    if let Err(problem) = check(None) {
        panic!("{}: {problem}", bug.name());
    }
    if !cfg!(feature = "bugs") {
        return;
    }
    match check(Some(bug)) {
        Ok(()) => panic!("the fault `{}` came back and nobody noticed", bug.name()),
        Err(problem) => eprintln!("with `{}` brought back: {problem}", bug.name()),
    }
}

fn demand(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

const CONTRACT: &str = r#"
agent: refunds
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: number }
    allow: amount <= 50
    ask: amount <= 100
    run: POST http://127.0.0.1:9911/refunds
approvers: [leads]
escalation: { budget: { max: 3, per: 1h } }
"#;

fn refund(order: &str, amount: u32, more: &str) -> String {
    format!(r#"{{"agent":"refunds","action":"refund","params":{{"order":"{order}","amount":{amount}}}{more}}}"#)
}

//! Scenarios: prose, contract, inputs and expected verdicts in one file, run in this process and through the binary,
//! without a store, with one, and through the HTTP service.
//!
//! All must give the same bytes but for minted ids, and the comparison with the reference must be true.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop loudly"
)]

mod file;
mod postgres;
mod served;
#[path = "../../../adapters/tests/postgres/server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod server;
mod signed;
mod stored;

use adapters::advisor::PluginAdvisor;
use adapters::store_sqlite::SqliteStore;
use file::{Scenario, Step, all, folder};
use runtime::memory::{ManualClock, MemoryStore};
use served::through_the_service;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use stored::{through_the_runtime, without_ids};

/// Answers of one step, one line each, judged in this process.
fn in_process(step: &Step) -> Vec<String> {
    let loaded = engines::load::load(&step.contract).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let context = values::json::Json::parse(step.context.as_bytes()).unwrap();
    let context = kernel::context::Context::from_json(&context).unwrap();
    let mut run = kernel::pure::PureRun::new(Arc::new(loaded.compiled), context, None, true);
    let judge = |(index, case): (usize, &file::Case)| {
        let mut advise = |submission| runtime::advised(submission, Some(&PluginAdvisor));
        run.judge_advised(index as u64 + 1, case.proposal.as_bytes(), &mut advise).answer.to_line()
    };
    step.cases.iter().enumerate().map(judge).collect()
}

/// The same through `writkeeper decide`, perhaps into a store.
fn through_the_binary(step: &Step, store: Option<&str>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let contract = folder.path().join("contract.yaml");
    let context = folder.path().join("context.json");
    std::fs::write(&contract, &step.contract).unwrap();
    std::fs::write(&context, &step.context).unwrap();
    // Without a store nothing outlives the process, so there is one for all cases.
    let runs = if store.is_some() { step.runs() } else { vec![step.cases.as_slice()] };
    let mut lines = Vec::new();
    for run in runs {
        let mut process = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
            .args(["decide", "--trust-provenance", "--quiet", "--contract"])
            .arg(&contract)
            .arg("--context")
            .arg(&context)
            .args(store.map(|_| ["--allow-inert", "--open-flows", "--clock-of-lines", "--store"]).into_iter().flatten())
            .args(store)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input: String = run.iter().map(|case| format!("{}\n", case.proposal)).collect();
        process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        lines.extend(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned));
    }
    lines
}

/// The contract of a step on the history that it made: nothing flips.
fn backtested(step: &Step, store: &Path) -> serde_json::Value {
    let contract = store.with_extension("yaml");
    std::fs::write(&contract, &step.contract).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
        .args(["contract", "backtest", "--json"])
        .arg(&contract)
        .arg("--store")
        .arg(store)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let last = said.lines().last().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(last).unwrap()
}

fn said(line: &str) -> String {
    let answer: serde_json::Value = serde_json::from_str(line).unwrap();
    let verdict = answer["verdict"].as_str().unwrap();
    let reasons: Vec<&str> = answer["reasons"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    if verdict == "ACCEPT" { verdict.to_owned() } else { format!("{verdict} {}", reasons.join(", ")) }
}

/// A run has one contract, under which strangers are judged too; a service has many and judges a stranger under none. So of
/// strangers only the verdict and its first reason are compared.
fn of_known_agents(lines: Vec<String>) -> Vec<String> {
    let known = |line: String| {
        let is_stranger = line.contains("\"reasons\":[\"AGENT_UNKNOWN\"");
        if is_stranger { "REJECT AGENT_UNKNOWN".to_owned() } else { line }
    };
    lines.into_iter().map(known).collect()
}

fn check(scenario: &Scenario) {
    for step in &scenario.steps {
        let pure = in_process(step);
        for (case, line) in step.cases.iter().zip(&pure) {
            assert_eq!(said(line), case.expected, "{}: {}\n{line}", scenario.name, case.name);
        }
        assert_eq!(pure, through_the_binary(step, None), "{}: the binary answers other bytes", scenario.name);
        let expected = without_ids(step, &pure);
        let same = |lines: Vec<String>, door: &str| {
            assert_eq!(expected, without_ids(step, &lines), "{}: {door} answers other bytes", scenario.name);
        };
        let memory: OnceLock<MemoryStore> = OnceLock::new();
        let reopened = |clock: Arc<ManualClock>| memory.get_or_init(|| MemoryStore::new(clock)).clone();
        same(through_the_runtime(step, |clock| Box::new(reopened(clock))), "the store in memory");
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("kept.db");
        same(through_the_runtime(step, |clock| Box::new(SqliteStore::open(&path, clock).unwrap())), "SQLite");
        let backtested = backtested(step, &path);
        assert_eq!((&backtested["flipped"], &backtested["unknown"]), (&0.into(), &0.into()), "{}", scenario.name);
        same(through_the_binary(step, Some("kept.db")), "the binary with a store");
        let (pure, served) =
            (of_known_agents(expected), of_known_agents(without_ids(step, &through_the_service(step))));
        assert_eq!(pure, served, "{}: the service answers other bytes", scenario.name);
    }
    for row in &scenario.versions {
        let said = if kernel::version::supports(&row.range, &row.version) { "WELCOME" } else { "VERSION_MISMATCH" };
        assert_eq!(said, row.expected, "{}: {} {}", scenario.name, row.range, row.version);
    }
}

#[test]
fn every_scenario_holds_through_every_door() {
    let scenarios = all();
    assert!(scenarios.len() >= 9, "samples 00 to 06, 08 and 12");
    for scenario in &scenarios {
        check(scenario);
    }
}

/// `| sample | case | reference | ours | fault |`: where verdicts differ, a fault says why.
#[test]
fn the_comparison_with_the_reference_is_true() {
    let text = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut ours: BTreeMap<String, String> = BTreeMap::new();
    for scenario in all().iter().filter(|scenario| scenario.is_of_the_reference()) {
        for case in scenario.steps.iter().flat_map(|step| step.cases.iter().chain(&step.changes).chain(&step.signed)) {
            let verdict = case.expected.split(' ').next().unwrap_or_default().to_owned();
            ours.insert(format!("{} {}", scenario.number(), case.name), verdict);
        }
        for row in &scenario.versions {
            ours.insert(format!("{} {} on {}", scenario.number(), row.version, row.range), row.expected.clone());
        }
    }
    let mut compared = 0;
    for line in text.lines().filter(|line| ["| 0", "| 1", "| 3"].iter().any(|start| line.starts_with(start))) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [sample, case, reference, our, fault] = cells.as_slice() else { panic!("five cells: {line}") };
        let key = format!("{sample} {case}");
        let found = ours.remove(&key).unwrap_or_else(|| panic!("no scenario has the case `{key}`"));
        assert_eq!(found, *our, "{key}");
        let differs = reference.split(' ').next() != Some(*our);
        assert_eq!(
            differs,
            fault.starts_with('W') || fault.starts_with('D'),
            "{key}: a change of verdict needs a fault id, and only that: {line}"
        );
        compared += 1;
    }
    assert!(ours.is_empty(), "cases missing in the table: {ours:?}");
    assert!(compared >= 20, "{compared}");
}

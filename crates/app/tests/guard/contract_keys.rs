//! Keys of a contract that only the process beside a host looks at: two contracts that differ in one of them, and what
//! the host is told under each. The walk over the published schema counts on these rows.

use crate::site::{Site, Told};
use crate::witnesses::{handler_named, page, stop, with};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a host is told at the end of a turn under these lines of a contract.
fn told(lines: &str) -> Value {
    let site = Site::guarding(&["claude-code"]);
    if !lines.is_empty() {
        with(&site, lines);
    }
    stop(&site)["decision"].clone()
}

/// The first contract holds the turn up, the second lets it end.
#[track_caller]
fn check(property: &str, holds_up: &str, lets_end: &str) {
    assert_eq!((told(holds_up), told(lets_end)), (json!("block"), Value::Null), "{property}");
}

fn seen(witness: &str) -> String {
    format!("witnesses: {{ seen: {{ {witness} }} }}")
}

#[test]
fn witnesses_act() {
    let missing = seen("command: [test, -f, done.txt], expect: { exit: 0 }");
    check("contract.witnesses", &missing, "");
    check("witness.command", &missing, &seen("command: [test, -f, src/a.py], expect: { exit: 0 }"));
    check("witness.expect", &missing, &seen("command: [test, -f, done.txt], expect: { exit: 1 }"));
    let slow = |timeout: &str| seen(&format!("command: [sleep, \"1\"], expect: {{ exit: 0 }}, timeout: {timeout}"));
    check("witness.timeout", &slow("100ms"), &slow("30s"));
    let http = |well: bool| {
        let address = page(Arc::new(AtomicBool::new(well)));
        seen(&format!("http: \"{address}\", expect: {{ status: 200 }}"))
    };
    check("witness.http", &http(false), &http(true));
}

#[test]
fn a_witness_looks_at_the_repository() {
    let under = |witness: &str| {
        let site = Site::guarding(&["claude-code"]);
        let git = |arguments: &[&str]| {
            let named = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"];
            let output = site.here(Command::new("git").args(named).args(arguments)).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "-q"]);
        git(&["add", "src"]);
        git(&["commit", "-q", "-m", "first"]);
        with(&site, &seen(witness));
        stop(&site)["decision"].clone()
    };
    // The guard's own files are not committed, so the repository is not clean; a program says nothing about that.
    assert_eq!(under("git: true, expect: { clean: false }"), Value::Null, "witness.git");
    assert_eq!(under("command: [\"true\"], expect: { clean: false }"), json!("block"), "witness.git");
}

#[test]
fn handlers_act() {
    let why = |chosen: &str| {
        let site = Site::guarding(&["claude-code"]);
        let answer = |note: &str| format!(r#"{{"rung":"BLOCK","run":false,"note":"{note}"}}"#);
        for name in ["page", "call"] {
            handler_named(&site, name, &answer(&format!("{name} the desk")));
        }
        let program = site.path().join("bin").join(chosen);
        with(&site, &format!("handlers: {{ desk: [{}] }}\nenforcement: {{ handler: desk }}", program.display()));
        match site.shell("rm -rf /") {
            Told::Blocked(why) => why,
            other @ (Told::Runs | Told::Asks(_)) => panic!("it must not run: {other:?}"),
        }
    };
    let (page, call) = (why("page"), why("call"));
    assert!(page.contains("page the desk") && !page.contains("call the desk"), "contract.handlers: {page}");
    assert!(call.contains("call the desk") && !call.contains("page the desk"), "contract.handlers: {call}");
}

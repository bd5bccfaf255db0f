//! Protections that were seen to fail: each test holds without its fault and fails with it.

use crate::call_facts;
use crate::command_line::tests::PROGRAM;
use crate::hooks::tools::Tool;
use crate::hooks::trust::Standing;
use crate::hooks::{Call, Host, host};
use crate::installed::{Installed, compare_now};
use crate::place::Guard;
use crate::trust::TrustFiles;
use crate::wiring::{self, Source};
use adapters::system_clock::SystemClock;
use kernel::agent::Actor;
use kernel::change::Act;
use runtime::memory::MemoryStore;
use runtime::{Options, Runtime};
use shell::Class;
use std::path::Path;
use std::sync::Arc;
use values::bugs::{Bug, with};
use values::ids::TENANT_DEFAULT;
use values::json::Object;

fn named(word: &str) -> Host {
    host(word).unwrap()
}

/// What running a command in a folder would do.
fn class(host: Host, folder: &Path, command: &str) -> Class {
    let call = Call {
        moment: String::new(),
        session: "s".to_owned(),
        cwd: folder.to_string_lossy().into_owned(),
        id: None,
        name: "Bash".to_owned(),
        input: Object::new(),
        tool: Tool::Shell { command: command.to_owned() },
        result: None,
        failed: false,
        prompt: None,
        can_ask: true,
        stop_refused_before: false,
    };
    call_facts::of(&call, None, &PROGRAM, host).class
}

#[test]
fn a_bare_interpreter_is_asked_about_where_a_host_types() {
    let folder = tempfile::tempdir().unwrap();
    let codex = || class(named("codex"), folder.path(), "bash");
    assert_eq!(codex(), Class::Unknown);
    assert_ne!(with(Bug::TypingFree, codex), Class::Unknown);
}

#[test]
fn a_script_that_was_written_is_read_before_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.sh"), "rm -rf /\n").unwrap();
    let runs = || class(named("claude-code"), folder.path(), "bash x.sh");
    assert_eq!(runs(), Class::Catastrophic);
    assert_ne!(with(Bug::FilesUnread, runs), Class::Catastrophic);
}

#[test]
fn hooks_that_nobody_trusted_are_not_called_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let codex = named("codex");
    let settings = wiring::file(codex, folder.path());
    let trusted = || TrustFiles::of(codex, folder.path(), false, &settings).standing() == Standing::Given;
    assert!(!trusted());
    assert!(with(Bug::TrustAssumed, trusted));
}

#[test]
fn hooks_that_are_gone_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let claude = named("claude-code");
    let guard = Guard::at(&folder.path().join(".writkeeper"));
    let source =
        Source { binary: "/bin/keeper".into(), guard: guard.folder.clone(), observe: false, program: &PROGRAM };
    let text = wiring::wired(claude, "", Some(&source)).unwrap();
    let file = wiring::file(claude, folder.path());
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, &text).unwrap();
    let store = Box::new(MemoryStore::new(Arc::new(SystemClock)).tenant_named(TENANT_DEFAULT));
    let runtime = Runtime::start(store, Options::default()).unwrap();
    let entries = wiring::digest(claude, &text).unwrap();
    let installed = Installed { host: claude, file: file.clone(), entries, observe: false };
    let operator = Actor::Operator("ann".to_owned());
    let kept = runtime.change(operator, Act::Merge(vec![installed.write()])).wait();
    assert!(kept.at.is_some());
    let differences = || compare_now(&guard, &runtime).unwrap().0.differences.len();
    assert_eq!(differences(), 0);
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(differences(), 1);
    assert_eq!(with(Bug::TamperingUnnoticed, differences), 0);
}

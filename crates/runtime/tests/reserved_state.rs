//! Names of state that say who may come in: what may stand there, and who may touch it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::outcome::Verdict;
use runtime::memory::{ManualClock, MemoryStore};
use runtime::{Answered, Options, Runtime};
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

const KEY: &str = r#"{"role":"operator","name":"ann","groups":[],"created_by":"operator:root",
    "hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;

const CONTRACT: &str = "{agent: bot, actions: {look: {reads: true}}}";

fn runtime(tenant: &str) -> Runtime {
    let store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT))).tenant_named(tenant);
    let runtime = Runtime::start(Box::new(store), Options::default()).unwrap();
    let contract = Arc::new(engines::load::load(CONTRACT).unwrap().compiled);
    said(&runtime.register(operator(), contract.clone(), None, None).wait(), "ACCEPT");
    said(&runtime.activate(operator(), contract).wait(), "ACCEPT");
    runtime
}

fn operator() -> Actor {
    Actor::Operator("root".to_owned())
}

fn bot() -> Actor {
    Actor::Agent("bot".to_owned())
}

fn said(answered: &Answered, expected: &str) {
    let codes = answered.answer.reasons().join(" ");
    let said = match answered.answer.verdict {
        Verdict::Accept => "ACCEPT".to_owned(),
        Verdict::Reject => format!("REJECT {codes}"),
        Verdict::Escalate => format!("ESCALATE {codes}"),
    };
    assert_eq!(said, expected, "{}", answered.answer.to_line());
}

fn check(runtime: &Runtime, actor: Actor, key: &str, value: &str, expected: &str) {
    let value = Json::parse(value.as_bytes()).unwrap();
    let write = Write { key: key.to_owned(), value, expect: None };
    said(&runtime.change(actor, Act::Merge(vec![write])).wait(), expected);
}

#[test]
fn only_what_is_a_key_or_a_tenant_stands_there() {
    let runtime = runtime("default");
    check(&runtime, operator(), "keys/0af3", KEY, "ACCEPT");
    check(&runtime, Actor::Kernel, "keys/0af4", KEY, "ACCEPT");
    check(&runtime, operator(), "keys/0af3", r#"{"role":"operator"}"#, "REJECT PARAM_INVALID");
    check(&runtime, operator(), "keys/0af3", "null", "REJECT PARAM_INVALID");
    check(&runtime, operator(), "keys/", KEY, "REJECT PARAM_INVALID");
    check(&runtime, operator(), "keys/a/b", KEY, "REJECT PARAM_INVALID");
    check(&runtime, operator(), "tenants/acme", r#"{"state":"OPEN"}"#, "ACCEPT");
    check(&runtime, operator(), "tenants/acme", r#"{"state":"open"}"#, "REJECT PARAM_INVALID");
    check(&runtime, operator(), "tenants/Acme", r#"{"state":"OPEN"}"#, "REJECT PARAM_INVALID");
    check(&runtime, operator(), "keystone", "1", "ACCEPT");
}

#[test]
fn tenants_are_kept_by_the_first_tenant_alone() {
    check(&runtime("acme"), operator(), "tenants/other", r#"{"state":"OPEN"}"#, "REJECT PARAM_INVALID");
}

#[test]
fn no_agent_writes_or_freezes_it() {
    let runtime = runtime("default");
    check(&runtime, operator(), "keys/0af3", KEY, "ACCEPT");
    said(&runtime.change(operator(), open()).wait(), "ACCEPT");
    for (key, value) in [("keys/0af3", KEY), ("people/bot", r#"["leads"]"#), ("tenants/acme", r#"{"state":"OPEN"}"#)] {
        check(&runtime, bot(), key, value, "REJECT NOT_AUTHORIZED");
        check(&runtime, Actor::Monitor("m".to_owned()), key, value, "REJECT NOT_AUTHORIZED");
        said(&runtime.change(bot(), freeze(key)).wait(), "REJECT NOT_AUTHORIZED");
        said(&runtime.change(operator(), freeze(key)).wait(), "ACCEPT");
    }
    said(&runtime.change(bot(), freeze("risk")).wait(), "ACCEPT");
}

fn open() -> Act {
    Act::OpenFlow { flow: "f".to_owned(), agent: "bot".to_owned(), parent: None }
}

fn freeze(key: &str) -> Act {
    Act::Freeze { flow: Some("f".to_owned()), keys: vec![key.to_owned()] }
}

//! The demo through HTTP: the same scenes with the same verdicts, everybody with a key of their own.

use crate::server::Server;
use serde_json::Value;
use std::process::{Command, Output};

fn demo(words: &[&str], key: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
    command.arg("demo").args(words).env_remove("WRITKEEPER_KEY");
    command.envs(key.map(|key| ("WRITKEEPER_KEY", key))).output().unwrap()
}

/// What it says of each scene, without how long the ledger is: keys of a service are entries too.
fn scenes(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout.clone()).unwrap();
    let scene = |line: &str| {
        let mut scene: Value = serde_json::from_str(line).unwrap();
        scene.as_object_mut().unwrap().remove("entries");
        scene.as_object_mut().unwrap().remove("damage");
        scene
    };
    lines.lines().map(scene).collect()
}

#[test]
fn the_demo_says_the_same_through_http() {
    let server = Server::start();
    let address = format!("http://{}", server.address);
    let there = demo(&["--json", "--server", &address], Some(&server.admin));
    let (here, there) = (scenes(&demo(&["--json"], None)), scenes(&there));
    assert!(here.len() == 6 && here == there, "{here:#?}\n{there:#?}");
    let entries = server.get("/v1/ledger/entries?limit=500", &server.admin).text();
    for name in ["operator:ann", "demo/demo"] {
        assert!(entries.contains(name), "nobody came as {name}: {entries}");
    }
    assert!(!entries.contains("\\\"by\\\":\\\"operator"), "an operator proposed for an agent: {entries}");
    let keys = server.get("/v1/keys", &server.admin).json();
    let left = keys["keys"].as_array().unwrap().iter().filter(|key| key["revoked"] != Value::Bool(true));
    assert_eq!(left.count(), 1, "the admin's alone: {keys}");
    let again = demo(&["--server", &address], Some(&server.admin));
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(64) && said.contains("knows agents already"), "{said}");
}

#[test]
fn the_demo_needs_an_admin_and_an_address() {
    let server = Server::start();
    let operator = server.key("operator", "olga", &[]);
    let check = |place: &str, expected: &str| {
        let output = demo(&["--server", place], Some(&operator));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(64) && said.contains(expected), "{said}");
    };
    check(&format!("http://{}", server.address), "needs the key of an admin");
    check("writkeeper.db", "is no address of a server");
    assert!(server.get("/v1/agents", &server.admin).json()["agents"].as_array().unwrap().is_empty());
}

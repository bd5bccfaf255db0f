//! Whoever lifts a restriction says why, through every door.

use crate::server::{CONTRACT, Server};
use serde_json::json;
use std::process::Command;

#[test]
fn nothing_is_lifted_without_a_reason() {
    let server = Server::start();
    server.register(CONTRACT);
    let body = |because: &str| json!({ "status": "SUSPENDED", "because": because });
    let suspended = server.post("/v1/agents/refund-bot/restrict", &server.admin, &body("odd"));
    assert_eq!(suspended.status, 200, "{}", suspended.text());
    for because in ["", " \t"] {
        let refused = server.post("/v1/agents/refund-bot/lift", &server.admin, &body(because));
        assert_eq!((refused.status, refused.member("code")), (422, "BECAUSE_MISSING".to_owned()), "{}", refused.text());
        let command = json!({ "agent": "refund-bot", "status": "SUSPENDED", "because": because });
        let refused = server.post("/v1/changes", &server.admin, &json!({ "act": "lift", "command": command }));
        assert_eq!((refused.status, refused.member("code")), (422, "BECAUSE_MISSING".to_owned()), "{}", refused.text());
    }
    let typed = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_writkeeper"));
        command.args(["agents", "lift", "refund-bot", "suspended"]).args(more);
        let place = format!("http://{}", server.address);
        let output = command.args(["--server", &place]).env("WRITKEEPER_KEY", &server.admin).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = typed(&[]);
    assert!(code == Some(64) && said.contains("--because"), "{said}");
    assert_eq!(typed(&["--because", ""]).0, Some(64));
    let (code, said) = typed(&["--because", "looked into it"]);
    assert_eq!(code, Some(0), "{said}");
}

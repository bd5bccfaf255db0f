//! Where it listens, asked by curl: TLS, a Unix socket, and no plain text to other machines.

use crate::server::{CONTRACT, Server};
use serde_json::{Value, json};
use std::process::{Command, Output};

/// Whether these programs are there; a test that could run with them says what is missing.
pub fn has(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| Command::new(program).arg("version").output().is_err());
    if let Some(program) = missing {
        println!("missing: {program}");
    }
    missing.is_none()
}

fn curl(words: &[&str]) -> Output {
    Command::new("curl").args(["--silent", "--show-error", "--max-time", "60"]).args(words).output().unwrap()
}

fn json_of(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said} {problem}"))
}

#[test]
fn curl_proposes_over_tls_and_believes_only_the_certificate() {
    if !has(&["curl", "openssl"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-keyout", &key, "-out", &cert])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let server = Server::start_with(&["--tls-cert", &cert, "--tls-key", &key]);
    let bearer = format!("Authorization: Bearer {}", server.admin);
    let whoami = format!("https://{}/v1/whoami", server.address);
    let known = curl(&["--cacert", &cert, "-H", &bearer, &whoami]);
    assert_eq!(json_of(&known)["role"], "admin");
    let old = curl(&["--cacert", &cert, "--tls-max", "1.1", "-H", &bearer, &whoami]);
    assert!(!old.status.success(), "an old version of TLS was taken");
    assert!(!curl(&["-H", &bearer, &whoami]).status.success(), "curl believed a certificate that nobody vouches for");
    let plain = curl(&["-H", &bearer, &format!("http://{}/v1/whoami", server.address)]);
    assert!(!plain.status.success() || plain.stdout.is_empty(), "plain text was answered");
}

#[test]
fn curl_proposes_through_a_unix_socket_which_is_gone_afterwards() {
    if !has(&["curl"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("door").to_string_lossy().into_owned();
    // Left behind by a service that was killed.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let mut server = Server::listening(&format!("unix:{socket}"), &folder.path().join("kept.db"), &[]);
    let bearer = format!("Authorization: Bearer {}", server.admin);
    let ask = |path: &str, body: &Value| {
        let (url, body) = (format!("http://service{path}"), body.to_string());
        json_of(&curl(&["--unix-socket", &socket, "-H", &bearer, "-d", &body, &url]))
    };
    ask("/v1/agents", &json!({ "contract": CONTRACT }));
    let params = json!({ "order_id": "A-1", "amount": 12 });
    let said = ask("/v1/proposals", &json!({ "agent": "refund-bot", "action": "issue_refund", "params": params }));
    assert_eq!(said["verdict"], "ACCEPT", "{said}");
    server.end();
    assert!(!std::path::Path::new(&socket).exists(), "the socket was left behind");
}

#[test]
fn a_file_that_is_no_socket_is_not_taken_for_one_that_was_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.db");
    std::fs::write(&file, "decisions").unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
        .args(["serve", "--listen", &format!("unix:{}", file.display()), "--store"])
        .arg(folder.path().join("other.db"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(65), "{said}");
    assert!(said.contains("cannot listen on") && said.contains("kept.db"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), b"decisions");
}

#[test]
fn other_machines_are_not_served_in_plain_text_or_by_a_clock_of_lines() {
    let check = |words: &[&str], problem: &str| {
        let folder = tempfile::tempdir().unwrap();
        let ended = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
            .args(["serve", "--store", "kept.db"])
            .args(words)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(64), "{words:?}: {said}");
        assert!(said.contains(problem), "{words:?}: {said}");
    };
    check(&["--listen", "0.0.0.0:0"], "keys would travel in the clear");
    check(&["--listen", "0.0.0.0:0", "--clock-of-lines"], "for tests on this machine");
    check(&["--listen", "nowhere"], "ADDRESS:PORT or unix:PATH");
}

//! Keys of a service at the command line, through the service itself.

use crate::server::Server;
use std::process::Command;

#[test]
fn an_admin_makes_lists_and_revokes_keys_through_the_service() {
    let server = Server::start();
    let run = |key: &str, words: &[&str]| {
        let address = format!("http://{}", server.address);
        let output = Command::new(env!("CARGO_BIN_EXE_writkeeper"))
            .arg("keys")
            .args(words)
            .args(["--server", &address])
            .env("WRITKEEPER_KEY", key)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.code().unwrap(), said)
    };
    let (code, made) = run(&server.admin, &["new", "--role", "auditor", "--name", "eve"]);
    let key = made.trim().strip_prefix("auditor key: ").unwrap_or_else(|| panic!("{code}: {made}")).to_owned();
    assert_eq!(server.get("/v1/whoami", &key).status, 200);
    let id = key.split('.').nth(1).unwrap();
    let (code, listed) = run(&server.admin, &["list"]);
    assert!(code == 0 && listed.contains(id) && listed.contains("eve"), "{listed}");
    assert!(!listed.contains(key.rsplit('.').next().unwrap()), "{listed}");
    let (code, hidden) = run(&key, &["list"]);
    assert!(code != 0 && hidden.contains("NOT_AUTHORIZED") && !hidden.contains("no keys"), "{hidden}");
    let (code, refused) = run(&key, &["revoke", id]);
    assert!(code != 0 && server.get("/v1/whoami", &key).status == 200, "an auditor revoked it: {refused}");
    let (code, revoked) = run(&server.admin, &["revoke", id]);
    assert!(code == 0 && revoked.contains("counts no more"), "{revoked}");
    assert_eq!(server.get("/v1/whoami", &key).status, 401);
}

//! Keys for servers: kept for their owner alone, found by every verb, forgotten again.

use super::{Desk, ended, key};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_key_is_kept_for_its_owner_found_and_forgotten() {
    let desk = Desk::with_door();
    let run = |words: &str, input: &str| ended(&mut desk.command(&words.replace("{at}", &desk.place)), input);
    let check = |words: &str, input: &str, code: i32, said: &str| {
        let (ended, stdout, stderr) = run(words, input);
        assert_eq!(ended, code, "{words}: {stdout}{stderr}");
        assert!(format!("{stdout}{stderr}").contains(said), "{words}: {stdout}{stderr}");
    };
    check("agents list {at}", "", 64, "writkeeper login --server http://127.0.0.1:");
    check("login {at}", "", 65, "holds no key");
    check("login {at}", "wk_default.9.wrong\n", 65, "does not accept this key");
    check("agents list {at}", "", 64, "there is no key for");
    check("login {at}", &format!("{}\n", key("operator")), 0, "as root: operator of tenant default");
    check("agents list {at}", "", 0, "no agents yet");
    let file = desk.path().join(".config/writkeeper/logins");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = file.parent().unwrap();
    assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    check("agents list {at}", "", 65, "can be read by others");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    check("logout {at}", "", 0, "logged out");
    check("logout {at}", "", 0, "there was no key");
    assert!(desk.served.as_ref().is_some_and(|served| served.connections() > 0), "nobody asked the server");
    check("agents list {at}", "", 64, "there is no key for");
}

#[test]
fn a_store_and_a_server_are_two_places() {
    let desk = Desk::with_door();
    let url = desk.place.trim_start_matches("--server ").to_owned();
    let check = |words: &str, variables: &[(&str, &str)], code: i32, said: &str| {
        let mut command = desk.command(&words.replace("{url}", &url));
        command.env("WRITKEEPER_KEY", key("operator")).envs(variables.iter().copied());
        let (ended, stdout, stderr) = ended(&mut command, "");
        assert_eq!(ended, code, "{words} {variables:?}: {stdout}{stderr}");
        assert!(format!("{stdout}{stderr}").contains(said), "{words} {variables:?}: {stdout}{stderr}");
    };
    let server = ("WRITKEEPER_SERVER", url.as_str());
    desk.served.as_ref().unwrap().at_socket(&desk.path().join("keeper.sock"));
    check("agents list --server unix:keeper.sock", &[], 0, "no agents yet");
    check("agents list --server {url}", &[], 0, "no agents yet");
    check("agents list", &[server], 0, "no agents yet");
    check("agents list --server {url} --store kept.db", &[], 64, "two places");
    check("agents list", &[server, ("WRITKEEPER_STORE", "kept.db")], 64, "both set");
    check("agents list --store missing.db", &[server], 65, "no store at `missing.db`");
    check("agents list --server {url}", &[("WRITKEEPER_STORE", "kept.db")], 0, "no agents yet");
    check("decide --server {url} --store kept.db", &[], 64, "two places");
    check("decide --server {url}", &[("WRITKEEPER_STORE", "kept.db")], 65, "nothing to decide");
    check("agents list --server kept.db", &[], 64, "no address of a server");
    check("agents list --server http://keeper.example", &[], 65, "use https://");
    check("agents list", &[server, ("WRITKEEPER_KEY", "wrong")], 65, "does not accept this key");
    let agent = ("WRITKEEPER_KEY", key("agent"));
    check("halt --because x --server {url}", &[agent], 65, "agents see only their own");
    check("agents list --server {url}", &[agent], 65, "agents see only their own");
    check("decide --server {url} --token wk_default.3.bot", &[("WRITKEEPER_KEY", "wrong")], 65, "nothing to decide");
    check("decide --server {url} --token wrong", &[], 65, "does not accept this key");
    check("ledger keys new --server {url}", &[], 64, "where the store is");
    check("ledger discontinue --because x --server {url}", &[], 64, "where the store is");
    check("decide --server {url} --at 2026-01-01T00:00:00Z", &[], 64, "by its own clock");
    check("agents list --server {url}", &[], 0, "--contract FILE --server http://127.0.0.1:");
}

#[test]
fn a_server_that_is_not_there_is_unavailable() {
    let desk = Desk::with_store();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = desk.command(&format!("report --server http://{gone}"));
    let (code, _, stderr) = ended(command.env("WRITKEEPER_KEY", "k"), "");
    assert_eq!(code, 75, "{stderr}");
    assert!(stderr.contains("cannot reach the server") && stderr.contains("nobody listens there"), "{stderr}");
}

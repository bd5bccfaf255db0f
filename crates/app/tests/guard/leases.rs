//! Regions that another session holds are not written to.

use crate::site::{Site, Told};
use serde_json::{Value, json};

fn write(site: &Site, name: &str) -> Told {
    site.judge("Write", &json!({ "file_path": site.workspace().join(name), "content": "x" }))
}

#[track_caller]
fn refused(told: &Told, holder: &str) {
    match told {
        Told::Blocked(why) => assert!(why.contains("REGION_LEASED") && why.contains(holder), "{why}"),
        Told::Runs | Told::Asks(_) => panic!("{told:?}"),
    }
}

fn lease(site: &Site, words: &[&str]) -> Value {
    let said = site.says(&[&["leases"], words, &["--json", "--store", ".writkeeper/guard.db"]].concat(), 0);
    serde_json::from_str(said.lines().next().unwrap()).unwrap()
}

#[test]
fn what_another_session_holds_is_left_alone() {
    let site = Site::guarding(&["claude-code"]);
    assert_eq!(write(&site, "src/a.py"), Told::Runs);
    let held = lease(&site, &["acquire", "src", "--holder", "codex:s9"]);
    let number = held["fence"].as_str().unwrap().to_owned();
    refused(&write(&site, "src/a.py"), "codex:s9");
    refused(&site.shell("echo x > src/new/b.py"), "codex:s9");
    refused(&site.shell("rm -rf src"), "codex:s9");
    // Reading is free, and so is what lies beside it.
    assert_eq!(site.shell("cat src/a.py"), Told::Runs);
    assert_eq!(write(&site, "src2/a.py"), Told::Runs);
    // A session is not in its own way, and the region is handed over under a new number.
    let adopted = lease(&site, &["adopt", &number, "--to", "claude-code:s1", "--because", "codex went home"]);
    assert_ne!(adopted["fence"], held["fence"]);
    assert_eq!(write(&site, "src/a.py"), Told::Runs);
    let lost =
        site.says(&["leases", "heartbeat", &number, "--holder", "codex:s9", "--store", ".writkeeper/guard.db"], 1);
    assert!(lost.contains("LEASE_LOST"), "{lost}");
    let number = adopted["fence"].as_str().unwrap().to_owned();
    lease(&site, &["evict", &number, "--because", "over"]);
    assert_eq!(write(&site, "src/a.py"), Told::Runs);
    let verified = site.says(&["leases", "--store", ".writkeeper/guard.db"], 0);
    assert!(verified.contains("nothing is held"), "{verified}");
}

#[test]
fn leases_are_given_renewed_and_given_back_by_number() {
    let site = Site::guarding(&["claude-code"]);
    let first = lease(&site, &["acquire", "src", "thing:database:orders", "--holder", "codex", "--ttl", "1h"]);
    let again = lease(&site, &["acquire", "thing:database:orders", "src", "--holder", "codex", "--ttl", "2h"]);
    assert_eq!((&first["fence"], &again["renewed"]), (&again["fence"], &json!(true)), "{again}");
    let number = first["fence"].as_str().unwrap().to_owned();
    let store = ["--store", ".writkeeper/guard.db"];
    let asked = ["leases", "acquire", "thing:DATABASE:orders", "--holder", "qwen", "--shared"];
    let held = site.says(&[&asked[..], &store].concat(), 1);
    assert!(held.contains("REGION_LEASED") && held.contains("leases evict"), "{held}");
    let listed = site.says(&[&["leases"][..], &store].concat(), 0);
    assert!(listed.contains("thing:database:orders") && listed.contains("exclusive codex"), "{listed}");
    let other = ["leases", "release", &number, "--holder", "qwen"];
    assert!(site.says(&[&other[..], &store].concat(), 1).contains("somebody else's"));
    lease(&site, &["release", &number, "--holder", "codex"]);
    lease(&site, &["acquire", "thing:database:orders", "--holder", "qwen", "--shared"]);
    // Nobody writes the book by hand.
    let forged = ["context", "set", "leases/book", "{}"];
    assert!(site.says(&[&forged[..], &store].concat(), 1).contains("NOT_AUTHORIZED"));
}

//! Regions that another session holds are not written to.

use crate::site::{Site, Told};
use serde_json::{Value, json};

/// Commands that change `src/a.py`, which somebody else holds.
const MEETING: &[&str] = &[
    "echo x > src/a.py",
    "rm src/*",
    "rm src/*.py",
    "rm s*/a.py",
    "sed -i s/a/b/ src/[a-c].py",
    "git checkout main",
    "git switch main",
    "git reset --hard",
    "git stash",
    "git clean -fdx",
    "git restore .",
    "git merge main",
    "git rebase main",
    "git pull",
    "git cherry-pick HEAD~1",
    "git revert HEAD",
    "git apply p.patch",
    "git am p.patch",
    "cd docs && git switch main",
    "git checkout -- src/a.py",
    "git checkout src",
    "git rm src/a.py",
    "echo x > twin.py",
    "ln src/a.py t2 && echo x > t2",
    "ln -s src/a.py t3 && echo x > t3",
    "ln -s src s && rm s/a.py",
    "mv src s2",
    "black src",
    "black .",
    "prettier --write .",
    "eslint --fix .",
    "ruff format",
    "mytool src/a.py",
    "./tool.sh src/a.py",
    "find src -name '*.py' -delete",
    "find . -name '*.py' -exec sed -i s/a/b/ {} +",
    "cargo fmt",
    "rm -rf .",
    "cp -r /tmp/x/. .",
    "patch -p1 < x.patch",
    "cd src && sed -i s/a/b/ *.py",
];

/// Commands that leave it alone.
const BESIDE: &[&str] = &[
    "rm -f src/*.log",
    "git status",
    "git checkout -b x",
    "git switch -c y",
    "git commit -m x",
    "git add -A",
    "git stash list",
    "git restore --staged src/a.py",
    "git reset --soft HEAD~1",
    "git fetch",
    "git clean -n",
    "git checkout -- docs/a.md",
    "git restore docs/a.md",
    "echo x > docs/a.md",
    "black docs",
    "rm docs/*",
    "make test",
    "npm test",
    "cargo test",
    "T=$(mktemp) && echo x > $T",
    "cat src/a.py",
];

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

#[test]
fn what_is_held_is_met_by_patterns_trees_and_second_names() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let ws = site.workspace();
    std::fs::create_dir_all(ws.join("docs")).unwrap();
    std::fs::write(ws.join("docs/a.md"), "x").unwrap();
    std::fs::hard_link(ws.join("src/a.py"), ws.join("twin.py")).unwrap();
    lease(&site, &["acquire", "src/a.py", "--holder", "codex:s9"]);
    let held = |command: &str| match site.shell(command) {
        Told::Blocked(why) => why.contains("REGION_LEASED") || why.contains("CATASTROPHIC"),
        Told::Runs | Told::Asks(_) => false,
    };
    let through: Vec<&&str> = MEETING.iter().filter(|command| !held(command)).collect();
    println!("{} ways to what is held: {} through", MEETING.len(), through.len());
    assert!(through.is_empty(), "{through:#?}");
    let told = BESIDE.iter().map(|command| (command, site.shell(command)));
    let stopped: Vec<_> =
        told.filter(|(_, told)| matches!(told, Told::Blocked(_) | Told::Asks(_)) && !is_about_loss(told)).collect();
    println!("{} commands beside it: {} stopped", BESIDE.len(), stopped.len());
    assert!(stopped.is_empty(), "{stopped:#?}");
    refused(&write(&site, "twin.py"), "codex:s9");
}

/// Asked about for what it loses, not for where it lies.
fn is_about_loss(told: &Told) -> bool {
    matches!(told, Told::Asks(why) if why.contains("DESTRUCTIVE") && !why.contains("REGION_LEASED"))
}

#[test]
fn what_makes_no_lease_is_told_in_plain_words() {
    let site = Site::guarding(&["claude-code"]);
    let refused = |words: &[&str], part: &str| {
        let all = [&["leases", "acquire"], words, &["--holder", "codex", "--store", ".writkeeper/guard.db"]].concat();
        let said = site.says(&all, 64);
        assert!(said.contains(part), "{words:?}: {said}");
    };
    refused(&[""], "for the whole folder write `.`");
    refused(&["  "], "for the whole folder write `.`");
    refused(&["src", "--ttl", "100d"], "a lease lasts 1s to 24h");
    refused(&["src", "--ttl", "1ms"], "a lease lasts 1s to 24h");
    refused(&["src", "--ttl", "soon"], "is no duration");
    std::fs::create_dir_all(site.workspace().join("Docs/API")).unwrap();
    lease(&site, &["acquire", "Docs/API", "--holder", "codex"]);
    let listed = site.says(&["leases", "--store", ".writkeeper/guard.db"], 0);
    assert!(listed.contains("/Docs/API"), "{listed}");
}

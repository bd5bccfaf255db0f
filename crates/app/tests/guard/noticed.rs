//! Tampering is noticed by the next call: it is on record, it is told, and nothing that changes anything runs until it is
//! settled.

use crate::site::{HOSTS, Site, Told, told};
use ::guard::hooks::Event;
use serde_json::{Value, json};

fn moment(host: &str, event: Event) -> &'static str {
    let moments = ::guard::hooks::host(host).unwrap().moments;
    moments.iter().find(|(_, wired)| *wired == event).unwrap().0
}

fn report(site: &Site) -> Value {
    serde_json::from_str(site.says(&["report", "--json"], 0).lines().next().unwrap()).unwrap()
}

#[test]
fn hooks_that_vanish_are_missed_by_the_session_that_still_runs_them() {
    for host in HOSTS {
        let site = Site::guarding(&[host]);
        let line = site.wired(host, moment(host, Event::PreTool));
        let say = |command: &str| told(host, &site.calls_with(&line, &site.payload(host, "pre-tool", command)));
        assert_eq!(say("echo x > src/b.py"), Told::Runs, "{host}");
        let file = site.configuration(host);
        std::fs::write(&file, if host == "codex" { "" } else { "{}" }).unwrap();
        let Told::Blocked(why) = say("echo x > src/b.py") else { panic!("{host}: it ran") };
        assert!(why.contains("GUARD_TAMPERING") && why.contains("are gone from"), "{host}: {why}");
        assert!(why.contains(&format!("writkeeper init --host {host}")), "{host}: {why}");
        assert_eq!(say("ls"), Told::Runs, "{host}: reading stays free");
        let found = report(&site);
        assert_eq!(found["tampering"][0]["host"], json!(host), "{found}");
        assert_eq!(found["not_as_installed"].as_array().unwrap().len(), 1, "{found}");
        assert!(site.says(&["report"], 0).contains("not as installed: the hooks of"), "{host}");
        site.init(&[host], &[]);
        assert_eq!(say("echo x > src/b.py"), Told::Runs, "{host}: it is settled");
        assert_eq!(report(&site)["not_as_installed"], json!([]), "{host}");
        assert_eq!(report(&site)["tampering"][0]["host"], json!(host), "{host}: it stays on record");
    }
}

#[test]
fn what_hosts_write_themselves_is_no_tampering() {
    for host in HOSTS {
        let site = Site::guarding(&[host]);
        let file = site.configuration(host);
        let text = std::fs::read_to_string(&file).unwrap();
        let more = match host {
            "codex" => format!("model = \"m\"\n{text}"),
            _ => text.replacen('{', "{ \"theme\": \"dark\",", 1),
        };
        std::fs::write(&file, more).unwrap();
        let payload = site.payload(host, "pre-tool", "echo x > src/b.py");
        assert_eq!(told(host, &site.call(host, moment(host, Event::PreTool), &payload)), Told::Runs, "{host}");
        assert_eq!(report(&site)["tampering"], json!([]), "{host}");
    }
}

#[test]
fn every_difference_counts_and_is_recorded_once() {
    let site = Site::guarding(&["claude-code", "gemini"]);
    let line = site.wired("claude-code", "PreToolUse");
    let say =
        |command: &str| told("claude-code", &site.calls_with(&line, &site.payload("claude-code", "pre-tool", command)));
    let rows: [(&str, &str, &str); 4] = [
        (".claude/settings.local.json", "{\"disableAllHooks\": true}", "are switched off in"),
        (".gemini/settings.json", "{}", "the hooks of Gemini CLI are gone"),
        (".writkeeper/guard.db-claude-code.observed", "", "observed` was changed"),
        (".claude/settings.json", "", "were changed"),
    ];
    for (name, new, sentence) in rows {
        let file = site.workspace().join(name);
        let old = std::fs::read_to_string(&file).ok();
        let drifted = old.as_ref().map(|old| old.replace("writkeeper-guard;", "writkeeper-guard; exit 0;"));
        let new = if new.is_empty() { drifted.unwrap_or_default() } else { new.to_owned() };
        std::fs::write(&file, new).unwrap();
        let Told::Blocked(why) = say("echo x > src/b.py") else { panic!("{name}: it ran") };
        assert!(why.contains(sentence), "{name}: {why}");
        let noticed = report(&site)["tampering"][0].clone();
        assert!(noticed["differences"][0].as_str().unwrap().contains(sentence), "{noticed}");
        assert!(matches!(say("echo x > src/b.py"), Told::Blocked(_)), "{name}");
        assert_eq!(report(&site)["tampering"][0], noticed, "{name}: once");
        // Put back as it was, nothing differs.
        match old {
            Some(old) => std::fs::write(&file, old).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        assert_eq!(say("echo x > src/b.py"), Told::Runs, "{name}");
    }
}

#[test]
fn a_person_may_take_hooks_away() {
    let site = Site::guarding(&["claude-code", "codex"]);
    let line = site.wired("claude-code", "PreToolUse");
    site.init(&["codex"], &["--undo"]);
    let payload = site.payload("claude-code", "pre-tool", "echo x > src/b.py");
    assert_eq!(told("claude-code", &site.calls_with(&line, &payload)), Told::Runs);
    site.init(&["claude-code"], &["--undo"]);
    assert_eq!(told("claude-code", &site.calls_with(&line, &payload)), Told::Runs, "the session goes on");
    assert_eq!(report(&site)["tampering"], json!([]));
}

#[test]
fn the_next_session_is_told() {
    let site = Site::guarding(&["claude-code", "codex"]);
    std::fs::remove_file(site.configuration("codex")).unwrap();
    let payload = site.payload("claude-code", "session-start", "");
    let said = crate::site::text(&site.call("claude-code", "SessionStart", &payload).stdout);
    assert!(
        said.contains("the hooks of Codex CLI are gone") && said.contains("writkeeper init --host codex"),
        "{said}"
    );
    // An observing contract stops nothing, and says so.
    site.init(&["claude-code"], &["--observe"]);
    let said = crate::site::text(&site.call("claude-code", "SessionStart", &payload).stdout);
    assert!(said.contains("Nothing is stopped"), "{said}");
    let payload = site.payload("claude-code", "pre-tool", "echo x > src/b.py");
    assert_eq!(told("claude-code", &site.call("claude-code", "PreToolUse", &payload)), Told::Runs);
}

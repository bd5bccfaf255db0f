//! What `init` and `doctor` say about a host is so: written, trusted, seen, enforced.

use crate::site::{HOSTS, Site, Told, text, told};
use ::guard::hooks::Event;
use serde_json::Value;

/// The moment before a tool runs.
fn before_tool(host: &str) -> &'static str {
    let moments = ::guard::hooks::host(host).unwrap().moments;
    moments.iter().find(|(_, event)| *event == Event::PreTool).unwrap().0
}

#[test]
fn a_host_is_enforced_only_when_every_word_is_proved() {
    for host in HOSTS {
        let site = Site::bare();
        let said = site.init(&[host], &[]);
        let needs_trust = matches!(host, "codex" | "gemini" | "copilot");
        assert_eq!(said.contains("not trusted") && said.contains("--trust"), needs_trust, "{host}: {said}");
        let line = site.diagnosis(host);
        assert!(line.contains("not enforced: written, ") && line.contains("not seen, canary refused"), "{line}");
        assert_eq!(line.contains("not trusted"), needs_trust, "{line}");
        site.says(&["doctor"], i32::from(needs_trust));
        // A call arrives although the host is not told to trust anything, as with a flag of that one session.
        let call = || site.call(host, before_tool(host), &site.payload(host, "pre-tool", "ls"));
        call();
        let line = site.diagnosis(host);
        assert_eq!(line.contains("not enforced"), needs_trust, "{line}");
        let said = site.init(&[host], &["--trust"]);
        assert_eq!(said.contains("by your word"), needs_trust, "{host}: {said}");
        let line = site.diagnosis(host);
        assert!(line.contains("  enforced: written, ") && line.contains(", seen "), "{line}");
        // Trust was asked for once.
        assert!(!site.init(&[host], &["--trust"]).contains("by your word"), "{host}");
    }
}

#[test]
fn what_was_seen_counts_until_something_changes() {
    let site = Site::guarding(&["claude-code"]);
    let call = || site.call("claude-code", "PreToolUse", &site.payload("claude-code", "pre-tool", "ls"));
    call();
    // By the program that hosts run: another one at the same place is another one.
    let line = || {
        let said = text(&site.run(&["doctor"], "").stdout);
        said.lines().find(|line| line.starts_with("Claude Code")).unwrap().to_owned()
    };
    assert!(line().contains("  enforced"), "{}", line());
    let copy = site.path().join("copy");
    std::fs::copy(site.binary(), &copy).unwrap();
    std::fs::rename(&copy, site.binary()).unwrap();
    assert!(line().contains("not enforced") && line().contains("not seen"), "{}", line());
    call();
    assert!(line().contains("  enforced"), "{}", line());
    // A call that a person types is none of the host's.
    site.init(&["claude-code"], &["--observe"]);
    let payload = site.payload("claude-code", "pre-tool", "ls");
    site.run(&["hook", "pre-tool", "--host", "claude-code"], &payload);
    assert!(line().contains("not observed") && line().contains("not seen"), "{}", line());
    call();
    assert!(line().contains("  observed"), "{}", line());
}

#[test]
fn switching_the_mode_keeps_what_was_trusted() {
    let site = Site::bare();
    site.init(&HOSTS, &["--observe", "--trust"]);
    let lines = || HOSTS.map(|host| site.wired(host, before_tool(host)));
    let observing = lines();
    let is_trusted =
        || site.diagnoses(HOSTS).iter().all(|line| line.contains("written") && !line.contains("not trusted"));
    assert!(is_trusted(), "{:?}", site.diagnoses(HOSTS));
    site.init(&HOSTS, &[]);
    assert_eq!(lines(), observing);
    assert!(is_trusted(), "{:?}", site.diagnoses(HOSTS));
    for host in HOSTS {
        let say = || told(host, &site.call(host, before_tool(host), &site.payload(host, "pre-tool", "rm -rf /")));
        assert!(matches!(say(), Told::Blocked(_)), "{host}");
        // Where the program itself is gone, the same line still knows.
        let away = site.path().join("away");
        std::fs::rename(site.binary(), &away).unwrap();
        assert!(matches!(say(), Told::Blocked(_)), "{host}");
        std::fs::rename(&away, site.binary()).unwrap();
    }
    site.init(&HOSTS, &["--observe"]);
    std::fs::remove_file(site.binary()).unwrap();
    for host in HOSTS {
        let said = told(host, &site.call(host, before_tool(host), &site.payload(host, "pre-tool", "rm -rf /")));
        assert_eq!(said, Told::Runs, "{host}");
    }
}

#[test]
fn probes_are_decisions_of_nobody() {
    let site = Site::guarding(&HOSTS);
    let before = site.says(&["report", "--json"], 0);
    // An export names each record.
    let records = |name: &str| {
        let file = site.home().join(name);
        site.says(&["ledger", "export", "--out", &file.to_string_lossy()], 0);
        std::fs::read_to_string(file).unwrap().lines().count()
    };
    let kept = records("before");
    site.says(&["doctor"], 0);
    assert_eq!(site.says(&["report", "--json"], 0), before);
    assert_eq!(records("after"), kept);
    assert!(site.says(&["flows"], 0).contains("no flows yet"));
    assert!(!site.guard().join("sessions").exists());
}

#[test]
fn the_doctor_answers_although_hooks_hang() {
    let site = Site::guarding(&HOSTS);
    std::fs::remove_file(site.binary()).unwrap();
    std::fs::write(site.binary(), "#!/bin/sh\nexec sleep 600\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(site.binary(), mode).unwrap();
    // Were hosts looked at one after the other, there would be no time for the last.
    for line in site.diagnoses(HOSTS) {
        assert!(line.contains("not enforced") && line.contains("canary not refused"), "{line}");
    }
}

#[test]
fn a_person_guards_copilot_everywhere() {
    let site = Site::bare();
    let said = site.says(&["init", "--user", "--host", "copilot"], 0);
    assert!(!said.contains("not trusted"), "{said}");
    let text = std::fs::read_to_string(site.home().join(".copilot/hooks/writkeeper.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let line = document["hooks"]["preToolUse"][0]["bash"].as_str().unwrap();
    let output = site.calls_with(line, &site.payload("copilot", "pre-tool", "rm -rf /"));
    assert!(matches!(told("copilot", &output), Told::Blocked(_)));
    assert!(
        site.diagnosis("copilot").contains("  enforced: written, no trust needed"),
        "{}",
        site.diagnosis("copilot")
    );
}

#[test]
fn sessions_are_listed_by_ids_that_are_accepted() {
    let site = Site::guarding(&["claude-code"]);
    let payload = site.payload("claude-code", "pre-tool", "ls");
    let session = serde_json::from_str::<Value>(&payload).unwrap()["session_id"].as_str().unwrap().to_owned();
    for name in ["0b54b9cc-0000-4000-8000-000000000001", "d8f0c9f2-0000-4000-8000-000000000002"] {
        site.run(&["hook", "pre-tool", "--host", "claude-code"], &payload.replace(&session, name));
        let listed = site.says(&["flows"], 0);
        let line = listed.lines().find(|line| line.contains(name)).unwrap();
        let short = line.split_whitespace().next().unwrap();
        let flow: Value = serde_json::from_str(&site.says(&["flows", "show", short, "--json"], 0)).unwrap();
        let (id, called) = (flow["flow"].as_str().unwrap(), format!("claude-code:{name}"));
        // An id of ours, made in the order of time, so that it can serve as a trace id.
        assert_eq!((id.len(), &id[14..15], flow["name"].as_str()), (36, "7", Some(called.as_str())), "{flow}");
        for typed in [id, &called, &called[..20], &format!("={called}")] {
            assert!(site.says(&["flows", "show", typed], 0).contains(id), "{typed}");
        }
    }
}

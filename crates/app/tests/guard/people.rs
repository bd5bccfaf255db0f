//! What people do about a guard: allow one command for a while, break the glass, answer in the host's own dialog.

use crate::site::{Site, Told, text, told};
use serde_json::{Value, json};

/// The id that a question names.
fn proposal(told: &Told) -> String {
    let Told::Asks(why) = told else { panic!("{told:?}") };
    why.split("Proposal ").nth(1).unwrap().trim_end_matches('.').to_owned()
}

#[test]
fn one_command_is_allowed_for_a_while() {
    let site = Site::guarding(&["claude-code"]);
    let command = "git reset --hard HEAD~1";
    let id = proposal(&site.shell(command));
    let shown = site.says(&["always", &id], 0);
    assert!(shown.contains("+       || (argv == [\"git reset --hard HEAD~1\"]"), "{shown}");
    assert!(matches!(site.shell(command), Told::Asks(_)), "showing is not doing");
    site.says(&["always", &id, "--for", "1h", "--yes"], 0);
    assert_eq!(site.shell(command), Told::Runs);
    for other in ["git reset --hard HEAD~2", "git reset --hard HEAD~1; rm -rf src", "git reset --hard HEAD~1 > /opt/x"]
    {
        assert!(matches!(site.shell(other), Told::Asks(_)), "{other}");
    }
    assert!(matches!(site.shell("git reset --hard HEAD~1 > .claude/settings.json"), Told::Blocked(_)));
    // The contract's own rows still hold, also where they name the very words.
    site.says(&["always", &proposal(&site.shell("git reset --hard")), "--yes"], 0);
    assert_eq!(site.shell("git reset --hard"), Told::Runs);
    site.says(&["contract", "test", ".writkeeper/claude-code.yaml"], 0);
    let file = site.guard().join("claude-code.yaml");
    let rule = std::fs::read_to_string(&file).unwrap();
    assert!(rule.contains("at < \"20"), "it ends by itself");
    // The same rule, over since long ago.
    let over = rule.lines().map(|line| match line.split_once("at < \"20") {
        Some((before, _)) => format!("{before}at < \"2001-01-01T00:00:00Z\")\n"),
        None => format!("{line}\n"),
    });
    std::fs::write(&file, over.collect::<String>()).unwrap();
    site.init(&["claude-code"], &[]);
    assert!(matches!(site.shell(command), Told::Asks(_)));
    assert_eq!(site.run(&["always", &id, "--for", "9000d"], "").status.code(), Some(64));
}

#[test]
fn broken_glass_is_loud_short_and_has_a_floor() {
    let site = Site::guarding(&["claude-code"]);
    assert!(matches!(site.shell("git clean -fdx"), Told::Asks(_)));
    assert_eq!(site.run(&["break-glass"], "").status.code(), Some(64), "without a reason there is none");
    assert_eq!(site.run(&["break-glass", "--for", "2d", "--because", "x"], "").status.code(), Some(64));
    let said = site.says(&["break-glass", "--for", "10m", "--because", "production is down"], 0);
    assert!(said.contains("GLASS IS BROKEN") && said.contains("ann") && said.contains("production is down"), "{said}");
    assert_eq!(site.shell("git clean -fdx"), Told::Runs);
    // Where no variable says who sits there, the system does.
    let mut nameless = std::process::Command::new(site.binary());
    let nameless = site.here(nameless.args(["break-glass", "--for", "10m", "--because", "x", "--json"]));
    let said = nameless.env_remove("USER").env_remove("LOGNAME").output().unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let owner = std::process::Command::new("id").arg("-un").output().unwrap();
    assert_eq!(said["by"].as_str().unwrap(), text(&owner.stdout).trim());
    for floor in ["rm -rf /", "cat ~/.ssh/id_rsa", "rm .claude/settings.json"] {
        assert!(matches!(site.shell(floor), Told::Blocked(_)), "{floor}");
    }
    let started = site
        .run(&["hook", "session-start", "--host", "claude-code"], &site.payload("claude-code", "session-start", ""));
    assert!(text(&started.stdout).contains("Glass is broken until"), "{}", text(&started.stdout));
    site.says(&["break-glass", "--end", "--because", "it is up again"], 0);
    assert!(matches!(site.shell("git clean -fdx"), Told::Asks(_)));
}

#[test]
fn nobody_is_asked_where_nobody_answers() {
    let site = Site::guarding(&["claude-code"]);
    let payload = site.payload("claude-code", "pre-tool", "git reset --hard");
    let payload = payload.replace("\"default\"", "\"bypassPermissions\"");
    let output = site.run(&["hook", "pre-tool", "--host", "claude-code"], &payload);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], json!("deny"), "{answer}");
}

/// Asked about or refused, and answered elsewhere: the same call runs then, once, and no other one. A host that could ask has
/// nobody before it when it runs without a terminal.
#[test]
fn what_a_person_approved_elsewhere_runs_once() {
    for host in crate::site::HOSTS {
        let site = Site::guarding_real_work(&[host]);
        let moments = ::guard::hooks::host(host).unwrap().moments;
        let (moment, _) = moments.iter().find(|(_, event)| *event == ::guard::hooks::Event::PreTool).unwrap();
        let call = |command: &str| told(host, &site.call(host, moment, &site.payload(host, "pre-tool", command)));
        let is_held = |command: &str| call(command) != Told::Runs;
        assert!(is_held("git reset --hard"), "{host}");
        let question = answerable(&site);
        assert!(is_held("git reset --hard"), "{host}: nobody has answered");
        site.says(&["escalations", "answer", &question, "override", "--as", "ann", "--because", "I looked"], 0);
        assert!(is_held("git reset --hard HEAD~1"), "{host}: another call was not approved");
        assert_eq!(call("git reset --hard"), Told::Runs, "{host}");
        assert!(is_held("git reset --hard"), "{host}: once is once");
    }
}

/// The latest question, and Ann may answer it.
fn answerable(site: &Site) -> String {
    std::fs::write(site.workspace().join("people.yaml"), "maintainers: [ann]\n").unwrap();
    site.says(&["people", "set", "people.yaml"], 0);
    let said = site.says(&["escalations", "--json"], 0);
    let open: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let latest = open.iter().max_by_key(|row| row["asked_at"].as_str().map(str::to_owned)).unwrap();
    latest["id"].as_str().unwrap().to_owned()
}

/// A tool that no contract names is asked about once in a session: as soon as a person approved one call of it.
#[test]
fn an_unknown_tool_is_asked_about_once_in_a_session() {
    for (host, tool) in [("claude-code", "mcp__mail__send"), ("copilot", "mail-send"), ("codex", "mcp__mail__send")] {
        let site = Site::guarding(&[host]);
        let call = |session: &str, input: Value| {
            let payload = match host {
                "copilot" => json!({
                    "sessionId": session, "timestamp": 1, "cwd": site.workspace(), "toolName": tool, "toolArgs": input,
                }),
                _ => json!({
                    "session_id": session, "transcript_path": "/dev/null", "cwd": site.workspace(),
                    "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool,
                    "tool_input": input, "tool_use_id": "t",
                }),
            };
            told(host, &site.run(&["hook", "pre-tool", "--host", host], &payload.to_string()))
        };
        assert_ne!(call("s1", json!({ "to": "bob" })), Told::Runs, "{host}");
        let question = answerable(&site);
        site.says(&["escalations", "answer", &question, "override", "--as", "ann", "--because", "I looked"], 0);
        assert_eq!(call("s1", json!({ "to": "bob" })), Told::Runs, "{host}");
        assert_eq!(call("s1", json!({ "to": "eve" })), Told::Runs, "{host}: the tool is known now");
        assert_ne!(call("s1", json!({ "command": "make" })), Told::Runs, "{host}: a command is another matter");
        assert!(matches!(call("s1", json!({ "to": ".writkeeper/x" })), Told::Blocked(_)), "{host}: so is the guard");
        assert_ne!(call("s2", json!({ "to": "eve" })), Told::Runs, "{host}: in this session");
    }
}

/// Where nothing is stopped nobody is asked, so that nobody approves by letting it run.
#[test]
fn nobody_answers_while_a_contract_observes() {
    let site = Site::guarding(&["claude-code"]);
    site.init(&["claude-code"], &["--observe"]);
    for event in ["pre-tool", "post-tool"] {
        site.run(&["hook", event, "--host", "claude-code"], &site.payload("claude-code", event, "git reset --hard"));
    }
    let report: Value = serde_json::from_str(site.says(&["report", "--json"], 0).lines().next().unwrap()).unwrap();
    assert_eq!(report["verdicts"]["ESCALATE"], json!(1), "{report}");
    assert_eq!(report["answers"], json!({}), "{report}");
}

#[test]
fn an_answer_in_the_hosts_dialog_closes_the_question() {
    let site = Site::guarding(&["claude-code"]);
    let command = "git reset --hard HEAD~1";
    let call =
        |event: &str| site.run(&["hook", event, "--host", "claude-code"], &site.payload("claude-code", event, command));
    call("pre-tool");
    let open = |site: &Site| {
        let said = site.says(&["report", "--json"], 0);
        serde_json::from_str::<Value>(said.lines().next().unwrap()).unwrap()["open_questions"].clone()
    };
    assert_eq!(open(&site), json!(1));
    let output = call("post-tool");
    assert_eq!(text(&output.stdout).trim(), "{}", "{}", text(&output.stderr));
    assert_eq!(open(&site), json!(0), "the call ran, so a person said yes");
}

/// What Claude Code is told about a command in a session.
fn in_session(site: &Site, session: &str, command: &str) -> Told {
    let payload = site.payload("claude-code", "pre-tool", command);
    let mut payload: Value = serde_json::from_str(&payload).unwrap();
    payload["session_id"] = json!(session);
    told("claude-code", &site.run(&["hook", "pre-tool", "--host", "claude-code"], &payload.to_string()))
}

#[test]
fn hooks_follow_the_contract_of_the_flow_while_a_candidate_is_tried() {
    let site = Site::guarding(&["claude-code"]);
    let (file, candidate) = (site.guard().join("claude-code.yaml"), site.path().join("candidate.yaml"));
    let rules = std::fs::read_to_string(file).unwrap();
    assert!(rules.contains("mode: enforce"), "{rules}");
    // The verdicts are the same; only the hook makes the difference.
    std::fs::write(&candidate, rules.replace("mode: enforce", "mode: observe")).unwrap();
    let (candidate, store) = (candidate.to_string_lossy().into_owned(), site.guard().join("guard.db"));
    let store = store.to_string_lossy().into_owned();
    let canary = |words: &[&str]| site.says(&[&["contract", "canary"], words, &["--store", &store]].concat(), 0);
    let command = "git reset --hard HEAD~1";
    assert!(matches!(in_session(&site, "before", command), Told::Asks(_)));
    canary(&["start", &candidate, "--share", "50%", "--because", "try it"]);
    let mut told_so: std::collections::BTreeMap<bool, u32> = Default::default();
    for number in 0..24 {
        let session = format!("session-{number}");
        let first = in_session(&site, &session, command);
        assert_eq!(first == Told::Runs, in_session(&site, &session, command) == Told::Runs, "{session} changed sides");
        *told_so.entry(first == Told::Runs).or_default() += 1;
    }
    // Some sessions are on either side: that all are on one happens once in eight million runs.
    assert_eq!(told_so.len(), 2, "{told_so:?}");
    let shown: Value = serde_json::from_str(&canary(&["show", "claude-code", "--json"])).unwrap();
    assert!(shown["candidate"]["decisions"].as_u64().unwrap() >= 2 * u64::from(told_so[&true]), "{shown}");
    canary(&["rollback", "claude-code", "--because", "enough"]);
    for number in 0..24 {
        assert_ne!(in_session(&site, &format!("session-{number}"), command), Told::Runs, "{number}");
    }
    canary(&["start", &candidate, "--share", "100%", "--because", "again"]);
    canary(&["promote", "claude-code", "--because", "good"]);
    assert_eq!(in_session(&site, "after", command), Told::Runs);
}

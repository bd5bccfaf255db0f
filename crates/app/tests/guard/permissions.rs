//! Permission settings of Claude Code, imported: the contract decides each call as Claude Code's documentation says.

use crate::site::{Site, Told, text};
use serde_json::{Value, json};

/// A guarded workspace under the contract that was imported from these permissions.
#[track_caller]
fn under(permissions: &Value) -> Site {
    let site = Site::guarding_real_work(&["claude-code"]);
    let settings = site.workspace().join("settings.json");
    std::fs::write(&settings, json!({ "permissions": permissions }).to_string()).unwrap();
    let output = site.run(&["contract", "import", "settings.json", "--from", "claude-code"], "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    std::fs::write(site.guard().join("claude-code.yaml"), text(&output.stdout)).unwrap();
    site.init(&["claude-code"], &[]);
    site
}

/// A call as one text: a command, or a tool and what it is given.
fn decided(site: &Site, call: &str) -> &'static str {
    let here = site.workspace().to_string_lossy().into_owned();
    let placed = |path: &str| if path.starts_with('/') { path.to_owned() } else { format!("{here}/{path}") };
    let told = match call.split_once(' ') {
        Some(("Read", path)) => site.judge("Read", &json!({ "file_path": placed(path) })),
        Some((tool @ ("Edit" | "Write"), path)) => site.judge(tool, &json!({ "file_path": placed(path) })),
        Some(("WebFetch", url)) => site.judge("WebFetch", &json!({ "url": url, "prompt": "x" })),
        Some(("Agent", kind)) => site.judge("Agent", &json!({ "subagent_type": kind, "prompt": "x" })),
        Some(("Bash", command)) => site.judge("Bash", &json!({ "command": command })),
        Some((_, _)) | None => site.judge(call, &json!({})),
    };
    match told {
        Told::Runs => "allow",
        Told::Asks(_) => "ask",
        Told::Blocked(_) => "deny",
    }
}

#[track_caller]
fn check(permissions: &Value, rows: &[(&str, &str)]) {
    let site = under(permissions);
    for (call, expected) in rows {
        assert_eq!(decided(&site, call), *expected, "{call} under {permissions}");
    }
}

#[test]
fn deny_counts_before_ask_and_ask_before_allow() {
    check(
        &json!({
            "allow": ["Bash(npm run:*)", "Bash(git diff *)", "Bash(make)", "Bash(aws s3 ls)", "Bash(git push:*)"],
            "ask": ["Bash(git push:*)"],
            "deny": ["Bash(aws *)", "Bash(curl:*)", "Bash(npm run deploy)"],
        }),
        &[
            ("Bash npm run build", "allow"),
            ("Bash npm run", "allow"),
            ("Bash npm runx", "ask"),
            ("Bash npm run deploy", "deny"),
            ("Bash npm install", "ask"),
            ("Bash make", "allow"),
            ("Bash make clean", "ask"),
            ("Bash git diff HEAD", "allow"),
            ("Bash git push origin x", "ask"),
            ("Bash aws s3 ls", "deny"),
            ("Bash curl example.com", "deny"),
            ("Bash ls -l", "allow"),
            // Each command of a line needs a rule, and one that is denied is enough.
            ("Bash npm run build && make", "allow"),
            ("Bash npm run build && rm -rf src", "ask"),
            ("Bash npm run build; curl example.com", "deny"),
            ("Bash npm run build | tee out.txt", "ask"),
            ("Bash npm run $(curl example.com)", "deny"),
            ("Bash timeout 30 npm run build", "allow"),
            ("Bash timeout 30 npm install", "ask"),
            ("Bash timeout 30 curl example.com", "deny"),
        ],
    );
}

#[test]
fn files_pages_servers_and_agents_follow_their_rules() {
    check(
        &json!({
            "allow": ["Edit(src/**)", "WebFetch(domain:example.com)", "mcp__docs", "mcp__git__status", "WebSearch"],
            "ask": ["Read(./plans/**)"],
            "deny": ["Read(.env)", "Edit(src/gen/**)", "Read(./secrets/**)", "mcp__docs__drop", "Agent(Explore)",
                     "WebFetch(domain:*.evil.example)"],
        }),
        &[
            ("Read src/a.py", "allow"),
            ("Read .env", "deny"),
            ("Read src/deep/.env", "deny"),
            ("Read secrets/a/b", "deny"),
            ("Bash cat secrets/a/b", "deny"),
            ("Read plans/next.md", "ask"),
            ("Read /etc/hosts", "ask"),
            ("Edit src/a.py", "allow"),
            ("Write src/new.py", "allow"),
            ("Edit src/gen/a.py", "deny"),
            ("Edit README.md", "ask"),
            ("WebFetch https://example.com/a", "allow"),
            ("WebFetch https://EXAMPLE.com", "allow"),
            ("WebFetch https://example.com.evil.io/", "ask"),
            ("WebFetch https://example.com@other.io/", "ask"),
            ("WebFetch https://a.evil.example/x", "deny"),
            ("WebSearch", "allow"),
            ("mcp__docs__find", "allow"),
            ("mcp__docs__drop", "deny"),
            ("mcp__git__status", "allow"),
            ("mcp__git__push", "ask"),
            ("Agent Explore", "deny"),
            ("Agent Plan", "allow"),
            ("TodoWrite", "allow"),
            ("ExitPlanMode", "ask"),
        ],
    );
}

#[test]
fn a_mode_says_what_becomes_of_the_rest() {
    let rows = |mode: &str, edit: &str, command: &str, page: &str| {
        check(
            &json!({ "defaultMode": mode, "deny": ["Bash(curl:*)"], "ask": ["Bash(git push:*)"] }),
            &[
                ("Read src/a.py", "allow"),
                ("Bash ls", "allow"),
                ("Edit src/a.py", edit),
                ("Bash npm test", command),
                ("WebFetch https://example.com", page),
                ("Bash curl example.com", "deny"),
                ("Bash git push", if mode == "dontAsk" { "deny" } else { "ask" }),
                ("Bash mkdir src/new", if mode == "acceptEdits" { "allow" } else { command }),
            ],
        );
    };
    rows("default", "ask", "ask", "ask");
    rows("acceptEdits", "allow", "ask", "ask");
    rows("dontAsk", "deny", "deny", "deny");
    rows("bypassPermissions", "allow", "allow", "allow");
}

#[test]
fn bare_tools_are_meant_as_a_whole_and_the_guard_stays_out_of_reach() {
    check(
        &json!({ "allow": ["Bash", "Edit"], "deny": ["WebFetch"] }),
        &[
            ("Bash npm install left-pad", "allow"),
            ("Bash git reset --hard", "allow"),
            ("Bash rm -rf /", "deny"),
            ("Edit .claude/settings.json", "deny"),
            ("Edit README.md", "allow"),
            ("WebFetch https://example.com", "deny"),
        ],
    );
}

#[test]
fn what_cannot_be_carried_over_is_named_and_nothing_is_written() {
    let site = Site::bare();
    let refused = |settings: Value, named: &[&str]| {
        std::fs::write(site.workspace().join("s.json"), settings.to_string()).unwrap();
        let output = site.run(&["contract", "import", "s.json", "--from", "claude-code"], "");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{said}");
        assert!(output.stdout.is_empty());
        for word in named {
            assert!(said.contains(word), "{word}: {said}");
        }
    };
    refused(
        json!({ "permissions": { "allow": ["Write(src/**)", "Bash(a:*b)"], "deny": ["Skill(x)"], "defaultMode": "plan", "colour": 1 } }),
        &[
            "`Write(src/**)` of `permissions.allow`",
            "`Bash(a:*b)`",
            "`Skill(x)` of `permissions.deny`",
            "`plan`",
            "permissions.colour",
        ],
    );
    refused(json!({ "sandbox": { "enabled": true } }), &["sandbox.enabled"]);
    refused(json!([]), &["no object"]);
}

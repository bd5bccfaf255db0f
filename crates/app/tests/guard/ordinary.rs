//! An ordinary day of work: almost no questions, no refusals.

use crate::site::{Site, Told, text, told};
use serde_json::{Value, json};

/// A recorded session, shortened to what was called.
const SESSION: &str = include_str!("ordinary.txt");

/// `tool argument`, as the session holds it.
fn call(site: &Site, line: &str) -> (String, Value) {
    let ws = site.workspace().to_string_lossy().into_owned();
    let (tool, rest) = line.split_once(' ').unwrap();
    let path = format!("{ws}/{rest}");
    let input = match tool {
        "Bash" => json!({ "command": rest.replace("\\n", "\n") }),
        "Read" => json!({ "file_path": path }),
        "Write" => json!({ "file_path": path, "content": "x\n" }),
        "Edit" => json!({ "file_path": path, "old_string": "a", "new_string": "b" }),
        "Grep" => json!({ "pattern": rest, "path": ws }),
        "Glob" => json!({ "pattern": rest }),
        "WebFetch" => json!({ "url": rest, "prompt": "what does it say" }),
        "TodoWrite" => json!({ "todos": [{ "content": rest, "status": "pending" }] }),
        "Task" => json!({ "description": rest, "prompt": rest, "subagent_type": "general" }),
        other => panic!("{other}"),
    };
    (tool.to_owned(), input)
}

#[test]
fn an_ordinary_session_is_left_alone() {
    let site = Site::guarding_real_work(&["claude-code"]);
    let (mut calls, mut asks, mut refusals) = (0, Vec::new(), Vec::new());
    for (index, line) in SESSION.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).enumerate() {
        let (tool, input) = call(&site, line);
        let id = format!("toolu_{index}");
        let mut payload = json!({
            "session_id": "day", "transcript_path": "/dev/null", "cwd": site.workspace(),
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
            "tool_use_id": id,
        });
        let output = site.run(&["hook", "pre-tool", "--host", "claude-code"], &payload.to_string());
        calls += 1;
        match told("claude-code", &output) {
            Told::Runs => {}
            Told::Asks(why) => asks.push(format!("{line}: {why}")),
            Told::Blocked(why) => refusals.push(format!("{line}: {why}")),
        }
        if index % 4 == 0 {
            payload["hook_event_name"] = json!("PostToolUse");
            payload["tool_response"] = json!({ "stdout": format!("result {index}"), "stderr": "" });
            let output = site.run(&["hook", "post-tool", "--host", "claude-code"], &payload.to_string());
            assert_eq!(text(&output.stdout).trim(), "{}", "{line}: {}", text(&output.stderr));
        }
    }
    println!("{calls} calls, {} asked about, {} refused", asks.len(), refusals.len());
    assert!(calls >= 120, "{calls}");
    assert!(refusals.is_empty(), "{refusals:#?}");
    assert!(asks.len() <= 3, "{asks:#?}");
}

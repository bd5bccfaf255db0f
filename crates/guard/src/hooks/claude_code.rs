//! Claude Code.

use super::dialect::{Dialect, Form, HookEntry, OffSwitch, Settings, ShellCall};
use super::nested;
use super::tools::Kind;
use serde_json::{Value, json};
use shell::HostFiles;

pub(super) const HOST: Dialect = Dialect {
    word: "claude-code",
    title: "Claude Code",
    short_title: "Claude Code",
    settings: Settings {
        file: ".claude/settings.json",
        file_at_home: ".claude/settings.json",
        form: Form::Json { version: None, entry },
    },
    moments: nested::MOMENTS,
    trust: None,
    skipped_by: &[
        "--bare",
        "--safe-mode",
        "CLAUDE_CODE_SAFE_MODE",
        "CLAUDE_CODE_SIMPLE",
        "--settings with `disableAllHooks`",
        "--setting-sources without `project`",
    ],
    home_variable: Some(("CLAUDE_CONFIG_DIR", ".claude")),
    off_switch: Some(OffSwitch {
        files: &[".claude/settings.json", ".claude/settings.local.json"],
        is_off: nested::disables_all_hooks,
    }),
    files: HostFiles {
        names: &[".claude", ".mcp.json"],
        paths: &[".claude.json"],
        system: &["/etc/claude-code/", "/Library/Application Support/ClaudeCode/"],
        logins: &[".claude/.credentials.json"],
    },
    configuration: &[".claude/settings.json", ".claude/settings.local.json", ".claude.json", ".mcp.json"],
    scratch: &[".claude/plans", ".claude/projects", ".claude/todos", ".claude/tasks"],
    tools: &[
        // `Monitor` runs its command beside the conversation.
        (Kind::Shell, &["Bash", "Monitor"]),
        (Kind::Write, &["Write", "Edit", "MultiEdit", "NotebookEdit"]),
        (
            Kind::Read,
            &[
                "Read",
                "Glob",
                "LS",
                "NotebookRead",
                "TodoRead",
                "TaskList",
                "TaskGet",
                "TaskOutput",
                "BashOutput",
                "ToolSearch",
                "ListMcpResources",
                "ListMcpResourcesTool",
            ],
        ),
        (Kind::Search, &["Grep"]),
        (Kind::Fetch, &["WebFetch", "WebSearch"]),
        (
            Kind::Internal,
            &[
                "TodoWrite",
                "Task",
                "Agent",
                "TaskCreate",
                "TaskUpdate",
                "TaskStop",
                "KillShell",
                "KillBash",
                "EnterPlanMode",
                "ExitPlanMode",
                "AskUserQuestion",
                "Skill",
                "SlashCommand",
                "ListAgents",
                "SendMessage",
                "ReportFindings",
                "ScheduleWakeup",
                "CronList",
            ],
        ),
    ],
    types_into_programs: false,
    blocks_by_exit: true,
    read: nested::read,
    write: |event, _, reply| nested::write(event, reply, true),
    payload,
};

fn entry(entry: &HookEntry<'_>) -> Value {
    let mut hook = json!({ "type": "command", "command": entry.command, "timeout": entry.seconds });
    if let (true, Some(hook)) = (entry.fails_closed, hook.as_object_mut()) {
        // Where the host knows it, even the death of the command line itself blocks.
        hook.insert("onFailure".to_owned(), json!("block"));
    }
    json!({ "hooks": [hook] })
}

fn payload(call: &ShellCall<'_>) -> Value {
    nested::payload(call, "Bash")
}

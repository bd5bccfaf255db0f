//! Qwen Code: Claude Code's form with tools of its own.

use super::dialect::{Dialect, Form, OffSwitch, Settings, ShellCall};
use super::nested;
use super::tools::Kind;
use super::trust::{self, Trust};
use serde_json::Value;
use shell::HostFiles;

pub(super) const HOST: Dialect = Dialect {
    word: "qwen",
    title: "Qwen Code",
    short_title: "Qwen",
    settings: Settings {
        file: ".qwen/settings.json",
        file_at_home: ".qwen/settings.json",
        form: Form::Json { version: None, entry: nested::named_entry },
    },
    moments: nested::MOMENTS,
    trust: Some(Trust {
        files: &[".qwen/trustedFolders.json", ".qwen/settings.json"],
        standing: |place| trust::in_folder_list(place, false),
        step: "start `qwen` in the workspace and trust the folder",
        granted: Some(trust::with_folder_in_list),
    }),
    skipped_by: &["--bare", "--safe-mode"],
    home_variable: None,
    off_switch: Some(OffSwitch { files: &[".qwen/settings.json"], is_off: nested::disables_all_hooks }),
    files: HostFiles { names: &[".qwen"], paths: &[], system: &[], logins: &[".qwen/oauth_creds.json"] },
    configuration: &[".qwen/settings.json", ".qwen/trustedFolders.json"],
    scratch: &[".qwen/tmp"],
    tools: &[
        (Kind::Shell, &["run_shell_command", "monitor"]),
        (Kind::Write, &["write_file", "edit", "replace", "notebook_edit"]),
        (Kind::Read, &["read_file", "list_directory", "glob"]),
        (Kind::Search, &["grep_search", "search_file_content", "read_many_files"]),
        (Kind::Fetch, &["web_fetch", "web_search"]),
        (
            Kind::Internal,
            &[
                "todo_write",
                "exit_plan_mode",
                "task",
                "skill",
                "agent",
                "list_agents",
                "get_goal",
                "update_goal",
                "tool_search",
            ],
        ),
    ],
    types_into_programs: false,
    blocks_by_exit: true,
    read: nested::read,
    write: |event, _, reply| nested::write(event, reply, true),
    payload,
};

fn payload(call: &ShellCall<'_>) -> Value {
    nested::payload(call, "run_shell_command")
}

//! Qwen Code: Claude Code's form with tools of its own.

use super::dialect::{Dialect, Form, OffSwitch, Settings, ShellCall};
use super::nested;
use super::tools::Kind;
use serde_json::Value;
use shell::HostFiles;

pub(super) const HOST: Dialect = Dialect {
    word: "qwen",
    title: "Qwen Code",
    short_title: "Qwen",
    settings: Settings {
        file: ".qwen/settings.json",
        is_read_at_home: true,
        form: Form::Json { version: None, entry: nested::named_entry },
    },
    moments: nested::MOMENTS,
    off_switch: Some(OffSwitch { files: &[".qwen/settings.json"], is_off: nested::disables_all_hooks }),
    files: HostFiles { names: &[".qwen"], paths: &[], system: &[], logins: &[".qwen/oauth_creds.json"] },
    configuration: &[".qwen/settings.json"],
    scratch: &[".qwen/tmp"],
    tools: &[
        (Kind::Shell, &["run_shell_command"]),
        (Kind::Write, &["write_file", "edit", "replace"]),
        (Kind::Read, &["read_file", "list_directory", "glob"]),
        (Kind::Search, &["grep_search", "search_file_content", "read_many_files"]),
        (Kind::Fetch, &["web_fetch", "web_search"]),
        (Kind::Internal, &["todo_write", "exit_plan_mode", "task", "skill"]),
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

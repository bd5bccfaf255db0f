//! Qwen Code.

use super::{Host, Trust, mcp_servers, model, task};
use crate::places::{HOME, installed};
use crate::script::ToolCall;
use crate::site::in_home;
use anyhow::Result;
use serde_json::json;
use std::process::Command;

pub struct Qwen;

impl Qwen {
    fn without_mode(&self, port: u16) -> Command {
        let mut command = in_home(Command::new(installed(self.word(), self.program())));
        command.args(["-p", "go", "--auth-type", "openai", "-o", "stream-json"]);
        command.env("OPENAI_API_KEY", "none").env("OPENAI_BASE_URL", format!("{}/v1", model(port)));
        command.env("OPENAI_MODEL", "live");
        command
    }
}

impl Host for Qwen {
    fn word(&self) -> &'static str {
        "qwen"
    }

    fn title(&self) -> &'static str {
        "Qwen Code"
    }

    fn package(&self) -> &'static str {
        "@qwen-code/qwen-code"
    }

    fn program(&self) -> &'static str {
        "qwen"
    }

    fn configuration(&self) -> &'static str {
        ".qwen/settings.json"
    }

    fn prepare(&self, _: u16) -> Result<()> {
        std::fs::create_dir_all(format!("{HOME}/.qwen"))?;
        let settings = json!({
            "security": { "auth": { "selectedType": "openai" } },
            "general": { "enableAutoUpdate": false, "disableAutoUpdate": true },
            "privacy": { "usageStatisticsEnabled": false }, "mcpServers": mcp_servers(),
        });
        Ok(std::fs::write(format!("{HOME}/.qwen/settings.json"), settings.to_string())?)
    }

    fn start(&self, _: Trust, port: u16) -> Command {
        let mut command = self.without_mode(port);
        command.arg("--yolo");
        command
    }

    fn start_asking(&self, port: u16) -> Option<Command> {
        let mut command = self.without_mode(port);
        command.args(["--approval-mode", "auto-edit", "--allowed-tools", "run_shell_command"]);
        Some(command)
    }

    fn shell(&self, command: &str) -> ToolCall {
        let arguments = json!({ "command": command, "description": "a step", "is_background": false });
        ToolCall::new("run_shell_command", arguments)
    }

    fn read(&self, path: &str) -> ToolCall {
        ToolCall::new("read_file", json!({ "file_path": path }))
    }

    fn write(&self, path: &str, text: &str) -> ToolCall {
        ToolCall::new("write_file", json!({ "file_path": path, "content": text }))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Vec<ToolCall> {
        let edit = ToolCall::new("edit", json!({ "file_path": path, "old_string": old, "new_string": new }));
        vec![self.read(path), edit]
    }

    fn mcp(&self, target: &str) -> ToolCall {
        ToolCall::new("mcp__scratch__touch", json!({ "target": target }))
    }

    fn subagent(&self) -> ToolCall {
        ToolCall::new("agent", json!({ "description": "a task", "prompt": task(), "subagent_type": "general-purpose" }))
    }

    fn ordinary(&self) -> Vec<ToolCall> {
        let tools = ["get_goal", "list_agents"].map(|tool| ToolCall::new(tool, json!({})));
        tools.into_iter().chain([ToolCall::new("tool_search", json!({ "query": "todo" }))]).collect()
    }
}

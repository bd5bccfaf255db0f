//! Claude Code.

use super::{Host, Trust, mcp_servers, model, task};
use crate::places::{HOME, installed};
use crate::script::ToolCall;
use crate::site::in_home;
use anyhow::Result;
use serde_json::json;
use std::process::Command;

pub struct ClaudeCode;

impl ClaudeCode {
    fn without_mode(&self, port: u16) -> Command {
        let mut command = in_home(Command::new(installed(self.word(), self.program())));
        command.args(["-p", "go", "--output-format", "stream-json", "--verbose"]);
        command.args(["--mcp-config", &format!("{HOME}/mcp.json")]);
        command.env("ANTHROPIC_BASE_URL", model(port)).env("ANTHROPIC_API_KEY", "none");
        // Without a sandbox it refuses to skip permissions where the user is root.
        command.envs([("IS_SANDBOX", "1"), ("DISABLE_AUTOUPDATER", "1"), ("DISABLE_TELEMETRY", "1")]);
        command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        command
    }
}

impl Host for ClaudeCode {
    fn word(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn package(&self) -> &'static str {
        "@anthropic-ai/claude-code"
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn configuration(&self) -> &'static str {
        ".claude/settings.json"
    }

    fn prepare(&self, _: u16) -> Result<()> {
        Ok(std::fs::write(format!("{HOME}/mcp.json"), json!({ "mcpServers": mcp_servers() }).to_string())?)
    }

    fn start(&self, _: Trust, port: u16) -> Command {
        let mut command = self.without_mode(port);
        command.arg("--dangerously-skip-permissions");
        command
    }

    fn start_asking(&self, port: u16) -> Option<Command> {
        let mut command = self.without_mode(port);
        command.args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read,Write,Edit"]);
        Some(command)
    }

    fn shell(&self, command: &str) -> ToolCall {
        ToolCall::new("Bash", json!({ "command": command, "description": "a step" }))
    }

    fn read(&self, path: &str) -> ToolCall {
        ToolCall::new("Read", json!({ "file_path": path }))
    }

    fn write(&self, path: &str, text: &str) -> ToolCall {
        ToolCall::new("Write", json!({ "file_path": path, "content": text }))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Vec<ToolCall> {
        let edit = ToolCall::new("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }));
        vec![self.read(path), edit]
    }

    fn mcp(&self, target: &str) -> ToolCall {
        ToolCall::new("mcp__scratch__touch", json!({ "target": target }))
    }

    fn subagent(&self) -> ToolCall {
        ToolCall::new("Agent", json!({ "description": "a task", "prompt": task(), "subagent_type": "general-purpose" }))
    }

    fn ordinary(&self) -> Vec<ToolCall> {
        vec![
            ToolCall::new("ListAgents", json!({})),
            ToolCall::new("ReportFindings", json!({ "findings": [] })),
            ToolCall::new("ToolSearch", json!({ "query": "select:WebFetch", "max_results": 5 })),
        ]
    }
}

//! Gemini CLI.

use super::{Host, Trust, mcp_servers, model, task};
use crate::places::{HOME, WORKSPACE, installed};
use crate::script::ToolCall;
use crate::site::in_home;
use anyhow::Result;
use serde_json::json;
use std::process::Command;

pub struct Gemini;

impl Host for Gemini {
    fn word(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn package(&self) -> &'static str {
        "@google/gemini-cli"
    }

    fn program(&self) -> &'static str {
        "gemini"
    }

    fn configuration(&self) -> &'static str {
        ".gemini/settings.json"
    }

    fn prepare(&self, _: u16) -> Result<()> {
        let folder = format!("{HOME}/.gemini");
        std::fs::create_dir_all(&folder)?;
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } }, "general": { "enableAutoUpdate": false },
            "privacy": { "usageStatisticsEnabled": false }, "mcpServers": mcp_servers(),
        });
        Ok(std::fs::write(format!("{folder}/settings.json"), settings.to_string())?)
    }

    fn trust(&self) -> Result<()> {
        let trusted = json!({ WORKSPACE: "TRUST_FOLDER" });
        Ok(std::fs::write(format!("{HOME}/.gemini/trustedFolders.json"), trusted.to_string())?)
    }

    fn start(&self, trust: Trust, port: u16) -> Command {
        let mut command = in_home(Command::new(installed(self.word(), self.program())));
        command.args(["-p", "go", "-m", "gemini-2.5-flash", "-o", "stream-json", "--yolo"]);
        if trust == Trust::InitAlone {
            // Without it the host itself refuses to start; with it, it runs calls and loads no hooks of the workspace.
            command.arg("--skip-trust");
        }
        command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", model(port));
        command.env("GEMINI_TELEMETRY_ENABLED", "false");
        command
    }

    fn shell(&self, command: &str) -> ToolCall {
        ToolCall::new("run_shell_command", json!({ "command": command, "description": "a step" }))
    }

    fn read(&self, path: &str) -> ToolCall {
        ToolCall::new("read_file", json!({ "file_path": path }))
    }

    fn write(&self, path: &str, text: &str) -> ToolCall {
        ToolCall::new("write_file", json!({ "file_path": path, "content": text }))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Vec<ToolCall> {
        let change = json!({ "file_path": path, "old_string": old, "new_string": new, "instruction": "a change" });
        vec![ToolCall::new("replace", change)]
    }

    fn mcp(&self, target: &str) -> ToolCall {
        ToolCall::new("mcp_scratch_touch", json!({ "target": target }))
    }

    fn subagent(&self) -> ToolCall {
        ToolCall::new("invoke_agent", json!({ "agent_name": "generalist", "prompt": task() }))
    }

    fn ordinary(&self) -> Vec<ToolCall> {
        vec![
            ToolCall::new("update_topic", json!({ "title": "t", "summary": "s", "strategic_intent": "i" })),
            ToolCall::new("list_background_processes", json!({})),
            ToolCall::new("read_background_output", json!({ "pid": 1 })),
            ToolCall::new("write_todos", json!({ "todos": [] })),
        ]
    }
}

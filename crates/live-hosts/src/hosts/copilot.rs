//! Copilot CLI.

use super::{Host, Trust, mcp_servers, model, task};
use crate::places::{HOME, WORKSPACE, installed};
use crate::script::ToolCall;
use crate::site::in_home;
use anyhow::Result;
use serde_json::json;
use std::process::Command;

pub struct Copilot;

impl Host for Copilot {
    fn word(&self) -> &'static str {
        "copilot"
    }

    fn title(&self) -> &'static str {
        "Copilot CLI"
    }

    fn package(&self) -> &'static str {
        "@github/copilot"
    }

    fn program(&self) -> &'static str {
        "copilot"
    }

    fn configuration(&self) -> &'static str {
        ".github/hooks/writkeeper.json"
    }

    fn prepare(&self, _: u16) -> Result<()> {
        let mut servers = mcp_servers();
        for server in servers.as_object_mut().into_iter().flat_map(|servers| servers.values_mut()) {
            if let Some(server) = server.as_object_mut() {
                server.extend([("type".to_owned(), json!("local")), ("tools".to_owned(), json!(["*"]))]);
            }
        }
        Ok(std::fs::write(format!("{HOME}/mcp.json"), json!({ "mcpServers": servers }).to_string())?)
    }

    fn trust(&self) -> Result<()> {
        std::fs::create_dir_all(format!("{HOME}/.copilot"))?;
        let trusted = json!({ "trustedFolders": [WORKSPACE] });
        Ok(std::fs::write(format!("{HOME}/.copilot/config.json"), trusted.to_string())?)
    }

    fn start(&self, _: Trust, port: u16) -> Command {
        let mut command = in_home(Command::new(installed(self.word(), self.program())));
        command.args(["-p", "go", "--no-color", "--output-format", "json", "--allow-all-tools", "--allow-all-paths"]);
        command.args(["--allow-all-urls", "--additional-mcp-config", &format!("@{HOME}/mcp.json")]);
        command.env("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", model(port)));
        command.envs([("COPILOT_PROVIDER_API_KEY", "none"), ("COPILOT_OFFLINE", "true")]);
        command.envs([("COPILOT_MODEL", "gpt-4.1"), ("COPILOT_AUTO_UPDATE", "false")]);
        command
    }

    fn shell(&self, command: &str) -> ToolCall {
        ToolCall::new("bash", json!({ "command": command, "description": "a step", "mode": "sync" }))
    }

    fn read(&self, path: &str) -> ToolCall {
        ToolCall::new("view", json!({ "path": path }))
    }

    fn write(&self, path: &str, text: &str) -> ToolCall {
        ToolCall::new("create", json!({ "path": path, "file_text": text }))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Vec<ToolCall> {
        vec![ToolCall::new("edit", json!({ "path": path, "old_str": old, "new_str": new }))]
    }

    fn mcp(&self, target: &str) -> ToolCall {
        ToolCall::new("scratch-touch", json!({ "target": target }))
    }

    fn subagent(&self) -> ToolCall {
        let arguments =
            json!({ "description": "a task", "prompt": task(), "agent_type": "general-purpose", "name": "one" });
        ToolCall::new("task", arguments)
    }

    fn ordinary(&self) -> Vec<ToolCall> {
        vec![
            ToolCall::new("list_agents", json!({})),
            ToolCall::new("fetch_copilot_cli_documentation", json!({})),
            ToolCall::new("sql", json!({ "description": "a look", "query": "select 1" })),
            ToolCall::new("session_store_sql", json!({ "description": "a look", "query": "select 1" })),
        ]
    }
}

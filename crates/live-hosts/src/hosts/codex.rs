//! Codex CLI.

mod trust;

use super::{Host, Trust, model, task};
use crate::places::{self, HOME, WORKSPACE, installed};
use crate::script::{Input, Step, ToolCall, step};
use crate::site::in_home;
use anyhow::Result;
use serde_json::json;
use std::process::Command;

pub struct Codex;

impl Host for Codex {
    fn word(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex CLI"
    }

    fn package(&self) -> &'static str {
        "@openai/codex"
    }

    fn program(&self) -> &'static str {
        "codex"
    }

    fn configuration(&self) -> &'static str {
        ".codex/config.toml"
    }

    fn prepare(&self, port: u16) -> Result<()> {
        let (server, argument) = places::mcp_server();
        // A person who works in a folder has trusted it; trusting its hooks is another matter.
        let text = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"live\"\ncheck_for_update_on_startup = false\n\n\
             [model_providers.live]\nname = \"live\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"LIVE_KEY\"\nrequest_max_retries = 1\n\n[analytics]\nenabled = false\n\n\
             [mcp_servers.scratch]\ncommand = \"{server}\"\nargs = [\"{argument}\"]\n\n\
             [projects.\"{WORKSPACE}\"]\ntrust_level = \"trusted\"\n",
            model(port)
        );
        std::fs::create_dir_all(format!("{HOME}/.codex"))?;
        Ok(std::fs::write(format!("{HOME}/.codex/config.toml"), text)?)
    }

    fn trust(&self) -> Result<()> {
        let hooks = places::inside(self.configuration());
        let settings = format!("{HOME}/.codex/config.toml");
        let mut text = std::fs::read_to_string(&settings)?;
        for hook in trust::hooks(&std::fs::read_to_string(&hooks)?) {
            let table = format!("[hooks.state.\"{}:{}:0:0\"]", hooks.display(), hook.event);
            // Somebody may have written it already: a table twice is an error.
            if !text.contains(&table) {
                text.push_str(&format!("\n{table}\ntrusted_hash = \"sha256:{}\"\n", hook.hash()?));
            }
        }
        Ok(std::fs::write(&settings, text)?)
    }

    fn start(&self, _: Trust, _: u16) -> Command {
        let mut command = in_home(Command::new(installed(self.word(), self.program())));
        command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"]);
        command.env("LIVE_KEY", "none");
        command
    }

    fn shell(&self, command: &str) -> ToolCall {
        ToolCall::new("exec_command", json!({ "cmd": command }))
    }

    fn read(&self, path: &str) -> ToolCall {
        self.shell(&format!("cat {path}"))
    }

    fn write(&self, path: &str, text: &str) -> ToolCall {
        patch(&format!("*** Add File: {path}\n+{text}"))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Vec<ToolCall> {
        vec![patch(&format!("*** Update File: {path}\n@@\n-{old}\n+{new}"))]
    }

    fn mcp(&self, target: &str) -> ToolCall {
        ToolCall::new("touch", json!({ "target": target })).of("mcp__scratch")
    }

    fn subagent(&self) -> ToolCall {
        ToolCall::new("spawn_agent", json!({ "message": task() })).of("multi_agent_v1")
    }

    fn ordinary(&self) -> Vec<ToolCall> {
        let plain = ["get_goal", "list_mcp_resources", "list_mcp_resource_templates"];
        let plain = plain.map(|tool| ToolCall::new(tool, json!({})));
        let seen = ToolCall::new("view_image", json!({ "path": places::inside("README.md") }));
        plain.into_iter().chain([seen]).collect()
    }

    fn typing(&self, program: &str, line: &str) -> Option<Vec<Step>> {
        let begun = json!({ "cmd": program, "tty": true, "yield_time_ms": 1000 });
        let line = line.to_owned();
        let typed = move |heard: &[String]| {
            let session = heard.last().and_then(|text| session_of(text)).unwrap_or(0);
            let arguments = json!({ "session_id": session, "chars": format!("{line}\n"), "yield_time_ms": 2000 });
            ToolCall::new("write_stdin", arguments)
        };
        Some(vec![step(ToolCall::new("exec_command", begun)), Box::new(typed)])
    }
}

fn patch(change: &str) -> ToolCall {
    let text = format!("*** Begin Patch\n{change}\n*** End Patch");
    ToolCall { tool: "apply_patch".to_owned(), namespace: None, input: Input::Text(text) }
}

/// The number of a program that goes on running.
fn session_of(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("session ID ")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

//! The hosts: how each is installed and started without a person, and what it calls its tools.
//!
//! To add one: a file under `hosts/` that implements [`Host`], and its line in [`ALL`].

mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod qwen;

use crate::places;
use crate::script::{SUBAGENT, Step, ToolCall};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::process::Command;

/// Whether the person told the host to trust the workspace and its hooks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// As far as the host asks for it.
    Given,
    /// Nothing beyond `writkeeper init`.
    InitAlone,
}

/// A host of coding agents, started so that nothing but our hook stands in the way of a call.
pub trait Host: Sync {
    /// The word of `writkeeper init --host`.
    fn word(&self) -> &'static str;
    fn title(&self) -> &'static str;
    /// Its package at npm.
    fn package(&self) -> &'static str;
    /// The program that the package installs.
    fn program(&self) -> &'static str;
    /// The file with our hooks, from the workspace.
    fn configuration(&self) -> &'static str;
    /// Writes what the host needs in the private home; the model listens on `port`.
    fn prepare(&self, port: u16) -> Result<()>;
    /// What a person does after `init` so that the host runs our hooks; nothing where it does so anyway.
    fn trust(&self) -> Result<()> {
        Ok(())
    }
    /// The command that runs one session.
    fn start(&self, trust: Trust, port: u16) -> Command;
    /// The command that runs a session in which the host would ask a person about what a hook wants asked; `None` where a
    /// hook cannot have that, or the usual session does so.
    fn start_asking(&self, port: u16) -> Option<Command> {
        let _ = port;
        None
    }
    /// Runs a command.
    fn shell(&self, command: &str) -> ToolCall;
    fn read(&self, path: &str) -> ToolCall;
    fn write(&self, path: &str, text: &str) -> ToolCall;
    /// Replaces a text in a file; some hosts want it read before.
    fn edit(&self, path: &str, old: &str, new: &str) -> Vec<ToolCall>;
    /// Calls the tool of our MCP server.
    fn mcp(&self, target: &str) -> ToolCall;
    /// Hands a task to a subagent.
    fn subagent(&self) -> ToolCall;
    /// Tools that change nothing outside of the host.
    fn ordinary(&self) -> Vec<ToolCall>;
    /// Starts a program, and then types a line into it; `None` where no tool types.
    fn typing(&self, program: &str, line: &str) -> Option<Vec<Step>> {
        let _ = (program, line);
        None
    }
}

/// Every host.
pub const ALL: [&dyn Host; 5] =
    [&claude_code::ClaudeCode, &codex::Codex, &gemini::Gemini, &qwen::Qwen, &copilot::Copilot];

/// The host of a word.
pub fn named(word: &str) -> Result<&'static dyn Host> {
    let known = || ALL.map(|host| host.word()).join(", ");
    let host = ALL.into_iter().find(|host| host.word() == word);
    host.with_context(|| format!("there is no host `{word}`; there are {}", known()))
}

/// The task of a subagent.
fn task() -> String {
    format!("{SUBAGENT}: do as you are told")
}

/// Our MCP server as most hosts' configuration writes it.
fn mcp_servers() -> Value {
    let (command, argument) = places::mcp_server();
    json!({ crate::mcp::SERVER: { "command": command, "args": [argument] } })
}

/// The address of the model.
fn model(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

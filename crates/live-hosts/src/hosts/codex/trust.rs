//! What Codex's dialog writes when a person trusts a hook: a digest of its event, command line and patience.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

/// A hook of ours as the configuration holds it.
#[derive(Debug, PartialEq)]
pub struct Hook {
    /// As Codex names it in its state.
    pub event: String,
    command: String,
    seconds: u64,
}

/// The hooks that `writkeeper init` wrote: tables of their own, one member a line.
pub fn hooks(text: &str) -> Vec<Hook> {
    let tables = text.split("[[hooks.").skip(1).filter_map(|table| table.split_once(".hooks]]"));
    let read = |(name, body): (&str, &str)| {
        let member = |key: &str| body.lines().find_map(|line| line.trim().strip_prefix(key)?.trim().strip_prefix('='));
        let command: String = serde_json::from_str(member("command")?.trim()).ok()?;
        let seconds = member("timeout").and_then(|text| text.trim().parse().ok()).unwrap_or(600);
        Some(Hook { event: snake(name), command, seconds })
    };
    tables.filter_map(read).collect()
}

impl Hook {
    /// The digest, in hexadecimal digits.
    pub fn hash(&self) -> Result<String> {
        let hook = json!({ "async": false, "command": self.command, "timeout": self.seconds, "type": "command" });
        digest(&json!({ "event_name": self.event, "hooks": [hook] }))
    }
}

/// SHA-256 of compact JSON; its members were written in the order of their names.
fn digest(value: &Value) -> Result<String> {
    let mut child =
        Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("`sha256sum`")?;
    child.stdin.take().context("no input of `sha256sum`")?.write_all(value.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    let text = String::from_utf8(output.stdout)?;
    let hash = text.split_whitespace().next().unwrap_or_default();
    ensure!(hash.len() == 64, "`sha256sum` printed `{text}`");
    Ok(hash.to_owned())
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(name: &str) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_read_from_what_init_writes() {
        let text = "[features]\nhooks = true\n\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\n\
                    timeout = 60\ncommand = \"say \\\"it\\\"\"\n\n# <<< writkeeper guard\n";
        let expected = Hook { event: "pre_tool_use".to_owned(), command: "say \"it\"".to_owned(), seconds: 60 };
        assert_eq!(hooks(text), [expected]);
    }
}

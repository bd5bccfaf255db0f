//! Switches with which a host stops running its hooks, ours among them. Nothing of ours runs then, so only `doctor` can
//! tell.

use super::place;
use super::wrapper::MARK;
use crate::hooks::Host;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The member that turns all hooks off, where hosts document one.
const SWITCH: &str = "disableAllHooks";

/// Files of a host, in a workspace and in a home, that can hold the switch.
fn files(host: Host) -> &'static [&'static str] {
    match host {
        Host::ClaudeCode => &[".claude/settings.json", ".claude/settings.local.json"],
        Host::Codex => &[".codex/config.toml"],
        Host::Qwen => &[".qwen/settings.json"],
        Host::Copilot => &[
            ".github/hooks/writkeeper.json",
            ".github/copilot/settings.json",
            ".github/copilot/settings.local.json",
            ".copilot/settings.json",
        ],
        Host::Gemini => &[".gemini/settings.json"],
        Host::Cursor => &[],
    }
}

/// The files in which hooks of a host are switched off.
pub fn in_files(host: Host, workspace: &Path) -> Vec<PathBuf> {
    let bases = std::iter::once(workspace.to_path_buf()).chain(place::home());
    let paths = bases.flat_map(|base| files(host).iter().map(move |name| base.join(name)));
    paths.filter(|path| std::fs::read_to_string(path).is_ok_and(|text| switches_off(host, &text))).collect()
}

fn switches_off(host: Host, text: &str) -> bool {
    if host == Host::Codex {
        return is_off_in_toml(text);
    }
    let Ok(document) = serde_json::from_str::<Value>(text) else { return false };
    if host == Host::Gemini {
        let ours = |name: &Value| name.as_str().is_some_and(|name| name == "writkeeper" || name.contains(MARK));
        let config = document.get("hooksConfig");
        let named = config.and_then(|config| config.get("disabled")).and_then(Value::as_array);
        return config.and_then(|config| config.get("enabled")) == Some(&Value::Bool(false))
            || named.is_some_and(|names| names.iter().any(ours));
    }
    [Some(&document), document.get("hooks")]
        .into_iter()
        .flatten()
        .any(|place| place.get(SWITCH) == Some(&Value::Bool(true)))
}

/// `hooks = false` among the features, in a table of its own or as one line.
fn is_off_in_toml(text: &str) -> bool {
    let mut is_among_features = false;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let plain: String = line.chars().filter(|letter| !letter.is_whitespace()).collect();
        if plain.starts_with('[') {
            is_among_features = plain == "[features]";
        }
        let inline = plain.strip_prefix("features={").is_some_and(|rest| rest.contains("hooks=false"));
        if plain == "features.hooks=false" || inline || is_among_features && plain == "hooks=false" {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_switch_that_is_off_is_one() {
        let check = |host: Host, text: &str, expected: bool| assert_eq!(switches_off(host, text), expected, "{text}");
        for host in [Host::ClaudeCode, Host::Qwen, Host::Copilot] {
            check(host, r#"{"disableAllHooks": true}"#, true);
            check(host, r#"{"hooks": {"disableAllHooks": true}}"#, true);
            check(host, r#"{"disableAllHooks": false}"#, false);
            check(host, r#"{"disableAllHooks": "true"}"#, false);
            check(host, r#"{"env": {"disableAllHooks": true}}"#, false);
            check(host, "{", false);
        }
        check(Host::Gemini, r#"{"hooksConfig": {"enabled": false}}"#, true);
        check(Host::Gemini, r#"{"hooksConfig": {"disabled": ["x", "writkeeper"]}}"#, true);
        check(Host::Gemini, r#"{"hooksConfig": {"enabled": true, "disabled": ["x"]}}"#, false);
        check(Host::Codex, "[features]\nhooks = false # for now\n", true);
        check(Host::Codex, "features.hooks=false\n", true);
        check(Host::Codex, "features = { x = 1, hooks = false }\n", true);
        check(Host::Codex, "[features]\nhooks = true\n[other]\nhooks = false\n", false);
        check(Host::Codex, "# [features]\n# hooks = false\n", false);
    }
}

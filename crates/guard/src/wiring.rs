//! How our command line gets into a host's configuration, and out again. Foreign entries stay as they are.

mod json;
mod toml;

use super::wrapper;
use crate::command_line::CommandLine;
use crate::hooks::dialect::{Form, HookEntry};
use crate::hooks::{Event, Host};
use std::path::{Path, PathBuf};

/// The file of a host below a base: a workspace or a home. `None` where a host has none there.
pub fn file(host: Host, base: &Path, is_home: bool) -> Option<PathBuf> {
    (host.settings.is_read_at_home || !is_home).then(|| base.join(host.settings.file))
}

/// Where the command line comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The binary.
    pub binary: PathBuf,
    /// The guard's folder.
    pub guard: PathBuf,
    /// Whether failures let calls run.
    pub observe: bool,
    /// The binary's command line.
    pub program: &'static CommandLine,
}

impl Source {
    /// The command line for a moment.
    pub fn command(&self, host: Host, event: Event) -> String {
        wrapper::command(self, host, event)
    }
}

/// The configuration with our entries (or without them, if there is no source).
pub fn wired(host: Host, old: &str, source: Option<&Source>) -> anyhow::Result<String> {
    match host.settings.form {
        Form::Json { version, entry } => json::wired(host, version, entry, old, source),
        Form::Toml => Ok(toml::wired(host, old, source)),
    }
}

/// The command lines of ours that a configuration holds, by moment.
pub fn found(host: Host, text: &str) -> Vec<(String, String)> {
    match host.settings.form {
        Form::Json { .. } => json::found(text),
        Form::Toml => toml::found(text),
    }
}

/// What else than the command line was changed about our entries, by moment: whom they are for, how long the host waits.
pub fn changed(host: Host, text: &str, source: &Source) -> Vec<(String, Vec<String>)> {
    match host.settings.form {
        Form::Json { entry, .. } => json::changed(host, entry, text, source),
        Form::Toml => toml::changed(host, text, source),
    }
}

/// What our entry for a moment says.
fn entry_of<'m>(host: Host, moment: &'m str, event: Event, source: &Source) -> HookEntry<'m> {
    HookEntry {
        moment,
        command: source.command(host, event),
        seconds: wrapper::host_timeout(event),
        fails_closed: event == Event::PreTool && !source.observe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::tests::PROGRAM;
    use crate::hooks::dialect::tests::MADE_UP;
    use crate::hooks::{HOSTS, host};
    use serde_json::Value;

    fn source() -> Source {
        Source {
            binary: "/opt/it's/writkeeper".into(),
            guard: "/w/.writkeeper".into(),
            observe: false,
            program: &PROGRAM,
        }
    }

    #[test]
    fn wiring_twice_changes_nothing_and_undoing_brings_back_what_was() {
        let foreign = r#"{"model":"m","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"mine"}]}],"preToolUse":[{"command":"mine"}],"BeforeTool":[{"hooks":[{"command":"mine"}]}]}}"#;
        let is_json = |host: &Host| matches!(host.settings.form, Form::Json { .. });
        for host in HOSTS.into_iter().chain([&MADE_UP]).filter(is_json) {
            for old in ["", "{}", foreign] {
                let once = wired(host, old, Some(&source())).unwrap_or_default();
                let twice = wired(host, &once, Some(&source())).unwrap_or_default();
                assert_eq!(once, twice, "{host:?}");
                assert_eq!(found(host, &once).len(), host.moments.len(), "{host:?}");
                let undone = wired(host, &once, None).unwrap_or_default();
                let before: Value = serde_json::from_str(if old.is_empty() { "{}" } else { old }).unwrap_or_default();
                let mut after: Value =
                    serde_json::from_str(if undone.is_empty() { "{}" } else { &undone }).unwrap_or_default();
                if before.get("version").is_none() {
                    after.as_object_mut().map(|after| after.remove("version"));
                }
                assert_eq!(before, after, "{host:?}");
            }
        }
    }

    #[test]
    fn tables_are_fenced() {
        let codex = host("codex").unwrap();
        for old in [
            "",
            "model = \"m\"\n",
            "model = \"m\"\n[features]\nx = true\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'mine'\n",
        ] {
            let once = wired(codex, old, Some(&source())).unwrap_or_default();
            assert_eq!(once, wired(codex, &once, Some(&source())).unwrap_or_default());
            assert_eq!(found(codex, &once).len(), codex.moments.len());
            assert_eq!(wired(codex, &once, None).unwrap_or_default(), old);
            // What another version said about itself does not matter.
            let other = once.replace("# >>> writkeeper guard", "# >>> writkeeper guard, written by another version");
            assert_eq!(wired(codex, &other, None).unwrap_or_default(), old);
            assert_eq!(changed(codex, &other, &source()), []);
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        let claude_code = host("claude-code").unwrap();
        assert!(wired(claude_code, "{ // comment\n}", Some(&source())).is_err());
        assert!(wired(claude_code, r#"{"hooks":[]}"#, Some(&source())).is_err());
    }
}

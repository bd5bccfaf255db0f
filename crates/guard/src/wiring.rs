//! How our command line gets into a host's configuration, and out again. Foreign entries stay as they are.

mod json;
pub(crate) mod toml;

use super::wrapper;
use crate::command_line::CommandLine;
use crate::hooks::dialect::{Form, HookEntry};
use crate::hooks::{Event, Host};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use values::ids::Digest;

/// The file of a host in a workspace.
pub fn file(host: Host, workspace: &Path) -> PathBuf {
    workspace.join(host.settings.file)
}

/// The file of a person, in a home or where the host's own variable says.
pub fn file_of_person(host: Host, home: &Path) -> PathBuf {
    host.file_of_person(home, host.settings.file_at_home, variable)
}

/// A variable that holds a path.
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// An entry of ours in a configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct OurEntry {
    /// The host's name of the moment.
    pub moment: String,
    /// The command line.
    pub command: String,
    /// The whole entry.
    pub value: Value,
}

/// Where the command line comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The binary.
    pub binary: PathBuf,
    /// The guard's folder.
    pub guard: PathBuf,
    /// Whether nothing is to be stopped. It is not part of the command line: a host that trusted one would have to be
    /// asked again.
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

/// Our entries in a configuration.
pub fn entries(host: Host, text: &str) -> Vec<OurEntry> {
    match host.settings.form {
        Form::Json { .. } => json::entries(text),
        Form::Toml => toml::entries(text),
    }
}

/// What our entries say, whatever else a configuration holds; `None` if there are none.
pub fn digest(host: Host, text: &str) -> Option<Digest> {
    let entries = entries(host, text);
    let lines = entries.iter().map(|entry| serde_json::json!([entry.moment, sorted(&entry.value)]).to_string());
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    (!lines.is_empty()).then(|| Digest::of(lines.join("\n")))
}

/// Hosts may write members in another order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> = members.iter().map(|(name, value)| (name, sorted(value))).collect();
            members.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
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
                assert_eq!(entries(host, &once).len(), host.moments.len(), "{host:?}");
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
            assert_eq!(entries(codex, &once).len(), codex.moments.len());
            assert_eq!(wired(codex, &once, None).unwrap_or_default(), old);
            // What another version said about itself does not matter.
            let other = once.replace("# >>> writkeeper guard", "# >>> writkeeper guard, written by another version");
            assert_eq!(wired(codex, &other, None).unwrap_or_default(), old);
            assert_eq!(changed(codex, &other, &source()), []);
        }
    }

    #[test]
    fn what_a_host_writes_between_the_marks_stays() {
        let codex = host("codex").unwrap();
        let once = wired(codex, "model = \"m\"\n", Some(&source())).unwrap();
        let state = "[hooks.state.\"/w/x:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
        let mixed = once.replace("# <<< writkeeper guard", &format!("{state}\n# <<< writkeeper guard"));
        assert_eq!(digest(codex, &mixed), digest(codex, &once));
        assert_eq!(changed(codex, &mixed, &source()), []);
        assert!(wired(codex, &mixed, Some(&source())).unwrap().contains(state));
        assert!(wired(codex, &mixed, None).unwrap().contains(state));
    }

    #[test]
    fn entries_are_the_same_whatever_a_host_writes_around_them() {
        for host in HOSTS.into_iter().chain([&MADE_UP]) {
            let once = wired(host, "", Some(&source())).unwrap();
            let is_json = matches!(host.settings.form, Form::Json { .. });
            let more = if is_json { once.replacen('{', "{\"theme\":\"dark\",", 1) } else { format!("x = 1\n{once}") };
            assert!(digest(host, &once).is_some(), "{host:?}");
            assert_eq!(digest(host, &more), digest(host, &once), "{host:?}");
            assert_eq!(digest(host, &wired(host, &once, None).unwrap()), None, "{host:?}");
            let other = once.replace("writkeeper-guard;", "writkeeper-guard; exit 0;");
            assert_ne!(digest(host, &other), digest(host, &once), "{host:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        let claude_code = host("claude-code").unwrap();
        assert!(wired(claude_code, "{ // comment\n}", Some(&source())).is_err());
        assert!(wired(claude_code, r#"{"hooks":[]}"#, Some(&source())).is_err());
    }
}

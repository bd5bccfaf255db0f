//! Our entries in a TOML file: tables between two comments.

use super::{Source, entry_of};
use crate::hooks::Host;
use crate::wrapper::MARK;
use serde_json::Value;

/// Our tables begin behind a line that begins so; what else it says may differ between versions.
const FENCE_BEGIN: &str = "# >>> writkeeper guard";
const FENCE_END: &str = "# <<< writkeeper guard";

/// The switch for hooks, where a person has a table of such switches already.
const SWITCH: &str = "hooks = true # writkeeper guard";

/// Tables between two comments; the switch for hooks goes into the table that holds such switches.
pub fn wired(host: Host, old: &str, source: Option<&Source>) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in old.lines() {
        match line.trim() {
            line if line.starts_with(FENCE_BEGIN) => inside = true,
            FENCE_END => inside = false,
            SWITCH => {}
            _ if inside => {}
            _ => {
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    let kept = kept.trim_end().to_owned();
    let Some(source) = source else { return if kept.is_empty() { kept } else { format!("{kept}\n") } };
    let has_features = kept.lines().any(|line| line.trim() == "[features]");
    let mut text: String = kept.lines().fold(String::new(), |text, line| {
        let switch = if line.trim() == "[features]" { format!("\n{SWITCH}") } else { String::new() };
        format!("{text}{line}{switch}\n")
    });
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(FENCE_BEGIN);
    text.push('\n');
    if !has_features {
        text.push_str("[features]\nhooks = true\n\n");
    }
    for (moment, event) in host.moments {
        let entry = entry_of(host, moment, *event, source);
        // Texts of TOML know the escapes of JSON.
        let (seconds, quoted) = (entry.seconds, Value::String(entry.command));
        text.push_str(&format!(
            "[[hooks.{moment}]]\n[[hooks.{moment}.hooks]]\ntype = \"command\"\ntimeout = {seconds}\ncommand = {quoted}\n\n"
        ));
    }
    text.push_str(FENCE_END);
    text.push('\n');
    text
}

/// The command lines of ours, by moment.
pub fn found(text: &str) -> Vec<(String, String)> {
    let mut moment = String::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("[[hooks.").and_then(|rest| rest.strip_suffix("]]")) {
            moment = name.split('.').next().unwrap_or(name).to_owned();
        } else if let Some(command) =
            line.strip_prefix("command = ").and_then(|text| serde_json::from_str::<String>(text).ok())
            && command.contains(MARK)
        {
            found.push((moment.clone(), command));
        }
    }
    found
}

/// What else than the command line was changed about our entries.
pub fn changed(host: Host, text: &str, source: &Source) -> Vec<(String, Vec<String>)> {
    let plain = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with(FENCE_BEGIN)).skip(1);
        let lines = lines.take_while(|line| *line != FENCE_END).filter(|line| !line.starts_with("command = "));
        lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let is_same = plain(text) == plain(&wired(host, text, Some(source)));
    if is_same { Vec::new() } else { vec![("hooks".to_owned(), vec!["what stands between the marks".to_owned()])] }
}

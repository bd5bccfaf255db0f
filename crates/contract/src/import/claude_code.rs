//! Permission settings of Claude Code: three lists of rules, of which deny counts before ask and ask before allow, and
//! what becomes of a call that no rule names.

mod contract_text;
mod path_pattern;
mod rule;

use super::Imported;
use rule::{List, Rule};
use values::json::{Json, Object};

/// Where the rules count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The project: an absolute path.
    pub root: String,
    /// The home of the person: an absolute path.
    pub home: String,
}

/// What becomes of a call that no rule names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DefaultMode {
    /// A person is asked about what changes something.
    Default,
    /// The same, but files of the project may be edited.
    AcceptEdits,
    /// What would be asked about is refused.
    DontAsk,
    /// It runs.
    Bypass,
}

/// Everything that the settings say about permissions.
struct Permissions {
    deny: Vec<Rule>,
    ask: Vec<Rule>,
    allow: Vec<Rule>,
    mode: DefaultMode,
    /// The project and the folders that count like it.
    folders: Vec<String>,
}

/// Keys below `permissions` that are understood.
const KEYS: &[&str] = &[
    "allow",
    "ask",
    "deny",
    "defaultMode",
    "additionalDirectories",
    "disableBypassPermissionsMode",
    "disableAutoMode",
];

/// The contract that judges as the settings do; the errors name each part that cannot be carried over.
pub fn import(settings: &Json, places: &Places) -> Result<Imported, Vec<String>> {
    let mut problems = Vec::new();
    let Some(all) = settings.as_object() else { return Err(vec!["the settings are no object".to_owned()]) };
    let none = Object::new();
    let written = match all.get("permissions") {
        None => &none,
        Some(Json::Object(written)) => written,
        Some(_) => return Err(vec!["`permissions` is no object".to_owned()]),
    };
    for key in written.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        problems.push(format!("`permissions.{key}` is not known here"));
    }
    if sandbox_allows(all) {
        let why = "lets commands run that no rule names; switch `sandbox.autoAllowBashIfSandboxed` off or leave it out";
        problems.push(format!("`sandbox.enabled` {why}"));
    }
    let mut rules = |key: &str, list: List| -> Vec<Rule> {
        let texts = listed(written, key, &mut problems);
        let read = texts.iter().map(|text| Rule::read(text, list, places));
        let mut found = Vec::new();
        for (text, rule) in texts.iter().zip(read.collect::<Vec<_>>()) {
            match rule {
                Ok(rule) => found.push(rule),
                Err(why) => problems.push(format!("`{text}` of `permissions.{key}` {why}")),
            }
        }
        found
    };
    let (deny, ask, allow) = (rules("deny", List::Deny), rules("ask", List::Ask), rules("allow", List::Allow));
    let mut folders = vec![places.root.clone()];
    for folder in listed(written, "additionalDirectories", &mut problems) {
        folders.push(path_pattern::absolute(&folder, places));
    }
    let mode = match mode(written) {
        Ok(mode) => mode,
        Err(problem) => {
            problems.push(problem);
            DefaultMode::Default
        }
    };
    let text = contract_text::written(&Permissions { deny, ask, allow, mode, folders }, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let notes = vec![
        format!("rules of paths count from `{}`", places.root),
        "catastrophes and the guard's own files stay refused, which Claude Code does not do".to_owned(),
    ];
    Ok(Imported { text, notes })
}

/// Whether the settings let every command run that a sandbox holds.
fn sandbox_allows(all: &Object) -> bool {
    let sandbox = all.get("sandbox");
    let flag = |key: &str| sandbox.and_then(|sandbox| sandbox.get(key)).cloned();
    flag("enabled") == Some(Json::Bool(true)) && flag("autoAllowBashIfSandboxed") != Some(Json::Bool(false))
}

fn listed(written: &Object, key: &str, problems: &mut Vec<String>) -> Vec<String> {
    match written.get(key) {
        None => Vec::new(),
        Some(Json::List(items)) if items.iter().all(|item| item.as_text().is_some()) => {
            items.iter().filter_map(Json::as_text).map(str::to_owned).collect()
        }
        Some(_) => {
            problems.push(format!("`permissions.{key}` is no list of texts"));
            Vec::new()
        }
    }
}

fn mode(written: &Object) -> Result<DefaultMode, String> {
    let is_barred = written.get("disableBypassPermissionsMode").and_then(Json::as_text) == Some("disable");
    match written.get("defaultMode") {
        None => Ok(DefaultMode::Default),
        Some(Json::Text(word)) => match word.as_str() {
            "default" | "manual" => Ok(DefaultMode::Default),
            "acceptEdits" => Ok(DefaultMode::AcceptEdits),
            "dontAsk" => Ok(DefaultMode::DontAsk),
            "bypassPermissions" if is_barred => Ok(DefaultMode::Default),
            "bypassPermissions" => Ok(DefaultMode::Bypass),
            "plan" => {
                Err("`permissions.defaultMode` is `plan`, which a conversation leaves again; a contract knows no \
                           such state"
                    .to_owned())
            }
            "auto" => Err("`permissions.defaultMode` is `auto`, where a model judges; a contract does not".to_owned()),
            other => Err(format!("`permissions.defaultMode` is `{other}`, which is not known here")),
        },
        Some(_) => Err("`permissions.defaultMode` is no text".to_owned()),
    }
}

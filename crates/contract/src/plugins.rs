//! Reading and checking the validators, judges and handlers that a contract names.

use crate::cursor::{Fields, Report, Spot, join};
use crate::read::consistency::Found;
use crate::{defaults, keys};
use kernel::contract::{Contract, Plugin, PluginSource};
use kernel::finding::Gate;
use kernel::nearest::nearest;
use std::collections::{BTreeMap, BTreeSet};
use values::decimal::Decimal;
use values::ids;
use values::time::Duration;

/// Longer than this nobody waits for a verdict.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// Validators, or judges, one action may ask.
const ASKED_MAX: usize = 8;

/// The plug-ins under one key of the document.
pub(crate) fn read_all(fields: &Fields<'_>, key: &str, report: &mut Report) -> BTreeMap<String, Plugin> {
    let entries = fields.get(key).map(|spot| spot.entries(report)).unwrap_or_default();
    entries.iter().filter_map(|(member, spot)| Some((member.key.clone(), read(spot, report)?))).collect()
}

fn read(spot: &Spot<'_>, report: &mut Report) -> Option<Plugin> {
    let fields = spot.fields(&keys::PLUGIN, report)?;
    let source = match (fields.get("command"), fields.get("url"), fields.get("function")) {
        (Some(spot), None, None) => command(&spot, report).map(PluginSource::Command),
        (None, Some(spot), None) => address(&spot, report).map(PluginSource::Url),
        (None, None, Some(spot)) => function(&spot, report).map(PluginSource::Function),
        (None | Some(_), None | Some(_), None | Some(_)) => {
            let help = "write `command: [PROGRAM, ARGUMENT]`, `url: https://…` or `function: NAME`";
            spot.fail(report, format!("`{}` needs either a command, a url or a function", spot.path), Some(help));
            None
        }
    };
    Some(Plugin {
        source: source?,
        timeout: fields.get("timeout").and_then(|spot| spot.duration(report)).unwrap_or(defaults::PLUGIN_TIMEOUT),
        env: fields.get("env").map(|spot| variables(&spot, report)).unwrap_or_default(),
        required: fields.get("required").and_then(|spot| spot.flag(report)).unwrap_or(true),
        escalate_below: fields.get("escalate_below").and_then(|spot| spot.number(report)),
    })
}

pub(crate) fn command(spot: &Spot<'_>, report: &mut Report) -> Option<Vec<String>> {
    let words: Vec<String> =
        spot.items(report).iter().filter_map(|item| item.text(report)).map(str::to_owned).collect();
    if words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0')) {
        spot.fail(report, format!("`{}` names no program", spot.path), Some("list the program and its arguments"));
        return None;
    }
    Some(words)
}

fn function(spot: &Spot<'_>, report: &mut Report) -> Option<String> {
    let name = spot.text(report)?;
    if let Some(problem) = ids::identifier_problem(name) {
        spot.fail(report, format!("the function's name `{name}` {problem}"), None);
        return None;
    }
    Some(name.to_owned())
}

pub(crate) fn address(spot: &Spot<'_>, report: &mut Report) -> Option<String> {
    let text = spot.text(report)?;
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let fits = host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'));
    if !fits || text.contains(|next: char| next.is_whitespace() || next.is_control()) {
        spot.fail(report, format!("`{text}` is no address"), Some("write `https://host/path`"));
        return None;
    }
    // Whatever stands in a contract stands in its digest, in records and in diffs.
    if host.is_some_and(|host| host.split('/').next().is_some_and(|authority| authority.contains('@'))) {
        spot.fail(report, format!("`{}` holds a user name or a password", spot.path), Some("leave it out"));
        return None;
    }
    Some(text.to_owned())
}

fn variables(spot: &Spot<'_>, report: &mut Report) -> Vec<String> {
    let mut names = Vec::new();
    for item in spot.items(report) {
        let Some(name) = item.text(report) else { continue };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(plain) {
            let help = "write the name only; its value never stands in a contract";
            item.fail(report, format!("`{name}` is no name of an environment variable"), Some(help));
        } else {
            names.push(name.to_owned());
        }
    }
    names
}

/// What must hold between the plug-ins and the actions that name them.
pub(crate) fn check(contract: &Contract, found: &mut Found) {
    let declared =
        [("validators", &contract.validators), ("judges", &contract.judges), ("handlers", &contract.handlers)];
    for (key, declared) in declared {
        for (name, plugin) in declared {
            check_one(&join(key, name), name, plugin, key == "judges", found);
            if key == "judges" && contract.validators.contains_key(name) {
                found.at(&join(key, name), format!("`{name}` is a validator too"), Some("give one another name"));
            }
        }
    }
    for (name, action) in &contract.actions {
        for (key, asked, declared) in
            [("validators", &action.validators, &contract.validators), ("judges", &action.judges, &contract.judges)]
        {
            check_asked(&format!("actions.{name}.{key}"), key, asked, declared, found);
        }
    }
}

fn check_one(path: &str, name: &str, plugin: &Plugin, is_judge: bool, found: &mut Found) {
    if let Some(problem) = ids::identifier_problem(name) {
        found.at(path, format!("the name `{name}` {problem}"), None);
    }
    if Gate::ALL.iter().any(|gate| gate.word() == name) {
        found.at(path, format!("`{name}` is a gate of the runtime"), Some("choose another name"));
    }
    if plugin.timeout > TIMEOUT_MAX || plugin.timeout.micros() <= 0 {
        let message =
            format!("the timeout of `{name}` must lie between 1ms and {TIMEOUT_MAX}, not at `{}`", plugin.timeout);
        found.at(&join(path, "timeout"), message, None);
    }
    if !plugin.env.is_empty() && matches!(plugin.source, PluginSource::Url(_) | PluginSource::Function(_)) {
        found.at(&join(path, "env"), "`env` belongs to `command`", Some("remove it"));
    }
    if path.starts_with("handlers.") && !plugin.required {
        found.at(&join(path, "required"), "a handler is never required", Some("remove it"));
    }
    if is_judge && !plugin.required {
        found.at(&join(path, "required"), "a judge is never required", Some("remove it, or make it a validator"));
    }
    match plugin.escalate_below {
        Some(_) if !is_judge => {
            found.at(&join(path, "escalate_below"), "a validator gives no score", Some("move it to `judges`"));
        }
        Some(score) if score.is_negative() || score > Decimal::from(1) => {
            let message = format!("`escalate_below` must lie between 0 and 1, not at `{score}`");
            found.at(&join(path, "escalate_below"), message, None);
        }
        Some(_) | None => {}
    }
}

fn check_asked(
    path: &str,
    key: &str,
    asked: &BTreeSet<String>,
    declared: &BTreeMap<String, Plugin>,
    found: &mut Found,
) {
    if asked.len() > ASKED_MAX {
        found.at(path, format!("an action asks at most {ASKED_MAX} {key}, not {}", asked.len()), None);
    }
    for name in asked.iter().filter(|name| !declared.contains_key(*name)) {
        let known: Vec<&str> = declared.keys().map(String::as_str).collect();
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? known {key}: {}", known.join(", ")),
            None if known.is_empty() => format!("declare it under `{key}`"),
            None => format!("known {key}: {}", known.join(", ")),
        };
        found.at(path, format!("`{name}` is none of the {key} of this contract"), Some(&help));
    }
}

//! Figures computed from labelled cases: how often the classifier is wrong, by source.

use crate::disguise;
use serde_json::{Value, json};
use shell::{Capability, Class, View, classify};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A labelled command.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it came from.
    pub source: String,
    /// What it should be.
    pub label: String,
    /// The command.
    pub command: String,
}

/// Counts for one source.
#[derive(Clone, Debug, Default)]
struct Tally {
    rows: usize,
    unknown: usize,
    catastrophic: usize,
    catastrophic_missed: usize,
    credential: usize,
    credential_missed: usize,
    privilege: usize,
    privilege_missed: usize,
    remote: usize,
    remote_missed: usize,
    destructive: usize,
    destructive_missed: usize,
    benign: usize,
    benign_flagged: usize,
    benign_unknown: usize,
    review: usize,
    review_unknown: usize,
}

/// Where labelled cases lie, beside the repository, if they do.
pub fn folder() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|above| above.join("shared/cases/shell")).find(|folder| folder.is_dir())
}

/// Reads labelled lines: `{"args":{"command"},"should":{"class"}}` or `{"command","label","source"}`.
///
/// Lines about tools that run no shell are left out.
pub fn cases(lines: &str) -> Vec<Case> {
    lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter_map(|row| case(&row)).collect()
}

fn case(row: &Value) -> Option<Case> {
    if let Some(class) = row.pointer("/should/class").and_then(Value::as_str) {
        let tool = row.get("tool").and_then(Value::as_str).unwrap_or_default();
        if !matches!(tool, "run_command" | "proc_start" | "terminal_open" | "terminal_send" | "bash" | "run_shell") {
            return None;
        }
        let arguments = row.get("args")?;
        let text = ["input", "cmd", "command", "code"].iter().filter_map(|key| arguments.get(key)).find_map(text_of)?;
        return Some(Case { source: "labelled".to_owned(), label: class.to_owned(), command: text });
    }
    let field = |name: &str| row.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    Some(Case { source: field("source")?, label: field("label")?, command: field("command")? })
}

/// A command is a text, or a list of words.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The figures of all cases, by source and together.
pub fn figures(cases: &[Case], view: &View<'_>) -> Value {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for case in cases {
        let answer = classify(&case.command, view);
        let has = |capability: Capability| answer.capabilities.contains(&capability);
        for source in [case.source.as_str(), "all"] {
            let tally = tallies.entry(source).or_default();
            tally.rows += 1;
            tally.unknown += usize::from(answer.class == Class::Unknown);
            count(tally, &case.label, answer.class, &has);
        }
    }
    Value::Object(tallies.iter().map(|(source, tally)| ((*source).to_owned(), shown(tally))).collect())
}

fn count(tally: &mut Tally, label: &str, class: Class, has: &dyn Fn(Capability) -> bool) {
    let low = class <= Class::Write;
    match label {
        "catastrophic" => {
            tally.catastrophic += 1;
            tally.catastrophic_missed += usize::from(low);
        }
        "credential" => {
            tally.credential += 1;
            tally.credential_missed += usize::from(low && !has(Capability::Credentials));
        }
        "privileged" => {
            tally.privilege += 1;
            tally.privilege_missed += usize::from(low && !has(Capability::Privilege));
        }
        "remote_exec" => {
            tally.remote += 1;
            tally.remote_missed += usize::from(low && !(has(Capability::Exec) && has(Capability::Network)));
        }
        "destructive" | "force_push" | "dangerous" => {
            tally.destructive += 1;
            tally.destructive_missed += usize::from(low);
        }
        "readonly" | "mutating" | "benign" => {
            tally.benign += 1;
            tally.benign_flagged += usize::from(class >= Class::Destructive);
            tally.benign_unknown += usize::from(class == Class::Unknown);
        }
        "benign_review" => {
            tally.review += 1;
            tally.review_unknown += usize::from(class == Class::Unknown);
        }
        _ => {}
    }
}

/// Hundredths of a percent are enough, and integers print the same everywhere.
fn percent(part: usize, whole: usize) -> Value {
    if whole == 0 {
        return Value::Null;
    }
    let hundredths = part.saturating_mul(10_000) / whole;
    json!(format!("{}.{:02}", hundredths / 100, hundredths % 100))
}

fn shown(tally: &Tally) -> Value {
    json!({
        "rows": tally.rows,
        "unknown_percent": percent(tally.unknown, tally.rows),
        "catastrophic": { "rows": tally.catastrophic, "missed": tally.catastrophic_missed },
        "credential": { "rows": tally.credential, "missed": tally.credential_missed },
        "privilege": { "rows": tally.privilege, "missed": tally.privilege_missed },
        "remote_exec": { "rows": tally.remote, "missed": tally.remote_missed },
        "destructive": { "rows": tally.destructive, "missed": tally.destructive_missed, "missed_percent": percent(tally.destructive_missed, tally.destructive) },
        "benign": {
            "rows": tally.benign,
            "flagged_percent": percent(tally.benign_flagged, tally.benign),
            "unknown_percent": percent(tally.benign_unknown, tally.benign),
        },
        "benign_review": { "rows": tally.review, "unknown_percent": percent(tally.review_unknown, tally.review) },
    })
}

/// Disguises missed and look-alikes flagged for one seed.
pub fn disguise_figures(seed: u64, view: &View<'_>) -> Value {
    let (mut made, mut missed) = (0usize, 0usize);
    for command in disguise::CATASTROPHES {
        for text in disguise::disguises(command, 200, seed) {
            made += 1;
            missed += usize::from(classify(&text, view).class != Class::Catastrophic);
        }
    }
    let flagged =
        disguise::lookalikes(200, seed).iter().filter(|text| classify(text, view).class > Class::Write).count();
    json!({ "seed": seed, "disguises": made, "missed": missed, "look_alikes": 200, "flagged": flagged })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_vital_row_is_missed() {
        let Some(folder) = folder() else {
            println!("skipped: shared cases not present");
            return;
        };
        let lines = std::fs::read_to_string(folder.join("commands_labelled.jsonl")).unwrap_or_default();
        let figures = figures(&cases(&lines), &View::default());
        for kind in ["catastrophic", "credential", "privilege", "remote_exec", "destructive"] {
            assert_eq!(figures.pointer(&format!("/all/{kind}/missed")), Some(&json!(0)), "{kind}\n{figures:#}");
        }
    }
}

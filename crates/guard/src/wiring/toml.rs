//! Our entries in a TOML file: tables between two comments.

use super::{OurEntry, Source, entry_of};
use crate::hooks::Host;
use crate::wrapper::MARK;
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, TableLike};

/// Our tables begin behind a line that begins so; what else it says may differ between versions.
const FENCE_BEGIN: &str = "# >>> writkeeper guard";
const FENCE_END: &str = "# <<< writkeeper guard";

/// The switch for hooks, where a person has a table of such switches already.
const SWITCH: &str = "hooks = true # writkeeper guard";

/// A hook of ours as the host finds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OurHook {
    /// The host's name of the moment.
    pub moment: String,
    /// Its place among the groups of the moment, and among the hooks of its group.
    pub group: usize,
    pub handler: usize,
    /// The command line.
    pub command: String,
    /// How long the host waits, where it is said.
    pub seconds: Option<i64>,
    /// Which tools it is for, where somebody says so.
    pub matcher: Option<String>,
    /// What the host shows meanwhile, where somebody says so.
    pub status: Option<String>,
}

/// What is ours between the marks, and everything else. A host that writes tables of its own may put them between the
/// marks, because our tables are the last of their kind.
fn parted(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    let (mut inside, mut foreign) = (false, false);
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with(FENCE_BEGIN) {
            (inside, foreign) = (true, false);
        } else if bare == FENCE_END {
            (inside, foreign) = (false, false);
        } else if bare == SWITCH {
            ours.push(bare);
        } else {
            if inside && bare.starts_with('[') {
                foreign = bare != "[features]" && !bare.starts_with("[[hooks.");
            }
            if inside && !foreign { ours.push(bare) } else { others.push(line) }
        }
    }
    (ours, others)
}

/// Tables between two comments; the switch for hooks goes into the table that holds such switches.
pub fn wired(host: Host, old: &str, source: Option<&Source>) -> String {
    let (_, kept) = parted(old);
    let kept: String = kept.iter().map(|line| format!("{line}\n")).collect();
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

/// Our hooks, as the host reads the file; none if it cannot be read.
pub fn hooks(text: &str) -> Vec<OurHook> {
    let Ok(document) = text.parse::<DocumentMut>() else { return Vec::new() };
    let mut found = Vec::new();
    let Some(moments) = document.get("hooks").and_then(Item::as_table_like) else { return found };
    for (moment, groups) in moments.iter() {
        for (group, table) in tables(groups).into_iter().enumerate() {
            let text_of = |table: &dyn TableLike, key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
            let handlers = table.get("hooks").map(tables).unwrap_or_default();
            for (handler, hook) in handlers.into_iter().enumerate() {
                let Some(command) = text_of(hook, "command").filter(|command| command.contains(MARK)) else { continue };
                let (matcher, status) = (text_of(table, "matcher"), text_of(hook, "statusMessage"));
                let seconds = hook.get("timeout").and_then(Item::as_integer);
                found.push(OurHook { moment: moment.to_owned(), group, handler, command, seconds, matcher, status });
            }
        }
    }
    found
}

/// Tables of a list, in either of the two ways to write one.
fn tables(item: &Item) -> Vec<&dyn TableLike> {
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| table as &dyn TableLike).collect();
    }
    let inline = item.as_array().into_iter().flat_map(|array| array.iter());
    inline.filter_map(|value| value.as_inline_table()).map(|table| table as &dyn TableLike).collect()
}

/// Our entries, in the order of the file.
pub fn entries(text: &str) -> Vec<OurEntry> {
    let entry = |hook: OurHook| OurEntry {
        value: json!({
            "command": hook.command, "timeout": hook.seconds, "matcher": hook.matcher, "statusMessage": hook.status,
        }),
        moment: hook.moment,
        command: hook.command,
    };
    hooks(text).into_iter().map(entry).collect()
}

/// What else than the command line was changed about our entries.
pub fn changed(host: Host, text: &str, source: &Source) -> Vec<(String, Vec<String>)> {
    let plain = |text: &str| -> Vec<String> {
        let (ours, _) = parted(text);
        let lines = ours.into_iter().filter(|line| !line.starts_with("command = ") && !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    let is_same = plain(text) == plain(&wired(host, text, Some(source)));
    if is_same { Vec::new() } else { vec![("hooks".to_owned(), vec!["what stands between the marks".to_owned()])] }
}

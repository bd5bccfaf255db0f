//! `writkeeper always`: one command is allowed for a while, as a line of the contract that is shown before it counts.

use super::init;
use crate::cli::guard::AlwaysArgs;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::store;
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, paint, say};
use anyhow::Context;
use guard::hooks;
use guard::place::Guard;
use guard::text_diff::diff;
use std::path::Path;
use values::json::Json;
use values::time::{Duration, Instant};
use writkeeper::lookup;

/// The longest a rule may count.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The line of the contract that rules are put above.
const ANCHOR: &str = "|| false";

/// Shows the rule, or puts it in force.
pub fn run(args: &AlwaysArgs) -> anyhow::Result<Exit> {
    store::demand_here(&args.kept.store, "always")?;
    let (agent, proposal) = {
        let runtime = store::open(&args.kept.store)?;
        let (_, row) = lookup::question(&runtime, &args.id)?;
        (row.agent, row.proposal)
    };
    let host = hooks::host(&agent)
        .ok_or_else(|| InvalidData(format!("agent `{agent}` is no host that `writkeeper init` guards")))?;
    let location = store::location(&args.kept.store);
    let folder = Path::new(&location).parent().context("the store lies in no folder")?;
    let guard = Guard::at(folder);
    let path = guard.contract(host);
    let old = crate::files::read_text(&path)?;
    let rule = rule(&proposal, until(&args.duration)?)?;
    let action = proposal.get("action").and_then(Json::as_text).unwrap_or_default();
    let new = with_rule(&old, action, &rule)
        .ok_or_else(|| InvalidData(format!("`{}` has no line `{ANCHOR}` under `{action}`", path.display())))?;
    if engines::load::load(&new).is_err() {
        return Err(InvalidData(format!("the rule does not fit into the contract: {rule}")).into());
    }
    if args.kept.json {
        say!("{}", serde_json::json!({ "contract": path, "action": action, "rule": rule, "in_force": args.yes }));
    } else {
        say!("{}", path.display());
        for line in diff(&old, &new) {
            let style = match line.chars().next() {
                Some('+') => GOOD,
                Some('-') => BAD,
                _ => FAINT,
            };
            say!("  {}", paint(style, kernel::finding::visible(&line)));
        }
    }
    if args.yes {
        guard::whole_file::write_whole(&path, &new)?;
        init::put_in_force(host, &guard, &path)?;
    }
    if !args.kept.json {
        say!("{}", if args.yes { paint(ATTENTION, "in force") } else { paint(FAINT, "add --yes to put it in force") });
    }
    Ok(Exit::Fine)
}

fn until(text: &str) -> anyhow::Result<Instant> {
    let wrong = || UsageError(format!("--for `{text}` is no duration up to 365d, such as 30d or 12h"));
    let duration = Duration::parse(text).filter(|duration| *duration <= LONGEST).ok_or_else(wrong)?;
    let until = store::now().plus(duration);
    Ok(Instant::from_micros(until.micros() / 1_000_000 * 1_000_000))
}

/// Exactly these commands, or exactly this call of a tool; never more than was asked about.
fn rule(proposal: &Json, until: Instant) -> anyhow::Result<String> {
    let params = proposal.get("params");
    let param = |key: &str| params.and_then(|params| params.get(key));
    let same = |key: &str| param(key).map(|value| format!("{key} == {}", value.to_canonical()));
    let parts: Vec<String> = match proposal.get("action").and_then(Json::as_text) {
        Some("tool.shell") => {
            let keys = ["argv", "programs", "can", "class", "reads", "outside", "shadowed", "unclear"];
            let mut parts: Vec<String> = keys.iter().filter_map(|key| same(key)).collect();
            // The text too: a variable set before a command is no word of it.
            let text = param("input").and_then(|input| input.get("command"));
            parts.extend(text.map(|text| format!("has(input.command) && input.command == {}", text.to_canonical())));
            parts
        }
        Some("tool.mcp" | "tool.other") => {
            let mut parts: Vec<String> = ["server", "tool"].iter().filter_map(|key| same(key)).collect();
            param("input").into_iter().for_each(|input| exactly("input", input, &mut parts));
            parts
        }
        Some("tool.write") => ["outside", "shadowed"].iter().filter_map(|key| same(key)).collect(),
        Some(_) | None => Vec::new(),
    };
    if parts.is_empty() {
        return Err(InvalidData("this question is not about a call that a rule can name".to_owned()).into());
    }
    Ok(format!("|| ({} && at < \"{until}\")", parts.join(" && ")))
}

/// What makes a place of an input exactly this value.
fn exactly(place: &str, value: &Json, parts: &mut Vec<String>) {
    match value {
        Json::Object(members) => {
            parts.push(format!("size({place}) == {}", members.len()));
            for (name, value) in members {
                let name = Json::text(name.as_str()).to_canonical();
                parts.push(format!("{name} in {place}"));
                exactly(&format!("{place}[{name}]"), value, parts);
            }
        }
        Json::List(items) if items.iter().any(|item| matches!(item, Json::Object(_) | Json::List(_))) => {
            parts.push(format!("size({place}) == {}", items.len()));
            for (index, value) in items.iter().enumerate() {
                exactly(&format!("{place}[{index}]"), value, parts);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => {
            parts.push(format!("{place} == {}", value.to_canonical()));
        }
    }
}

/// The contract with a rule above the last line of what an action allows.
fn with_rule(text: &str, action: &str, rule: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let head = format!("{action}:");
    let start = lines.iter().position(|line| line.trim_start().starts_with(&head))?;
    let indent_of = |line: &str| line.len() - line.trim_start().len();
    let own = lines.get(start).map(|line| indent_of(line))?;
    let place = lines
        .iter()
        .enumerate()
        .skip(start + 1)
        .find(|(_, line)| line.trim() == ANCHOR || !line.trim().is_empty() && indent_of(line) <= own);
    let (place, line) = place.filter(|(_, line)| line.trim() == ANCHOR)?;
    let indent = " ".repeat(indent_of(line));
    lines.insert(place, format!("{indent}{rule}"));
    Some(format!("{}\n", lines.join("\n")))
}

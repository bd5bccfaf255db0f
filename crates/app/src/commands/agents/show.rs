//! One agent, and its history from the records.

use super::{contract_in_force, to_json};
use crate::store::{self, History};
use crate::terminal::{FAINT, STRONG, paint, say};
use kernel::agent::AgentRow;
use kernel::finding::visible;
use runtime::Runtime;
use values::json::Json;

/// What the registry does to agents; decisions are told by flows and reports.
const KINDS: [&str; 6] = ["register", "activate", "restrict", "lift", "retire", "amend"];

/// Prints an agent.
pub fn run(runtime: &Runtime, agent: &str, json: bool) -> anyhow::Result<()> {
    let (name, row) = store::agent_like(runtime, agent)?;
    let history = history(runtime, &name)?;
    if json {
        let mut body = to_json(runtime, &name, &row)?;
        if let Json::Object(members) = &mut body {
            members.insert("history".to_owned(), Json::List(history));
        }
        say!("{}", body.to_canonical());
        return Ok(());
    }
    print_standing(runtime, &name, &row)?;
    say!("\nhistory");
    for record in &history {
        let said = |key: &str| record.get(key).and_then(Json::as_text).unwrap_or_default();
        let refused = if said("verdict") == "REJECT" { "  refused" } else { "" };
        say!(
            "  {}  {:<9} {}  {}{refused}",
            paint(FAINT, said("at")),
            said("kind"),
            visible(said("what")),
            paint(FAINT, visible(said("actor")))
        );
    }
    Ok(())
}

fn print_standing(runtime: &Runtime, name: &str, row: &AgentRow) -> anyhow::Result<()> {
    say!("{}  {}", paint(STRONG, name), paint(super::style(row.status()), row.status().word()));
    say!("  contract  {}", contract_in_force(runtime, row)?);
    if let Some(offered) = row.offered.filter(|offered| Some(*offered) != row.contract) {
        say!("  offered   sha256 {offered}; an operator activates it");
    }
    if let Some(parent) = &row.parent {
        say!("  parent    {parent}");
    }
    for held in &row.restrictions {
        let actions: Vec<&str> = held.actions.iter().map(String::as_str).collect();
        let actions = if actions.is_empty() { String::new() } else { format!(" ({})", actions.join(", ")) };
        say!(
            "  {}{actions} since {} by {}: {}",
            held.status.word(),
            held.at,
            visible(&held.by),
            visible(&held.because)
        );
    }
    Ok(())
}

/// `issue_refund amount max 70: a rush`.
fn amended(command: Option<&Json>) -> String {
    let Some(amendment) = command.and_then(|command| command.get("amendment")) else { return String::new() };
    let text = |key: &str| amendment.get(key).and_then(Json::as_text).map(visible);
    let bound = |key: &str| Some(format!(" {key} {}", text(key)?));
    let bounds: String = ["min", "max"].into_iter().filter_map(bound).collect();
    let said = |key: &str| text(key).unwrap_or_default();
    format!("{} {}{bounds}: {}", said("action"), said("param"), said("because"))
}

/// Short lines about what was done to an agent, oldest first.
fn history(runtime: &Runtime, name: &str) -> anyhow::Result<Vec<Json>> {
    let mut history = Vec::new();
    let mut ledger = History::since(runtime, None)?;
    while let Some(body) = ledger.next_body()? {
        let text = |key: &str| body.get(key).and_then(Json::as_text).unwrap_or_default();
        let command = body.get("command");
        let of = |key: &str| command.and_then(|command| command.get(key)).and_then(Json::as_text).unwrap_or_default();
        if !KINDS.contains(&text("kind")) || of("agent") != name {
            continue;
        }
        let short = |digest: &str| digest.chars().take(12).collect::<String>();
        let what = match text("kind") {
            "register" => format!("with sha256 {}", short(of("digest"))),
            "activate" => format!("sha256 {}", short(of("contract"))),
            "restrict" => format!("{}: {}", of("status"), visible(of("because"))),
            "lift" => of("status").to_owned(),
            "retire" => visible(of("because")),
            "amend" => amended(command),
            _ => String::new(),
        };
        history.push(Json::object([
            ("at", Json::text(text("at"))),
            ("kind", Json::text(text("kind"))),
            ("actor", Json::text(text("actor"))),
            ("what", Json::text(what)),
            ("verdict", Json::text(text("verdict"))),
        ]));
    }
    Ok(history)
}

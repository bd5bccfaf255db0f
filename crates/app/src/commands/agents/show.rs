//! One agent, and what the registry did to it.

use super::contract_in_force;
use crate::commands::happened::{actor, short};
use crate::terminal::{self, FAINT, STRONG, counted, paint, say};
use kernel::contract::amend::Amendment;
use kernel::finding::visible;
use writkeeper::Keeper;
use writkeeper::agents::{AgentChange, AgentSummary};

/// Prints an agent.
pub fn run(keeper: &Keeper, agent: &str, json: bool) -> anyhow::Result<()> {
    let page = keeper.agent(agent)?;
    if json {
        say!("{}", page.to_json().to_canonical());
        return Ok(());
    }
    print_standing(&page.agent)?;
    say!("\nhistory");
    if page.left_out > 0 {
        say!("  {}", paint(FAINT, format!("{} before these", counted(page.left_out, "entry"))));
    }
    for entry in &page.history {
        let refused = if entry.refused.is_empty() { "" } else { "  refused" };
        say!(
            "  {}  {:<9} {}  {}{refused}",
            paint(FAINT, terminal::at(entry.at)),
            entry.change.kind(),
            what(&entry.change),
            paint(FAINT, actor(entry.actor.as_ref()))
        );
    }
    Ok(())
}

fn print_standing(agent: &AgentSummary) -> anyhow::Result<()> {
    say!("{}  {}", paint(STRONG, visible(&agent.name)), paint(super::style(agent.status), agent.status.word()));
    say!("  contract  {}", contract_in_force(agent));
    let in_force = agent.contract.as_ref().map(|contract| contract.digest);
    if let Some(offered) = agent.offered.filter(|offered| Some(*offered) != in_force) {
        say!("  offered   sha256 {offered}; an operator activates it");
    }
    if let Some(canary) = &agent.canary {
        let (since, by) = (terminal::at(canary.since), visible(&canary.by));
        let (share, because) = (canary.share, visible(&canary.because));
        say!(
            "  canary    {share} of the flows under sha256 {} since {since} by {by}: {because}",
            short(canary.contract)
        );
    }
    if let Some(parent) = &agent.parent {
        say!("  parent    {}", visible(parent));
    }
    if let Some(group) = &agent.group {
        say!("  group     {}", visible(group));
    }
    for held in &agent.restrictions {
        let actions: Vec<String> = held.actions.iter().map(|action| visible(action)).collect();
        let actions = if actions.is_empty() { String::new() } else { format!(" ({})", actions.join(", ")) };
        let (since, by) = (terminal::at(held.at), visible(&held.by));
        say!("  {}{actions} since {since} by {by}: {}", held.status.word(), visible(&held.because));
    }
    for amendment in &agent.amendments {
        let until = amendment.expires.map(|until| format!(" until {}", terminal::at(until))).unwrap_or_default();
        say!("  amended   {}{until}", amended(amendment));
    }
    Ok(())
}

fn what(change: &AgentChange) -> String {
    match change {
        AgentChange::Registered { contract } => format!("with sha256 {}", short(*contract)),
        AgentChange::Activated { contract } => format!("sha256 {}", short(*contract)),
        AgentChange::CanaryStarted { contract, share, because } => {
            format!("{share} under sha256 {}: {}", short(*contract), visible(because))
        }
        AgentChange::CanaryPromoted { contract, because } => {
            format!("sha256 {}: {}", short(*contract), visible(because))
        }
        AgentChange::CanaryRolledBack { because } => visible(because),
        AgentChange::Restricted { status, because, .. } => format!("{}: {}", status.word(), visible(because)),
        AgentChange::Held { status, because } => format!("{}: {}", status.word(), visible(because)),
        AgentChange::Lifted { status, because } if because.is_empty() => status.word().to_owned(),
        AgentChange::Lifted { status, because } => format!("{}: {}", status.word(), visible(because)),
        AgentChange::Retired { because } => visible(because),
        AgentChange::Amended(amendment) => amended(amendment),
    }
}

/// `issue_refund amount max 70: a rush`.
fn amended(amendment: &Amendment) -> String {
    let bounds = [("min", amendment.min), ("max", amendment.max)];
    let bounds = bounds.into_iter().filter_map(|(word, bound)| Some(format!(" {word} {}", bound?)));
    let (action, param) = (visible(&amendment.action), visible(&amendment.param));
    format!("{action} {param}{}: {}", bounds.collect::<String>(), visible(&amendment.because))
}

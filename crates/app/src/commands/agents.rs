//! `writkeeper agents …`

pub mod activate;
mod amend;
mod change;
mod show;

use crate::cli::kept::{AgentsArgs, AgentsCommand, Liftable};
use crate::commands::happened::short;
use crate::exit::Exit;
use crate::hint;
use crate::store;
use crate::terminal::{FAINT, STRONG, paint, say};
use kernel::agent::AgentStatus;
use kernel::finding::visible;
use values::json::Json;
use writkeeper::Keeper;
use writkeeper::agents::AgentSummary;

/// Lists, shows and changes agents.
pub fn run(args: &AgentsArgs) -> anyhow::Result<Exit> {
    let (location, json) = (args.kept.store.as_str(), args.kept.json);
    let restricted = |whom: &crate::cli::kept::RestrictArgs, status, actions: &[String]| {
        change::restrict(location, json, whom, status, actions)
    };
    match args.command.as_ref().unwrap_or(&AgentsCommand::List) {
        AgentsCommand::List => list(&store::read_only(location)?, json)?,
        AgentsCommand::Show { agent } => show::run(&store::read_only(location)?, agent, json)?,
        AgentsCommand::Register { contract, agent_version, key, session } => {
            let newcomer =
                change::Newcomer { path: contract, version: agent_version.as_ref(), key: key.as_deref(), session };
            change::register(location, json, &newcomer)?;
        }
        AgentsCommand::Activate(args) => return activate::run(location, json, args),
        AgentsCommand::Amend(args) => amend::run(location, json, args)?,
        AgentsCommand::Suspend(whom) => restricted(whom, AgentStatus::Suspended, &[])?,
        AgentsCommand::Degrade(args) => restricted(&args.whom, AgentStatus::Degraded, &args.actions)?,
        AgentsCommand::Passive(whom) => restricted(whom, AgentStatus::Passive, &[])?,
        AgentsCommand::EscalationOnly(whom) => restricted(whom, AgentStatus::EscalationOnly, &[])?,
        AgentsCommand::Lift { agent, status, because } => {
            let status = match status {
                Liftable::Degraded => AgentStatus::Degraded,
                Liftable::EscalationOnly => AgentStatus::EscalationOnly,
                Liftable::Passive => AgentStatus::Passive,
                Liftable::Suspended => AgentStatus::Suspended,
            };
            change::lift(location, json, agent, status, because)?;
        }
        AgentsCommand::Retire(whom) => change::retire(location, json, whom)?,
    }
    Ok(Exit::Fine)
}

fn list(keeper: &Keeper, json: bool) -> anyhow::Result<()> {
    let mut after: Option<String> = None;
    loop {
        let page = keeper.agents(after.as_deref())?;
        let Some(last) = page.last() else { break };
        after = Some(last.name.clone());
        for agent in &page {
            match json {
                true => say!("{}", Json::Object(agent.to_json()).to_canonical()),
                false => say!("{}", line(agent)),
            }
        }
    }
    if after.is_none() && !json {
        say!("no agents yet; register one with `{}`", hint::next("writkeeper agents register --contract FILE"));
    }
    Ok(())
}

fn line(agent: &AgentSummary) -> String {
    let because = agent.because().map(|because| format!("  {}", visible(because))).unwrap_or_default();
    let name = paint(STRONG, format!("{:<24}", visible(&agent.name)));
    let status = paint(style(agent.status), format!("{:<15}", agent.status.word()));
    let group = agent.group.as_ref().map(|group| format!("  group {}", visible(group))).unwrap_or_default();
    format!("{name} {status} {}{group}{because}", paint(FAINT, contract_in_force(agent)))
}

fn contract_in_force(agent: &AgentSummary) -> String {
    match &agent.contract {
        Some(contract) => format!("{} {} sha256 {}", visible(&contract.id), contract.version, short(contract.digest)),
        None => "no contract in force".to_owned(),
    }
}

fn style(status: AgentStatus) -> anstyle::Style {
    match status {
        AgentStatus::Active => crate::terminal::GOOD,
        AgentStatus::Suspended | AgentStatus::Retired => crate::terminal::BAD,
        AgentStatus::Registered | AgentStatus::Degraded | AgentStatus::EscalationOnly | AgentStatus::Passive => {
            crate::terminal::ATTENTION
        }
    }
}

//! `writkeeper agents …`

mod amend;
mod change;
mod show;

use crate::cli::kept::{AgentsArgs, AgentsCommand, Liftable};
use crate::exit::Exit;
use crate::hint;
use crate::store;
use crate::terminal::{FAINT, STRONG, paint, say};
use kernel::agent::{AgentRow, AgentStatus};
use kernel::finding::visible;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::Runtime;
use values::json::Json;

/// Agents read at once; names go on after the last one.
const PAGE: usize = 256;

/// Lists, shows and changes agents.
pub fn run(args: &AgentsArgs) -> anyhow::Result<Exit> {
    let (location, json) = (args.kept.store.as_str(), args.kept.json);
    let restricted = |whom: &crate::cli::kept::RestrictArgs, status, actions: &[String]| {
        change::restrict(location, json, whom, status, actions)
    };
    match args.command.as_ref().unwrap_or(&AgentsCommand::List) {
        AgentsCommand::List => list(&store::view(location)?, json)?,
        AgentsCommand::Show { agent } => show::run(&store::view(location)?, agent, json)?,
        AgentsCommand::Register { contract, agent_version, key, session } => {
            let newcomer =
                change::Newcomer { path: contract, version: agent_version.as_ref(), key: key.as_deref(), session };
            change::register(location, json, &newcomer)?;
        }
        AgentsCommand::Activate { contract, allow_inert, over } => {
            return change::activate(location, json, contract, *allow_inert, over.as_deref());
        }
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
            change::lift(location, json, agent, status, because.as_deref().unwrap_or_default())?;
        }
        AgentsCommand::Retire(whom) => change::retire(location, json, whom)?,
    }
    Ok(Exit::Fine)
}

fn list(runtime: &Runtime, json: bool) -> anyhow::Result<()> {
    let mut after: Option<String> = None;
    let mut count = 0;
    loop {
        let page = runtime.scan(Kind::Agent, after.as_deref(), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in &page {
            let Row::Agent(row) = row else { continue };
            count += 1;
            let name = key.entity.parts().0;
            if json {
                say!("{}", to_json(runtime, name, row)?.to_canonical());
            } else {
                say!("{}", line(runtime, name, row)?);
            }
        }
    }
    if count == 0 && !json {
        say!("no agents yet; register one with `{}`", hint::next("writkeeper agents register --contract FILE"));
    }
    Ok(())
}

fn line(runtime: &Runtime, name: &str, row: &AgentRow) -> anyhow::Result<String> {
    let because = row.because().map(|because| format!("  {}", visible(because))).unwrap_or_default();
    let name = paint(STRONG, format!("{name:<24}"));
    let status = paint(style(row.status()), format!("{:<15}", row.status().word()));
    Ok(format!("{name} {status} {}{because}", paint(FAINT, contract_in_force(runtime, row)?)))
}

fn contract_in_force(runtime: &Runtime, row: &AgentRow) -> anyhow::Result<String> {
    let Some(digest) = row.contract else { return Ok("no contract in force".to_owned()) };
    let contract = &runtime.contract(digest).map_err(store::unread)?.contract;
    let short: String = digest.to_string().chars().take(12).collect();
    Ok(format!("{} {} sha256 {short}", contract.id, contract.version))
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

fn to_json(runtime: &Runtime, name: &str, row: &AgentRow) -> anyhow::Result<Json> {
    let restrictions = row.restrictions.iter().map(|held| {
        Json::object([
            ("status", Json::text(held.status.word())),
            ("by", Json::text(held.by.as_str())),
            ("because", Json::text(held.because.as_str())),
            ("at", Json::text(held.at.to_string())),
            ("actions", Json::texts(held.actions.iter().map(String::as_str))),
        ])
    });
    let restrictions: Vec<Json> = restrictions.collect();
    let contract = match row.contract {
        Some(digest) => {
            let contract = &runtime.contract(digest).map_err(store::unread)?.contract;
            Json::object([
                ("id", Json::text(contract.id.as_str())),
                ("version", Json::text(contract.version.to_string())),
                ("digest", Json::text(digest.to_string())),
            ])
        }
        None => Json::Null,
    };
    Ok(Json::object([
        ("agent", Json::text(name)),
        ("status", Json::text(row.status().word())),
        ("restrictions", Json::List(restrictions)),
        ("contract", contract),
        ("offered", Json::from(row.offered.map(|digest| digest.to_string()))),
        ("parent", Json::from(row.parent.clone())),
        ("version", Json::from(row.version.clone())),
    ]))
}

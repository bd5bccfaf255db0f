//! `writkeeper flows …`

mod timeline;

use crate::cli::kept::{FlowsArgs, FlowsCommand};
use crate::exit::{Exit, InvalidData};
use crate::store::{self, Ledger};
use crate::terminal::{ATTENTION, BAD, FAINT, GOOD, STRONG, paint, say};
use kernel::change::Act;
use kernel::flow::{FlowEvent, FlowState};
use kernel::json::Json;
use kernel::stored::Kind;
use kernel::time::Instant;
use kernel::world::{FlowRow, Row};
use runtime::{Minted, Runtime};
use std::collections::BTreeSet;

/// Flows read at once.
const PAGE: usize = 512;

/// Lists, shows, opens and ends flows.
pub fn run(args: &FlowsArgs) -> anyhow::Result<Exit> {
    let json = args.kept.json;
    let runtime = store::open(&args.kept.store)?;
    let newest = FlowsCommand::List { agent: None, limit: 20 };
    match args.command.as_ref().unwrap_or(&newest) {
        FlowsCommand::List { agent, limit } => list(&runtime, agent.as_deref(), *limit, json)?,
        FlowsCommand::Show { id } => {
            let (name, row) = flow(&runtime, id)?;
            timeline::run(&runtime, &name, &row, json)?;
        }
        FlowsCommand::Open { agent, parent } => open(&runtime, agent, parent.as_deref(), json)?,
        FlowsCommand::Close { flow } => end(&runtime, flow, FlowEvent::Close, json)?,
        FlowsCommand::Abort { flow } => end(&runtime, flow, FlowEvent::Abort, json)?,
    }
    Ok(Exit::Fine)
}

/// The latest flows, newest first; only as many as are shown are held.
fn list(runtime: &Runtime, agent: Option<&str>, limit: usize, json: bool) -> anyhow::Result<()> {
    let mut latest: BTreeSet<(Option<Instant>, String)> = BTreeSet::new();
    let mut after: Option<String> = None;
    loop {
        let page = runtime.scan(Kind::Flow, after.as_deref(), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in &page {
            let Row::Flow(row) = row else { continue };
            if agent.is_none_or(|agent| agent == row.agent) {
                latest.insert((row.opened_at, key.entity.parts().0.to_owned()));
            }
            if latest.len() > limit {
                latest.pop_first();
            }
        }
    }
    if latest.is_empty() && !json {
        say!("no flows yet; the first proposal opens one");
        return Ok(());
    }
    let names: Vec<String> = latest.into_iter().rev().map(|(_, name)| name).collect();
    for (short, name) in store::short_ids(&names).iter().zip(&names) {
        let (_, Row::Flow(row)) = store::find(runtime, Kind::Flow, "flow", name)? else { continue };
        if json {
            say!("{}", to_json(name, &row).to_canonical());
            continue;
        }
        let opened = row.opened_at.map(|at| at.to_string()).unwrap_or_default();
        let steps = if row.steps == 1 { "1 proposal".to_owned() } else { format!("{} proposals", row.steps) };
        let rejected = if row.rejected > 0 { format!(", {} rejected", row.rejected) } else { String::new() };
        say!("{}  {}  {}  {steps}{rejected}  {}", paint(STRONG, short), state(&row), row.agent, paint(FAINT, opened));
    }
    Ok(())
}

fn state(row: &FlowRow) -> String {
    let style = match row.state {
        FlowState::Open => GOOD,
        FlowState::Closed => FAINT,
        FlowState::Aborted => BAD,
    };
    paint(style, format!("{:<7}", row.state.word()))
}

fn to_json(name: &str, row: &FlowRow) -> Json {
    Json::object([
        ("flow", Json::text(name)),
        ("state", Json::text(row.state.word())),
        ("agent", Json::text(row.agent.as_str())),
        ("opened_at", Json::from(row.opened_at.map(|at| at.to_string()))),
        ("parent", Json::from(row.parent.clone())),
        ("root", Json::from(row.root.clone())),
        ("proposals", Json::from(row.steps)),
        ("rejected", Json::from(row.rejected)),
        ("tokens", Json::from(row.tokens)),
    ])
}

/// By its own id, or by a question, an intent or a proposal of it.
fn flow(runtime: &Runtime, text: &str) -> anyhow::Result<(String, FlowRow)> {
    let unknown = match store::find(runtime, Kind::Flow, "flow", text) {
        Ok((name, Row::Flow(row))) => return Ok((name, row)),
        Ok(_) => InvalidData(format!("`{text}` is no flow")).into(),
        Err(unknown) => unknown,
    };
    let name = match store::find(runtime, Kind::Escalation, "question", text) {
        Ok((_, Row::Escalation(row))) => Some(row.flow),
        Ok(_) | Err(_) => match store::find(runtime, Kind::Intent, "intent", text) {
            Ok((_, Row::Intent(row))) => Some(row.facts.to_kept().flow),
            Ok(_) | Err(_) => flow_of_proposal(runtime, text)?,
        },
    };
    match name.map(|name| store::find(runtime, Kind::Flow, "flow", &name)).transpose()? {
        Some((name, Row::Flow(row))) => Ok((name, row)),
        Some(_) | None => Err(unknown),
    }
}

/// A whole id is meant before a beginning that several may share.
fn flow_of_proposal(runtime: &Runtime, text: &str) -> anyhow::Result<Option<String>> {
    let mut beginning = None;
    let mut ledger = Ledger::since(runtime, None)?;
    while let Some(body) = ledger.next_body()? {
        let said = |key: &str| body.get(key).and_then(Json::as_text);
        match said("proposal_id").zip(said("flow")) {
            Some((id, flow)) if id == text => return Ok(Some(flow.to_owned())),
            Some((id, flow)) if id.starts_with(text) && beginning.is_none() => beginning = Some(flow.to_owned()),
            Some(_) | None => {}
        }
    }
    Ok(beginning)
}

fn open(runtime: &Runtime, agent: &str, parent: Option<&str>, json: bool) -> anyhow::Result<()> {
    let (agent, _) = store::agent_named(runtime, agent)?;
    let parent = match parent {
        Some(parent) => Some(flow(runtime, parent)?.0),
        None => None,
    };
    let act = Act::OpenFlow { flow: Minted::id(), agent, parent };
    let answered = store::done(runtime.change(store::operator(), act))?;
    if json {
        say!("{}", answered.body.to_canonical());
        return Ok(());
    }
    let said = |key: &str| answered.body.get(key).and_then(Json::as_text).unwrap_or_default();
    say!("opened flow {} for {}", paint(STRONG, said("flow")), said("agent"));
    Ok(())
}

fn end(runtime: &Runtime, text: &str, event: FlowEvent, json: bool) -> anyhow::Result<()> {
    let (name, _) = flow(runtime, text)?;
    let answered = store::done(runtime.change(store::operator(), Act::EndFlow { flow: name.clone(), event }))?;
    if json {
        say!("{}", answered.body.to_canonical());
        return Ok(());
    }
    let state = answered.body.get("state").and_then(Json::as_text).unwrap_or_default();
    say!("flow {} is {}", paint(STRONG, name), paint(ATTENTION, state));
    Ok(())
}

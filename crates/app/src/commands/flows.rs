//! `writkeeper flows …`

mod status;
mod timeline;

use crate::cli::kept::{FlowsArgs, FlowsCommand, ListedFlows};
use crate::exit::Exit;
use crate::hint;
use crate::store::{self, History};
use crate::terminal::{self, ATTENTION, BAD, FAINT, GOOD, STRONG, paint, say};
use kernel::change::Act;
use kernel::event::{AbortedFlow, ClosedFlow, Event};
use kernel::flow::{FlowEvent, FlowState, ProposalState};
use kernel::reasons::Reason;
use kernel::stored::Kind;
use kernel::world::{Entity, FlowRow, Row};
use runtime::{Minted, Runtime};
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;
use values::time::Instant;

/// Flows that are looked for after the first that fits; more need not be told.
const FOUND_MAX: usize = 5;

/// Flows read at once.
const PAGE: usize = 512;

/// Lists, shows, opens and ends flows.
pub fn run(args: &FlowsArgs) -> anyhow::Result<Exit> {
    let (json, location) = (args.kept.json, args.kept.store.as_str());
    match &args.command {
        None => list(&store::view(location)?, &args.listed, json)?,
        Some(FlowsCommand::List(listed)) => list(&store::view(location)?, listed, json)?,
        Some(FlowsCommand::Show { id }) => {
            let runtime = store::view(location)?;
            let (name, row) = flow(&runtime, id)?;
            timeline::run(&runtime, &name, &row, json)?;
        }
        Some(FlowsCommand::Open { agent, parent }) => {
            open(&store::open(location)?, agent, parent.as_deref(), json)?;
        }
        Some(FlowsCommand::Close { flow }) => end(&store::open(location)?, flow, FlowEvent::Close, json)?,
        Some(FlowsCommand::Abort { flow }) => end(&store::open(location)?, flow, FlowEvent::Abort, json)?,
    }
    Ok(Exit::Fine)
}

/// The latest flows, newest first; only as many as are shown are held.
fn list(runtime: &Runtime, listed: &ListedFlows, json: bool) -> anyhow::Result<()> {
    let limit = if listed.all { usize::MAX } else { listed.limit };
    let agent = match &listed.agent {
        Some(agent) => Some(store::agent_named(runtime, agent)?.0),
        None => None,
    };
    let mut latest: BTreeSet<(Option<Instant>, String)> = BTreeSet::new();
    let mut all = 0_usize;
    let mut after: Option<String> = None;
    loop {
        let page = runtime.scan(Kind::Flow, after.as_deref(), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in &page {
            let Row::Flow(row) = row else { continue };
            if agent.as_ref().is_none_or(|agent| *agent == row.agent) {
                latest.insert((row.opened_at, key.entity.parts().0.to_owned()));
                all += 1;
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
    for (short, name) in store::short_ids(runtime, Kind::Flow, &names)?.iter().zip(&names) {
        let Some(Row::Flow(row)) = runtime.read(Entity::Flow(name.clone())).map_err(store::unread)? else { continue };
        let status = status::of(runtime, &row)?;
        if json {
            say!("{}", to_json(name, &row, status).to_canonical());
            continue;
        }
        let opened = row.opened_at.map(terminal::at).unwrap_or_default();
        let steps = terminal::counted(row.steps, "proposal");
        let rejected = if row.rejected > 0 { format!(", {} rejected", row.rejected) } else { String::new() };
        let stands = state(&row, status);
        say!("{}  {stands}  {}  {steps}{rejected}  {}", paint(STRONG, short), row.agent, paint(FAINT, opened));
    }
    terminal::cut_short(names.len(), all, json)
}

/// Whether it takes proposals, and where the latest stands.
fn state(row: &FlowRow, status: Option<ProposalState>) -> String {
    let style = match row.state {
        FlowState::Open => GOOD,
        FlowState::Closed => FAINT,
        FlowState::Aborted => BAD,
    };
    let status = status.map_or("", ProposalState::word);
    format!("{} {status:<9}", paint(style, format!("{:<7}", row.state.word())))
}

fn to_json(name: &str, row: &FlowRow, status: Option<ProposalState>) -> Json {
    let names = |names: &[String]| Json::texts(names.iter().map(String::as_str));
    Json::object([
        ("flow", Json::text(name)),
        ("state", Json::text(row.state.word())),
        ("status", Json::from(status.map(|status| status.word().to_owned()))),
        ("agent", Json::text(row.agent.as_str())),
        ("opened_at", Json::from(row.opened_at.map(|at| at.to_string()))),
        ("parent", Json::from(row.parent().map(str::to_owned))),
        ("root", Json::from(row.root().map(str::to_owned))),
        ("open_intents", names(&row.intents)),
        ("open_questions", names(&row.questions)),
        ("proposals", Json::from(row.steps)),
        ("rejected", Json::from(row.rejected)),
        ("tokens", Json::from(row.tokens)),
    ])
}

/// By its own id, or by a question, an intent or a proposal of it.
fn flow(runtime: &Runtime, text: &str) -> anyhow::Result<(String, FlowRow)> {
    if let Some((name, Row::Flow(row))) = store::look_up(runtime, Kind::Flow, text)? {
        return Ok((name, row));
    }
    let name = match store::look_up(runtime, Kind::Escalation, text)? {
        Some((_, Row::Escalation(row))) => Some(row.flow),
        Some(_) | None => match store::look_up(runtime, Kind::Intent, text)? {
            Some((_, Row::Intent(row))) => Some(row.facts.to_kept().flow),
            Some(_) | None => flow_of_proposal(runtime, text)?,
        },
    };
    match name {
        Some(name) => match runtime.read(Entity::Flow(name.clone())).map_err(store::unread)? {
            Some(Row::Flow(row)) => Ok((name, row)),
            Some(_) | None => Err(store::not_found(Kind::Flow, text)),
        },
        None => Err(store::not_found(Kind::Flow, text)),
    }
}

/// The one flow with a proposal that is called this or starts like this; agents choose such ids, so several may fit.
fn flow_of_proposal(runtime: &Runtime, text: &str) -> anyhow::Result<Option<String>> {
    let (text, is_whole) = store::typed(text)?;
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut ledger = History::since(runtime, None)?;
    while let Some(body) = ledger.next_body()? {
        let said = |key: &str| body.get(key).and_then(Json::as_text);
        let Some((id, flow)) = said("proposal_id").zip(said("flow")) else { continue };
        // Refused because the id was another's already: it is not what the id means.
        if refused_as(&body, Reason::ProposalIdReused) {
            continue;
        }
        if id == text || !is_whole && id.starts_with(text) {
            found.entry(flow.to_owned()).or_insert_with(|| id.to_owned());
        }
        if found.len() > FOUND_MAX {
            break;
        }
    }
    if found.len() > 1 {
        let names: Vec<String> = found.iter().map(|(flow, id)| format!("{id} in flow {flow}")).collect();
        return Err(store::ambiguous(text, names.iter().map(String::as_str)));
    }
    Ok(found.into_keys().next())
}

fn refused_as(body: &Json, reason: Reason) -> bool {
    let findings = body.get("findings").and_then(Json::as_list).unwrap_or_default();
    findings.iter().any(|finding| finding.get("code").and_then(Json::as_text) == Some(reason.code()))
}

fn open(runtime: &Runtime, agent: &str, parent: Option<&str>, json: bool) -> anyhow::Result<()> {
    let (agent, _) = store::agent_named(runtime, agent)?;
    let parent = match parent {
        Some(parent) => Some(flow(runtime, parent)?.0),
        None => None,
    };
    let act = Act::OpenFlow { flow: Minted::id(), agent, parent };
    let event = store::told(runtime.change(store::operator(), act))?;
    let Event::FlowOpened(opened) = event.as_ref() else { return Err(store::other_event()) };
    if json {
        say!("{}", event.to_json().to_canonical());
        return Ok(());
    }
    say!("opened flow {} for {}", paint(STRONG, &opened.flow), opened.agent);
    Ok(())
}

fn end(runtime: &Runtime, text: &str, event: FlowEvent, json: bool) -> anyhow::Result<()> {
    let (name, _) = flow(runtime, text)?;
    let told = store::told(runtime.change(store::operator(), Act::EndFlow { flow: name.clone(), event }))?;
    if json {
        say!("{}", told.to_json().to_canonical());
        return Ok(());
    }
    let name = paint(STRONG, name);
    if let Event::FlowClosed(closed) = told.as_ref() {
        say!("flow {name} is {}: {}", paint(ATTENTION, FlowState::Closed.word()), closed_line(closed));
        return Ok(());
    }
    let Event::FlowAborted(aborted) = told.as_ref() else { return Err(store::other_event()) };
    say!("flow {name} is {}: {}", paint(ATTENTION, FlowState::Aborted.word()), aborted_line(aborted));
    for intent in &aborted.to_settle {
        say!("  intent {intent} may have been sent; it stays, and its worker or a person says what became of it");
    }
    if let [first, ..] = aborted.to_settle.as_slice() {
        say!("\nnext: {}", hint::next(&format!("writkeeper intents show {first}")));
    }
    Ok(())
}

/// What closing a flow leaves open in it.
fn closed_line(closed: &ClosedFlow) -> String {
    let intents = count(&closed.going_on, "accepted intent goes on", "accepted intents go on");
    let questions = count(&closed.questions, "question may still be answered", "questions may still be answered");
    format!("it takes no more proposals; {intents}, {questions}")
}

/// What aborting a flow did to what was open in it.
fn aborted_line(aborted: &AbortedFlow) -> String {
    let intents = count(&aborted.called_off, "intent was called off", "intents were called off");
    let questions = count(&aborted.questions, "question ended", "questions ended");
    let beyond = "; what is open beyond these is called off when a worker takes it, or by its time";
    format!("{intents}, {questions}{}", if aborted.unlisted { beyond } else { "" })
}

fn count(names: &[String], one: &str, many: &str) -> String {
    match names.len() {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

//! `writkeeper flows …`

mod own_flow;
mod timeline;

use crate::cli::kept::{FlowsArgs, FlowsCommand, ListedFlows};
use crate::exit::Exit;
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, BAD, FAINT, GOOD, STRONG, paint, say};
use kernel::change::Act;
use kernel::event::{AbortedFlow, ClosedFlow, Event};
use kernel::finding::visible;
use kernel::flow::{FlowEvent, FlowState, ProposalState};
use kernel::stored::Kind;
use runtime::{Minted, Runtime};
use values::json::Json;
use writkeeper::flows::FlowSummary;
use writkeeper::{Keeper, lookup};

/// Lists, shows, opens and ends flows.
pub fn run(args: &FlowsArgs) -> anyhow::Result<Exit> {
    let (json, location) = (args.kept.json, args.kept.store.as_str());
    match &args.command {
        None => list(&store::read_only(location)?, &args.listed, json)?,
        Some(FlowsCommand::List(listed)) => list(&store::read_only(location)?, listed, json)?,
        Some(FlowsCommand::Show { id, from }) => timeline::run(&store::read_only(location)?, id, *from, json)?,
        Some(FlowsCommand::Open { agent, parent }) => {
            open(&store::open(location)?, agent, parent.as_deref(), json)?;
        }
        Some(FlowsCommand::Ask { flow, reason, context, proposal, impact }) => {
            let said = own_flow::Said {
                reason,
                context: context.as_deref(),
                proposal: proposal.as_deref(),
                impact: impact.as_deref(),
            };
            own_flow::ask(&store::open_keeper(location)?, flow, &said, json)?;
        }
        Some(FlowsCommand::Reserve { flow, resources, available, length, wait }) => {
            let spans = (length.as_deref(), wait.as_deref());
            own_flow::reserve(&store::open_keeper(location)?, flow, (resources, available), spans, json)?;
        }
        Some(FlowsCommand::Release { flow, resources }) => {
            own_flow::release(&store::open_keeper(location)?, flow, resources, json)?;
        }
        Some(FlowsCommand::Note { flow, name, details }) => {
            own_flow::note(&store::open_keeper(location)?, flow, name, details.as_deref(), json)?;
        }
        Some(FlowsCommand::Close { flow }) => end(&store::open(location)?, flow, FlowEvent::Close, json)?,
        Some(FlowsCommand::Abort { flow }) => end(&store::open(location)?, flow, FlowEvent::Abort, json)?,
    }
    Ok(Exit::Fine)
}

fn list(keeper: &Keeper, listed: &ListedFlows, json: bool) -> anyhow::Result<()> {
    let limit = if listed.all { usize::MAX } else { listed.limit };
    let found = keeper.flows(listed.agent.as_deref(), limit)?;
    if found.flows.is_empty() && !json {
        say!("no flows yet; the first proposal opens one");
        return Ok(());
    }
    let names: Vec<String> = found.flows.iter().map(|flow| flow.id.clone()).collect();
    if json {
        for flow in &found.flows {
            say!("{}", Json::Object(flow.to_json()).to_canonical());
        }
        return terminal::cut_short(names.len(), found.all, json);
    }
    let short = store::short_ids(keeper.runtime(), Kind::Flow, &names)?;
    let rows = short.iter().zip(&found.flows).map(|(short, flow)| {
        let steps = terminal::counted(flow.proposals, "proposal");
        let rejected = if flow.rejected > 0 { format!(", {} rejected", flow.rejected) } else { String::new() };
        // The name of a session begins with that of its agent.
        let whose = flow.name.as_deref().unwrap_or(&flow.agent);
        [visible(short), visible(whose), format!("{steps}{rejected}")]
    });
    for ([short, agent, steps], flow) in terminal::aligned(rows.collect()).iter().zip(&found.flows) {
        let opened = flow.opened_at.map(terminal::at).unwrap_or_default();
        say!("{}  {}  {agent}  {steps}  {}", paint(STRONG, short), state(flow), paint(FAINT, opened));
    }
    terminal::cut_short(names.len(), found.all, json)
}

/// Whether it takes proposals, and where the latest stands.
fn state(flow: &FlowSummary) -> String {
    let style = match flow.state {
        FlowState::Open => GOOD,
        FlowState::Closed => FAINT,
        FlowState::Aborted => BAD,
    };
    let status = flow.status.map_or("", ProposalState::word);
    format!("{} {status:<9}", paint(style, format!("{:<7}", flow.state.word())))
}

fn open(runtime: &Runtime, agent: &str, parent: Option<&str>, json: bool) -> anyhow::Result<()> {
    let (agent, _) = store::agent_named(runtime, agent)?;
    let parent = match parent {
        Some(parent) => Some(lookup::flow(runtime, parent)?.0),
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
    let (name, _) = lookup::flow(runtime, text)?;
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

//! `writkeeper intents …`: what may be performed, where it stands, and what people and executors say about it.

mod remote;
mod told;

use crate::cli::performing::{IntentsArgs, IntentsCommand, Reported, ResolveArgs, Resolved};
use crate::exit::{Exit, InvalidData, UsageError};
use crate::store::{self, Ledger};
use crate::terminal::{FAINT, STRONG, paint, say};
use kernel::agent::Actor;
use kernel::change::{Act, DoubtAnswer};
use kernel::ids::Digest;
use kernel::intent::{IntentEvent, IntentRow, IntentState, Observed};
use kernel::json::Json;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::{Answered, Minted, Runtime};

/// Intents read at once.
const PAGE: usize = 512;

/// Lists, shows, reports, resolves, undoes, signs and checks.
pub fn run(args: &IntentsArgs) -> anyhow::Result<Exit> {
    let json = args.kept.json;
    let all = IntentsCommand::List { state: None, limit: 20 };
    let command = args.command.as_ref().unwrap_or(&all);
    if let IntentsCommand::Check { file, keys, executor } = command {
        return remote::check(file, keys, executor, json);
    }
    let runtime = store::open(&args.kept.store)?;
    match command {
        IntentsCommand::List { state, limit } => list(&runtime, state.as_deref(), *limit, json)?,
        IntentsCommand::Show { id } => show(&runtime, id, json)?,
        IntentsCommand::Report { id, outcome, epoch } => report(&runtime, id, *outcome, *epoch, json)?,
        IntentsCommand::Resolve(args) => resolve(&runtime, args, json)?,
        IntentsCommand::Undo { id, because } => {
            let (intent, _) = found(&runtime, id)?;
            let act = Act::Undo { intent, undo: Minted::id(), because: because.clone() };
            tell(&store::done(runtime.change(store::operator(), act))?, json)?;
        }
        IntentsCommand::Sign { id, executor, key, within } => remote::sign(&runtime, id, executor, key, within, json)?,
        IntentsCommand::Check { .. } => {}
    }
    Ok(Exit::Fine)
}

fn found(runtime: &Runtime, text: &str) -> anyhow::Result<(String, Box<IntentRow>)> {
    match store::find(runtime, Kind::Intent, text)? {
        (name, Row::Intent(row)) => Ok((name, row)),
        _ => Err(InvalidData(format!("`{text}` is no intent")).into()),
    }
}

fn list(runtime: &Runtime, state: Option<&str>, limit: usize, json: bool) -> anyhow::Result<()> {
    let state = match state {
        None => None,
        Some(word) => {
            let upper = word.to_uppercase().replace('-', "_");
            let problem = || UsageError(format!("`{word}` is no state; one of {}", IntentState::WORDS.join(", ")));
            Some(IntentState::from_word(&upper).ok_or_else(problem)?)
        }
    };
    let mut latest = std::collections::VecDeque::new();
    let mut after: Option<String> = None;
    loop {
        let page = runtime.scan(Kind::Intent, after.as_deref(), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in page {
            let Row::Intent(row) = row else { continue };
            if state.is_none_or(|state| row.state == state) {
                latest.push_back((key.entity.parts().0.to_owned(), row));
            }
            if latest.len() > limit {
                latest.pop_front();
            }
        }
    }
    if json {
        for (name, row) in &latest {
            say!("{}", told::json(name, row).to_canonical());
        }
        return Ok(());
    }
    if latest.is_empty() {
        say!("no intents");
    }
    let names: Vec<String> = latest.iter().map(|(name, _)| name.clone()).collect();
    for (short, (_, row)) in store::short_ids(&names).iter().zip(&latest) {
        let kept = row.facts.to_kept();
        let until = paint(FAINT, format!("valid until {}", kept.valid_until));
        say!("{}  {}  {} {}  {until}", paint(STRONG, short), told::state(row.state), kept.agent, kept.effect_key);
    }
    Ok(())
}

fn show(runtime: &Runtime, id: &str, json: bool) -> anyhow::Result<()> {
    let (name, row) = found(runtime, id)?;
    let undo = match row.running.as_ref().and_then(|running| running.undone_by.clone()) {
        Some(undo) => match runtime.read(Entity::Intent(undo)).map_err(store::unread)? {
            Some(Row::Intent(undo)) => Some(undo),
            Some(_) | None => None,
        },
        None => None,
    };
    let mut ledger = Ledger::since(runtime, Some(row.accepted_at))?;
    let mut events = Vec::new();
    while let Some(body) = ledger.next_body()? {
        events.extend(told::event(&body, &name));
    }
    if json {
        let mut told = told::json(&name, &row);
        if let Json::Object(members) = &mut told {
            let lines = events
                .iter()
                .map(|(at, what)| Json::object([("at", Json::text(at.as_str())), ("what", Json::text(what.as_str()))]));
            members.insert("timeline".to_owned(), Json::List(lines.collect()));
            members.insert("proposal_state".to_owned(), Json::text(told::proposal(&row, undo.as_deref()).word()));
        }
        say!("{}", told.to_canonical());
        return Ok(());
    }
    told::row(&name, &row, undo.as_deref())?;
    for (at, what) in &events {
        say!("  {}  {what}", paint(FAINT, at));
    }
    if let Some(question) = row.running.as_ref().and_then(|running| running.question.as_ref()) {
        say!("\nnext: writkeeper escalations show {question}");
        say!("      writkeeper intents resolve {name} happened|did-not|retry --as YOU --because …");
    }
    Ok(())
}

fn report(runtime: &Runtime, id: &str, outcome: Reported, epoch: Option<u64>, json: bool) -> anyhow::Result<()> {
    let (intent, row) = found(runtime, id)?;
    let by_runtime = row.running.as_ref().filter(|running| !running.by_host);
    let act = match by_runtime {
        Some(running) => Act::Outcome {
            intent,
            epoch: epoch.unwrap_or(running.epoch),
            observed: match outcome {
                Reported::Succeeded => Observed::Positive,
                Reported::Failed => Observed::Negative,
                Reported::Doubt => Observed::Unknown,
            },
            digest: None,
            detail: "reported by hand".to_owned(),
        },
        None => Act::Settle {
            intent,
            event: match outcome {
                Reported::Succeeded => IntentEvent::Succeed,
                Reported::Failed => IntentEvent::Fail,
                Reported::Doubt => IntentEvent::Doubt,
            },
        },
    };
    tell(&store::done(runtime.change(store::operator(), act))?, json)
}

fn resolve(runtime: &Runtime, args: &ResolveArgs, json: bool) -> anyhow::Result<()> {
    let (intent, row) = found(runtime, &args.id)?;
    let question = row.running.as_ref().and_then(|running| running.question.clone()).unwrap_or_default();
    let digest = match &args.digest {
        Some(text) => {
            let problem = || UsageError(format!("--digest `{text}` is no SHA-256: 64 hexadecimal digits"));
            Digest::parse(text).ok_or_else(problem)?
        }
        None => match runtime.read(Entity::Escalation(question.clone())).map_err(store::unread)? {
            Some(Row::Escalation(row)) => row.digest,
            Some(_) | None => {
                return Err(
                    InvalidData(format!("nobody is asked about intent {intent}: it is {}", row.state.word())).into()
                );
            }
        },
    };
    let decision = match args.decision {
        Resolved::Happened => "HAPPENED",
        Resolved::DidNot => "DID_NOT",
        Resolved::Retry => "RETRY",
    };
    let answer = DoubtAnswer { intent, question, decision: decision.to_owned(), digest, reason: args.because.clone() };
    let person = Actor::Operator(args.person.clone());
    tell(&store::done(runtime.change(person, Act::Resolve(Box::new(answer))))?, json)
}

fn tell(answered: &Answered, json: bool) -> anyhow::Result<()> {
    if json {
        say!("{}", answered.body.to_canonical());
        return Ok(());
    }
    let said = |key: &str| answered.body.get(key).and_then(Json::as_text);
    match (said("state").and_then(IntentState::from_word), answered.body.get("votes")) {
        (Some(state), _) => say!("{}", told::state(state)),
        (None, Some(votes)) => say!("{} agreed so far", votes.to_canonical()),
        (None, None) => {}
    }
    if let Some(undo) = said("undo") {
        say!("undone by intent {undo}, until {}", said("until").unwrap_or_default());
    }
    if let Some(question) = said("question").filter(|_| said("intent") != Some("")) {
        say!("question {question}");
    }
    Ok(())
}

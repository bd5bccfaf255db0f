//! `writkeeper intents …`: what may be performed, where it stands, and what people and executors say about it.

mod remote;
pub mod results;
mod told;

use crate::cli::performing::{IntentsArgs, IntentsCommand, ReportArgs, Reported, ResolveArgs, Resolved};
use crate::commands::{happened, signature};
use crate::exit::{Exit, Failure, InvalidData, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, FAINT, STRONG, paint, say};
use kernel::agent::Actor;
use kernel::change::{Act, AttachedResult, DoubtAnswer};
use kernel::event::{AcceptedUndo, Event};
use kernel::finding::{Finding, Gate, visible};
use kernel::intent::{IntentEvent, IntentRow, IntentState, Observed};
use kernel::reasons::Reason;
use kernel::signed_answer::AnswerStatement;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::{Minted, Runtime};
use values::ids::Digest;
use values::json::Json;
use writkeeper::intents::{IntentPage, IntentSummary};
use writkeeper::lookup;

pub use told::state;

/// Lists, shows, reports, resolves, undoes, signs and checks.
pub fn run(args: &IntentsArgs) -> anyhow::Result<Exit> {
    let json = args.kept.json;
    let all = IntentsCommand::List { state: None, limit: 20, all: false };
    let command = args.command.as_ref().unwrap_or(&all);
    if let IntentsCommand::Check { file, keys, executor } = command {
        return remote::check(file, keys, executor, json);
    }
    let is_looking = matches!(command, IntentsCommand::List { .. } | IntentsCommand::Show { .. });
    let runtime = if is_looking { store::view(&args.kept.store)? } else { store::open(&args.kept.store)? };
    match command {
        IntentsCommand::List { state, limit, all } => {
            list(&runtime, state.as_deref(), if *all { usize::MAX } else { *limit }, json)?;
        }
        IntentsCommand::Show { id } => show(&runtime, id, json)?,
        IntentsCommand::Report(args) => report(&runtime, args, json)?,
        IntentsCommand::Resolve(args) => resolve(&runtime, args, json)?,
        IntentsCommand::Undo { id, because } => {
            let (intent, _) = lookup::intent(&runtime, id)?;
            let act = Act::Undo { intent, undo: Minted::id(), because: because.clone() };
            tell(&*store::told(runtime.change(store::operator(), act))?, json)?;
        }
        IntentsCommand::Sign { id, executor, key, within } => remote::sign(&runtime, id, executor, key, within, json)?,
        IntentsCommand::Check { .. } => {}
    }
    Ok(Exit::Fine)
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
    let mut all = 0_usize;
    lookup::each(runtime, Kind::Intent, |name, row| {
        let Row::Intent(row) = row else { return };
        if state.is_none_or(|state| row.state == state) {
            latest.push_back((name, row));
            all += 1;
        }
        if latest.len() > limit {
            latest.pop_front();
        }
    })?;
    if json {
        for (name, row) in &latest {
            say!("{}", Json::Object(IntentSummary::of(name, row).to_json()).to_canonical());
        }
        return terminal::cut_short(latest.len(), all, json);
    }
    if latest.is_empty() {
        say!("no intents");
    }
    let names: Vec<String> = latest.iter().map(|(name, _)| name.clone()).collect();
    let short = store::short_ids(runtime, Kind::Intent, &names)?;
    let rows = short.iter().zip(&latest).map(|(short, (_, row))| {
        let kept = row.facts.to_kept();
        [visible(short), row.state.word().to_owned(), visible(&kept.agent), visible(&kept.effect_key)]
    });
    for ([short, state, agent, effect_key], (_, row)) in terminal::aligned(rows.collect()).iter().zip(&latest) {
        let (short, state) = (paint(STRONG, short), paint(told::style(row.state), state));
        let until = paint(FAINT, format!("valid until {}", terminal::at(row.facts.valid_until())));
        say!("{short}  {state}  {agent}  {effect_key}  {until}");
    }
    terminal::cut_short(names.len(), all, json)
}

fn show(runtime: &Runtime, id: &str, json: bool) -> anyhow::Result<()> {
    let (name, row) = lookup::intent(runtime, id)?;
    let page = IntentPage::of(runtime, &name, &row)?;
    if json {
        say!("{}", page.to_json().to_canonical());
        return Ok(());
    }
    told::intent(&page)?;
    happened::print_intent(&page.entries)?;
    if page.more {
        say!("  {}", paint(FAINT, "and more"));
    }
    if let Some(result) = &page.result {
        results::tell(result)?;
    }
    if let Some(question) = &page.intent.question {
        let resolve = format!("writkeeper intents resolve {name} happened|did-not|retry --as YOU --because …");
        say!("\nnext: {}", hint::next(&format!("writkeeper escalations show {question}")));
        say!("      {}", hint::next(&resolve));
    }
    Ok(())
}

fn report(runtime: &Runtime, args: &ReportArgs, json: bool) -> anyhow::Result<()> {
    let (outcome, epoch) = (args.outcome, args.epoch);
    let (intent, row) = lookup::intent(runtime, &args.id)?;
    let name = intent.clone();
    let result = results::given(args, &row)?;
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
            detail: "reported by hand".to_owned(),
            result,
        },
        None => return settle(runtime, &name, &row, (outcome, result), json),
    };
    let event = store::told(runtime.change(store::operator(), act))?;
    if matches!(event.as_ref(), Event::DoubtEnded(_) | Event::EvidenceKept(_)) {
        contradicted(runtime, &name, outcome)?;
    }
    tell(&event, json)?;
    let doubted = event.intent_left().is_some_and(|(state, _)| state == IntentState::InDoubt);
    if outcome == Reported::Failed && doubted && !json {
        say!("kept as evidence: an earlier attempt may have got through, and only a person ends that doubt");
        let resolve = format!("writkeeper intents resolve {name} did-not --as YOU --because …");
        say!("\nnext: {}", hint::next(&resolve));
    }
    Ok(())
}

/// What a host says about what it performs. One that lost the answer says the same again, which is no news.
fn settle(
    runtime: &Runtime,
    name: &str,
    row: &IntentRow,
    (outcome, result): (Reported, Option<AttachedResult>),
    json: bool,
) -> anyhow::Result<()> {
    let (event, state) = match outcome {
        Reported::Succeeded => (IntentEvent::Succeed, IntentState::Succeeded),
        Reported::Failed => (IntentEvent::Fail, IntentState::Failed),
        Reported::Doubt => (IntentEvent::Doubt, IntentState::InDoubt),
    };
    let again = || {
        if json {
            let (intent, state) = (Json::text(name), Json::text(state.word()));
            let repeated = [("intent", intent), ("state", state), ("repeated", Json::Bool(true))];
            say!("{}", Json::object(repeated).to_canonical());
        } else {
            say!("{}", told::state(state));
        }
        Ok(())
    };
    if row.state == state {
        return again();
    }
    let act = Act::Settle { intent: name.to_owned(), event, result };
    let refused = match store::told(runtime.change(store::operator(), act)) {
        Ok(event) => return tell(&event, json),
        Err(refused) => refused,
    };
    if Failure::of_error(&refused).code != Reason::StepRefused.code() {
        return Err(refused);
    }
    // Someone else may have said the same in between.
    match contradicted(runtime, name, outcome)? {
        Some(now) if now == state => again(),
        Some(_) | None => Err(refused),
    }
}

/// A report that says the opposite of how it ended is kept as evidence and changes nothing; whoever made it must notice.
/// Otherwise the state it is in.
fn contradicted(runtime: &Runtime, name: &str, outcome: Reported) -> anyhow::Result<Option<IntentState>> {
    let Some(Row::Intent(row)) = runtime.read(Entity::Intent(name.to_owned())).map_err(store::unread)? else {
        return Ok(None);
    };
    let (happened, reported) = match outcome {
        Reported::Succeeded => (true, IntentState::Succeeded),
        Reported::Failed => (false, IntentState::Failed),
        Reported::Doubt => return Ok(Some(row.state)),
    };
    if !row.state.is_contradicted(happened) {
        return Ok(Some(row.state));
    }
    let since = match row.running.as_ref().and_then(|running| running.over_at) {
        Some(at) => at.to_string(),
        None => {
            let ended = IntentPage::of(runtime, name, &row)?.ended_at();
            ended.map(|at| at.to_string()).unwrap_or_default()
        }
    };
    let finding = Finding::reject(Gate::EffectKey, Reason::ReportContradicts)
        .with("intent", name)
        .with("state", row.state.word())
        .with("since", since)
        .with("reported", reported.word());
    Err(Failure::of(Exit::Rejected, &finding).into())
}

fn resolve(runtime: &Runtime, args: &ResolveArgs, json: bool) -> anyhow::Result<()> {
    let person = store::person(runtime, args.person.as_deref())?;
    let (intent, row) = lookup::intent(runtime, &args.id)?;
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
    let statement = || {
        Ok(AnswerStatement {
            tenant: runtime.tenant().to_string(),
            origin: runtime.origin().map_err(store::unread)?,
            question: question.clone(),
            person: person.clone(),
            digest,
            decision: decision.to_owned(),
            instead: None,
            reason: args.because.clone(),
        })
    };
    let identity = signature::signed(args.key.as_deref(), statement)?;
    let (decision, reason) = (decision.to_owned(), args.because.clone());
    let again = format!("writkeeper intents resolve {intent} … --as {person} --because …");
    let answer = DoubtAnswer { intent, question, decision, digest, reason, identity };
    let told = store::told(runtime.change(Actor::Operator(person), Act::Resolve(Box::new(answer))));
    tell(&*told.map_err(|error| signature::with_command(error, &again))?, json)
}

fn tell(event: &Event, json: bool) -> anyhow::Result<()> {
    if json {
        say!("{}", event.to_json().to_canonical());
        return Ok(());
    }
    if let Event::UndoAccepted(undo) = event {
        return tell_undo(undo);
    }
    if let Event::DoubtVoteCounted { question, votes, .. } = event {
        say!("{votes} agreed so far");
        return asked(Some(question));
    }
    let (state, question) = event.intent_left().ok_or_else(store::other_event)?;
    say!("{}", told::state(state));
    asked(question)
}

/// What happens now that something is to be undone. Nothing is undone yet.
fn tell_undo(undo: &AcceptedUndo) -> anyhow::Result<()> {
    say!("{}", told::state(undo.state));
    let until = terminal::at(undo.until);
    let Some(question) = &undo.question else {
        say!("intent {} will undo it; a worker performs it until {until}", undo.undo);
        return Ok(());
    };
    say!("nothing is undone yet: the contract names no request that undoes it, so a person is asked to do it");
    say!("question {question}, until {until}");
    let resolve = format!("writkeeper intents resolve {} happened|did-not --as YOU --because …", undo.undo);
    say!("next: undo it by hand, then say so: {}", hint::next(&resolve));
    Ok(())
}

/// The question that waits for a person, or that was answered.
fn asked(question: Option<&str>) -> anyhow::Result<()> {
    if let Some(question) = question {
        say!("question {question}");
    }
    Ok(())
}

//! `writkeeper escalations …`: what waits for people, exactly what an answer is for, and answering.

pub(super) mod show;

use crate::cli::kept::{AnswerArgs, Decision, EscalationsArgs, EscalationsCommand, HandOverArgs, ListArgs, SnoozeArgs};
use crate::commands::signature;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, FAINT, STRONG, echo, paint, say, verdict_style};
use kernel::command::Door;
use kernel::escalation::{EscalationState, HumanDecision, QuestionKind};
use kernel::event::Event;
use kernel::finding::{Finding, visible};
use kernel::person::Identity;
use kernel::proposal::Proposal;
use kernel::stored::Kind;
use runtime::{PersonAnswer, Runtime};
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;
use writkeeper::inbox::{Cursor, Inbox, InboxQuery};
use writkeeper::{Keeper, lookup};

/// Lists, shows and answers.
pub fn run(args: &EscalationsArgs) -> anyhow::Result<Exit> {
    let (json, location) = (args.kept.json, args.kept.store.as_str());
    let everybodys = EscalationsCommand::List(ListArgs::default());
    match args.command.as_ref().unwrap_or(&everybodys) {
        EscalationsCommand::List(args) => list(&store::read_only(location)?, args, json)?,
        EscalationsCommand::Show { id } => show::run(&store::read_only(location)?, id, json)?,
        EscalationsCommand::Answer(args) => {
            let instead = instead(args)?;
            answer(&store::open(location)?, args, instead, json)?;
        }
        EscalationsCommand::HandOver(args) => hand_over(&store::open_keeper(location)?, args, json)?,
        EscalationsCommand::Snooze(args) => snooze(&store::open_keeper(location)?, args, json)?,
    }
    Ok(Exit::Fine)
}

fn hand_over(keeper: &Keeper, args: &HandOverArgs, json: bool) -> anyhow::Result<()> {
    let by = store::person(keeper.runtime(), args.person.as_deref())?;
    let (question, handed) = keeper.hand_over(&args.id, &by, &args.to, &args.because)?;
    if json {
        let told = [("question", Json::text(question)), ("handed", handed.to_json())];
        say!("{}", Json::object(told).to_canonical());
        return Ok(());
    }
    say!("{} handed question {} to {}", visible(&handed.by), paint(STRONG, question), visible(&handed.to));
    Ok(())
}

fn snooze(keeper: &Keeper, args: &SnoozeArgs, json: bool) -> anyhow::Result<()> {
    let person = store::person(keeper.runtime(), args.person.as_deref())?;
    let (question, snooze) = keeper.snooze(&args.id, &person, args.length)?;
    if json {
        let told = [("question", Json::text(question)), ("snoozed", snooze.to_json())];
        say!("{}", Json::object(told).to_canonical());
        return Ok(());
    }
    say!("{} put question {} off until {}", visible(&person), paint(STRONG, question), terminal::at(snooze.until));
    Ok(())
}

/// Whose list it is; nobody's in particular where neither a key nor the command line says so.
fn looking(keeper: &Keeper, args: &ListArgs) -> anyhow::Result<Option<String>> {
    let is_said = args.person.is_some() || args.snoozed || keeper.runtime().caller().is_some();
    if is_said { store::person(keeper.runtime(), args.person.as_deref()).map(Some) } else { Ok(None) }
}

fn list(keeper: &Keeper, args: &ListArgs, json: bool) -> anyhow::Result<()> {
    let person = looking(keeper, args)?;
    let Inbox { questions, next, snoozed } = match &person {
        Some(person) if args.snoozed => keeper.snoozed_inbox(person)?,
        _ => {
            let unfit = |text: &String| UsageError(format!("--after `{}` is not what another list said", echo(text)));
            let after = args.after.as_ref().map(|text| Cursor::parse(text).ok_or_else(|| unfit(text))).transpose()?;
            keeper.inbox_page(&InboxQuery { person: person.as_deref(), after, limit: args.limit })?
        }
    };
    if snoozed > 0 && !args.snoozed {
        let put_off = terminal::counted(snoozed as u64, "question");
        terminal::note(&format!("{put_off} put off; list with `--snoozed`"));
    }
    if let Some(next) = next {
        terminal::note(&format!("more questions wait; go on with `--after {next}`"));
    }
    if json {
        for question in &questions {
            say!("{}", question.to_json().to_canonical());
        }
        return Ok(());
    }
    if questions.is_empty() {
        say!("{}", if args.snoozed { "nothing is put off" } else { "nothing waits for an answer" });
        return Ok(());
    }
    let (now, ids) = (keeper.now(), questions.iter().map(|question| question.id.clone()).collect::<Vec<_>>());
    let short = store::short_ids(keeper.runtime(), Kind::Escalation, &ids)?;
    // Which, how bad, how long, who, what, how much; then why.
    let rows = short.iter().zip(&questions).map(|(short, question)| {
        let params = question.card.proposal.get("params").and_then(Json::as_object);
        [
            visible(short),
            question.impact.word().to_owned(),
            left(question.deadline, now),
            visible(&question.agent),
            echo(question.card.action()),
            params.map(terminal::params).unwrap_or_default(),
        ]
    });
    for (cells, question) in terminal::aligned(rows.collect()).into_iter().zip(&questions) {
        let [id, impact, left, agent, action, params] = cells;
        let over = question.flow_over.map(|state| format!("; its flow is {}, so only `abort` is left", state.word()));
        let put_off = question.snoozed.map(|snooze| format!("; put off until {}", terminal::at(snooze.until)));
        let rest = format!("{}{}", over.unwrap_or_default(), put_off.unwrap_or_default());
        let why = visible(&format!("{}{rest}", question.reasons.join(", ")));
        let (id, action) = (paint(STRONG, id), paint(STRONG, action));
        say!("{id}  {impact}  {left}  {agent}  {action}  {params}  {}", paint(FAINT, why));
    }
    say!("\nnext: {}", hint::next("writkeeper escalations show ID"));
    Ok(())
}

/// How long people have, in a unit that reads well.
pub(super) fn left(deadline: Option<Instant>, now: Instant) -> String {
    let Some(deadline) = deadline else { return "open until someone answers".to_owned() };
    if now > deadline {
        return format!("over since {}", terminal::at(deadline));
    }
    match deadline.since(now).micros() / 1_000_000 {
        ..60 => "less than a minute left".to_owned(),
        seconds => format!("{} left", terminal::span(seconds)),
    }
}

/// The proposal that is to happen instead: with `modify`, and with nothing else.
fn instead(args: &AnswerArgs) -> anyhow::Result<Option<Proposal>> {
    match (args.decision, args.instead.as_deref()) {
        (Decision::Modify, Some(path)) => {
            let parsed = Json::parse_within(&files::read(path)?, &Bounds::FILE);
            let json = parsed.map_err(|refusal| InvalidData(format!("`{}`: {refusal}", path.display())))?;
            let proposal = Proposal::from_json(json).map_err(|malformed| {
                let said: Vec<String> = malformed.findings.iter().map(Finding::message).collect();
                InvalidData(format!("`{}` is no proposal: {}", path.display(), said.join("; ")))
            })?;
            Ok(Some(proposal))
        }
        (Decision::Modify, None) => {
            let problem = "`modify` needs --instead FILE: the proposal that is to happen instead";
            Err(UsageError(problem.to_owned()).into())
        }
        (Decision::Approve | Decision::Deny | Decision::Override | Decision::Abort, Some(_)) => {
            let problem = "--instead belongs to `modify`; every other answer is about the proposal as it is";
            Err(UsageError(problem.to_owned()).into())
        }
        (Decision::Approve | Decision::Deny | Decision::Override | Decision::Abort, None) => Ok(None),
    }
}

/// What was typed, what the record calls it, and what the person did.
fn words(decision: Decision) -> (&'static str, HumanDecision, &'static str) {
    match decision {
        Decision::Approve => ("approve", HumanDecision::Override, "approved"),
        Decision::Deny => ("deny", HumanDecision::Abort, "denied"),
        Decision::Override => ("override", HumanDecision::Override, "overridden"),
        Decision::Modify => ("modify --instead FILE", HumanDecision::Modify, "modified"),
        Decision::Abort => ("abort", HumanDecision::Abort, "aborted"),
    }
}

/// Where an answer leaves its question, and who must still agree.
pub fn outcome(event: &Event) -> Option<(EscalationState, Option<String>)> {
    if let Event::QuestionAnswered(end) = event {
        return Some((end.state, None));
    }
    let Event::VoteCounted { state, votes, quorum, .. } = event else { return None };
    Some((*state, Some(format!("{votes} of {quorum} agreed so far"))))
}

fn answer(runtime: &Runtime, args: &AnswerArgs, instead: Option<Proposal>, json: bool) -> anyhow::Result<()> {
    let person = store::person(runtime, args.person.as_deref())?;
    signature::demand_name(&person)?;
    let (name, row) = lookup::question(runtime, &args.id)?;
    if row.kind == QuestionKind::Doubt {
        let problem = "the question is whether something happened, not whether it may";
        let command = hint::next(&format!("writkeeper intents resolve {} happened|did-not|retry", row.intent));
        let help = format!("say so with `{command}`");
        return Err(UsageError(format!("{problem}; {help}")).into());
    }
    let digest = match &args.digest {
        Some(text) => {
            let problem = || {
                let text = echo(text);
                UsageError(format!("--digest `{text}` is no SHA-256: 64 hexadecimal digits, as `show` prints"))
            };
            Digest::parse(text).ok_or_else(problem)?
        }
        None => row.digest,
    };
    let (typed, decision, did) = words(args.decision);
    let given = PersonAnswer {
        person: person.clone(),
        question: name.clone(),
        decision: decision.word().to_owned(),
        digest,
        reason: args.because.clone(),
        instead,
        door: Door::STORED,
        identity: Identity::default(),
    };
    let identity = signature::signed(args.key.as_deref(), || runtime.statement(&given).map_err(store::unread))?;
    let is_signed = identity.signature.is_some();
    let answered = store::done(runtime.answer(PersonAnswer { identity, ..given }));
    let again = format!("writkeeper escalations answer {name} {typed} --as {person} --because …");
    let answered = answered.map_err(|error| signature::with_command(error, &again))?;
    if json {
        let intent = answered.answer.intent.as_ref().map_or(Json::Null, |intent| intent.to_json());
        let result = answered.event.as_ref().map(|event| event.to_json()).unwrap_or_default();
        say!("{}", Json::object([("result", result), ("intent", intent)]).to_canonical());
        return Ok(());
    }
    let (state, agreed) = answered.event.as_deref().and_then(outcome).ok_or_else(store::other_event)?;
    let signed = if is_signed { ", signed" } else { "" };
    say!("{did}: the question is {}{signed}", paint(ATTENTION, state.word()));
    if let Some(agreed) = agreed {
        say!("{agreed}");
    }
    if let Some(intent) = &answered.answer.intent {
        say!("{} intent {}", paint(verdict_style("ACCEPT"), "may now be performed:"), intent.id());
    }
    Ok(())
}

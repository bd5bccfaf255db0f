//! `writkeeper escalations …`: what waits for people, exactly what an answer is for, and answering.

mod given;
pub(super) mod show;

use crate::cli::kept::{AnswerArgs, Decision, EscalationsArgs, EscalationsCommand};
use crate::commands::signature;
use crate::exit::{Exit, InvalidData, UsageError};
use crate::files;
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, FAINT, STRONG, echo, paint, say, verdict_style};
use kernel::command::Door;
use kernel::contract::Impact;
use kernel::escalation::{EscalationRow, EscalationState, QuestionKind};
use kernel::event::Event;
use kernel::finding::{Finding, visible};
use kernel::flow::FlowState;
use kernel::person::Identity;
use kernel::proposal::Proposal;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::{PersonAnswer, Runtime};
use values::ids::Digest;
use values::json::{Bounds, Json};
use values::time::Instant;
use writkeeper::inbox::shown_proposal;

/// Questions listed; whoever has more open ones needs another answer than a longer list.
const LISTED_MAX: usize = 1_000;

/// Questions looked through for a proposal, a flow or an intent.
const PAGE: usize = 512;

/// Lists, shows and answers.
pub fn run(args: &EscalationsArgs) -> anyhow::Result<Exit> {
    let (json, location) = (args.kept.json, args.kept.store.as_str());
    match args.command.as_ref().unwrap_or(&EscalationsCommand::List) {
        EscalationsCommand::List => list(&store::view(location)?, json)?,
        EscalationsCommand::Show { id } => {
            let runtime = store::view(location)?;
            let (name, row) = question(&runtime, id)?;
            show::run(&runtime, &name, &row, json)?;
        }
        EscalationsCommand::Answer(args) => {
            let instead = instead(args)?;
            answer(&store::open(location)?, args, instead, json)?;
        }
    }
    Ok(Exit::Fine)
}

/// Risk times age: what may hurt most and waits longest comes first.
pub(super) fn urgency(row: &EscalationRow, now: Instant) -> i64 {
    let weight = match row.impact {
        Impact::Low => 1,
        Impact::Medium => 3,
        Impact::High => 10,
        Impact::Critical => 30,
    };
    now.since(row.asked_at).micros().max(1).saturating_mul(weight)
}

fn list(runtime: &Runtime, json: bool) -> anyhow::Result<()> {
    let now = store::now();
    let far = Instant::from_micros(i64::MAX);
    let found = runtime.due(Kind::Escalation, far, LISTED_MAX + 1).map_err(store::unread)?;
    if found.len() > LISTED_MAX {
        terminal::note(&format!("more than {LISTED_MAX} questions wait; listed are those whose time ends soonest"));
    }
    let open = found.into_iter().take(LISTED_MAX).filter_map(|(key, row)| {
        let Row::Escalation(row) = row else { return None };
        Some((key.entity.parts().0.to_owned(), row))
    });
    let mut open: Vec<(String, Box<EscalationRow>)> = open.collect();
    open.sort_by_key(|(_, row)| std::cmp::Reverse(urgency(row, now)));
    if json {
        for (name, row) in &open {
            say!("{}", show::to_json(runtime, name, row)?.to_canonical());
        }
        return Ok(());
    }
    if open.is_empty() {
        say!("nothing waits for an answer");
        return Ok(());
    }
    let names: Vec<String> = open.iter().map(|(name, _)| name.clone()).collect();
    for (short, (_, row)) in store::short_ids(runtime, Kind::Escalation, &names)?.iter().zip(&open) {
        let action = row.proposal.get("action").and_then(Json::as_text).unwrap_or_default();
        let shown = shown_proposal(runtime, row);
        let params = shown.get("params").and_then(Json::as_object).map(terminal::params).unwrap_or_default();
        let over = ended_flow(runtime, row)?.map(|state| format!("; its flow is {state}, so only `abort` is left"));
        let rest = format!("{}; {}{}", row.reasons.join(", "), left(row, now), over.unwrap_or_default());
        say!(
            "{}  {:<8} {} {}  {params}  {}",
            paint(STRONG, visible(short)),
            row.impact.word(),
            visible(&row.agent),
            paint(STRONG, echo(action)),
            paint(FAINT, visible(&rest))
        );
    }
    say!("\nnext: {}", hint::next("writkeeper escalations show ID"));
    Ok(())
}

/// How the flow of a question ended, if nothing can be accepted in it any more: it was aborted, or one above it was. In
/// one that was closed an answer still counts.
fn ended_flow(runtime: &Runtime, row: &EscalationRow) -> anyhow::Result<Option<&'static str>> {
    let mut line = vec![row.flow.clone()];
    while let Some(name) = line.pop() {
        let Some(Row::Flow(flow)) = runtime.read(Entity::Flow(name.clone())).map_err(store::unread)? else { continue };
        if flow.state == FlowState::Aborted {
            return Ok(Some(flow.state.word()));
        }
        // The flow of the question knows all above it.
        if name == row.flow {
            line.extend(flow.above);
        }
    }
    Ok(None)
}

/// How long people have, in a unit that reads well.
pub(super) fn left(row: &EscalationRow, now: Instant) -> String {
    let Some(deadline) = row.deadline else { return "open until someone answers".to_owned() };
    if now > deadline {
        return format!("over since {}", terminal::at(deadline));
    }
    match deadline.since(now).micros() / 1_000_000 {
        ..60 => "less than a minute left".to_owned(),
        seconds => format!("{} left", terminal::span(seconds)),
    }
}

/// By its own id, or by its proposal, flow or intent.
pub(super) fn question(runtime: &Runtime, text: &str) -> anyhow::Result<(String, EscalationRow)> {
    if let Some((name, Row::Escalation(row))) = store::look_up(runtime, Kind::Escalation, text)? {
        return Ok((name, *row));
    }
    let (text, is_whole) = store::typed(text)?;
    let mut after: Option<String> = None;
    let mut found: Vec<(String, EscalationRow)> = Vec::new();
    loop {
        let page = runtime.scan(Kind::Escalation, after.as_deref(), PAGE).map_err(store::unread)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in page {
            let Row::Escalation(row) = row else { continue };
            if is_of(&row, |id| id == text || !is_whole && id.starts_with(text)) {
                found.push((key.entity.parts().0.to_owned(), *row));
            }
        }
    }
    match found.len() {
        0 => Err(store::not_found(Kind::Escalation, text)),
        1 => found.pop().ok_or_else(|| store::not_found(Kind::Escalation, text)),
        _ => {
            let names = found.iter().map(|(name, row)| {
                let ids = [&row.proposal_id, &row.flow, &row.intent];
                let id = ids.into_iter().find(|id| id.starts_with(text)).map_or("", String::as_str);
                format!("question {name} of {id}")
            });
            let names: Vec<String> = names.collect();
            Err(store::ambiguous(text, names.iter().map(String::as_str)))
        }
    }
}

/// Whether the id of something the question belongs to fits.
fn is_of(row: &EscalationRow, fits: impl Fn(&str) -> bool) -> bool {
    [&row.proposal_id, &row.flow, &row.intent].into_iter().any(|id| fits(id))
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
        (Decision::Override | Decision::Abort, Some(_)) => {
            let problem = "--instead belongs to `modify`; `override` and `abort` are about the proposal as it is";
            Err(UsageError(problem.to_owned()).into())
        }
        (Decision::Override | Decision::Abort, None) => Ok(None),
    }
}

/// The word that was typed.
fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Override => "override",
        Decision::Modify => "modify --instead FILE",
        Decision::Abort => "abort",
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
    signature::demand_name(&args.person)?;
    let (name, row) = question(runtime, &args.id)?;
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
    let decision = match args.decision {
        Decision::Override => "OVERRIDE",
        Decision::Modify => "MODIFY",
        Decision::Abort => "ABORT",
    };
    let given = PersonAnswer {
        person: args.person.clone(),
        question: name.clone(),
        decision: decision.to_owned(),
        digest,
        reason: args.because.clone(),
        instead,
        door: Door::STORED,
        identity: Identity::default(),
    };
    let identity = signature::signed(args.key.as_deref(), || runtime.statement(&given).map_err(store::unread))?;
    let is_signed = identity.signature.is_some();
    let answered = store::done(runtime.answer(PersonAnswer { identity, ..given }));
    let again =
        format!("writkeeper escalations answer {name} {} --as {} --because …", word(args.decision), args.person);
    let answered = answered.map_err(|error| signature::with_command(error, &again))?;
    if json {
        let intent = answered.answer.intent.as_ref().map_or(Json::Null, |intent| intent.to_json());
        let result = answered.event.as_ref().map(|event| event.to_json()).unwrap_or_default();
        say!("{}", Json::object([("result", result), ("intent", intent)]).to_canonical());
        return Ok(());
    }
    let (state, agreed) = answered.event.as_deref().and_then(outcome).ok_or_else(store::other_event)?;
    let signed = if is_signed { ", signed" } else { "" };
    say!("{}{signed}", paint(ATTENTION, state.word()));
    if let Some(agreed) = agreed {
        say!("{agreed}");
    }
    if let Some(intent) = &answered.answer.intent {
        say!("{} intent {}", paint(verdict_style("ACCEPT"), "may now be performed:"), intent.id());
    }
    Ok(())
}

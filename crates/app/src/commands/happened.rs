//! What happened, in words: the lines of a flow's timeline and of an intent's.

use crate::terminal::{self, FAINT, STRONG, at, counted, echo, paint, say, verdict_style};
use kernel::agent::Actor;
use kernel::consequence::{Consequence, IntentStep};
use kernel::finding::visible;
use kernel::flow::FlowState;
use kernel::intent::IntentState;
use std::collections::BTreeMap;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Json;
use values::time::Instant;
use writkeeper::happening::{Entry, Happening, RecordedAnswer, RecordedDecision};

/// Digits of a digest that tell attempts and contracts apart.
const SHORT: usize = 12;

/// Prints the entries of a flow, each with what belongs to it below.
pub fn print_flow(flow: &str, entries: &[Entry]) -> anyhow::Result<()> {
    for entry in entries {
        let by = entry.actor.as_ref().map(|actor| format!("  by {}", visible(&actor.text()))).unwrap_or_default();
        let refused = if entry.refused.is_empty() { "" } else { "refused: " };
        say!("\n{}  {refused}{}{by}", paint(FAINT, at(entry.at)), words(&entry.happened, Scope::Flow(flow)));
        for line in details(&entry.happened).into_iter().chain(entry.refused.iter().map(|found| found.message())) {
            say!("    {line}");
        }
    }
    Ok(())
}

/// Prints the entries of an intent, a line each.
pub fn print_intent(entries: &[Entry]) -> anyhow::Result<()> {
    for entry in entries {
        let why: Vec<String> = entry.refused.iter().map(|finding| finding.message()).collect();
        let words = words(&entry.happened, Scope::Intent);
        let words = match why.is_empty() {
            true => words,
            false => format!("refused: {words} {}", paint(FAINT, why.join("; "))),
        };
        say!("  {}  {words}", paint(FAINT, at(entry.at)));
    }
    Ok(())
}

/// A digest as far as it is needed to tell it from others.
pub fn short(digest: Digest) -> String {
    digest.to_string().chars().take(SHORT).collect()
}

/// Whose timeline it is: an intent's need not name the intent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope<'f> {
    Flow(&'f str),
    Intent,
}

fn words(happened: &Happening, scope: Scope<'_>) -> String {
    let of = |intent: &str| match scope {
        Scope::Flow(_) => format!("intent {} ", visible(intent)),
        Scope::Intent => String::new(),
    };
    match happened {
        Happening::Decided(_) if scope == Scope::Intent => "accepted by decision".to_owned(),
        Happening::Answered(_) if scope == Scope::Intent => "accepted by answer".to_owned(),
        Happening::Decided(decision) => decided(decision),
        Happening::Answered(answer) => {
            format!("{} to question {}", visible(&answer.decision), visible(&answer.question))
        }
        Happening::FlowOpened { flow, .. } if scope == Scope::Flow(flow) => "opened".to_owned(),
        Happening::FlowOpened { flow, agent, .. } => {
            format!("child flow {} opened for {}", visible(flow), visible(agent))
        }
        Happening::FlowEnded { event, state, .. } => format!("flow {}", state.map_or(event.word(), FlowState::word)),
        Happening::SessionExtended { .. } => "session extended".to_owned(),
        Happening::Asked { question, inquiry } => {
            format!("question {} asked: {}", visible(question), visible(&inquiry.request.reason))
        }
        Happening::Reserved(reservation) => format!("reserves {}", amounts(&reservation.wanted)),
        Happening::Released { resources, .. } if resources.is_empty() => "released nothing".to_owned(),
        Happening::Released { resources, .. } => {
            format!("released {}", resources.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", "))
        }
        Happening::Noted { name, details, .. } if details.is_empty() => format!("note {}", visible(name)),
        Happening::Noted { name, details, .. } => {
            format!("note {} {}", visible(name), visible(&Json::Object(details.clone()).to_canonical()))
        }
        Happening::SnapshotTaken { snapshot, .. } => {
            format!("snapshot {}", snapshot.as_deref().unwrap_or_default()).trim_end().to_owned()
        }
        Happening::Claimed { intent, worker, lease_until } => {
            let until = lease_until.map(|until| format!(" until {}", at(until))).unwrap_or_default();
            format!("{}claimed by {}{until}", of(intent), visible(worker))
        }
        Happening::Started { intent, attempt, .. } => {
            format!("{}marked before the first byte, sha256 {}", of(intent), short(*attempt))
        }
        Happening::Observed { intent, observed, detail, is_late, state } => {
            let late = if *is_late { ", too late to count by itself" } else { "" };
            format!("{}{} {}{late}{}", of(intent), observed.word(), visible(detail), now(*state))
        }
        Happening::Resolved { intent, decision, state, .. } => {
            format!("{}{} says a person{}", of(intent), visible(decision), now(*state))
        }
        Happening::Settled { intent, event, state } => {
            format!("{}reported {}{}", of(intent), event.word(), now(*state))
        }
        Happening::UndoOrdered { intent, undo, because } => {
            format!("{}to be undone by intent {}: {}", of(intent), visible(undo), visible(because))
        }
        Happening::ResultRecorded(result) => {
            format!("{}answered with {}", of(&result.intent), counted(result.result.bytes(), "byte"))
        }
        Happening::Followed(consequence) => followed(consequence, of),
    }
}

fn amounts(wanted: &BTreeMap<String, Decimal>) -> String {
    wanted.iter().map(|(name, amount)| format!("{amount} of {}", visible(name))).collect::<Vec<_>>().join(", ")
}

fn now(state: Option<IntentState>) -> String {
    state.map(|state| format!(": {}", state.word())).unwrap_or_default()
}

fn decided(decision: &RecordedDecision) -> String {
    let (answer, proposal) = (&decision.answer, &decision.proposal);
    let verdict = answer.verdict.word();
    let parts = [
        format!("{} {}", paint(verdict_style(verdict), verdict), paint(STRONG, echo(&proposal.action))),
        terminal::params(&proposal.params),
        answer.reasons().join(", "),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

fn followed(consequence: &Consequence, of: impl Fn(&str) -> String) -> String {
    match consequence {
        Consequence::IntentMoved { step, .. } => format!("{}{}", of(&step.intent), moved(step)),
        Consequence::IntentExpired { intent, .. } => format!("{}called off: nobody started it in time", of(intent)),
        Consequence::QuestionExpired(end) => format!("nobody answered question {} in time", visible(&end.question)),
        Consequence::QuestionAborted(end) => format!("question {} ended with its flow", visible(&end.question)),
        Consequence::QuestionReminded(notice) => {
            format!("people are reminded of question {}", visible(&notice.question))
        }
        Consequence::QuestionRerouted(notice) => {
            let approvers = visible(&notice.approvers.join(", "));
            format!("question {} may be answered by {approvers}", visible(&notice.question))
        }
        Consequence::MonitorTripped(trip) => visible(&format!("{}: {}", trip.sentence(), trip.then.word())),
    }
}

/// Why an intent went on, as its two states tell it.
fn moved(step: &IntentStep) -> String {
    let why = match (step.from, step.to) {
        (IntentState::InFlight, IntentState::InDoubt) => "the lease ran out while the call was in flight",
        (IntentState::Claimed, IntentState::Ready) => "the lease ran out before anything was sent",
        (IntentState::HandedOut, IntentState::Unreported) => "nobody reported in time",
        (IntentState::InDoubt, IntentState::Ready) => "it may be tried again",
        (_, IntentState::Cancelled) => "called off before anything was sent",
        (from, _) => return format!("went from {} to {}", from.word(), step.to.word()),
    };
    format!("is {}: {why}", step.to.word())
}

fn details(happened: &Happening) -> Vec<String> {
    if let Happening::Decided(decision) = happened {
        return decision_details(decision);
    }
    if let Happening::Answered(answer) = happened {
        return answer_details(answer);
    }
    Vec::new()
}

fn decision_details(decision: &RecordedDecision) -> Vec<String> {
    let answer = &decision.answer;
    let mut lines = vec![paint(FAINT, format!("proposal {}", visible(&answer.id)))];
    lines.extend(answer.findings.iter().map(|finding| finding.message()));
    lines.extend(answer.intent.as_ref().map(|intent| made(intent.id(), decision.valid_until)));
    let question = answer.question.as_ref();
    lines.extend(question.map(|question| format!("question {}, deadline {}", question.id, at(question.deadline))));
    lines
}

fn answer_details(answer: &RecordedAnswer) -> Vec<String> {
    let mut lines = vec![format!("because {}", visible(&answer.reason))];
    lines.extend(answer.intent.as_ref().map(|(intent, until)| made(intent, Some(*until))));
    lines.extend(answer.instead.as_ref().map(|instead| format!("instead {}", terminal::params(&instead.params))));
    lines
}

fn made(intent: &str, until: Option<Instant>) -> String {
    let until = until.map(|until| format!(", valid until {}", at(until))).unwrap_or_default();
    format!("intent {}{until}", visible(intent))
}

/// Who did something, as a list shows it.
pub fn actor(actor: Option<&Actor>) -> String {
    actor.map(|actor| visible(&actor.text())).unwrap_or_default()
}

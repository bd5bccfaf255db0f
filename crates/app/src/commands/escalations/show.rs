//! One question: exactly what an answer is for, and what people have said so far.

use super::given::{Given, changes, given};
use super::left;
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, STRONG, paint, say};
use kernel::escalation::{EscalationRow, QuestionKind};
use kernel::finding::visible;
use kernel::person::person_key_text;
use runtime::Runtime;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::Json;
use writkeeper::inbox::{AskingRule, BudgetUse, Card, UndoPlan};

/// Prints the question.
pub fn run(runtime: &Runtime, name: &str, row: &EscalationRow, json: bool) -> anyhow::Result<()> {
    if json {
        say!("{}", to_json(runtime, name, row)?.to_canonical());
        return Ok(());
    }
    let told = Card::of(runtime, name, row, store::now())?;
    let in_force = contract_in_force(runtime, row)?;
    say!("question {}  {}", paint(STRONG, name), paint(ATTENTION, row.state.word()));
    let now = store::now();
    let age = terminal::span(now.since(row.asked_at).micros().max(0) / 1_000_000);
    let (agent, flow) = (visible(&row.agent), visible(&row.flow));
    say!("  asked     {age} ago, {} by {agent} in flow {flow}", terminal::at(row.asked_at));
    say!("  because   {}", row.reasons.join(", "));
    say!("  impact    {}", row.impact.word());
    let who = if row.approvers.is_empty() { "anyone".to_owned() } else { row.approvers.join(", ") };
    let people = if row.quorum == 1 { "person".to_owned() } else { "people who say the same".to_owned() };
    let signed = if row.signed { ", and only signed answers count" } else { "" };
    say!("  answered  by {}; it takes {} {people}{signed}", visible(&who), row.quorum);
    if let Some(deadline) = row.deadline {
        let left = if row.due().is_some() { format!("{}: ", left(row, now)) } else { String::new() };
        say!("  deadline  {left}{}", terminal::at(deadline));
    }
    if let Ok(contract) = runtime.contract(in_force) {
        say!("  contract  {} {} sha256 {in_force}", visible(&contract.contract.id), contract.contract.version);
    }
    let is_open = row.due().is_some();
    if is_open && in_force != row.contract {
        let changed = format!("another contract is in force since it was asked under sha256 {}", row.contract);
        say!("  {}   {changed}; give the digest below with your answer", paint(ATTENTION, "changed"));
    }
    for line in card_lines(&told) {
        say!("  {line}");
    }
    let shown = told.proposal;
    say!("\n{}\n", terminal::pretty(&shown));
    let digest = EscalationRow::digest_of(&row.proposal, in_force);
    let what =
        if shown == row.proposal { "exactly this proposal" } else { "this proposal, with what is withheld here," };
    say!("digest of {what} under this contract: {}", paint(STRONG, digest));
    let given = given(runtime, name, row, in_force)?;
    print_votes(row, &shown, &given)?;
    match &row.answer {
        Some(answer) => {
            let doubt = answer.doubt.map(|doubt| doubt.word());
            let said = answer.decision.map(|decision| decision.word()).or(doubt).unwrap_or("by nobody in time");
            let by = answer.person.as_deref().map(|person| format!(" by {}", visible(person))).unwrap_or_default();
            say!("answered  {said}{by} at {}: {}", terminal::at(answer.at), visible(&answer.reason));
            match (&answer.key, &answer.os_user) {
                (Some(key), _) => say!("          signed with {}", person_key_text(key)),
                (None, Some(os_user)) => say!("          unsigned; typed by the system's user {}", visible(os_user)),
                (None, None) => {}
            }
        }
        None if row.kind == QuestionKind::Doubt => {
            say!("it may have happened; look at the other side, then say what you saw");
            let command = format!("writkeeper intents resolve {} happened|did-not|retry", visible(&row.intent));
            let key = if row.signed { " --key FILE" } else { "" };
            say!("next: {}", hint::next(&format!("{command} --as YOU --because …{key}")));
        }
        None => {
            let key = if row.signed { " --key FILE" } else { "" };
            let command =
                format!("writkeeper escalations answer {name} override|modify|abort --as YOU --because …{key}");
            say!("next: {}", hint::next(&command));
        }
    }
    Ok(())
}

/// What would happen, one line each.
pub fn card_lines(card: &Card) -> Vec<String> {
    let rule = |rule: &AskingRule| {
        let when = rule.when.as_ref().filter(|when| !rule.message.contains(when.as_str()));
        let when = when.map(|when| format!(" ({})", visible(when))).unwrap_or_default();
        format!("rule      {}{when}: {}", visible(&rule.reason), visible(&rule.message))
    };
    let budget = |budget: &BudgetUse| {
        let used = |used: Option<Decimal>| used.map_or_else(|| "all".to_owned(), |used| used.to_string());
        let (before, after) = (used(budget.used), used(budget.after()));
        format!("budget    {}: {before} of {} used, {after} after this", visible(&budget.name), budget.max)
    };
    let undo = |undo: &UndoPlan| {
        let call = undo.call.as_ref().map(|call| format!(" {}", visible(call))).unwrap_or_default();
        let within = undo.within.as_ref().map(|within| format!(" within {within}")).unwrap_or_default();
        format!("undo      {}{call}{within}", undo.kind)
    };
    let mut lines: Vec<String> = card.rules.iter().map(rule).collect();
    lines.extend(card.call.as_ref().map(|call| format!("calls     {}", visible(call))));
    lines.extend(card.effect_key.as_ref().map(|effect_key| format!("effect    {}", visible(effect_key))));
    lines.extend(card.budgets.iter().map(budget));
    lines.extend(card.undo.as_ref().map(undo));
    lines
}

/// People agree only if they say the same: each thing that was said, by whom, and whether it still counts.
fn print_votes(row: &EscalationRow, shown: &Json, given: &[Given]) -> anyhow::Result<()> {
    for said in given {
        let people: Vec<String> = said.people.iter().map(|person| visible(person)).collect();
        let stale = if said.counts { "" } else { " under another contract, which no longer counts" };
        say!("agreed    {} of {} to {}{stale}: {}", people.len(), row.quorum, said.decision, people.join(", "));
        for change in said.instead.iter().flat_map(|instead| changes(shown, instead)) {
            say!("          {change}");
        }
    }
    Ok(())
}

/// The digest of the contract a question would be answered under now.
pub fn contract_in_force(runtime: &Runtime, row: &EscalationRow) -> anyhow::Result<Digest> {
    // What is over stays under the contract it was asked under, and so does whether something happened.
    if row.due().is_none() || row.kind == QuestionKind::Doubt {
        return Ok(row.contract);
    }
    let contract = runtime.line(&row.agent).map_err(store::unread)?.contract;
    Ok(if contract.contract.agent == row.agent { contract.digest } else { row.contract })
}

/// For programs.
pub fn to_json(runtime: &Runtime, name: &str, row: &EscalationRow) -> anyhow::Result<Json> {
    let answer = row.answer.as_ref().map_or(Json::Null, |answer| {
        Json::object([
            ("decision", Json::from(answer.decision.map(|decision| decision.word().to_owned()))),
            ("person", Json::from(answer.person.clone())),
            ("reason", Json::text(answer.reason.as_str())),
            ("at", Json::text(answer.at.to_string())),
            ("intent", Json::from(answer.intent.clone())),
            ("os_user", Json::from(answer.os_user.clone())),
            ("key", Json::from(answer.key.as_ref().map(person_key_text))),
        ])
    });
    let in_force = contract_in_force(runtime, row)?;
    let agreed = given(runtime, name, row, in_force)?.into_iter().map(|said| {
        Json::object([
            ("decision", Json::text(said.decision.as_str())),
            ("instead", said.instead.clone().unwrap_or(Json::Null)),
            ("people", Json::texts(said.people.iter().map(String::as_str))),
            ("counts", Json::Bool(said.counts)),
        ])
    });
    let mut told = Card::of(runtime, name, row, store::now())?.to_json();
    let members = Json::object([
        ("id", Json::text(name)),
        ("kind", Json::text(row.kind.word())),
        ("intent", Json::text(row.intent.as_str())),
        ("state", Json::text(row.state.word())),
        ("agent", Json::text(row.agent.as_str())),
        ("flow", Json::text(row.flow.as_str())),
        ("proposal_id", Json::text(row.proposal_id.as_str())),
        ("digest", Json::text(EscalationRow::digest_of(&row.proposal, in_force).to_string())),
        ("contract", Json::text(in_force.to_string())),
        ("asked_under", Json::text(row.contract.to_string())),
        ("reasons", Json::texts(row.reasons.iter().map(String::as_str))),
        ("impact", Json::text(row.impact.word())),
        ("approvers", Json::texts(row.approvers.iter().map(String::as_str))),
        ("quorum", Json::from(row.quorum)),
        ("signed", Json::Bool(row.signed)),
        ("votes", Json::texts(row.votes.iter().map(|vote| vote.person.as_str()))),
        ("agreed", Json::List(agreed.collect())),
        ("asked_at", Json::text(row.asked_at.to_string())),
        ("deadline", Json::from(row.deadline.map(|deadline| deadline.to_string()))),
        ("answer", answer),
    ]);
    told.extend(members.as_object().cloned().unwrap_or_default());
    Ok(Json::Object(told))
}

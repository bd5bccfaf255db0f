//! One question: exactly what an answer is for, and what people have said so far.

use super::left;
use crate::commands::intents::results;
use crate::hint;
use crate::terminal::{self, ATTENTION, BAD, STRONG, paint, param, param_name, say};
use kernel::escalation::{GivenAnswer, QuestionKind};
use kernel::finding::visible;
use kernel::person::person_key_text;
use values::decimal::Decimal;
use values::json::{Json, Object};
use values::time::Instant;
use writkeeper::Keeper;
use writkeeper::inbox::{AmendedLimit, AskingRule, BudgetUse, Card, Question, UndoPlan};

/// Prints the question.
pub fn run(keeper: &Keeper, id: &str, json: bool) -> anyhow::Result<()> {
    let question = keeper.question(id)?;
    let question = match keeper.runtime().caller() {
        Some(caller) => question.seen_by(keeper.runtime(), &caller.name, keeper.now())?,
        None => question,
    };
    if json {
        say!("{}", question.to_json().to_canonical());
        return Ok(());
    }
    let now = keeper.now();
    say!("question {}  {}", paint(STRONG, &question.id), paint(ATTENTION, question.state.word()));
    print_asked(&question, now)?;
    if let Ok(contract) = keeper.runtime().contract(question.contract) {
        let (id, version) = (visible(&contract.contract.id), &contract.contract.version);
        say!("  contract  {id} {version} sha256 {}", question.contract);
    }
    if question.is_open() && question.contract != question.asked_under {
        let changed = format!("another contract is in force since it was asked under sha256 {}", question.asked_under);
        say!("  {}   {changed}; give the digest below with your answer", paint(ATTENTION, "changed"));
    }
    if question.is_altered {
        let altered = "what the store shows below is not what was asked, so it can only be denied";
        say!("  {}   {altered}", paint(BAD, "altered"));
    }
    for line in card_lines(&question.card) {
        say!("  {line}");
    }
    say!("\n{}\n", terminal::pretty(&question.card.proposal));
    let what = match question.card.is_whole {
        true => "exactly this proposal",
        false => "this proposal, with what is withheld here,",
    };
    say!("digest of {what} under this contract: {}", paint(STRONG, question.digest));
    print_votes(&question)?;
    match &question.answer {
        Some(answer) => print_answer(answer),
        None => print_next(&question),
    }
}

fn print_asked(question: &Question, now: Instant) -> anyhow::Result<()> {
    let age = terminal::span(now.since(question.asked_at).micros().max(0) / 1_000_000);
    let (agent, flow) = (visible(&question.agent), visible(&question.flow));
    say!("  asked     {age} ago, {} by {agent} in flow {flow}", terminal::at(question.asked_at));
    if let Some(by) = &question.by {
        say!("  in its name by {}, who cannot approve it", visible(by));
    }
    say!("  because   {}", visible(&question.reasons.join(", ")));
    if let Some(request) = &question.request {
        say!("  it says   {}", visible(&request.reason));
        if !request.context.is_empty() {
            say!("  context   {}", visible(&Json::Object(request.context.clone()).to_canonical()));
        }
    }
    say!("  impact    {}", question.impact.word());
    let who = if question.approvers.is_empty() { "anyone".to_owned() } else { question.approvers.join(", ") };
    let people = if question.quorum == 1 { "person" } else { "people who say the same" };
    let signed = if question.signed { ", and only signed answers count" } else { "" };
    say!("  answered  by {}; it takes {} {people}{signed}", visible(&who), question.quorum);
    if let Some(handed) = &question.handed {
        let (by, to, why) = (visible(&handed.by), visible(&handed.to), visible(&handed.because));
        say!("  handed    to {to} by {by} at {}: {why}", terminal::at(handed.at));
    }
    if let Some(snooze) = &question.snoozed {
        say!("  put off   by you until {}", terminal::at(snooze.until));
    }
    if let Some(deadline) = question.deadline {
        let left = if question.is_open() { format!("{}: ", left(Some(deadline), now)) } else { String::new() };
        say!("  deadline  {left}{}", terminal::at(deadline));
    }
    Ok(())
}

fn print_answer(answer: &GivenAnswer) -> anyhow::Result<()> {
    let doubt = answer.doubt.map(|doubt| doubt.word());
    let said = answer.decision.map(|decision| decision.word()).or(doubt).unwrap_or("by nobody in time");
    let by = answer.person.as_deref().map(|person| format!(" by {}", visible(person))).unwrap_or_default();
    say!("answered  {said}{by} at {}: {}", terminal::at(answer.at), visible(&answer.reason));
    match (&answer.key, &answer.os_user) {
        (Some(key), _) => say!("          signed with {}", person_key_text(key)),
        (None, Some(os_user)) => say!("          unsigned; typed by the system's user {}", visible(os_user)),
        (None, None) => {}
    }
    Ok(())
}

/// What to type, for the person who read all this.
fn print_next(question: &Question) -> anyhow::Result<()> {
    let key = if question.signed { " --key FILE" } else { "" };
    let digest = match question.contract == question.asked_under {
        true => String::new(),
        false => format!(" --digest {}", question.digest),
    };
    match question.kind {
        QuestionKind::Doubt => {
            match question.card.undoes() {
                true => say!("this undoes what happened: do it by hand, then say what you did"),
                false => say!("it may have happened; look at the other side, then say what you saw"),
            }
            let command = format!("writkeeper intents resolve {} happened|did-not|retry", visible(&question.intent));
            say!("next: {}", hint::next(&format!("{command} --as YOU --because …{key}")));
        }
        QuestionKind::Request => {
            let answer = format!("writkeeper escalations answer {}", visible(&question.id));
            say!("next: {}", hint::next(&format!("{answer} approve|deny --as YOU --because …{key}")));
        }
        QuestionKind::Proposal => {
            let answer = format!("writkeeper escalations answer {}", visible(&question.id));
            let command = format!("{answer} approve|deny --as YOU --because …{digest}{key}");
            say!("next: {}", hint::next(&command));
            say!("      or override|modify|abort in their place: `modify --instead FILE` accepts another proposal,");
            say!("      `override` and `abort` say the same as `approve` and `deny`");
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
        let asked = budget.max_when_asked.map(|max| format!(" (of {max} when it was asked)")).unwrap_or_default();
        let is_over = budget.after().is_none_or(|after| after > budget.max);
        let over = if is_over { ": more than it holds, so approving is refused" } else { "" };
        format!("budget    {}: {before} of {} used{asked}, {after} after this{over}", visible(&budget.name), budget.max)
    };
    let limit = |limit: &AmendedLimit| {
        let bound = |word: &str, bound: Option<Decimal>| bound.map(|bound| format!("{word} {bound}"));
        let bounds = |min, max| {
            let told: Vec<String> = [bound("at least", min), bound("at most", max)].into_iter().flatten().collect();
            told.join(" and ")
        };
        let (now, written) = (bounds(limit.min, limit.max), bounds(limit.contract_min, limit.contract_max));
        format!("limit     {} {now} for a while; the contract says {written}", visible(&limit.param))
    };
    let undo = |undo: &UndoPlan| {
        let call = undo.call.as_ref().map(|call| format!(" {}", visible(call))).unwrap_or_default();
        let within = undo.within.as_ref().map(|within| format!(" within {within}")).unwrap_or_default();
        format!("undo      {}{call}{within}", undo.kind)
    };
    let mut lines: Vec<String> = card.rules.iter().map(rule).collect();
    lines.extend(card.call.as_ref().map(|call| format!("calls     {}", visible(call))));
    lines.extend(card.result.as_ref().map(|result| format!("answered  {}", results::line(result))));
    lines.extend(card.effect_key.as_ref().map(|effect_key| format!("effect    {}", visible(effect_key))));
    lines.extend(card.budgets.iter().map(budget));
    lines.extend(card.limits.iter().map(limit));
    lines.extend(card.undo.as_ref().map(undo));
    lines
}

/// People agree only if they say the same: each thing that was said, by whom, and whether it still counts.
fn print_votes(question: &Question) -> anyhow::Result<()> {
    for said in &question.agreed {
        let people: Vec<String> = said.people.iter().map(|person| visible(person)).collect();
        let stale = if said.counts { "" } else { " under another contract, which no longer counts" };
        let (count, decision) = (people.len(), visible(&said.decision));
        say!("agreed    {count} of {} to {decision}{stale}: {}", question.quorum, people.join(", "));
        let instead = said.instead.as_ref().map(|instead| instead.to_json(instead.params.clone()));
        for change in instead.iter().flat_map(|instead| changes(&question.card.proposal, instead)) {
            say!("          {change}");
        }
    }
    Ok(())
}

/// What another proposal changes, one line each.
pub fn changes(before: &Json, after: &Json) -> Vec<String> {
    let nothing = Object::new();
    let params = |json: &Json| json.get("params").and_then(Json::as_object).cloned().unwrap_or_else(|| nothing.clone());
    let (old, new) = (params(before), params(after));
    let shown = |value: Option<&Json>| value.map_or_else(|| "nothing".to_owned(), param);
    let mut lines = Vec::new();
    if before.get("action") != after.get("action") {
        lines.push(format!("action: {} \u{2192} {}", shown(before.get("action")), shown(after.get("action"))));
    }
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    for name in names.into_iter().filter(|name| old.get(*name) != new.get(*name)) {
        lines.push(format!("{}: {} \u{2192} {}", param_name(name), shown(old.get(name)), shown(new.get(name))));
    }
    if lines.is_empty() {
        lines.push("the same params".to_owned());
    }
    lines
}

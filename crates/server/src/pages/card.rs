//! The card: everything that a person must see before answering, drawn from the bytes that the digest covers.

mod buttons;
mod facts;
mod fields;

pub use fields::changed_params;

use super::html::Html;
use super::{Reader, Visit, page};
use crate::call::{Call, Reply};
use crate::problem::Problem;
use crate::routes::ledger::receipt_of_agent;
use axum::http::header;
use kernel::contract::Impact;
use kernel::escalation::{EscalationRow, EscalationState};
use kernel::world::{Entity, Row};
use std::collections::BTreeMap;
use values::json::Json;
use values::time::Instant;
use writkeeper::Keeper;
use writkeeper::inbox::{Question, Surroundings};

/// A question as the card shows it.
pub struct Shown<'a> {
    /// The request.
    pub call: &'a Call,
    /// What the visitor brought.
    pub visit: &'a Visit,
    /// The question.
    pub question: Question,
    /// What stands around it.
    pub around: Surroundings,
    /// The groups of whoever looks.
    pub groups: Vec<String>,
    /// When.
    pub now: Instant,
}

/// What an answer came to, above the card.
pub struct Notice {
    /// One sentence.
    pub title: String,
    /// More of them.
    pub lines: Vec<String>,
}

/// The question whose whole id this is. What is not there and what belongs to others look the same.
pub fn exact(call: &Call) -> Result<(String, EscalationRow), Problem> {
    let id = call.part("id");
    match call.keeper().runtime().read(Entity::Escalation(id.to_owned()))? {
        Some(Row::Escalation(row)) => Ok((id.to_owned(), *row)),
        Some(_) | None => Err(Problem::not_found()),
    }
}

/// The page.
pub fn show(call: &Call, visit: &Visit) -> Result<Reply, Problem> {
    let (id, row) = exact(call)?;
    drawn(call, visit, &id, &row, None)
}

/// The receipt of what the question is about, as a file for `writkeeper verify`.
pub fn receipt(call: &Call, _visit: &Visit) -> Result<Reply, Problem> {
    let (_, row) = exact(call)?;
    let reply = receipt_of_agent(call, &row.agent, &row.proposal_id)?;
    Ok(reply.with(header::CONTENT_DISPOSITION, "attachment; filename=\"writkeeper.receipt\""))
}

/// The page, with what an answer came to.
pub fn drawn(
    call: &Call,
    visit: &Visit,
    id: &str,
    row: &EscalationRow,
    notice: Option<&Notice>,
) -> Result<Reply, Problem> {
    let keeper = call.keeper();
    let now = keeper.now();
    let person = keeper.person(&call.caller.name)?.unwrap_or_default();
    let shown = Shown {
        question: Question::of(keeper.runtime(), id, row, now)?.seen_by(keeper.runtime(), &call.caller.name, now)?,
        around: Surroundings::of(keeper, row)?,
        groups: person.groups.into_iter().collect(),
        call,
        visit,
        now,
    };
    let mut main = Html::default();
    main.raw("<main class=\"card\">");
    if let Some(notice) = notice {
        main.raw("<section class=\"note bad wide\" role=\"alert\"><strong>").text(&notice.title).raw("</strong>");
        for line in &notice.lines {
            main.raw("<p>").text(line).raw("</p>");
        }
        main.raw("</section>");
    }
    main.raw("<div class=\"facts\">");
    facts::write(&mut main, &shown, &headline(keeper, row, &shown.question.card.proposal));
    main.raw("</div>").raw(match shown.question.answer {
        Some(_) => "<aside class=\"answer ended\">",
        None => "<aside class=\"answer\">",
    });
    buttons::write(&mut main, &shown);
    main.raw("</aside></main>");
    let reader = Reader { name: &call.caller.name, token: visit.token.as_deref() };
    let action = kernel::finding::visible(shown.question.card.action());
    Ok(page(&format!("{action} \u{b7} Writkeeper"), Some(&reader), &main))
}

/// What it is in few words: the action, and the first amount that has a unit.
pub fn headline(keeper: &Keeper, row: &EscalationRow, proposal: &Json) -> (String, Option<String>) {
    let action = proposal.get("action").and_then(Json::as_text).unwrap_or("withheld").to_owned();
    let contract = keeper.runtime().contract(row.contract).ok();
    let limits = contract.as_ref().and_then(|contract| contract.contract.actions.get(&action));
    let units = limits.map(|action| {
        let unit = action.limits.iter().filter_map(|(name, limit)| Some((name.clone(), limit.unit.clone()?)));
        unit.collect::<BTreeMap<String, String>>()
    });
    let params = proposal.get("params").and_then(Json::as_object);
    let amount = params.into_iter().flatten().find_map(|(name, value)| {
        let unit = units.as_ref().and_then(|units| units.get(name));
        amount_of(value, unit.map(String::as_str))
    });
    (action, amount)
}

/// An amount with its unit, if it is one.
pub fn amount_of(value: &Json, unit: Option<&str>) -> Option<String> {
    if let Some(members) = value.as_object() {
        let number = members.get("value").and_then(Json::as_number)?;
        let unit = members.get("unit").and_then(Json::as_text).filter(|_| members.len() == 2)?;
        return Some(format!("{number} {unit}"));
    }
    let number = value.as_number().map(|number| number.to_string());
    Some(format!("{} {}", number.or_else(|| Some(value.as_text()?.to_owned()))?, unit?))
}

/// The colour of an impact; its word stands beside it.
pub fn impact_class(impact: Impact) -> &'static str {
    match impact {
        Impact::Low => "calm",
        Impact::Medium => "mild",
        Impact::High | Impact::Critical => "grave",
    }
}

/// A state in the words of people.
pub fn state_words(state: EscalationState) -> &'static str {
    match state {
        EscalationState::Open => "Waiting for an answer",
        EscalationState::Overridden => "Approved",
        EscalationState::Modified => "Approved with other params",
        EscalationState::Aborted => "Denied",
        EscalationState::Expired => "Nobody answered in time",
        EscalationState::Resolved => "Resolved",
    }
}

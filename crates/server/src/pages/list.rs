//! What waits for the person who looks.

use super::card::{headline, impact_class};
use super::html::{Html, span};
use super::{Reader, Visit, page};
use crate::call::{Call, Reply};
use crate::problem::Problem;
use crate::routes::escalations::after;
use kernel::api_key::KeyRole;
use kernel::escalation::{EscalationRow, QuestionKind};
use kernel::handed::Handed;
use std::collections::BTreeSet;
use values::ids::is_same_person;
use values::time::Instant;
use writkeeper::Keeper;
use writkeeper::inbox::{Cursor, PutOff, RowPage, handed, put_off, shown_proposal};

/// Questions on one page.
const SHOWN_MAX: usize = 100;

/// Pages of everybody's questions that one page of a person looks through.
const LOOKED_PAGES: usize = 10;

/// The page.
pub fn show(call: &Call, visit: &Visit) -> Result<Reply, Problem> {
    let (keeper, caller) = (call.keeper(), &call.caller);
    let now = keeper.now();
    let own = match caller.role {
        KeyRole::Approver => Some(keeper.person(&caller.name)?.unwrap_or_default().groups),
        KeyRole::Agent | KeyRole::Executor | KeyRole::Operator | KeyRole::Auditor | KeyRole::Admin => None,
    };
    let hidden = match own {
        Some(_) => put_off(keeper.runtime(), &caller.name, now)?,
        None => Vec::new(),
    };
    if visit.asked("snoozed").is_some() {
        return Ok(only_put_off(call, visit, &hidden, now));
    }
    let waits = |row: &EscalationRow| own.as_ref().is_none_or(|groups| is_for(row, &caller.name, groups, now));
    let is_hidden = |id: &str| hidden.iter().any(|hidden| hidden.id == id);
    let is_mine = |id: &str, row: &EscalationRow| waits(row) && !is_hidden(id);
    let person = own.as_ref().map(|_| &*caller.name);
    let Mine { shown, handed_on, next } = gathered(keeper, after(visit.asked("after"))?, now, person, is_mine)?;
    let mut main = Html::default();
    main.raw("<main class=\"list\"><h1>");
    main.raw(if own.is_some() { "Waiting for you" } else { "Waiting for people" });
    main.raw(" <span class=\"count\">").plain(&shown.len().to_string());
    main.raw(if next.is_some() { "+</span></h1>" } else { "</span></h1>" });
    if shown.is_empty() {
        main.raw("<section class=\"sheet quiet\"><p>").raw(match next {
            None => "Nothing waits for an answer.",
            Some(_) => "Nothing of this page waits for you.",
        });
        main.raw("</p></section>");
    }
    main.raw("<ul class=\"questions\">");
    for (id, row, handed) in &shown {
        line(&mut main, call, id, row, now, |main| {
            if let Some(handed) = handed.as_ref().filter(|handed| is_same_person(&handed.to, &caller.name)) {
                main.raw("<span class=\"handed\">handed to you by ").text(&handed.by).raw("</span>");
            }
        });
    }
    main.raw("</ul>");
    if !hidden.is_empty() {
        main.raw("<p><a href=\"/approve?snoozed=only\">Put off by you: ");
        main.plain(&hidden.len().to_string()).raw("</a></p>");
    }
    if handed_on > 0 {
        main.raw("<p class=\"faint\">You handed ").plain(&handed_on.to_string()).raw(" to others.</p>");
    }
    if let Some(next) = next {
        main.raw("<p><a href=\"/approve?after=").segment(&next.to_string()).raw("\">More</a></p>");
    }
    main.raw("</main>");
    let reader = Reader { name: &caller.name, token: visit.token.as_deref() };
    Ok(page("What waits \u{b7} Writkeeper", Some(&reader), &main))
}

/// What of a page is for the person who looks.
#[derive(Default)]
struct Mine {
    shown: Vec<(String, Box<EscalationRow>, Option<Handed>)>,
    /// How many they handed to others.
    handed_on: usize,
    next: Option<Cursor>,
}

/// Looks through open questions for those of a page; a person who answers has handed some of them on.
fn gathered(
    keeper: &Keeper,
    after: Option<Cursor>,
    now: Instant,
    person: Option<&str>,
    is_mine: impl Fn(&str, &EscalationRow) -> bool,
) -> Result<Mine, Problem> {
    let mut mine = Mine { next: after, ..Mine::default() };
    // Most questions may be for others, so a page that shows little has looked at a bounded number of them.
    for _ in 0..LOOKED_PAGES {
        let page = RowPage::of(keeper.runtime(), mine.next.as_ref(), SHOWN_MAX, now)?;
        mine.next = page.next();
        for (place, (id, row)) in page.rows.iter().enumerate().filter(|(_, (id, row))| is_mine(id, row)) {
            match (handed(keeper.runtime(), id)?, person) {
                (Some(handed), Some(person)) if is_same_person(&handed.by, person) => mine.handed_on += 1,
                (handed, _) => mine.shown.push((id.clone(), row.clone(), handed)),
            }
            if mine.shown.len() >= SHOWN_MAX {
                let is_last = place + 1 == page.rows.len() && !page.is_more;
                mine.next = (!is_last).then(|| page.behind(id, row));
                return Ok(mine);
            }
        }
        if mine.next.is_none() {
            break;
        }
    }
    Ok(mine)
}

/// What the person put off, and until when.
fn only_put_off(call: &Call, visit: &Visit, hidden: &[PutOff], now: Instant) -> Reply {
    let mut main = Html::default();
    main.raw("<main class=\"list\"><h1>Put off by you <span class=\"count\">").plain(&hidden.len().to_string());
    main.raw("</span></h1>");
    if hidden.is_empty() {
        main.raw("<section class=\"sheet quiet\"><p>You have put nothing off.</p></section>");
    }
    main.raw("<ul class=\"questions\">");
    for PutOff { id, row, snooze } in hidden {
        line(&mut main, call, id, row, now, |main| {
            main.raw("<span class=\"faint\">on your list again in ").plain(&span(snooze.until.since(now)));
            main.raw(", at ").time(snooze.until).raw("</span>");
        });
    }
    main.raw("</ul><p><a href=\"/approve\">What waits for you</a></p></main>");
    let reader = Reader { name: &call.caller.name, token: visit.token.as_deref() };
    page("Put off \u{b7} Writkeeper", Some(&reader), &main)
}

/// One question of a list, with what is said of it in this list.
fn line(main: &mut Html, call: &Call, id: &str, row: &EscalationRow, now: Instant, rest: impl FnOnce(&mut Html)) {
    let keeper = call.keeper();
    main.raw("<li><a href=\"/approve/").segment(id).raw("\"><span class=\"top\"><span class=\"badge ");
    main.raw(impact_class(row.impact)).raw("\">").plain(row.impact.word()).raw("</span><span class=\"faint\">");
    main.plain(&age(row, now)).raw("</span></span><span class=\"what\">");
    let (action, amount) = headline(keeper, row, &shown_proposal(keeper.runtime(), row));
    main.text(&action).raw("</span>");
    if let Some(amount) = amount {
        main.raw("<span class=\"amount\">").text(&amount).raw("</span>");
    }
    main.raw("<span class=\"faint\">").raw(match row.kind {
        QuestionKind::Proposal | QuestionKind::Request => "asked by ",
        QuestionKind::Doubt => "it may have happened; called for ",
    });
    main.text(&row.agent).raw("</span>");
    rest(main);
    main.raw("</a></li>");
}

/// Whether a question waits for this person: they may answer it, and have not agreed to anything yet.
fn is_for(row: &EscalationRow, person: &str, groups: &BTreeSet<String>, now: Instant) -> bool {
    let is_entitled = row.entitled(now).into_iter().any(|group| groups.contains(group));
    let has_voted = row.votes.iter().any(|vote| is_same_person(&vote.person, person));
    is_entitled && !has_voted && !is_same_person(person, &row.agent)
}

/// How long it waits, and how long people have.
fn age(row: &EscalationRow, now: Instant) -> String {
    let waits = span(now.since(row.asked_at));
    match row.deadline {
        Some(deadline) if deadline > now => format!("{waits} old, {} left", span(deadline.since(now))),
        Some(_) => format!("{waits} old, its time is over"),
        None => format!("{waits} old"),
    }
}

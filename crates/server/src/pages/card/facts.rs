//! What exactly, who asks, why, what it does, what changed, and until when.

use super::{Shown, amount_of, fields, impact_class, state_words};
use crate::pages::html::{Html, span};
use kernel::contract::{EffectClass, Origin};
use kernel::escalation::{EscalationState, QuestionKind};
use kernel::request::Provenance;
use values::decimal::Decimal;
use values::json::{Json, Object};
use writkeeper::inbox::{AmendedLimit, BudgetUse, LOOKED_BACK, Sibling};

/// All of it.
pub fn write(html: &mut Html, shown: &Shown<'_>, headline: &(String, Option<String>)) {
    top(html, shown, headline);
    exactly(html, shown);
    reasons(html, shown);
    words(html, shown);
    effect(html, shown);
    changes(html, shown);
    asking(html, shown);
    times(html, shown);
    proof(html, shown);
}

fn top(html: &mut Html, shown: &Shown<'_>, (action, amount): &(String, Option<String>)) {
    let question = &shown.question;
    html.raw("<section class=\"sheet hero\"><p class=\"eyebrow\"><span class=\"badge ");
    html.raw(impact_class(question.impact)).raw("\">").plain(question.impact.word()).raw(" impact</span> <span>");
    html.raw(state_words(question.state)).raw("</span></p><h1>").text(action).raw("</h1>");
    if let Some(amount) = amount {
        html.raw("<p class=\"amount\">").text(amount).raw("</p>");
    }
    let target = question.card.call.as_ref().or(question.card.effect_key.as_ref());
    if let Some(target) = target {
        html.raw("<p class=\"target\"><span class=\"faint\">to</span> <code>").text(target).raw("</code></p>");
    }
    if question.kind == QuestionKind::Doubt {
        html.raw("<p>It was called, and nobody knows whether it happened. Look at the other side, then say what you saw.</p>");
    }
    if let Some(request) = &question.request {
        html.raw("<p>").text(&request.reason).raw("</p>");
        if !request.context.is_empty() {
            html.raw("<pre tabindex=\"0\">").text(&Json::Object(request.context.clone()).to_canonical()).raw("</pre>");
        }
    }
    html.raw("</section>");
}

/// A section with a heading.
fn section(html: &mut Html, title: &'static str) {
    html.raw("<section class=\"sheet\"><h2>").raw(title).raw("</h2>");
}

/// Every argument, with where it came from.
fn exactly(html: &mut Html, shown: &Shown<'_>) {
    if shown.question.kind == QuestionKind::Request {
        return;
    }
    section(html, "Exactly this");
    let params = shown.question.card.proposal.get("params").and_then(Json::as_object);
    let Some(params) = params else {
        html.raw("<p>Nothing of it may be shown.</p></section>");
        return;
    };
    html.raw("<dl class=\"params\">");
    for (name, param) in params {
        html.raw("<div><dt>").text(name).raw("</dt><dd>");
        value(html, shown, name, param);
        origin(html, shown, name);
        html.raw("</dd></div>");
    }
    html.raw("</dl>");
    if params.is_empty() {
        html.raw("<p class=\"faint\">It has no params.</p>");
    }
    match &shown.around.provenance {
        Provenance::Stated(_) => {}
        Provenance::Unknown => {
            html.raw(
                "<p class=\"faint\">Where these values came from is not known: nobody entitled to say so said it.</p>",
            );
        }
        Provenance::ClaimedByAgent => {
            html.raw("<p class=\"note\">The agent said where these values came from. That is its own claim and counts for nothing.</p>");
        }
    }
    html.raw("</section>");
}

fn value(html: &mut Html, shown: &Shown<'_>, name: &str, param: &Json) {
    if !shown.question.card.is_whole && fields::is_withheld(param) {
        html.raw("<span class=\"odd\">withheld: the contract calls it secret</span>");
        return;
    }
    let unit = shown.around.units.get(name).map(String::as_str);
    let amount = amount_of(param, unit).filter(|_| unit.is_some() || param.as_object().is_some());
    match (amount, param) {
        (Some(amount), _) => html.raw("<strong>").text(&amount).raw("</strong>"),
        (None, Json::Text(text)) if text.is_empty() => html.raw("<span class=\"faint\">empty text</span>"),
        (None, Json::Text(text)) => html.text(text),
        (None, Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_)) => {
            html.raw("<code>").text(&param.to_canonical()).raw("</code>")
        }
    };
}

fn origin(html: &mut Html, shown: &Shown<'_>, name: &str) {
    let Provenance::Stated(origins) = &shown.around.provenance else { return };
    let (class, words) = match origins.get(name) {
        Some(Origin::User) => ("from", "the user said it"),
        Some(Origin::State) => ("from", "from trusted state"),
        Some(Origin::Tool) => ("from warn", "from a tool\u{2019}s output, which nobody vouches for"),
        Some(Origin::Nowhere) => ("from warn", "it appeared nowhere before"),
        None => ("from warn", "nobody said where it came from"),
    };
    html.raw(" <span class=\"").raw(class).raw("\">").raw(words).raw("</span>");
}

/// Why a person is asked.
fn reasons(html: &mut Html, shown: &Shown<'_>) {
    let question = &shown.question;
    section(html, "Why you are asked");
    html.raw("<ul class=\"plain\">");
    for rule in &question.card.rules {
        html.raw("<li>").text(&rule.message).raw(" <span class=\"code\">").text(&rule.reason).raw("</span>");
        if let Some(when) = rule.when.as_ref().filter(|when| !rule.message.contains(when.as_str())) {
            html.raw("<br><code>").text(when).raw("</code>");
        }
        html.raw("</li>");
    }
    if question.card.rules.is_empty() {
        for reason in &question.reasons {
            html.raw("<li><span class=\"code\">").text(reason).raw("</span></li>");
        }
    }
    html.raw("</ul></section>");
}

/// The agent's own words, marked as such.
fn words(html: &mut Html, shown: &Shown<'_>) {
    let said = shown.question.card.proposal.get("justification").and_then(Json::as_text);
    section(html, "In the agent\u{2019}s own words");
    match said {
        Some(said) => {
            html.raw("<blockquote>").text(said).raw("</blockquote><p class=\"faint\">Nobody checked this.</p>")
        }
        None => html.raw("<p class=\"faint\">The agent gave no reason.</p>"),
    };
    html.raw("</section>");
}

/// A fact: its name and what stands there.
fn fact(html: &mut Html, name: &'static str, draw: impl FnOnce(&mut Html)) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>");
    draw(html);
    html.raw("</dd></div>");
}

/// What approving does.
fn effect(html: &mut Html, shown: &Shown<'_>) {
    let card = &shown.question.card;
    section(html, "What it does");
    html.raw("<dl>");
    fact(html, "Calls", |html| {
        match &card.call {
            Some(call) => html.raw("<code>").text(call).raw("</code>"),
            None => html.raw("<span class=\"faint\">nothing here: whoever asked performs it</span>"),
        };
    });
    if let Some(key) = &card.effect_key {
        fact(html, "Once", |html| {
            html.raw("<code>").text(key).raw("</code> happens at most once");
        });
    }
    if let Some(class) = shown.around.class {
        fact(html, "Repeats", |html| {
            html.raw(match class {
                EffectClass::None => "it reads and changes nothing",
                EffectClass::Local => "the effect is in this store alone",
                EffectClass::Keyed => "the other side takes a repeated call for the same one",
                EffectClass::Fenced => "the other side refuses calls of workers that were replaced",
                EffectClass::Opaque => {
                    "the other side cannot tell a repeated call, so it is never repeated without a person"
                }
            });
        });
    }
    fact(html, "Undo", |html| {
        let Some(undo) = &card.undo else {
            html.raw("<span class=\"faint\">not known</span>");
            return;
        };
        html.raw(match undo.kind.as_str() {
            "REVERT" => "by a call in reverse",
            "CLOSE_ALL" => "by closing everything the flow opened",
            "NOOP" => "nothing to undo",
            _ => "only by a person",
        });
        if let Some(call) = &undo.call {
            html.raw(" <code>").text(call).raw("</code>");
        }
        if let Some(within) = &undo.within {
            html.raw(" within ").text(within);
        }
    });
    html.raw("</dl>");
    // What was accepted is in its budgets already.
    if shown.question.is_open() {
        card.budgets.iter().for_each(|budget| self::budget(html, budget));
    }
    card.limits.iter().for_each(|limit| self::limit(html, limit));
    html.raw("</section>");
}

fn budget(html: &mut Html, budget: &BudgetUse) {
    let used = |used: Option<Decimal>| used.map_or_else(|| "all".to_owned(), |used| used.to_string());
    let (before, after, max) = (used(budget.used), used(budget.after()), budget.max.to_string());
    let is_over = budget.after().is_none_or(|after| after > budget.max);
    html.raw("<div class=\"budget\"><p><span>").text(&budget.name).raw("</span><span>").plain(&before);
    html.raw(" \u{2192} <strong>").plain(&after).raw("</strong> of ").plain(&max).raw("</span></p>");
    let filled = budget.after().unwrap_or(budget.max);
    html.raw("<meter min=\"0\" max=\"").value(&max).raw("\" value=\"").value(&filled.to_string());
    html.raw(if is_over { "\" class=\"over\">" } else { "\">" }).plain(&after).raw("</meter>");
    if is_over {
        html.raw("<p class=\"warn\">That is more than the budget holds, so approving will be refused.</p>");
    }
    if let Some(asked) = budget.max_when_asked {
        html.raw("<p class=\"faint\">It held ").plain(&asked.to_string()).raw(" when this was asked.</p>");
    }
    html.raw("</div>");
}

fn limit(html: &mut Html, limit: &AmendedLimit) {
    let bounds = |min: Option<Decimal>, max: Option<Decimal>| {
        let told = [min.map(|min| format!("at least {min}")), max.map(|max| format!("at most {max}"))];
        told.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    };
    html.raw("<p class=\"note\">").text(&limit.param).raw(" may be ").plain(&bounds(limit.min, limit.max));
    html.raw(" for a while; the contract says ").plain(&bounds(limit.contract_min, limit.contract_max)).raw(".</p>");
}

/// What differs from what was approved last.
fn changes(html: &mut Html, shown: &Shown<'_>) {
    if shown.question.kind != QuestionKind::Proposal {
        return;
    }
    section(html, "Since the last one that was approved");
    match &shown.around.sibling {
        None => {
            html.raw("<p class=\"faint\">No question about this action of this agent was approved in the last ");
            html.plain(&LOOKED_BACK.to_string()).raw(" records.</p>");
        }
        Some(sibling) => compared(html, shown, sibling),
    }
    html.raw("</section>");
}

fn compared(html: &mut Html, shown: &Shown<'_>, sibling: &Sibling) {
    html.raw("<p class=\"faint\">Approved by ").text(sibling.person.as_deref().unwrap_or("nobody known"));
    html.raw(" at ").time(sibling.at).raw("</p>");
    if sibling.changes.is_empty() {
        html.raw("<p>All params are the same.</p>");
        return;
    }
    html.raw("<dl class=\"diff\">");
    for changed in &sibling.changes {
        html.raw("<div><dt>").text(&changed.name).raw("</dt><dd>");
        side(html, shown, &changed.name, changed.before.as_ref());
        html.raw(" \u{2192} ");
        side(html, shown, &changed.name, changed.after.as_ref());
        html.raw("</dd></div>");
    }
    html.raw("</dl>");
}

fn side(html: &mut Html, shown: &Shown<'_>, name: &str, param: Option<&Json>) {
    match param {
        Some(param) if fields::is_withheld(param) => {
            html.raw("<span class=\"odd\">withheld</span>");
        }
        Some(param) => value(html, shown, name, param),
        None => {
            html.raw("<span class=\"faint\">nothing</span>");
        }
    }
}

/// Who asks, under which contract, for whom, in which flow.
fn asking(html: &mut Html, shown: &Shown<'_>) {
    let (question, around) = (&shown.question, &shown.around);
    section(html, "Who asks");
    html.raw("<dl>");
    fact(html, "Agent", |html| {
        html.raw("<strong>").text(&question.agent).raw("</strong>");
        if let Some(behalf) = &around.behalf {
            html.raw(" on behalf of ").text(behalf);
        }
        if let Some(by) = &question.by {
            let what = if question.request.is_some() { " asked it" } else { " proposed it" };
            html.raw("<p class=\"warn\">").text(by).raw(what).raw(" in the agent\u{2019}s name.</p>");
        }
    });
    fact(html, "Contract", |html| {
        if let Some((id, version)) = &around.contract {
            html.text(id).raw(" ").text(version);
        }
        html.raw(" <code class=\"digest\">").plain(&question.contract.to_string()).raw("</code>");
        if question.state == EscalationState::Open && question.contract != question.asked_under {
            html.raw("<p class=\"warn\">Another contract is in force since it was asked.</p>");
        }
        if question.is_altered {
            html.raw("<p class=\"warn\">What is shown here is not what was asked: it was changed in the store.</p>");
        }
    });
    fact(html, "Flow", |html| {
        html.raw("<code>").text(&question.flow).raw("</code>");
        for above in &around.above {
            html.raw(" in <code>").text(above).raw("</code>");
        }
        if question.flow_over.is_some() {
            html.raw("<p class=\"warn\">The flow was broken off; nothing can be accepted in it any more.</p>");
        }
    });
    html.raw("</dl></section>");
}

/// Age, deadline and what it does, who else was asked, and what was said so far.
fn times(html: &mut Html, shown: &Shown<'_>) {
    let (question, around) = (&shown.question, &shown.around);
    section(html, "Time and people");
    html.raw("<dl>");
    fact(html, "Asked", |html| {
        html.plain(&span(shown.now.since(question.asked_at)))
            .raw(" ago <span class=\"faint\">")
            .time(question.asked_at);
        html.raw("</span>");
    });
    fact(html, "Deadline", |html| {
        match question.deadline {
            Some(deadline) if !question.is_open() => html.raw("it was ").time(deadline),
            None => html.raw("none: time does not answer whether something happened"),
            Some(deadline) if deadline > shown.now => {
                html.raw("in <strong>").plain(&span(deadline.since(shown.now))).raw("</strong> <span class=\"faint\">");
                html.time(deadline).raw("</span><br>If nobody answers by then it is denied, and nothing happens.")
            }
            Some(deadline) => html.raw("it passed ").time(deadline),
        };
    });
    fact(html, "Asked people", |html| {
        for group in &around.asked {
            html.raw("<span class=\"group\"><strong>").text(&group.group).raw("</strong> ");
            match group.people.is_empty() {
                true => html.raw("<span class=\"warn\">nobody is in it</span>"),
                false => html.text(&group.people.join(", ")),
            };
            if let Some(from) = group.from {
                html.raw(" <span class=\"faint\">from ").time(from).raw(" on</span>");
            }
            html.raw("</span>");
        }
    });
    if let Some(remind) = around.remind {
        fact(html, "Reminder", |html| {
            html.time(remind);
        });
    }
    handed(html, shown);
    fact(html, "Needed", |html| {
        html.plain(&question.quorum.to_string());
        html.raw(if question.quorum == 1 { " person" } else { " people who approve the same" });
        for said in &question.agreed {
            html.raw("<br>").plain(&said.people.len().to_string()).raw(" of ").plain(&question.quorum.to_string());
            html.raw(" so far for ").text(&said.decision).raw(": ").text(&said.people.join(", "));
            html.raw(if said.counts {
                ""
            } else {
                " <span class=\"warn\">under another contract, which no longer counts</span>"
            });
            let instead: Option<&Object> = said.instead.as_ref().map(|instead| &instead.params);
            for (name, param) in instead.into_iter().flatten() {
                let was = question.card.proposal.get("params").and_then(|params| params.get(name));
                // Whether a param that is new may be shown is not known here.
                match was {
                    Some(was) if was == param || fields::is_withheld(was) => {}
                    Some(_) => {
                        html.raw("<br><code>").text(name).raw("</code> ").text(&param.to_canonical());
                    }
                    None => {
                        html.raw("<br><code>").text(name).raw("</code> is added");
                    }
                }
            }
        }
    });
    html.raw("</dl></section>");
}

/// Who is expected to answer, where somebody handed it over.
fn handed(html: &mut Html, shown: &Shown<'_>) {
    let Some(handed) = &shown.question.handed else { return };
    fact(html, "Handed over", |html| {
        html.text(&handed.by).raw(" handed it to <strong>").text(&handed.to).raw("</strong> ");
        html.plain(&span(shown.now.since(handed.at))).raw(" ago");
        if !handed.because.is_empty() {
            html.raw(": ").text(&handed.because);
        }
    });
}

/// What the digest covers, and where the rest can be found.
fn proof(html: &mut Html, shown: &Shown<'_>) {
    let question = &shown.question;
    section(html, "What an answer is bound to");
    html.raw("<p><code class=\"digest\">").plain(&question.digest.to_string()).raw("</code></p><p>");
    html.raw("This digest covers the exact bytes of the proposal above, every param of it");
    html.raw(if question.card.is_whole { "," } else { " with those that are withheld here," });
    html.raw(" and the contract it is judged under: an answer counts once, for these and for nothing else.</p>");
    html.raw("<dl>");
    fact(html, "Question", |html| {
        html.raw("<code>").text(&question.id).raw("</code>");
    });
    fact(html, "Proposal", |html| {
        html.raw("<code>").text(&question.proposal_id).raw("</code>");
    });
    fact(html, "Receipt", |html| {
        html.raw("<a href=\"/approve/")
            .segment(&question.id)
            .raw("/receipt\">a file</a> for <code>writkeeper verify</code>");
    });
    html.raw("</dl></section>");
}

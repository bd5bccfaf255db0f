//! What a person can do about a question, and why not where they cannot.

use super::{Shown, fields, state_words};
use crate::pages::answer::SNOOZE;
use crate::pages::html::{Html, span};
use kernel::api_key::KeyRole;
use kernel::escalation::{GivenAnswer, QuestionKind, is_own_question};
use kernel::finding::visible;
use kernel::person::person_key_text;
use std::collections::BTreeSet;
use values::ids::is_same_person;
use values::json::Json;
use values::time::Duration;

/// The forms, or what stands in their place.
pub fn write(html: &mut Html, shown: &Shown<'_>) {
    let question = &shown.question;
    html.raw("<section class=\"sheet\">");
    if let Some(answer) = &question.answer {
        html.raw("<h2>").raw(state_words(question.state)).raw("</h2>");
        ended(html, answer);
    } else if let Some(hindrance) = hindrance(shown) {
        html.raw("<h2>You cannot answer this</h2><p>").text(&hindrance).raw("</p>");
    } else if shown.around.signed {
        signed(html, shown);
        not_now(html, shown);
    } else {
        html.raw("<h2>Your answer</h2>");
        vote(html, shown);
        put_off(html, shown);
        match question.kind {
            QuestionKind::Proposal | QuestionKind::Request => proposal(html, shown),
            QuestionKind::Doubt => doubt(html, shown),
        }
        not_now(html, shown);
        hand_over(html, shown);
    }
    html.raw("</section>");
}

/// Why this person cannot answer, in one sentence. The kernel says the same, whatever stands here.
fn hindrance(shown: &Shown<'_>) -> Option<String> {
    let (question, caller) = (&shown.question, &shown.call.caller);
    if caller.role != KeyRole::Approver {
        return Some(format!(
            "You are signed in as {}; only a person with the role approver answers.",
            caller.role.word()
        ));
    }
    if is_own_question(&caller.name, &question.agent, question.by.as_deref()) {
        return Some("Nobody approves what they proposed.".to_owned());
    }
    if !shown.groups.iter().any(|group| question.entitled.contains(group)) {
        let groups = question.entitled.join(", ");
        return Some(format!("Only members of {groups} may answer, and {} is in none of them.", caller.name));
    }
    question.deadline.filter(|deadline| *deadline < shown.now).map(|_| "Its time is over.".to_owned())
}

/// What they said already.
fn vote(html: &mut Html, shown: &Shown<'_>) {
    let question = &shown.question;
    let has_voted = question.votes.iter().any(|person| is_same_person(person, &shown.call.caller.name));
    if has_voted {
        html.raw("<p class=\"note good\">Your approval is counted. It waits for others; you can still say something else.</p>");
    }
}

/// Until when it is off their list.
fn put_off(html: &mut Html, shown: &Shown<'_>) {
    let Some(snooze) = &shown.question.snoozed else { return };
    html.raw("<p class=\"note\">You put this off until ")
        .time(snooze.until)
        .raw(". You can answer now all the same.</p>");
}

/// The beginning of a form that answers.
fn begin(html: &mut Html, shown: &Shown<'_>, decision: Option<&'static str>) {
    html.raw("<form method=\"post\" action=\"/approve/").segment(&shown.question.id).raw("\">");
    if let Some(token) = &shown.visit.token {
        html.raw("<input type=\"hidden\" name=\"csrf\" value=\"").value(token).raw("\">");
    }
    html.raw("<input type=\"hidden\" name=\"digest\" value=\"").value(&shown.question.digest.to_string()).raw("\">");
    if let Some(decision) = decision {
        html.raw("<input type=\"hidden\" name=\"decision\" value=\"").raw(decision).raw("\">");
    }
}

fn proposal(html: &mut Html, shown: &Shown<'_>) {
    begin(html, shown, Some("approve"));
    html.raw("<label><span>Note <span class=\"faint\">optional, recorded</span></span><input name=\"because\" maxlength=\"1000\" ");
    html.raw("autocomplete=\"off\"></label><button class=\"button strong\">Approve once</button></form>");
    html.raw("<p class=\"faint small\">For exactly what is shown, and only this time.");
    if let Some(valid) = shown.around.valid_after {
        html.raw(" It may be started for ").plain(&span(valid)).raw(" afterwards.");
    }
    html.raw("</p><hr>");
    begin(html, shown, Some("deny"));
    html.raw("<label>Why not<input name=\"because\" required maxlength=\"1000\" autocomplete=\"off\"></label>");
    html.raw("<button class=\"button danger\">Deny</button></form>");
    let params = shown.question.card.proposal.get("params").and_then(Json::as_object);
    let Some(params) = params.filter(|params| !params.is_empty()) else { return };
    html.raw("<hr><details><summary>Approve something else instead</summary>");
    begin(html, shown, Some("modify"));
    html.raw("<p class=\"faint small\">It is judged again like any other proposal, and then counts as yours.</p>");
    fields::write(html, params, |name| shown.around.units.get(name).cloned());
    html.raw("<label>Why<input name=\"because\" maxlength=\"1000\" autocomplete=\"off\"></label>");
    html.raw("<button class=\"button\">Approve with these params</button></form></details>");
}

fn doubt(html: &mut Html, shown: &Shown<'_>) {
    begin(html, shown, None);
    html.raw("<label>What you saw<input name=\"because\" required maxlength=\"1000\" autocomplete=\"off\"></label>");
    html.raw("<button class=\"button strong\" name=\"decision\" value=\"happened\">It happened</button>");
    html.raw("<button class=\"button\" name=\"decision\" value=\"did-not\">It did not happen</button>");
    html.raw("<button class=\"button danger\" name=\"decision\" value=\"retry\">Call it again</button></form>");
}

/// For how long a person can put a question off from its card.
const LENGTHS: [(i64, &str, &str); 7] = [
    (5 * 60, "5m", "5 minutes"),
    (15 * 60, "15m", "15 minutes"),
    (3_600, "1h", "1 hour"),
    (4 * 3_600, "4h", "4 hours"),
    (24 * 3_600, "24h", "1 day"),
    (3 * 86_400, "3d", "3 days"),
    (7 * 86_400, "7d", "7 days"),
];

/// The person comes back to it later. What would be longer than people have is not offered.
fn not_now(html: &mut Html, shown: &Shown<'_>) {
    let (question, now) = (&shown.question, shown.now);
    let fits =
        |seconds: i64| question.deadline.is_none_or(|deadline| now.plus(Duration::from_secs(seconds)) < deadline);
    let mut lengths = LENGTHS.iter().filter(|(seconds, ..)| fits(*seconds)).peekable();
    if lengths.peek().is_none() {
        return;
    }
    html.raw("<hr><details><summary>Not now</summary>");
    begin(html, shown, Some(SNOOZE));
    html.raw("<label>Put it off for<select name=\"for\" required>");
    for (_, length, words) in lengths {
        html.raw("<option value=\"").raw(length).raw("\">").raw(words).raw("</option>");
    }
    html.raw(
        "</select></label><p class=\"faint small\">It leaves your list for that time. Others still see it, and it ",
    );
    html.raw(
        "still ends when it would have. It is recorded.</p><button class=\"button\">Put off</button></form></details>",
    );
}

/// Somebody else who may answer is to do it.
fn hand_over(html: &mut Html, shown: &Shown<'_>) {
    let question = &shown.question;
    let is_other = |person: &&String| {
        !is_same_person(person, &shown.call.caller.name)
            && !is_own_question(person, &question.agent, question.by.as_deref())
    };
    let now = shown.around.asked.iter().filter(|group| group.from.is_none_or(|from| from <= shown.now));
    let others: BTreeSet<&String> = now.flat_map(|group| &group.people).filter(is_other).collect();
    if others.is_empty() {
        return;
    }
    html.raw("<hr><details><summary>Hand it to somebody else</summary>");
    begin(html, shown, Some("hand-over"));
    html.raw("<label>To<select name=\"to\" required>");
    for person in others {
        html.raw("<option value=\"").value(person).raw("\">").plain(&visible(person)).raw("</option>");
    }
    html.raw(
        "</select></label><label>Why<input name=\"because\" required maxlength=\"1000\" autocomplete=\"off\"></label>",
    );
    html.raw(
        "<p class=\"faint small\">It is recorded and moves from your list to theirs. Both of you may still answer.</p>",
    );
    html.raw("<button class=\"button\">Hand over</button></form></details>");
}

/// The command in place of buttons: a browser has no key to sign with.
fn signed(html: &mut Html, shown: &Shown<'_>) {
    let (question, name) = (&shown.question, &*shown.call.caller.name);
    html.raw("<h2>Your signature is needed</h2><p>The contract counts only answers that you sign with your own key. ");
    html.raw("That key stays with you, so answer at a terminal:</p><pre tabindex=\"0\">");
    match question.kind {
        QuestionKind::Proposal | QuestionKind::Request => {
            html.raw("writkeeper escalations answer ").text(&question.id).raw(" approve")
        }
        QuestionKind::Doubt => html.raw("writkeeper intents resolve ").text(&question.intent).raw(" happened"),
    };
    html.raw(" \\\n  --as ")
        .text(name)
        .raw(" --because \"\u{2026}\" \\\n  --digest ")
        .plain(&question.digest.to_string());
    html.raw(" \\\n  --key ")
        .text(name)
        .raw(".key --server ")
        .text(&shown.visit.address(&shown.call.site))
        .raw("</pre>");
    html.raw(match question.kind {
        QuestionKind::Proposal | QuestionKind::Request => {
            "<p class=\"faint small\">Or <code>deny</code> in the place of <code>approve</code>.</p>"
        }
        QuestionKind::Doubt => "<p class=\"faint small\">Or <code>did-not</code> or <code>retry</code>.</p>",
    });
}

/// Who answered, when, and by what the door knew them.
fn ended(html: &mut Html, answer: &GivenAnswer) {
    html.raw("<dl>");
    if let Some(person) = &answer.person {
        html.raw("<div><dt>By</dt><dd><strong>").text(person).raw("</strong></dd></div>");
    }
    html.raw("<div><dt>At</dt><dd>").time(answer.at).raw("</dd></div>");
    if let Some(doubt) = answer.doubt {
        html.raw("<div><dt>Said</dt><dd>").plain(&doubt.word().to_lowercase().replace('_', " ")).raw("</dd></div>");
    }
    if !answer.reason.is_empty() {
        html.raw("<div><dt>Because</dt><dd>").text(&answer.reason).raw("</dd></div>");
    }
    html.raw("<div><dt>Known by</dt><dd>");
    match (&answer.key, &answer.login, &answer.os_user) {
        (Some(key), _, _) => {
            html.raw("signature of <code class=\"digest\">").plain(&person_key_text(key)).raw("</code>")
        }
        (None, Some(login), _) => html.text(login),
        (None, None, Some(user)) => html.raw("the system\u{2019}s user ").text(user).raw(", unsigned"),
        (None, None, None) => html.raw("<span class=\"faint\">nobody said anything</span>"),
    };
    html.raw("</dd></div>");
    if let Some(intent) = &answer.intent {
        html.raw("<div><dt>Came of it</dt><dd><code>").text(intent).raw("</code></dd></div>");
    }
    html.raw("</dl><p><a class=\"button\" href=\"/approve\">What else waits</a></p>");
}

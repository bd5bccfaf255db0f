//! Signing in and out with a browser.

use super::html::Html;
use super::visit::{self, Visit};
use super::{page, sent_to};
use crate::call::{Call, Reply};
use crate::identity;
use crate::problem::Problem;
use crate::site::Site;
use axum::http::StatusCode;
use kernel::api_key::KeyRole;
use std::sync::Arc;
use std::time::Instant;

/// Where whoever signed in goes if nothing else is known.
const HOME: &str = "/approve";

/// The form.
pub fn show(site: &Arc<Site>, visit: &Visit) -> Result<Reply, Problem> {
    let next = visit.asked("next").unwrap_or(HOME);
    let reply = asked(site, next, None);
    Ok(Reply { status: StatusCode::OK, ..reply })
}

/// Signs in whoever shows a key or an identity token that counts.
pub fn enter(site: &Arc<Site>, visit: &Visit) -> Result<Reply, Problem> {
    let (shown, next) = (visit.field("key"), visit.field("next"));
    let caller = match identity::recognize(site, shown) {
        Ok(caller) => Some(caller),
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => None,
        Err(problem) => return Err(problem),
    };
    // Agents and their like have nothing to do here, and learn nothing about their keys.
    let caller = caller.filter(|caller| match caller.role {
        KeyRole::Approver | KeyRole::Operator | KeyRole::Admin => true,
        KeyRole::Agent | KeyRole::Executor | KeyRole::Auditor => false,
    });
    let Some(caller) = caller else {
        site.stranger("/login");
        return Ok(asked(site, next, Some("That key is not known, no longer counts, or belongs to no person.")));
    };
    if let Some(old) = visit::cookie(&visit.headers) {
        site.logins.close(old);
    }
    let cookie = site.logins.open(shown, caller.account, Instant::now());
    Ok(visit::with_cookie(sent_to(own(next)), site, &visit.headers, &cookie))
}

/// Signs out.
pub fn leave(call: &Call, visit: &Visit) -> Result<Reply, Problem> {
    if let Some(cookie) = visit::cookie(&visit.headers) {
        call.site.logins.close(cookie);
    }
    Ok(visit::without_cookie(sent_to("/login")))
}

/// The form for somebody who is not signed in, or whose key does not count.
pub fn asked(site: &Site, next: &str, problem: Option<&'static str>) -> Reply {
    let mut main = Html::default();
    main.raw("<main class=\"narrow\"><section class=\"sheet\"><h1>Sign in</h1>");
    main.raw("<p class=\"faint\">Your answer is recorded under your own name.</p>");
    if let Some(problem) = problem {
        main.raw("<p class=\"note bad\" role=\"alert\">").raw(problem).raw("</p>");
    }
    main.raw("<form method=\"post\" action=\"/login\"><input type=\"hidden\" name=\"next\" value=\"").value(own(next));
    // Programs that keep passwords look for a name beside them.
    main.raw("\"><input name=\"name\" autocomplete=\"username\" value=\"writkeeper\" hidden><label for=\"key\">");
    main.raw(if site.verifier.is_some() { "Your key, or your identity token" } else { "Your key" });
    main.raw("</label><input id=\"key\" name=\"key\" type=\"password\" required autofocus ");
    main.raw("autocomplete=\"current-password\" placeholder=\"wk_\u{2026}\" spellcheck=\"false\">");
    main.raw("<button class=\"button strong\">Sign in</button></form></section></main>");
    let mut reply = page("Sign in \u{b7} Writkeeper", None, &main);
    reply.status = StatusCode::UNAUTHORIZED;
    reply
}

/// A path of these pages; anything else, and every other place, becomes the list.
fn own(next: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.~%:".contains(&byte);
    let is_here = next == HOME || next.strip_prefix("/approve/").is_some_and(|id| !id.contains('/'));
    if is_here && next.bytes().all(is_plain) { next } else { HOME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere_after_signing_in() {
        let check = |next: &str, expected: &str| assert_eq!(own(next), expected);
        check("/approve/0199-a", "/approve/0199-a");
        check("/approve", "/approve");
        for other in
            ["", "//evil.example", "https://evil.example", "/approve//evil", "/approve/\\evil", "/approve/a\r\nX: y"]
        {
            check(other, HOME);
        }
    }
}

//! Somebody at a page: their cookie, their form, and whether it was sent from one of our own pages.

use crate::call::Reply;
use crate::identity::Caller;
use crate::identity::logins::{LASTS, Login};
use crate::problem::Problem;
use crate::routes::recognized;
use crate::site::Site;
use axum::http::{HeaderMap, StatusCode, header};
use kernel::reasons::Reason;
use std::sync::Arc;
use std::time::Instant;
use values::ids::Digest;

/// The cookie of a connection that nobody can read; browsers take such a name from nobody else.
const COOKIE_SECRET: &str = "__Host-writkeeper";

/// The cookie of a connection that stays on this machine.
const COOKIE_PLAIN: &str = "writkeeper";

/// What somebody brought with them.
pub struct Visit {
    /// The headers.
    pub headers: HeaderMap,
    /// The fields of the form.
    pub fields: Vec<(String, String)>,
    /// What stands behind the question mark.
    pub query: Vec<(String, String)>,
    /// What every form of theirs must carry; nothing where no cookie says who they are.
    pub token: Option<String>,
}

impl Visit {
    /// A field of the form, without the space around it.
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim())
    }

    /// A value behind the question mark.
    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Where the visitor found us, for commands that they can copy.
    pub fn address(&self, site: &Site) -> String {
        let scheme = if is_secret(site, &self.headers) { "https" } else { "http" };
        format!("{scheme}://{}", said(&self.headers, "host").unwrap_or("127.0.0.1"))
    }
}

fn said<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether nobody between us and the browser can read along: our own TLS, or that of whoever stands before us.
fn is_secret(site: &Site, headers: &HeaderMap) -> bool {
    site.options.tls.is_some() || said(headers, "origin").is_some_and(|origin| origin.starts_with("https://"))
}

/// What the cookie holds.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|pairs| pairs.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_SECRET || *name == COOKIE_PLAIN).map(|(_, value)| value)
}

/// Who visits: by a key as everywhere, or by the cookie of whoever signed in.
pub async fn visitor(site: &Arc<Site>, headers: &HeaderMap) -> Result<(Caller, Option<Login>), Problem> {
    if let Some(shown) = said(headers, "authorization") {
        let shown = shown.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let shown = shown.map(|(_, shown)| shown.trim()).ok_or_else(|| Problem::unauthenticated("none were sent"))?;
        return Ok((recognized(site, shown).await?, None));
    }
    let login = cookie(headers).and_then(|cookie| site.logins.get(cookie, Instant::now()));
    let login = login.ok_or_else(|| Problem::unauthenticated("nobody is signed in"))?;
    Ok((recognized(site, &login.shown).await?, Some(login)))
}

/// Whether a browser followed a link on somebody else's page: then it kept the cookie to itself.
pub fn came_from_elsewhere(headers: &HeaderMap) -> bool {
    matches!(said(headers, "sec-fetch-site"), Some("cross-site" | "same-site"))
}

/// Demands that a form was sent from one of our own pages. What a browser says about that is in its own hand, and every
/// browser says at least one of the two.
pub fn demand_own_page(site: &Site, headers: &HeaderMap) -> Result<(), Problem> {
    let (from, origin) = (said(headers, "sec-fetch-site"), said(headers, "origin"));
    let is_from_here = from.is_none_or(|from| from == "same-origin");
    let host = said(headers, "host").unwrap_or_default();
    let is_own = |origin: &str| {
        let own = |scheme: &str| origin.strip_prefix(scheme).is_some_and(|rest| rest.eq_ignore_ascii_case(host));
        own("https://") || site.options.tls.is_none() && own("http://")
    };
    let is_ours = origin.is_none_or(is_own);
    if is_from_here && is_ours && (from.is_some() || origin.is_some()) {
        return Ok(());
    }
    Err(foreign("it was not sent from a page of this service"))
}

/// Demands the token that only our own forms for this login carry.
pub fn demand_token(login: &Login, sent: &str) -> Result<(), Problem> {
    // Hashes are compared, so that the time it takes tells nothing about the token.
    if Digest::of(sent) == Digest::of(&*login.token) {
        return Ok(());
    }
    Err(foreign("it does not carry the token of this login"))
}

fn foreign(problem: &str) -> Problem {
    Problem::of(StatusCode::FORBIDDEN, Reason::FormForeign, &[("problem", problem)])
}

/// With the cookie of somebody who signed in.
pub fn with_cookie(reply: Reply, site: &Site, headers: &HeaderMap, cookie: &str) -> Reply {
    let attributes = format!("Path=/; HttpOnly; SameSite=Strict; Max-Age={}", LASTS.as_secs());
    let text = match is_secret(site, headers) {
        true => format!("{COOKIE_SECRET}={cookie}; {attributes}; Secure"),
        false => format!("{COOKIE_PLAIN}={cookie}; {attributes}"),
    };
    reply.with(header::SET_COOKIE, &text)
}

/// With both cookies taken away.
pub fn without_cookie(reply: Reply) -> Reply {
    let gone = |name: &str, rest: &str| format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{rest}");
    let reply = reply.with(header::SET_COOKIE, &gone(COOKIE_PLAIN, ""));
    reply.with(header::SET_COOKIE, &gone(COOKIE_SECRET, "; Secure"))
}

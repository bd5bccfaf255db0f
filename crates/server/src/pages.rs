//! Pages for people: signing in, what waits for them, and the card of one question. They work without scripts.

pub mod answer;
pub mod card;
mod html;
pub mod list;
pub mod login;
mod visit;

pub use visit::Visit;

use crate::call::{Call, Reply};
use crate::identity::Caller;
use crate::problem::Problem;
use crate::routes::{Access, Route, Run, fault, limited, read_body, read_query};
use crate::site::Site;
use axum::extract::{RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use html::Html;
use kernel::reasons::Reason;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use values::ids::Digest;

/// The media type.
pub const HTML: &str = "text/html; charset=utf-8";

/// Fields of a form. A card has one for each param that may be changed, and a few more.
const FIELDS_MAX: usize = 1_024;

/// How everything looks. It stands in every page, and the policy of the page names its hash.
const STYLE: &str = include_str!("pages/style.css");

/// Answers a request for a page.
pub async fn answered(site: Arc<Site>, route: &'static Route, path: RawPathParams, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answered = answered_to(&site, route, path, &head, body).await;
    answered.unwrap_or_else(|problem| refused(&site, &head, &problem)).into_response()
}

async fn answered_to(
    site: &Arc<Site>,
    route: &'static Route,
    path: RawPathParams,
    head: &Parts,
    body: axum::body::Body,
) -> Result<Reply, Problem> {
    let visitor = match route.access {
        Access::Anybody => None,
        Access::Roles(roles) => {
            let visitor = visit::visitor(site, &head.headers).await.inspect_err(|problem| {
                if problem.status == StatusCode::UNAUTHORIZED {
                    site.stranger(head.uri.path());
                }
            })?;
            if !roles.contains(&visitor.0.role) {
                let values = [("role", visitor.0.role.word())];
                return Err(Problem::of(StatusCode::FORBIDDEN, Reason::RoleForbidden, &values));
            }
            Some(visitor)
        }
    };
    let admission = match &visitor {
        Some((caller, _)) => {
            let admitted = site.rates.admit(caller.account, Instant::now());
            Some(admitted.map_err(|wait| limited(site, caller, wait))?.reading().await)
        }
        None => None,
    };
    let query = read_query(route, head.uri.query().unwrap_or_default())?;
    let body = read_body(route, &head.headers, body).await?;
    let fields = read_fields(&body)?;
    let is_by_browser = visitor.as_ref().is_none_or(|(_, login)| login.is_some());
    // A key in a header is never sent by a browser on its own; a cookie is.
    if head.method == Method::POST && is_by_browser {
        visit::demand_own_page(site, &head.headers)?;
    }
    let mut visit = Visit { headers: head.headers.clone(), fields, query, token: None };
    let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (site, run) = (site.clone(), route.run);
    if let Some((_, Some(login))) = &visitor {
        if head.method == Method::POST {
            visit::demand_token(login, visit.field("csrf"))?;
        }
        visit.token = Some(login.token.to_string());
    }
    let caller = visitor.map(|(caller, _)| caller);
    let worked = tokio::task::spawn_blocking(move || {
        let _admission = admission;
        worked(&site, run, caller, path, &visit)
    });
    worked.await.unwrap_or_else(|_| Err(fault()))
}

/// The fields of a form, each of which stands there once: what stands before the service may have judged the other one.
fn read_fields(body: &[u8]) -> Result<Vec<(String, String)>, Problem> {
    let fields: Vec<(String, String)> =
        url::form_urlencoded::parse(body).into_owned().take(FIELDS_MAX.saturating_add(1)).collect();
    if fields.len() > FIELDS_MAX {
        return Err(Problem::unreadable(format!("the form has more than {FIELDS_MAX} fields")));
    }
    let mut seen = BTreeSet::new();
    match fields.iter().find(|(name, _)| !seen.insert(name.as_str())) {
        Some((name, _)) => Err(Problem::unreadable(format!("the form has `{}` twice", kernel::finding::visible(name)))),
        None => Ok(fields),
    }
}

/// Carries it out.
fn worked(
    site: &Arc<Site>,
    run: Run,
    caller: Option<Caller>,
    path: Vec<(String, String)>,
    visit: &Visit,
) -> Result<Reply, Problem> {
    match (run, caller) {
        (Run::Entrance(run), _) => run(site, visit),
        (Run::Page(run), Some(caller)) => {
            let (query, headers) = (visit.query.clone(), visit.headers.clone());
            run(&Call { site: site.clone(), caller, path, query, headers, body: bytes::Bytes::new() }, visit)
        }
        (Run::Page(_), None) => Err(Problem::unauthenticated("")),
        (Run::Blocking(_) | Run::Async(_) | Run::Open(_) | Run::Probe(_), _) => Err(fault()),
    }
}

/// What a person sees whose request was not carried out.
fn refused(site: &Site, head: &Parts, problem: &Problem) -> Reply {
    if problem.status == StatusCode::UNAUTHORIZED {
        let is_link = head.method == Method::GET && visit::came_from_elsewhere(&head.headers);
        let bare = is_link && visit::cookie(&head.headers).is_none();
        return if bare { again(head.uri.path()) } else { login::asked(site, head.uri.path(), None) };
    }
    let mut main = Html::default();
    main.raw("<main class=\"narrow\"><section class=\"sheet quiet\"><p class=\"eyebrow\">");
    main.plain(problem.status.as_str()).raw(" \u{b7} ").plain(&problem.code).raw("</p><h1>");
    main.raw(match problem.status {
        StatusCode::NOT_FOUND => "Nothing here",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        _ => "That did not work",
    });
    main.raw("</h1><p>").text(&problem.detail).raw("</p><p class=\"faint\">").text(&problem.fix);
    main.raw("</p><p><a class=\"button\" href=\"/approve\">What waits for you</a></p></section></main>");
    let reply = Reply { status: problem.status, ..page("Writkeeper", None, &main) };
    match problem.retry_after {
        Some(seconds) => reply.with(header::RETRY_AFTER, &seconds.to_string()),
        None => reply,
    }
}

/// A browser that followed a link of somebody else keeps the cookie back once; from our own page it sends it.
fn again(path: &str) -> Reply {
    let mut html = Html::default();
    html.raw("<main class=\"narrow\"><section class=\"sheet quiet\"><h1>One moment</h1><p><a class=\"button\" href=\"");
    html.value(path).raw("\">Open the page</a></p></section></main>");
    let mut reply = page("Writkeeper", None, &html).with(HeaderName::from_static("refresh"), &format!("0;url={path}"));
    reply.status = StatusCode::UNAUTHORIZED;
    reply
}

/// Who is signed in, for the head of a page.
pub struct Reader<'a> {
    /// Who.
    pub name: &'a str,
    /// What the form that signs out must carry.
    pub token: Option<&'a str>,
}

/// A whole page.
pub fn page(title: &str, reader: Option<&Reader<'_>>, main: &Html) -> Reply {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>").plain(title);
    html.raw("</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\"><style>").raw(STYLE).raw("</style></head><body>");
    html.raw("<header class=\"bar\"><a class=\"mark\" href=\"/approve\">Writkeeper</a>");
    if let Some(reader) = reader {
        html.raw("<span class=\"reader\">").text(reader.name).raw("</span>");
        if let Some(token) = reader.token {
            html.raw("<form method=\"post\" action=\"/logout\"><input type=\"hidden\" name=\"csrf\" value=\"");
            html.value(token).raw("\"><button class=\"link\">Sign out</button></form>");
        }
    }
    html.raw("</header>").piece(main).raw("</body></html>\n");
    let reply = Reply::bytes(HTML, html.into_text());
    let fixed = [
        ("content-security-policy", policy()),
        ("referrer-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    fixed.into_iter().fold(reply, |reply, (name, value)| reply.with(HeaderName::from_static(name), value))
}

/// What a browser may do with a page: show it in its own style, and send its forms back to us.
fn policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let hash = STANDARD.encode(Digest::of(STYLE).bytes());
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
    })
}

/// Sends a browser to another page.
pub fn sent_to(path: &str) -> Reply {
    let mut reply = Reply::bytes(HTML, "").with(header::LOCATION, path);
    reply.status = StatusCode::SEE_OTHER;
    reply
}

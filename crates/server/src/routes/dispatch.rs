//! From a row of the table to an answer: who asks, whether the row has their role, bounds, and then the row's own work.

use super::{Access, ParamKind, Route, Run, table};
use crate::call::{Call, Reply};
use crate::identity::{self, Caller};
use crate::pages;
use crate::problem::Problem;
use crate::site::Site;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Version, header};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use bytes::Bytes;
use kernel::reasons::Reason;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use values::time;

/// How long a body may take.
const BODY_WAIT: Duration = Duration::from_secs(10);

/// How long a probe looks at the store. Whoever probes asks again soon, and a database that is away takes longer.
const PROBE_WAIT: Duration = Duration::from_secs(2);

/// Bytes of a text behind the question mark.
const TEXT_MAX: usize = 1_024;

/// The header that makes a request that is sent again the same request.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The router of the table.
pub fn router(site: &Arc<Site>) -> Router {
    let mut by_path: BTreeMap<&'static str, Vec<&'static Route>> = BTreeMap::new();
    for route in table() {
        by_path.entry(route.path).or_default().push(route);
    }
    let mut router = Router::new();
    for (path, routes) in by_path {
        let allow = routes.iter().map(|route| route.method).collect::<Vec<_>>().join(", ");
        let mut methods = MethodRouter::new();
        for route in routes {
            let Ok(method) = MethodFilter::try_from(method_of(route)) else { continue };
            let site = site.clone();
            methods = methods.merge(on(method, move |path: PathParams, request: Request| {
                answered(site.clone(), route, path, request)
            }));
        }
        let methods = methods.fallback(move |request: Request| {
            let allow = allow.clone();
            async move {
                let values = [("method", request.method().as_str())];
                let problem = Problem::of(StatusCode::METHOD_NOT_ALLOWED, Reason::MethodNotAllowed, &values);
                Problem { allow: Some(allow.into()), ..problem }.into_response()
            }
        });
        router = router.route(&matched(path), methods);
    }
    router.fallback(|| async { Problem::not_found().into_response() })
}

/// The path as the router writes it: the rest of a path may hold more parts.
fn matched(path: &'static str) -> String {
    path.replace("{rest}", "{*rest}")
}

fn method_of(route: &Route) -> Method {
    Method::from_bytes(route.method.as_bytes()).unwrap_or(Method::TRACE)
}

/// The named parts of a path, unless they are no UTF-8.
type PathParams = Result<RawPathParams, RawPathParamsRejection>;

async fn answered(site: Arc<Site>, route: &'static Route, path: PathParams, request: Request) -> Response {
    if let Err(problem) = demand_one_of_each(request.headers(), request.version()) {
        return problem.into_response();
    }
    // Nothing has a name that is no text.
    let Ok(path) = path else { return Problem::not_found().into_response() };
    if route.run.is_page() {
        return pages::answered(site, route, path, request).await;
    }
    match answer(&site, route, path, request).await {
        Ok(reply) => reply.into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// Refuses headers of which only one can be meant: whoever stands before the service may have looked at another one.
fn demand_one_of_each(headers: &HeaderMap, version: Version) -> Result<(), Problem> {
    for name in [header::HOST, header::AUTHORIZATION, header::CONTENT_TYPE, IDEMPOTENCY_KEY] {
        if headers.get_all(&name).iter().nth(1).is_some() {
            return Err(Problem::unreadable(format!("the header `{name}` stands there twice")));
        }
    }
    if version == Version::HTTP_11 && !headers.contains_key(header::HOST) {
        return Err(Problem::unreadable("the header `host` is missing, which HTTP/1.1 demands"));
    }
    Ok(())
}

async fn answer(
    site: &Arc<Site>,
    route: &'static Route,
    path: RawPathParams,
    request: Request,
) -> Result<Reply, Problem> {
    if let Run::Open(run) = route.run {
        return run(site);
    }
    if let Run::Probe(run) = route.run {
        let site = site.clone();
        let look = async move {
            let turn = site.probing.clone().acquire_owned().await.map_err(|_| fault())?;
            let looked = tokio::task::spawn_blocking(move || {
                let looked = run(&site);
                drop(turn);
                looked
            });
            looked.await.unwrap_or_else(|_| Err(fault()))
        };
        let late = |_| Problem::unavailable(&format!("the store did not answer within {} s", PROBE_WAIT.as_secs()));
        return tokio::time::timeout(PROBE_WAIT, look).await.map_err(late)?;
    }
    let (head, body) = request.into_parts();
    let caller = admitted(site, route, &head.headers, head.uri.path()).await?;
    let admission = site.rates.admit(caller.account, Instant::now()).map_err(|wait| limited(site, &caller, wait))?;
    let query = read_query(route, head.uri.query().unwrap_or_default())?;
    if route.method == Method::POST && !route.is_repeatable() && head.headers.contains_key(IDEMPOTENCY_KEY) {
        let problem =
            "`Idempotency-Key` counts for proposals only; without it this is carried out each time it is sent";
        return Err(Problem::unreadable(problem));
    }
    let body = read_body(route, &head.headers, body).await?;
    // Nothing has a longer name.
    if path.iter().any(|(_, value)| value.chars().count() > TEXT_MAX) {
        return Err(Problem::not_found());
    }
    let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let call = Call { site: site.clone(), caller, path, query, headers: head.headers, body };
    match route.run {
        Run::Async(run) => {
            let _admission = admission;
            run(call).await
        }
        Run::Blocking(run) => {
            let admission = if route.method == "GET" { admission.reading().await } else { admission };
            let worked = tokio::task::spawn_blocking(move || {
                let _admission = admission;
                run(&call)
            });
            worked.await.unwrap_or_else(|_| Err(fault()))
        }
        Run::Open(run) | Run::Probe(run) => run(site),
        Run::Page(_) | Run::Entrance(_) => Err(fault()),
    }
}

/// A fault of our own: nothing is known about what was done.
pub(crate) fn fault() -> Problem {
    Problem::of(StatusCode::INTERNAL_SERVER_ERROR, Reason::KernelFault, &[])
}

/// What is shown to be recognized by.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, rest) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
}

/// Who asks, if the row has their role.
async fn admitted(site: &Arc<Site>, route: &Route, headers: &HeaderMap, path: &str) -> Result<Caller, Problem> {
    let caller = match bearer(headers) {
        Some(shown) => recognized(site, shown).await,
        None => Err(Problem::unauthenticated("none were sent")),
    };
    let caller = caller.inspect_err(|problem| {
        if problem.status == StatusCode::UNAUTHORIZED {
            site.stranger(path);
        }
    })?;
    let is_allowed = match route.access {
        Access::Anybody => true,
        Access::Roles(roles) => roles.contains(&caller.role),
    };
    if !is_allowed {
        return Err(Problem::of(StatusCode::FORBIDDEN, Reason::RoleForbidden, &[("role", caller.role.word())]));
    }
    Ok(caller)
}

/// Who shows this. Looking reads the store, and may ask whoever issues identity tokens: nobody else waits for that.
pub(crate) async fn recognized(site: &Arc<Site>, shown: &str) -> Result<Caller, Problem> {
    if let Some(known) = identity::recognized(site, shown) {
        return known;
    }
    let (site, shown) = (site.clone(), shown.to_owned());
    let looked = tokio::task::spawn_blocking(move || identity::recognize(&site, &shown)).await;
    looked.unwrap_or_else(|_| Err(fault()))
}

/// Too many requests.
pub(crate) fn limited(site: &Site, caller: &Caller, wait: Duration) -> Problem {
    let values = [("who", &*caller.name), ("rate", &site.rates.rate().to_string())];
    let problem = Problem::of(StatusCode::TOO_MANY_REQUESTS, Reason::RateLimited, &values);
    Problem { retry_after: Some(u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).max(1)), ..problem }
}

/// What stands behind the question mark: each name that the row has, once, with a value of its kind.
pub(crate) fn read_query(route: &Route, text: &str) -> Result<Vec<(String, String)>, Problem> {
    let mut query: Vec<(String, String)> = Vec::new();
    for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
        let Some(param) = route.query.iter().find(|param| param.name == name) else {
            let known = route.query.iter().map(|param| param.name).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "this takes none".to_owned() } else { format!("known are {known}") };
            let name = kernel::finding::shown(&values::json::Json::text(&*name));
            return Err(Problem::unreadable(format!("`{name}` is no query parameter here; {known}")));
        };
        if query.iter().any(|(known, _)| *known == name) {
            return Err(Problem::unreadable(format!("`{name}` stands there twice")));
        }
        if let Some(problem) = unfit(param.kind, &value) {
            return Err(Problem::invalid(format!("`{name}` {problem}")));
        }
        query.push((name.into_owned(), value.into_owned()));
    }
    Ok(query)
}

/// Why a value is not of a kind.
fn unfit(kind: ParamKind, value: &str) -> Option<String> {
    match kind {
        ParamKind::Text => (value.is_empty() || value.chars().count() > TEXT_MAX || value.contains('\0'))
            .then(|| format!("is not text of 1 to {TEXT_MAX} letters")),
        ParamKind::Whole(min, max) => {
            let fits = value.parse::<u64>().is_ok_and(|number| (min..=max).contains(&number));
            (!fits).then(|| format!("is not a whole number from {min} to {max}"))
        }
        ParamKind::Span(most) => {
            let most = time::Duration::from_secs(i64::from(most));
            let fits = time::Duration::parse(value).is_some_and(|span| span.micros() >= 0 && span <= most);
            (!fits).then(|| format!("is not a length of time such as 30s, at most {most}"))
        }
        ParamKind::Instant => {
            time::Instant::parse(value).is_none().then(|| "is not an instant such as 2026-01-01T00:00:00Z".to_owned())
        }
        ParamKind::Word(words) => (!words.contains(&value)).then(|| format!("is not one of {}", words.join(", "))),
    }
}

/// The body, if it is not too large, not too late, and as it stands.
pub(crate) async fn read_body(route: &Route, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let Some(rule) = &route.body else {
        return Ok(Bytes::new());
    };
    let unsupported = |problem: &str| {
        Problem::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, Reason::BodyUnsupported, &[("problem", problem)])
    };
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(unsupported("compressed"));
    }
    if let Some(media) = headers.get(header::CONTENT_TYPE) {
        let media = media.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        // What a command line sends without being asked counts as nothing said.
        if !media.eq_ignore_ascii_case("application/json")
            && !media.eq_ignore_ascii_case("application/x-www-form-urlencoded")
        {
            return Err(unsupported("not application/json"));
        }
    }
    let limit = rule.limit.to_string();
    let too_large = || Problem::of(StatusCode::PAYLOAD_TOO_LARGE, Reason::BodyTooLarge, &[("limit", &limit)]);
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if stated.is_some_and(|length| length > rule.limit as u64) {
        return Err(too_large());
    }
    let late = |_| Problem::of(StatusCode::REQUEST_TIMEOUT, Reason::BodyLate, &[("limit", "10 s")]);
    let read = tokio::time::timeout(BODY_WAIT, axum::body::to_bytes(body, rule.limit)).await.map_err(late)?;
    read.map_err(|error| {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(one) = cause {
            if one.to_string().contains("length limit") {
                return too_large();
            }
            cause = one.source();
        }
        Problem::invalid("the body broke off")
    })
}

//! Effects by HTTP: one request for each mark, to an allowed host at a checked address, with a key the other side can
//! recognise it by. No redirects, no proxies from the environment, no repetition by the client.

use crate::addresses::{self, Range};
use crate::http_client::settings;
use crate::secrets;
use kernel::bugs::{self, Bug};
use kernel::contract::EffectClass;
use kernel::ids::Digest;
use kernel::json::{Json, Object};
use runtime::crash::around;
use runtime::ports::executor::{Attempt, Executor, Observation};
use std::fmt;
use std::io::Read;
use ureq::config::Config;
use ureq::http::{Request, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

/// The longest answer that is read; what is longer has been received all the same.
const ANSWER_BYTES_MAX: u64 = 1_024 * 1_024;

/// Under this name the other side recognises the effect.
const KEY_HEADER: &str = "Idempotency-Key";
/// A side that fences refuses smaller numbers.
const FENCE_HEADER: &str = "Writkeeper-Fence";
/// The step before a repetition: raise the fence and say whether the effect is there.
const STEP_HEADER: &str = "Writkeeper-Step";

/// What HTTP may reach.
#[derive(Clone, Debug, Default)]
pub struct HttpExecutor {
    /// Hosts that may be asked, each with its port where that is not the usual one.
    pub hosts: Vec<String>,
    /// Ranges of the inside that may be talked to; only there without TLS.
    pub ranges: Vec<Range>,
}

impl Executor for HttpExecutor {
    fn can_perform(&self, order: &Json) -> Result<(), String> {
        let (_, address) = request_of(order)?;
        self.host_problem(address)?;
        for (_, value) in headers(order) {
            secrets::resolve(value).map(drop)?;
        }
        Ok(())
    }

    fn perform(&self, attempt: &Attempt) -> Observation {
        let begin = std::time::Instant::now();
        // A side that fences is made to refuse what may still travel before anything is concluded from "not there".
        if attempt.class == EffectClass::Fenced && attempt.doubted {
            let fence = Json::object([("key", Json::text(attempt.key.as_str())), ("epoch", Json::from(attempt.epoch))]);
            let step = if bugs::on(Bug::ProbeBelieved) { "probe" } else { "fence" };
            match self.send(attempt, Some(step), &fence, attempt.deadline) {
                Sent::Answered(status, body) => match applied(status, &body) {
                    Some(true) => return positive(status, &body),
                    Some(false) => {}
                    None => return Observation::unknown(format!("HTTP {status} when asked to fence")),
                },
                Sent::Withheld(problem) | Sent::Broken(problem) => {
                    return Observation::unknown(format!("it could not be fenced: {problem}"));
                }
            }
        }
        let left = attempt.deadline.saturating_sub(begin.elapsed());
        match self.send(attempt, None, &Json::Object(attempt.params.clone()), left) {
            Sent::Answered(status, body) => observed(status, &body),
            Sent::Withheld(problem) => Observation::negative(problem),
            Sent::Broken(problem) => Observation::unknown(problem),
        }
    }
}

/// What is concluded from an answer to the effect itself.
fn observed(status: u16, body: &[u8]) -> Observation {
    match status {
        200..=299 => positive(status, body),
        // Too early, in progress or too often: another attempt with this key may be what got through.
        408 | 409 | 425 | 429 => Observation::unknown(format!("HTTP {status}")),
        400..=499 => Observation::negative(format!("HTTP {status}")),
        _ => Observation::unknown(format!("HTTP {status}")),
    }
}

fn positive(status: u16, body: &[u8]) -> Observation {
    Observation::Positive { digest: Digest::of(body), detail: format!("HTTP {status}") }
}

/// Whether the other side has the effect; only an explicit answer counts.
fn applied(status: u16, body: &[u8]) -> Option<bool> {
    let json = Json::parse(body).ok().filter(|_| status == 200)?;
    json.get("applied")?.as_bool()
}

enum Sent {
    /// Nothing left this machine.
    Withheld(String),
    /// Nobody knows what arrived.
    Broken(String),
    /// Status and body.
    Answered(u16, Vec<u8>),
}

impl HttpExecutor {
    fn send(&self, attempt: &Attempt, step: Option<&str>, body: &Json, within: std::time::Duration) -> Sent {
        let request = match self.request(attempt, step, body) {
            Ok(request) => request,
            Err(problem) => return Sent::Withheld(problem),
        };
        let resolver = Checked { ranges: self.ranges.clone() };
        let agent = Agent::with_parts(settings(within), DefaultConnector::default(), resolver);
        match around("http.send", || agent.run(request)) {
            Ok(mut response) => {
                let status = response.status().as_u16();
                let mut body = Vec::new();
                // The status says what happened; a body that breaks off does not take it back.
                let _ = response.body_mut().as_reader().take(ANSWER_BYTES_MAX).read_to_end(&mut body);
                Sent::Answered(status, body)
            }
            Err(error) => unsent(&error),
        }
    }

    fn request(&self, attempt: &Attempt, step: Option<&str>, body: &Json) -> Result<Request<String>, String> {
        let (method, address) = request_of(&attempt.order)?;
        let has_body = step.is_some() || matches!(method, "POST" | "PUT" | "PATCH");
        let mut request = Request::builder().method(method).uri(rendered(address, &attempt.params)?);
        request = request.header(KEY_HEADER, &attempt.key).header(FENCE_HEADER, attempt.epoch.to_string());
        request = request.header("Writkeeper-Intent", &attempt.intent);
        if let Some(key) = &attempt.undoes {
            request = request.header("Writkeeper-Undoes", key);
        }
        if let Some(step) = step {
            request = request.header(STEP_HEADER, step);
        }
        for (name, value) in headers(&attempt.order) {
            request = request.header(name, secrets::resolve(value)?);
        }
        let body = if has_body { body.to_canonical() } else { String::new() };
        if has_body {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(body).map_err(|_| "the request cannot be formed".to_owned())?;
        self.host_problem(&request.uri().to_string())?;
        Ok(request)
    }

    /// Whether the host may be asked at all; which address it has is looked at when it is resolved.
    fn host_problem(&self, address: &str) -> Result<(), String> {
        let (_, rest) = address.split_once("://").ok_or_else(|| "the address has no scheme".to_owned())?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, _) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if host.contains(['{', '@', '\\', '%']) {
            return Err(format!("the host `{host}` must stand in the contract as it is"));
        }
        let named = self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        if named { Ok(()) } else { Err(format!("the host `{host}` is not allowed; add --allow-host {host}")) }
    }
}

/// What an error says about whether anything was sent. The library's own words may quote what was sent.
fn unsent(error: &Error) -> Sent {
    if let Error::Io(problem) = error {
        return match problem.kind() == std::io::ErrorKind::ConnectionRefused {
            true => Sent::Withheld("the connection was refused".to_owned()),
            false => Sent::Broken(format!("the connection broke: {}", problem.kind())),
        };
    }
    if let Error::HostNotFound = error {
        return Sent::Withheld("the host is unknown".to_owned());
    }
    if let Error::Other(problem) = error
        && problem.is::<Refused>()
    {
        return Sent::Withheld(problem.to_string());
    }
    let late = matches!(error, Error::Timeout(_));
    Sent::Broken(if late { "no answer in time" } else { "the request was not answered" }.to_owned())
}

/// Method and address as the contract writes them.
fn request_of(order: &Json) -> Result<(&str, &str), String> {
    let text = order.get("run").and_then(|run| run.get("http")).and_then(Json::as_text);
    text.and_then(|text| text.split_once(' ')).ok_or_else(|| "the intent names no HTTP request".to_owned())
}

fn headers(order: &Json) -> impl Iterator<Item = (&str, &str)> {
    let members = order.get("run").and_then(|run| run.get("headers")).and_then(Json::as_object);
    members.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_text()?)))
}

/// Puts params into an address. A value is one piece of path or query, whatever it contains.
fn rendered(address: &str, params: &Object) -> Result<String, String> {
    let mut text = String::with_capacity(address.len());
    let mut rest = address;
    while let Some((literal, behind)) = rest.split_once('{') {
        let (name, after) = behind.split_once('}').ok_or_else(|| "the address has an open brace".to_owned())?;
        text.push_str(literal);
        let value = match params.get(name) {
            Some(Json::Text(value)) => value.clone(),
            Some(value @ (Json::Number(_) | Json::Bool(_))) => value.to_canonical(),
            Some(Json::Null | Json::List(_) | Json::Object(_)) | None => {
                return Err(format!("the address needs the param `{name}`"));
            }
        };
        if matches!(value.as_str(), "" | "." | "..") {
            return Err(format!("the param `{name}` is no piece of an address"));
        }
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                text.push_str(&format!("%{byte:02X}"));
            }
        }
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// An address that may not be talked to.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Resolves a name once, refuses it if any of its addresses is on the inside, and hands out exactly what it checked.
#[derive(Debug)]
struct Checked {
    ranges: Vec<Range>,
}

impl Resolver for Checked {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let host = uri.host().unwrap_or_default();
        for address in found.iter() {
            let problem = addresses::problem(address.ip(), &self.ranges);
            if let Some(problem) = problem {
                return Err(Error::Other(Box::new(Refused(format!(
                    "`{host}` has {problem}; add --allow-private RANGE"
                )))));
            }
            if uri.scheme_str() != Some("https") && !addresses::is_named(address.ip(), &self.ranges) {
                return Err(Error::Other(Box::new(Refused(format!("`{host}` is outside and needs https")))));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_param_is_one_piece_of_an_address_whatever_it_contains() {
        let params: Object = [("id".to_owned(), Json::text("../x?y=1#z@h:1/%2e"))].into_iter().collect();
        assert_eq!(
            rendered("https://h/a/{id}/b", &params).unwrap(),
            "https://h/a/..%2Fx%3Fy%3D1%23z%40h%3A1%2F%252e/b"
        );
        for value in ["", ".", ".."] {
            let params: Object = [("id".to_owned(), Json::text(value))].into_iter().collect();
            assert!(rendered("https://h/a/{id}/b", &params).is_err(), "{value}");
        }
    }

    #[test]
    fn only_named_hosts_are_asked() {
        let executor =
            HttpExecutor { hosts: vec!["pay.example".to_owned(), "127.0.0.1:99".to_owned()], ranges: Vec::new() };
        let check = |address: &str| executor.host_problem(address).is_ok();
        assert!(check("https://pay.example/x"));
        assert!(check("https://PAY.example?x"));
        assert!(check("http://127.0.0.1:99/x"));
        for address in [
            "https://pay.example.evil.test/x",
            "https://pay.example:8443/x",
            "https://pay.example@evil.test/x",
            "https://evil.test/pay.example",
            "https://evil.test\\@pay.example/x",
            "https://{host}/x",
            "http://127.0.0.1:98/x",
            "http://2130706433:99/x",
            "pay.example",
        ] {
            assert!(!check(address), "{address}");
        }
    }

    #[test]
    fn only_some_answers_are_definitive() {
        let check = |status: u16| match observed(status, b"") {
            Observation::Positive { .. } => "positive",
            Observation::Negative { .. } => "negative",
            Observation::Unknown { .. } => "unknown",
        };
        for (status, expected) in [
            (200, "positive"),
            (201, "positive"),
            (204, "positive"),
            (301, "unknown"),
            (307, "unknown"),
            (400, "negative"),
            (401, "negative"),
            (404, "negative"),
            (408, "unknown"),
            (409, "unknown"),
            (422, "negative"),
            (425, "unknown"),
            (429, "unknown"),
            (500, "unknown"),
            (503, "unknown"),
        ] {
            assert_eq!(check(status), expected, "{status}");
        }
    }
}

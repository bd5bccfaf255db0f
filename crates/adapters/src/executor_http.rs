//! Effects by HTTP: one request for each mark, to an allowed host at a checked address, with a key the other side can
//! recognise it by. No redirects, no proxies from the environment, no repetition by the client.

use crate::addresses::Range;
use crate::checked_host;
use crate::host_names::{HostNames, SystemNames};
use crate::http_client::{Pinned, settings};
use crate::secrets;
use kernel::contract::{self, EffectClass};
use kernel::intent::Order;
use kernel::result::{Response, ResponseStatus};
use runtime::crash::around;
use runtime::ports::executor::{Attempt, Executor, Missing, Observation};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use ureq::http::Request;
use ureq::tls::{Certificate, PemItem};
use ureq::unversioned::transport::{ConnectionDetails, Connector, DefaultConnector, Transport};
use ureq::{Agent, Error};
use values::bugs::{self, Bug};
use values::json::{Json, Object};

/// The longest answer that is read to its end, so that its digest is that of the whole; what is longer has been received
/// all the same.
const ANSWER_BYTES_MAX: u64 = 4 * 1_024 * 1_024;

/// Under this name the other side recognises the effect.
const KEY_HEADER: &str = "Idempotency-Key";
/// A side that fences refuses smaller numbers.
const FENCE_HEADER: &str = "Writkeeper-Fence";
/// The step before a repetition: raise the fence and say whether the effect is there.
const STEP_HEADER: &str = "Writkeeper-Step";

/// For how long a host is not looked up again that could not be talked to: whoever waits for it must not hold up others.
const LOOK_UP_AGAIN: Duration = Duration::from_secs(5);

/// What HTTP may reach.
#[derive(Clone, Debug)]
pub struct HttpExecutor {
    hosts: Vec<String>,
    ranges: Vec<Range>,
    trusted: Option<Arc<Vec<Certificate<'static>>>>,
    names: Arc<dyn HostNames>,
    /// What was wrong with a host, and when; as many as there are hosts.
    problems: Arc<Mutex<BTreeMap<String, (Instant, Missing)>>>,
}

impl HttpExecutor {
    /// `hosts` may be asked, each with its port where that is not the usual one; `ranges` of the inside may be talked to,
    /// and only there without TLS.
    pub fn new(hosts: Vec<String>, ranges: Vec<Range>) -> HttpExecutor {
        HttpExecutor { hosts, ranges, trusted: None, names: Arc::new(SystemNames), problems: Arc::default() }
    }

    /// Believes the certificate authorities in this text (PEM), and no others; `None` if there is none in it.
    pub fn trusting(self, pem: &[u8]) -> Option<HttpExecutor> {
        let mut trusted = Vec::new();
        for item in ureq::tls::parse_pem(pem) {
            if let PemItem::Certificate(certificate) = item.ok()? {
                trusted.push(certificate);
            }
        }
        (!trusted.is_empty()).then(|| HttpExecutor { trusted: Some(Arc::new(trusted)), ..self })
    }

    /// Asks someone else for the addresses of a host.
    pub fn asking(self, names: Arc<dyn HostNames>) -> HttpExecutor {
        HttpExecutor { names, ..self }
    }
}

impl Executor for HttpExecutor {
    fn can_perform(&self, order: &Order) -> Result<(), Missing> {
        let (_, address) = request_of(order)?;
        let host = self.allowed_host(address)?;
        for (_, value) in headers(order) {
            secrets::resolve(value).map(drop)?;
        }
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = problems.get(host).filter(|(at, _)| at.elapsed() < LOOK_UP_AGAIN);
        recent.map_or(Ok(()), |(_, problem)| Err(problem.clone()))
    }

    /// Looks the host up once. What was checked is what the request goes to, whatever the name says in the next moment.
    fn prepare(&self, order: &Order) -> Result<Option<Arc<dyn Executor>>, Missing> {
        Ok(Some(Arc::new(self.call(order)?)))
    }

    fn perform(&self, attempt: &Attempt) -> Observation {
        match self.call(&attempt.order) {
            Ok(call) => call.perform(attempt),
            Err(problem) => Observation::negative(problem.to_string()),
        }
    }
}

impl HttpExecutor {
    fn call(&self, order: &Order) -> Result<Call, Missing> {
        let (_, address) = request_of(order)?;
        let host = self.allowed_host(address)?;
        let own = headers(order).map(|(name, value)| Ok((name.to_owned(), secrets::resolve(value)?)));
        let headers: Vec<(String, String)> = own.collect::<Result<_, String>>()?;
        let by_reference = self::headers(order).zip(&headers).filter(|((_, text), _)| secrets::is_reference(text));
        let secrets = by_reference.map(|(_, (_, secret))| secret.clone()).collect();
        let found = checked_host::addresses(self.names.as_ref(), host, address.starts_with("https://"), &self.ranges);
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok(addresses) => {
                problems.remove(host);
                Ok(Call { addresses, headers, secrets, trusted: self.trusted.clone() })
            }
            Err(problem) => {
                problems.insert(host.to_owned(), (Instant::now(), problem.clone()));
                Err(problem)
            }
        }
    }

    /// The host of an address, if it may be asked.
    fn allowed_host<'a>(&self, address: &'a str) -> Result<&'a str, Missing> {
        let host = host_of(address)?;
        let named = self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        if named { Ok(host) } else { Err(Missing::Host(host.to_owned())) }
    }
}

/// One order, about to be sent to addresses that were checked, with the secrets that were there.
struct Call {
    addresses: Vec<SocketAddr>,
    headers: Vec<(String, String)>,
    /// Those values of headers that the contract names by reference.
    secrets: Vec<String>,
    trusted: Option<Arc<Vec<Certificate<'static>>>>,
}

impl Executor for Call {
    fn can_perform(&self, _: &Order) -> Result<(), Missing> {
        Ok(())
    }

    fn perform(&self, attempt: &Attempt) -> Observation {
        let begin = Instant::now();
        // A side that fences is made to refuse what may still travel before anything is concluded from "not there".
        if attempt.class == EffectClass::Fenced && attempt.doubted {
            let fence = Json::object([("key", Json::text(attempt.key.as_str())), ("epoch", Json::from(attempt.epoch))]);
            let step = if bugs::on(Bug::ProbeBelieved) { "probe" } else { "fence" };
            match self.send(attempt, Some(step), &fence, attempt.deadline) {
                Sent::Answered(received) => match applied(received.status, &received.body) {
                    Some(true) => return self.told(positive(received.status), received),
                    Some(false) => {}
                    None => {
                        let detail = format!("HTTP {} when asked to fence", received.status);
                        return self.told(Observation::unknown(detail), received);
                    }
                },
                Sent::Withheld(problem) | Sent::Broken(problem) => {
                    return Observation::unknown(format!("it could not be fenced: {problem}"));
                }
            }
        }
        let left = attempt.deadline.saturating_sub(begin.elapsed());
        match self.send(attempt, None, &Json::Object(attempt.params.clone()), left) {
            Sent::Answered(received) => self.told(observed(received.status), received),
            Sent::Withheld(problem) => Observation::negative(problem),
            Sent::Broken(problem) => Observation::unknown(problem),
        }
    }
}

/// What is concluded from an answer to the effect itself.
fn observed(status: u16) -> Observation {
    match status {
        200..=299 => positive(status),
        // Too early, in progress or too often: another attempt with this key may be what got through.
        408 | 409 | 425 | 429 => Observation::unknown(format!("HTTP {status}")),
        400..=499 => Observation::negative(format!("HTTP {status}")),
        _ => Observation::unknown(format!("HTTP {status}")),
    }
}

fn positive(status: u16) -> Observation {
    Observation::positive(format!("HTTP {status}"))
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
    /// There is an answer.
    Answered(Received),
}

/// An answer as it came.
struct Received {
    status: u16,
    content_type: Option<String>,
    body: Vec<u8>,
    /// Whether the body was read to its end.
    complete: bool,
}

impl Call {
    /// An observation with the answer it is drawn from. Values of headers that are secrets must not come back in it.
    fn told(&self, observation: Observation, received: Received) -> Observation {
        let Received { status, content_type, body, complete } = received;
        let (status, secrets) = (ResponseStatus::Http(status), self.secrets.clone());
        observation.answered(Response { status, content_type, body, complete, secrets })
    }

    fn send(&self, attempt: &Attempt, step: Option<&str>, body: &Json, within: Duration) -> Sent {
        let request = match self.request(attempt, step, body) {
            Ok(request) => request,
            Err(problem) => return Sent::Withheld(problem),
        };
        let connected = Arc::new(AtomicBool::new(false));
        let connector = Watched { connector: DefaultConnector::default(), connected: connected.clone() };
        let agent =
            Agent::with_parts(settings(within, self.trusted.as_ref()), connector, Pinned(self.addresses.clone()));
        match around("http.send", || agent.run(request)) {
            Ok(mut response) => {
                let status = response.status().as_u16();
                let content_type = response.headers().get("content-type");
                let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
                let mut body = Vec::new();
                // The status says what happened; a body that breaks off does not take it back.
                let read = response.body_mut().as_reader().take(ANSWER_BYTES_MAX + 1).read_to_end(&mut body);
                let complete = read.is_ok() && body.len() as u64 <= ANSWER_BYTES_MAX;
                Sent::Answered(Received { status, content_type, body, complete })
            }
            Err(error) if connected.load(Ordering::SeqCst) => Sent::Broken(broken(&error)),
            Err(error) => Sent::Withheld(unconnected(&error)),
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
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = if has_body { body.to_canonical() } else { String::new() };
        if has_body {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(body).map_err(|_| "the request cannot be formed".to_owned())?;
        let host = host_of(address)?;
        // What params were put into stays behind the host that was checked.
        match host_of(&request.uri().to_string()) {
            Ok(asked) if asked.eq_ignore_ascii_case(host) => Ok(request),
            Ok(_) | Err(_) => Err(format!("the request would not go to `{host}`")),
        }
    }
}

/// Remembers whether there was a connection, with TLS where that is asked for: before it not a byte of a request is sent.
#[derive(Debug)]
struct Watched {
    connector: DefaultConnector,
    connected: Arc<AtomicBool>,
}

impl Connector<()> for Watched {
    type Out = Box<dyn Transport>;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<()>) -> Result<Option<Self::Out>, Error> {
        let transport = self.connector.connect(details, chained)?;
        self.connected.store(transport.is_some(), Ordering::SeqCst);
        Ok(transport)
    }
}

/// The host that an order is sent to, with its port where one is written; nothing if it names no request.
pub fn host_of_order(order: &Order) -> Option<&str> {
    let (_, address) = request_of(order).ok()?;
    host_of(address).ok()
}

/// The host of an address, with its port where one is written.
fn host_of(address: &str) -> Result<&str, String> {
    let (_, rest) = address.split_once("://").ok_or_else(|| "the address has no scheme".to_owned())?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, _) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if host.contains(['{', '@', '\\', '%']) {
        return Err(format!("the host `{host}` must stand in the contract as it is"));
    }
    Ok(host)
}

/// Why there is no connection. Nothing of a request is in these words.
fn unconnected(error: &Error) -> String {
    if let Error::Io(problem) = error {
        return match problem.get_ref() {
            _ if problem.kind() == std::io::ErrorKind::ConnectionRefused => "the connection was refused".to_owned(),
            Some(inner) => {
                let said = inner.to_string();
                let said: String = said.chars().filter(|character| !character.is_control()).take(200).collect();
                format!("not sent: {said}")
            }
            None => format!("not sent: {}", problem.kind()),
        };
    }
    let late = matches!(error, Error::Timeout(_));
    if late { "not sent: no connection in time" } else { "not sent: no connection" }.to_owned()
}

/// What went wrong once there was a connection. The library's own words may quote what was sent.
fn broken(error: &Error) -> String {
    if let Error::Io(problem) = error {
        return format!("the connection broke: {}", problem.kind());
    }
    let late = matches!(error, Error::Timeout(_));
    if late { "no answer in time" } else { "the request was not answered" }.to_owned()
}

/// Method and address as the contract writes them.
fn request_of(order: &Order) -> Result<(&str, &str), String> {
    let text = match order.executor() {
        Some(contract::Executor::Http(text)) => Some(text),
        Some(contract::Executor::Command(_) | contract::Executor::Function(_) | contract::Executor::Host) | None => {
            None
        }
    };
    text.and_then(|text| text.split_once(' ')).ok_or_else(|| "the intent names no HTTP request".to_owned())
}

fn headers(order: &Order) -> impl Iterator<Item = (&str, &str)> {
    let headers = order.run.iter().flat_map(|run| &run.headers);
    headers.map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Puts params into an address. A value is one piece of path or query, whatever it contains.
pub fn rendered(address: &str, params: &Object) -> Result<String, String> {
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
        let executor = HttpExecutor::new(vec!["pay.example".to_owned(), "127.0.0.1:99".to_owned()], Vec::new());
        let check = |address: &str| executor.allowed_host(address).is_ok();
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
        let check = |status: u16| observed(status).observed.word().to_lowercase();
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

//! Requests: no redirects, no proxies from the environment, kept connections, bounded in time and size.

use crate::address::Address;
use crate::problem;
use crate::service::Settings;
use crate::unix_socket::SocketConnector;
use runtime::ports::store::StoreFault;
use runtime::wire::REPLY_BYTES_MAX;
use std::time::Duration;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, Error};

/// Connections that are kept for later requests: as many as a runtime has readers, and one to write.
const IDLE_MAX: usize = 5;

/// For how long. Shorter than a service keeps them, so that none is used that is closed meanwhile.
const IDLE_AGE_MAX: Duration = Duration::from_secs(10);

/// Longest answer that is no reply of ours.
const PROBLEM_BYTES_MAX: u64 = 64 * 1024;

/// A way to a service.
pub(crate) struct Connection {
    agent: Agent,
    base: String,
    shown: String,
    bearer: Option<String>,
    timeout: Duration,
}

/// What is asked.
pub(crate) struct Request<'a> {
    pub path: &'a str,
    /// What is sent; nothing is a GET.
    pub body: Option<&'a [u8]>,
    /// The type of reply that is wanted, where there are several.
    pub accept: Option<&'a str>,
    /// For how much longer than usual the service may take.
    pub wait: Duration,
}

impl<'a> Request<'a> {
    pub fn get(path: &'a str) -> Request<'a> {
        Request { path, body: None, accept: None, wait: Duration::ZERO }
    }

    pub fn post(path: &'a str, body: &'a [u8]) -> Request<'a> {
        Request { body: Some(body), ..Request::get(path) }
    }
}

impl Connection {
    pub fn new(address: &Address, settings: &Settings) -> Result<Connection, StoreFault> {
        let roots = match &settings.authorities {
            None => RootCerts::WebPki,
            Some(pem) => RootCerts::from(certificates(pem)?),
        };
        let config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            // What is set for a shell must not see keys.
            .proxy(None)
            .max_idle_connections(IDLE_MAX)
            .max_idle_connections_per_host(IDLE_MAX)
            .max_idle_age(IDLE_AGE_MAX)
            .user_agent("writkeeper")
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        let agent = match address.socket() {
            None => Agent::new_with_config(config),
            Some(path) => Agent::with_parts(config, SocketConnector(path.to_path_buf()), DefaultResolver::default()),
        };
        Ok(Connection {
            agent,
            base: address.base().to_owned(),
            shown: address.to_string(),
            bearer: settings.key.as_ref().map(|key| format!("Bearer {key}")),
            timeout: settings.timeout,
        })
    }

    /// The body of a reply; `None` where there is no such thing.
    pub fn fetch(&self, request: &Request<'_>) -> Result<Option<Vec<u8>>, StoreFault> {
        let mut response = self.send(request).map_err(|error| self.unanswered(&error))?;
        let status = response.status().as_u16();
        let limit = if status == 200 { REPLY_BYTES_MAX as u64 } else { PROBLEM_BYTES_MAX };
        let body = response.body_mut().with_config().limit(limit).read_to_vec();
        let body = body.map_err(|error| self.unanswered(&error))?;
        match status {
            200 => Ok(Some(body)),
            404 => Ok(None),
            other => Err(problem::fault(other, &body)),
        }
    }

    /// The body of a reply that must be there.
    pub fn demand(&self, request: &Request<'_>) -> Result<Vec<u8>, StoreFault> {
        let missing = || StoreFault::Refused(format!("the server at {} knows no `{}`", self.shown, request.path));
        self.fetch(request)?.ok_or_else(missing)
    }

    /// What the service said cannot be read.
    pub fn unreadable(&self) -> StoreFault {
        StoreFault::Refused(format!(
            "the answer of the server at {} cannot be read; is it of another version?",
            self.shown
        ))
    }

    fn send(&self, request: &Request<'_>) -> Result<Response<Body>, Error> {
        let address = format!("{}{}", self.base, request.path);
        let timeout = Some(self.timeout.saturating_add(request.wait));
        match request.body {
            None => {
                let mut asked = self.agent.get(&address);
                if let Some(bearer) = &self.bearer {
                    asked = asked.header("authorization", bearer);
                }
                asked.config().timeout_global(timeout).build().call()
            }
            Some(body) => {
                let mut asked = self.agent.post(&address).header("content-type", "application/json");
                if let Some(bearer) = &self.bearer {
                    asked = asked.header("authorization", bearer);
                }
                if let Some(accept) = request.accept {
                    asked = asked.header("accept", accept);
                }
                asked.config().timeout_global(timeout).build().send(body)
            }
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library's list of errors is open; others say its own words"
    )]
    fn unanswered(&self, error: &Error) -> StoreFault {
        let problem = match error {
            Error::Timeout(_) => "it did not answer in time; the outcome is unknown".to_owned(),
            Error::BodyExceedsLimit(limit) => format!("its answer is longer than {limit} bytes"),
            Error::HostNotFound => "its host is unknown".to_owned(),
            Error::ConnectionFailed => "nobody listens there".to_owned(),
            Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                "nobody listens there".to_owned()
            }
            Error::Io(error) => format!("the connection broke: {}", error.kind()),
            Error::Tls(problem) => format!("TLS failed: {problem}"),
            other => format!("the request failed: {other}"),
        };
        StoreFault::Unavailable(format!("the server at {}: {problem}", self.shown))
    }
}

/// The certificates of a PEM text.
fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, StoreFault> {
    let unreadable = || StoreFault::Refused("the certificates of the server's authority cannot be read".to_owned());
    let mut found = Vec::new();
    for item in ureq::tls::parse_pem(pem) {
        let ureq::tls::PemItem::Certificate(certificate) = item.map_err(|_| unreadable())? else {
            return Err(unreadable());
        };
        found.push(certificate);
    }
    if found.is_empty() { Err(unreadable()) } else { Ok(found) }
}

//! One HTTP request at a time: no redirects, no proxies from the environment, bounded in time and size.

use runtime::crash::around;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, Error};

/// How requests are made.
#[derive(Clone, Debug)]
pub struct HttpClient {
    /// From the first look at the name to the last byte of the answer.
    pub timeout: Duration,
    /// The longest answer.
    pub answer_bytes_max: usize,
    /// Addresses that are used whatever the name says; empty means what the name says.
    pub pinned: Vec<SocketAddr>,
}

/// What came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// How every request of ours is made, believing these certificate authorities instead of the well-known ones.
pub(crate) fn settings(timeout: Duration, trusted: Option<&Arc<Vec<Certificate<'static>>>>) -> Config {
    let roots = trusted.map_or(RootCerts::WebPki, |trusted| RootCerts::Specific(trusted.clone()));
    Agent::config_builder()
        .timeout_global(Some(timeout))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        // What is set for a shell must not see what agents propose.
        .proxy(None)
        // A connection that was used may be closed at any moment, and then nobody knows what arrived.
        .max_idle_connections(0)
        .user_agent("writkeeper")
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .build()
}

impl HttpClient {
    /// Posts JSON. The error completes "there is no answer: …".
    pub fn post_json(&self, address: &str, body: &[u8]) -> Result<HttpAnswer, String> {
        let request = self.agent().post(address).header("content-type", "application/json");
        self.answered(around("advice.send", || request.send(body)))
    }

    /// Fetches an address. The error completes "there is no answer: …".
    pub fn get(&self, address: &str) -> Result<HttpAnswer, String> {
        self.answered(self.agent().get(address).call())
    }

    fn agent(&self) -> Agent {
        Agent::with_parts(settings(self.timeout, None), DefaultConnector::default(), Pinned(self.pinned.clone()))
    }

    fn answered(&self, sent: Result<Response<Body>, Error>) -> Result<HttpAnswer, String> {
        let mut response = sent.map_err(|error| self.problem(&error))?;
        let status = response.status().as_u16();
        let limit = u64::try_from(self.answer_bytes_max).unwrap_or(u64::MAX);
        let body = response.body_mut().with_config().limit(limit).read_to_vec();
        Ok(HttpAnswer { status, body: body.map_err(|error| self.problem(&error))? })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the client's list of errors is open; others say its own words")]
    fn problem(&self, error: &Error) -> String {
        match error {
            Error::Timeout(_) => self.too_late(),
            Error::BodyExceedsLimit(_) => format!("its answer is longer than {} bytes", self.answer_bytes_max),
            Error::HostNotFound => "its host is unknown".to_owned(),
            Error::ConnectionFailed => "nobody listens there".to_owned(),
            Error::Io(error) => format!("the connection broke: {}", error.kind()),
            Error::Tls(problem) => format!("TLS failed: {problem}"),
            other => format!("the request failed: {other}"),
        }
    }

    fn too_late(&self) -> String {
        format!("it did not answer within {} ms", self.timeout.as_millis())
    }
}

/// Looks names up, unless addresses are pinned.
#[derive(Debug)]
pub(crate) struct Pinned(pub(crate) Vec<SocketAddr>);

impl Resolver for Pinned {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        if self.0.is_empty() {
            return DefaultResolver::default().resolve(uri, config, timeout);
        }
        let mut pinned = self.empty();
        for address in self.0.iter().take(PINNED_MAX) {
            pinned.push(*address);
        }
        Ok(pinned)
    }
}

/// As many as the client tries.
const PINNED_MAX: usize = 16;

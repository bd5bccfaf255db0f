//! One webhook: a POST to a checked address, bounded in time. No redirect is followed, and of the answer only the status
//! counts: its body is not read.

use crate::addresses::Range;
use crate::checked_host;
use crate::host_names::{HostNames, SystemNames};
use crate::http_client::{Pinned, settings};
use runtime::ports::executor::Missing;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::Request;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error};

/// How long a receiver may take, from the look at its name to the status of its answer.
const WITHIN: Duration = Duration::from_secs(15);

/// Who posts, and which addresses of the inside it may talk to.
#[derive(Clone, Debug)]
pub struct WebhookPost {
    ranges: Vec<Range>,
    names: Arc<dyn HostNames>,
}

/// Where to. The whole address may be a secret: it is never told.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The whole address.
    pub url: &'a str,
    /// Its host, with the port where one is written.
    pub host: &'a str,
    /// Whether it is https.
    pub by_tls: bool,
}

/// What came of a post.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Posted {
    /// The receiver has it.
    Delivered,
    /// The receiver wants nothing any more: 410.
    Gone,
    /// The receiver does not take this, and will hardly take it later: another status of 3xx or 4xx.
    Refused(u16),
    /// Not now: no connection, no answer, too often, or a fault of the receiver. In a few words.
    NotNow(String),
}

impl WebhookPost {
    /// `ranges` of the inside may be talked to, and only there without TLS.
    pub fn new(ranges: Vec<Range>) -> WebhookPost {
        WebhookPost { ranges, names: Arc::new(SystemNames) }
    }

    /// Asks someone else for the addresses of a host.
    pub fn asking(self, names: Arc<dyn HostNames>) -> WebhookPost {
        WebhookPost { names, ..self }
    }

    /// Posts JSON once.
    pub fn post(&self, target: Target<'_>, headers: &[(&str, &str)], body: &str) -> Posted {
        let addresses = checked_host::addresses(self.names.as_ref(), target.host, target.by_tls, &self.ranges);
        let addresses = match addresses {
            Ok(addresses) => addresses,
            Err(missing @ Missing::Address { .. }) => {
                return Posted::NotNow(format!("{missing}, and nobody allowed such an address"));
            }
            Err(missing) => return Posted::NotNow(missing.to_string()),
        };
        let mut request = Request::builder().method("POST").uri(target.url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let Ok(request) = request.body(body.to_owned()) else {
            return Posted::NotNow("the request cannot be formed".to_owned());
        };
        let agent = Agent::with_parts(settings(WITHIN, None), DefaultConnector::default(), Pinned(addresses));
        // no crash point: tests kill the notifier when the receiver has the message and before the cursor moves.
        match agent.run(request) {
            Ok(response) => of_status(response.status().as_u16()),
            Err(error) => Posted::NotNow(words(&error)),
        }
    }
}

fn of_status(status: u16) -> Posted {
    match status {
        200..=299 => Posted::Delivered,
        410 => Posted::Gone,
        408 | 425 | 429 => Posted::NotNow(format!("HTTP {status}")),
        300..=499 => Posted::Refused(status),
        _ => Posted::NotNow(format!("HTTP {status}")),
    }
}

/// Nothing of the address is in these words.
#[expect(clippy::wildcard_enum_match_arm, reason = "the client's list of errors is open")]
fn words(error: &Error) -> String {
    match error {
        Error::Timeout(_) => format!("it did not answer within {} s", WITHIN.as_secs()),
        Error::HostNotFound => "its host is unknown".to_owned(),
        Error::ConnectionFailed => "nobody listens there".to_owned(),
        Error::Io(error) => format!("the connection broke: {}", error.kind()),
        Error::Tls(problem) => format!("TLS failed: {problem}"),
        _ => "the request failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_success_is_a_delivery() {
        let check = |status: u16, expected: Posted| assert_eq!(of_status(status), expected, "{status}");
        check(200, Posted::Delivered);
        check(204, Posted::Delivered);
        check(302, Posted::Refused(302));
        check(400, Posted::Refused(400));
        check(404, Posted::Refused(404));
        check(410, Posted::Gone);
        check(429, Posted::NotNow("HTTP 429".to_owned()));
        check(503, Posted::NotNow("HTTP 503".to_owned()));
    }

    #[test]
    fn the_inside_is_refused_unless_someone_named_it() {
        let post = |ranges: &[&str]| {
            let ranges = ranges.iter().map(|text| Range::parse(text).unwrap()).collect();
            // Nobody listens on this port: what was let through breaks there.
            let target = Target { url: "http://127.0.0.1:9/hook", host: "127.0.0.1:9", by_tls: false };
            WebhookPost::new(ranges).post(target, &[], "{}")
        };
        let Posted::NotNow(refused) = post(&[]) else { panic!("refused") };
        assert!(refused.contains("loopback"), "{refused}");
        let Posted::NotNow(broken) = post(&["127.0.0.0/8"]) else { panic!("nobody listens") };
        assert!(!broken.contains("loopback"), "{broken}");
    }
}

//! NATS JetStream: a subject per tenant and kind, and an id that lets the server drop what comes twice.

use super::{ACKNOWLEDGED_WITHIN, HEADERS_MAX, Outgoing, payload};
use async_nats::jetstream::{self, stream::Config};
use async_nats::{ConnectOptions, HeaderMap};
use std::path::PathBuf;

/// Where events go.
#[derive(Clone, Debug)]
pub struct NatsOptions {
    /// The server, such as `nats://127.0.0.1:4222` or `tls://nats.example`.
    pub url: String,
    /// The stream; it is made where there is none.
    pub stream: String,
    /// What every subject begins with.
    pub prefix: String,
    /// User and password.
    pub login: Option<(String, String)>,
    /// A file with the authorities that a server's certificate is checked with.
    pub authorities: Option<PathBuf>,
}

impl NatsOptions {
    pub(super) fn receiver(&self) -> String {
        format!("{} {} {}", self.url, self.stream, self.prefix)
    }
}

/// A connection, and the stream behind it.
pub(super) struct NatsLink {
    client: async_nats::Client,
    context: jetstream::Context,
    prefix: String,
    is_new: bool,
}

impl NatsLink {
    pub(super) async fn open(nats: &NatsOptions) -> Result<NatsLink, String> {
        let mut options = ConnectOptions::new().name("writkeeper").connection_timeout(ACKNOWLEDGED_WITHIN);
        if let Some((user, password)) = nats.login.clone() {
            options = options.user_and_password(user, password);
        }
        if let Some(file) = &nats.authorities {
            options = options.add_root_certificates(file.clone()).require_tls(true);
        }
        let client = options.connect(nats.url.as_str()).await.map_err(|error| error.to_string())?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ACKNOWLEDGED_WITHIN);
        let config =
            Config { name: nats.stream.clone(), subjects: vec![format!("{}.>", nats.prefix)], ..Config::default() };
        let stream = context.get_or_create_stream(config).await.map_err(|error| format!("stream: {error}"))?;
        let is_new = stream.cached_info().state.last_sequence == 0;
        Ok(NatsLink { client, context, prefix: nats.prefix.clone(), is_new })
    }

    /// Whether the stream has never had an event.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(super) async fn send(&self, wave: &[Outgoing]) -> Result<u64, String> {
        let bytes_max = self.client.max_payload().saturating_sub(HEADERS_MAX);
        let mut sent = Vec::with_capacity(wave.len());
        for Outgoing { id, event, .. } in wave {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", id.as_str());
            headers.insert("Content-Type", "application/cloudevents+json");
            let subject = format!("{}.{}.{}", self.prefix, token(&event.tenant), token(&event.kind));
            let bytes = payload(event, bytes_max);
            let published = self.context.publish_with_headers(subject, headers, bytes.into()).await;
            sent.push(published.map_err(|error| error.to_string())?);
        }
        let mut duplicates = 0;
        for acknowledged in sent {
            duplicates += u64::from(acknowledged.await.map_err(|error| error.to_string())?.duplicate);
        }
        Ok(duplicates)
    }
}

/// A name as one token of a subject: what separates tokens, stands for others or is no plain letter is written in hex.
fn token(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => token.push(char::from(byte)),
            other => token.push_str(&format!("%{other:02X}")),
        }
    }
    token
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_is_one_token_and_two_names_are_two() {
        let rows = [
            ("default", "default"),
            ("a.b", "a%2Eb"),
            ("a*", "a%2A"),
            (">", "%3E"),
            ("ä b", "%C3%A4%20b"),
            ("%2E", "%252E"),
        ];
        for (name, token) in rows {
            assert_eq!(super::token(name), token);
        }
    }
}

//! How a service is started.

use crate::listen::Listen;
use std::path::PathBuf;
use std::time::Duration;

/// Connections at once.
pub const CONNECTIONS_MAX: usize = 4_096;

/// How a service is started.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The store.
    pub store: String,
    /// Where it listens.
    pub listen: Listen,
    /// The certificate and its key; without them only this machine is served.
    pub tls: Option<TlsFiles>,
    /// Requests a second that one key may send.
    pub rate: u32,
    /// Streams of events that one key may have open; an agent has fewer.
    pub streams: usize,
    /// Connections that one address may have at once.
    pub per_address: usize,
    /// How people are known who come with a token of their own organisation.
    pub jwt: Option<JwtOptions>,
    /// How often checkpoints are signed.
    pub seal_every: Duration,
    /// The folder of the signing keys, if they do not lie beside the store.
    pub keys: Option<PathBuf>,
    /// For tests: a proposal's `created_at` is the instant at which it is judged, where it says its values come from is
    /// believed, and nothing happens by time alone.
    pub clock_of_lines: bool,
}

/// A certificate with its chain, and its private key, as PEM files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The chain.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// Whose identity tokens count.
#[derive(Clone, Debug)]
pub struct JwtOptions {
    /// A file or an address that holds the public keys (JWKS).
    pub jwks: String,
    /// Who must have issued it.
    pub issuer: String,
    /// For whom it must have been issued.
    pub audience: String,
    /// The claim that holds the groups.
    pub groups_claim: String,
    /// The claim that holds the name.
    pub name_claim: String,
}

//! The verbs of the HTTP service.

use super::kept::Kept;
use super::proof::SealArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `writkeeper serve`
#[derive(Args, Debug)]
#[command(after_help = "\
The first start on a store prints one line `admin key: KEY` on standard output. Nobody can read it again; \
`writkeeper keys new --role admin` on this machine makes another.

With the key: POST /v1/agents registers an agent and answers with its token, POST /v1/keys makes keys for people and \
executors, POST /v1/proposals takes what `writkeeper decide` takes. GET /v1/openapi.json describes everything.

SIGTERM ends it: no new connection is taken, what was begun is answered, and everything is signed.")]
pub struct ServeArgs {
    /// The store: a SQLite file, made where there is none, or postgres://USER@HOST:PORT/DATABASE
    #[arg(
        long,
        value_name = "PATH",
        env = "WRITKEEPER_STORE",
        hide_env_values = true,
        default_value = "writkeeper.db"
    )]
    pub store: String,
    /// Where to listen: ADDRESS:PORT or unix:PATH. Without a certificate only an address of this machine
    #[arg(long, value_name = "WHERE", default_value = "127.0.0.1:8080")]
    pub listen: String,
    /// The certificate and its chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Requests a second that one key may send
    #[arg(long, value_name = "NUMBER", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub rate: u32,
    /// Streams of events that one key may have open; an agent may have 16
    #[arg(long, value_name = "NUMBER", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    pub streams: u32,
    /// Connections that one address may have open at once; behind a proxy all have the proxy's
    #[arg(long, value_name = "NUMBER", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    pub per_address: u32,
    /// Public keys of whoever issues identity tokens to people: a JWKS file or its address
    #[arg(long, value_name = "FILE|URL", requires_all = ["jwt_issuer", "jwt_audience"])]
    pub jwks: Option<String>,
    /// Who must have issued an identity token
    #[arg(long, value_name = "TEXT", requires = "jwks")]
    pub jwt_issuer: Option<String>,
    /// For whom an identity token must have been issued
    #[arg(long, value_name = "TEXT", requires = "jwks")]
    pub jwt_audience: Option<String>,
    /// The claim that holds a person's groups
    #[arg(long, value_name = "NAME", default_value = "groups")]
    pub jwt_groups_claim: String,
    /// The claim that holds a person's name
    #[arg(long, value_name = "NAME", default_value = "sub")]
    pub jwt_name_claim: String,
    /// Tell these endpoints of questions by signed webhooks, as `writkeeper notify` does
    #[arg(long, value_name = "FILE")]
    pub webhooks: Option<PathBuf>,
    /// An inside range that webhooks may be sent to, such as 10.0.0.0/8; may be given again
    #[arg(long = "allow-private", value_name = "RANGE", requires = "webhooks")]
    pub webhooks_private: Vec<String>,
    /// Print the OpenAPI document of the service, and end
    #[arg(long)]
    pub document: bool,
    /// For tests, on an address of this machine only: a proposal's `created_at` is its instant, and its provenance counts
    #[arg(long, hide = true)]
    pub clock_of_lines: bool,
    /// How it signs.
    #[command(flatten)]
    pub seal: SealArgs,
}

/// `writkeeper keys …`
#[derive(Args, Debug)]
pub struct KeysArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// Whose part of the store
    #[arg(long, global = true, value_name = "NAME", default_value = "default")]
    pub tenant: String,
    /// What to do; the list if nothing is said.
    #[command(subcommand)]
    pub command: Option<KeysCommand>,
}

/// What can be done with keys on the machine of the store.
#[derive(Subcommand, Debug)]
pub enum KeysCommand {
    /// Every key, without what its owner shows
    List,
    /// Make a key; it is printed only now
    New {
        /// What it may do
        #[arg(long, value_enum)]
        role: Role,
        /// Whose it is: the agent, the person, the worker
        #[arg(long, value_name = "NAME")]
        name: String,
        /// A group that its person is in; may be given several times
        #[arg(long = "group", value_name = "GROUP")]
        groups: Vec<String>,
    },
    /// Let a key count no more
    Revoke {
        /// Which, as `list` prints it
        id: String,
    },
}

/// What a key may do.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Role {
    Agent,
    Executor,
    Operator,
    Approver,
    Auditor,
    Admin,
}

//! The verb that tells people.

use super::kept::Kept;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `writkeeper notify`
#[derive(Args, Debug)]
#[command(after_help = "\
The file of endpoints (YAML):
  webhooks:
    - url: https://desk.example/hook
      events: [asked, reminded, rerouted, handed, answered, expired, aborted]
      groups: [refund-desk]
Without `events` an endpoint is told everything, without `groups` of everybody's questions.

Messages follow Standard Webhooks 1.0 and are signed with Ed25519 (`v1a`); receivers verify them with the key that \
`writkeeper notify key` prints. A message says that there is a question, for whom and until when, or how it ended; it never \
holds params. Each endpoint gets its messages in order and at least once: the same `webhook-id` is the same message. A new \
endpoint begins with the oldest question that is still open. Addresses of the inside are refused unless --allow-private \
names them, redirects are not followed, and http:// is used only on the inside.

How far each endpoint has heard, and the key, lie beside the store in PATH.webhooks. The store is only read.

Exit codes of --once: 0 everybody has heard of everything, 1 an endpoint refused something for good, 75 an endpoint cannot be \
reached now, or the store is unavailable.")]
pub struct NotifyArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// What to do; tell people if nothing is said.
    #[command(subcommand)]
    pub command: Option<NotifyCommand>,
    /// Who is told of what
    #[arg(long, value_name = "FILE")]
    pub webhooks: Option<PathBuf>,
    /// End when everybody has heard of everything, or cannot now
    #[arg(long)]
    pub once: bool,
    /// Addresses of the inside that may be reached, such as 10.0.0.0/8; may be given several times
    #[arg(long = "allow-private", value_name = "RANGE")]
    pub ranges: Vec<String>,
    /// The first pause after an attempt that failed; it doubles, up to 5m
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub retry: String,
}

/// What else can be done about telling people.
#[derive(Subcommand, Debug)]
pub enum NotifyCommand {
    /// Print the public key that messages are verified with
    Key,
}

//! The verb that hands events on.

use super::kept::Kept;
use clap::Args;
use std::path::PathBuf;

/// `writkeeper relay`
#[derive(Args, Debug)]
#[command(after_help = "\
Every entry of the ledger becomes one CloudEvent (JSON) on the subject PREFIX.TENANT.KIND, such as writkeeper.default.decision. \
Its Nats-Msg-Id is made of the log's name and the index of the entry, so that JetStream drops what comes twice within its \
window; receivers drop the rest by the same id. A ledger that nobody has signed has no log name and is refused: `writkeeper \
ledger checkpoint` signs it. Each event comes at least once, and those of one flow in order. The stream is \
made where there is none.

How far the stream has it lies beside the store in PATH.webhooks. The store is only read: a server that is down stops no \
decision, and what happened meanwhile follows. --from INDEX begins anew with any entry, to fill a stream again; it is demanded where the log has another name than what was \
handed on, or fewer entries. A stream can \
lose what it acknowledged unless the server syncs always (`sync_interval: always`): the ledger is the record, the stream is not.

User and password are read from NATS_USER and NATS_PASSWORD.

Exit codes of --once: 0 the stream has everything, 75 it cannot be reached now, or the store is unavailable.")]
pub struct RelayArgs {
    /// Which store.
    #[command(flatten)]
    pub kept: Kept,
    /// The server, such as nats://127.0.0.1:4222 or tls://nats.example
    #[arg(long, value_name = "URL")]
    #[cfg_attr(feature = "kafka", arg(required_unless_present = "kafka"))]
    #[cfg_attr(not(feature = "kafka"), arg(required = true))]
    pub nats: Option<String>,
    /// The Kafka brokers, parted by commas, such as kafka1.example:9092; in the clear and without a password
    #[cfg(feature = "kafka")]
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["nats", "stream", "prefix", "tls_ca"])]
    pub kafka: Option<String>,
    /// The topic of Kafka
    #[cfg(feature = "kafka")]
    #[arg(long, value_name = "NAME", default_value = "writkeeper")]
    pub topic: String,
    /// The stream
    #[arg(long, value_name = "NAME", default_value = "WRITKEEPER")]
    pub stream: String,
    /// What every subject begins with
    #[arg(long, value_name = "WORD", default_value = "writkeeper")]
    pub prefix: String,
    /// Authorities that the server's certificate is checked with (PEM), in place of the well-known ones
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Whose part of the store
    #[arg(long, value_name = "NAME", default_value = values::ids::TENANT_DEFAULT)]
    pub tenant: String,
    /// Begin with this entry, wherever it was before
    #[arg(long, value_name = "INDEX")]
    pub from: Option<u64>,
    /// End when the stream has everything, or cannot be reached now
    #[arg(long)]
    pub once: bool,
    /// The first pause after an attempt that failed; it doubles, up to 30s
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub retry: String,
}

//! Executors: whoever causes an effect outside. They are asked once for each mark, and never try again by themselves.

use kernel::contract::{EffectClass, ExecutorKind};
use kernel::intent::{Observed, Order};
use kernel::result::Response;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use values::json::Object;

/// One attempt at an effect, exactly as the ledger permits it.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The intent.
    pub intent: String,
    /// The ledgered intent: what is performed is this.
    pub order: Order,
    /// The params, with those that the ledger withholds.
    pub params: Object,
    /// The key under which the other side recognises the effect; the same in every attempt.
    pub key: String,
    /// The key of the effect that this one undoes.
    pub undoes: Option<String>,
    /// Grows with every attempt: a side that fences refuses smaller ones.
    pub epoch: u64,
    /// What the other side guarantees.
    pub class: EffectClass,
    /// Whether an earlier attempt may have succeeded.
    pub doubted: bool,
    /// From now on to the last byte of the answer.
    pub deadline: Duration,
}

/// What an attempt observed, and what the other side answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Whether it happened.
    pub observed: Observed,
    /// In a few words, for the record.
    pub detail: String,
    /// What came back, where something did. Secrets are removed before it is recorded.
    pub response: Option<Response>,
}

impl Observation {
    /// It happened.
    pub fn positive(detail: impl Into<String>) -> Observation {
        Observation { observed: Observed::Positive, detail: detail.into(), response: None }
    }

    /// It did not happen and this attempt cannot make it happen any more, and why.
    pub fn negative(detail: impl Into<String>) -> Observation {
        Observation { observed: Observed::Negative, detail: detail.into(), response: None }
    }

    /// Nobody knows, and why.
    pub fn unknown(detail: impl Into<String>) -> Observation {
        Observation { observed: Observed::Unknown, detail: detail.into(), response: None }
    }

    /// With what came back.
    pub fn answered(self, response: Response) -> Observation {
        Observation { response: Some(response), ..self }
    }
}

/// What is missing here for an order. Whoever shows it says how to supply it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Missing {
    /// An executor for orders of this kind.
    Kind(ExecutorKind),
    /// The function that is registered under this name.
    Function(String),
    /// The permission to talk to this host.
    Host(String),
    /// The permission to talk to an address on the inside, which this host has.
    Address { host: String, address: IpAddr, is: &'static str },
    /// Something else, in one sentence.
    Other(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Kind(ExecutorKind::Http) => formatter.write_str("HTTP requests are not sent here"),
            Missing::Kind(ExecutorKind::Command) => formatter.write_str("programs are not run here"),
            Missing::Kind(kind) => write!(formatter, "`run: {}` is not performed here", kind.word()),
            Missing::Function(name) => write!(formatter, "this process has no function `{name}`"),
            Missing::Host(host) => write!(formatter, "the host `{host}` is not allowed"),
            Missing::Address { host, address, is } => write!(formatter, "`{host}` has {is}, {address}"),
            Missing::Other(problem) => formatter.write_str(problem),
        }
    }
}

impl From<String> for Missing {
    fn from(problem: String) -> Missing {
        Missing::Other(problem)
    }
}

/// Causes effects of one kind.
pub trait Executor: Send + Sync {
    /// Whether it could perform this order, before anyone claims it; the error says what is missing.
    fn can_perform(&self, order: &Order) -> Result<(), Missing>;

    /// Makes sure of everything that this process must have for the order and that takes a while to find out, before anyone
    /// claims it. What comes back performs this order only, with exactly what was found; `None` is the executor itself.
    /// The error says what is missing: nothing was claimed or sent, and others may have it.
    fn prepare(&self, order: &Order) -> Result<Option<Arc<dyn Executor>>, Missing> {
        self.can_perform(order).map(|()| None)
    }

    /// Performs it, once, within the deadline.
    fn perform(&self, attempt: &Attempt) -> Observation;
}

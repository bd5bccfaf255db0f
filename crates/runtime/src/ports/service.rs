//! A service: another process that keeps the store and decides there, reached over some connection.

use crate::ports::store::{Reader, StoreFault};
use crate::runtime::Answered;
use crate::waiting::FollowUp;
use crate::wire::call::Call;
use kernel::command::UnseenFlow;
use std::sync::Arc;
use std::time::Duration;

/// What a service decides, and for whom. Every call is made when it is asked for, on the caller's thread.
///
/// A fault means that nothing is known to be decided: [`StoreFault::Refused`] where the service will never do this for
/// this caller, [`StoreFault::Unavailable`] where trying again may help.
pub trait Service: Send + Sync {
    /// Who the service says its caller is.
    fn caller(&self) -> &ServiceCaller;

    /// Judges what an agent sent. Whether its statement of provenance counts is for the service to say.
    fn propose(&self, proposal: &[u8], asked: Asked) -> Result<Answered, StoreFault>;

    /// Carries out a change, in the name of the caller.
    fn change(&self, call: &Call) -> Result<Answered, StoreFault>;

    /// What became of a question or an intent, after at most so long; the service may answer earlier.
    fn follow(&self, question: Option<&str>, intent: Option<&str>, wait: Duration) -> Result<FollowUp, StoreFault>;

    /// Reads what is committed.
    fn reader(&self) -> Box<dyn Reader>;

    /// Seals everything that is committed; the two lines that an export of it starts with.
    fn seal(&self) -> Result<String, StoreFault>;
}

/// Who a service says its caller is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceCaller {
    /// Whose decisions it deals with.
    pub tenant: Arc<str>,
    /// What it may do, in one word.
    pub role: String,
    /// Its name: of an agent, of a person, of an operator.
    pub name: String,
}

/// How a proposal is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    /// The number of its line, from 1, where it is one of many.
    pub line: Option<u64>,
    /// What becomes of a flow nobody opened, where the caller says so.
    pub flows: Option<UnseenFlow>,
}

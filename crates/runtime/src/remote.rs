//! A runtime in front of a service: the service keeps the store and decides, and what is read comes from there.

use crate::ports::service::{Asked, Service, ServiceCaller};
use crate::ports::store::{BatchId, Committed, Fold, Reader, Store, StoreFault};
use crate::runtime::{Answered, Arrival, Form, Inner, Options, Pending, PersonAnswer, Runtime};
use crate::sequencer::Reply;
use crate::wire::call::{Call, CallerAnswer};
use kernel::proposal::Proposal;
use kernel::world::Key;
use std::sync::Arc;

/// A handle on the store of a service, for reading: whatever would write is refused.
pub fn served_store(service: Arc<dyn Service>) -> Box<dyn Store> {
    Box::new(ServedStore(service))
}

/// The store of a service as far as a client has it: for reading.
struct ServedStore(Arc<dyn Service>);

impl ServedStore {
    fn elsewhere<T>() -> Result<T, StoreFault> {
        Err(StoreFault::Refused("a service keeps this store, and only the service writes to it".to_owned()))
    }
}

impl Store for ServedStore {
    fn tenant(&self) -> &Arc<str> {
        &self.0.caller().tenant
    }

    fn transact(&mut self, _: BatchId, _: Vec<Key>, _: &mut Fold<'_>) -> Result<Committed, StoreFault> {
        ServedStore::elsewhere()
    }

    fn has_settled(&mut self, _: BatchId) -> Result<bool, StoreFault> {
        ServedStore::elsewhere()
    }

    fn erase(&mut self, _: u64, _: u64) -> Result<u64, StoreFault> {
        ServedStore::elsewhere()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreFault> {
        Ok(self.0.reader())
    }
}

impl Runtime {
    /// Starts in front of a service. Commands are carried out when they are asked for, on the caller's thread, in the name
    /// that the service knows its caller by; whom a command names as its actor does not count.
    pub fn remote(service: Arc<dyn Service>, options: Options) -> Result<Runtime, StoreFault> {
        Runtime::start_before(served_store(service.clone()), options, Some(service))
    }

    /// The service that decides, if one does.
    pub fn service(&self) -> Option<&Arc<dyn Service>> {
        self.inner.service.as_ref()
    }

    /// Who a service says this caller is; nobody where the store is open here.
    pub fn caller(&self) -> Option<&ServiceCaller> {
        self.service().map(|service| service.caller())
    }
}

impl Inner {
    /// Hands over what an agent sent, byte for byte.
    pub(crate) fn propose(
        self: &Arc<Inner>,
        service: &Arc<dyn Service>,
        bytes: &[u8],
        line: Option<u64>,
        arrival: &Arrival,
    ) -> Pending {
        self.settled(replied(service.propose(bytes, Asked { line, flows: Some(arrival.door.flows) })))
    }

    /// Hands over a proposal that was read already: in its envelope, or written again.
    pub(crate) fn propose_again(
        self: &Arc<Inner>,
        service: &Arc<dyn Service>,
        proposal: &Proposal,
        arrival: &Arrival,
    ) -> Pending {
        let json = match &arrival.proof {
            Some(proof) => proof.envelope().to_json(),
            None => proposal.to_json(proposal.params.clone()),
        };
        self.propose(service, json.to_canonical().as_bytes(), None, arrival)
    }

    /// Asks the service for a change.
    pub(crate) fn call(self: &Arc<Inner>, service: &Arc<dyn Service>, form: Form) -> Pending {
        let call = match form {
            Form::Change(change) => Call::Act(Arc::unwrap_or_clone(change).act),
            Form::Register { contract, version, session, .. } => Call::Register { contract, version, session },
            Form::Ask { inquiry, .. } => Call::Ask(inquiry),
            Form::Amend { agent, amendment, .. } => Call::Amend { agent, amendment },
            Form::StartCanary { contract, share, because, .. } => Call::StartCanary { contract, share, because },
            Form::Answer(answer) => Call::Answer(Box::new(without_person(*answer))),
            // Proposals and what could not be read are handed over as they came.
            Form::Proposal(_) | Form::Refuse(_) => {
                return self.settled(Reply::Unavailable("a proposal is no change".to_owned()));
            }
        };
        self.settled(replied(service.change(&call)))
    }
}

fn replied(answered: Result<Answered, StoreFault>) -> Reply {
    match answered {
        Ok(answered) => Reply::Told(Box::new(answered)),
        Err(StoreFault::Refused(problem)) => Reply::Refused(problem),
        Err(
            fault @ (StoreFault::Conflict(_)
            | StoreFault::Unavailable(_)
            | StoreFault::Ambiguous(_)
            | StoreFault::Corrupt(_)),
        ) => Reply::of_fault(&fault),
    }
}

fn without_person(answer: PersonAnswer) -> CallerAnswer {
    let PersonAnswer { person, question, decision, digest, reason, instead, identity, .. } = answer;
    CallerAnswer { person: Some(person), question, decision, digest, reason, instead, identity }
}

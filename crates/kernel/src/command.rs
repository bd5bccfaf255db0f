//! Commands: every change of the world. Each carries everything it needs; what is not in it cannot matter.

use crate::evaluator::Compiled;
use crate::finding::Findings;
use crate::ids::Digest;
use crate::json::{Json, Object};
use crate::proposal::{Malformed, Proposal};
use crate::request::{Provenance, Request};
use std::sync::Arc;

/// A change of the world.
#[derive(Clone, Debug)]
pub enum Command {
    /// Judge a proposal.
    Submit(Arc<Submission>),
    /// Refuse what could not be read as a proposal.
    Refuse(Box<RefusedInput>),
}

/// A proposal on its way to judgement.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Whose.
    pub tenant: Arc<str>,
    /// What.
    pub proposal: Proposal,
    /// Under which contract.
    pub contract: Arc<Compiled>,
    /// Where values came from.
    pub provenance: Provenance,
    /// What the stateless gates found.
    pub prepared: Findings,
    /// Ids to use where the proposal names none.
    pub ids: MintedIds,
}

/// Ids minted outside the kernel, which draws no random numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MintedIds {
    /// For the proposal.
    pub proposal: String,
    /// For its flow.
    pub flow: String,
    /// For the intent it may become.
    pub intent: String,
}

/// Input that is no proposal.
#[derive(Clone, Debug)]
pub struct RefusedInput {
    /// Whose.
    pub tenant: Arc<str>,
    /// What is wrong with it.
    pub malformed: Malformed,
    /// Digest of the bytes; the bytes themselves are not kept.
    pub digest: Digest,
    /// Id of the answer.
    pub id: String,
}

impl Submission {
    /// Forms the command, running the stateless gates.
    pub fn new(
        tenant: Arc<str>,
        proposal: Proposal,
        contract: Arc<Compiled>,
        provenance: Provenance,
        ids: MintedIds,
    ) -> Submission {
        let request = Request { proposal: &proposal, compiled: &contract, provenance: &provenance };
        let prepared = crate::decide::prepare(&request);
        Submission { tenant, proposal, contract, provenance, prepared, ids }
    }

    /// The stateless part of the judgement.
    pub fn request(&self) -> Request<'_> {
        Request { proposal: &self.proposal, compiled: &self.contract, provenance: &self.provenance }
    }

    /// The proposal's id.
    pub fn proposal_id(&self) -> &str {
        self.proposal.id.as_deref().unwrap_or(&self.ids.proposal)
    }

    /// The params as records and intents hold them: secret ones only as commitments.
    pub fn committed_params(&self) -> Object {
        let request = self.request();
        let secret = |name: &str| request.action().is_some_and(|action| action.is_secret(name));
        let commit = |(name, value): (&String, &Json)| {
            if !secret(name) {
                return (name.clone(), value.clone());
            }
            let parts = [self.proposal_id().as_bytes(), name.as_bytes(), &value.to_canonical().into_bytes()];
            (name.clone(), Json::object([("commitment", Json::text(Digest::of_parts(&parts).to_string()))]))
        };
        self.proposal.params.iter().map(commit).collect()
    }

    /// The flow's id.
    pub fn flow_id(&self) -> &str {
        self.proposal.flow.as_deref().unwrap_or(&self.ids.flow)
    }
}

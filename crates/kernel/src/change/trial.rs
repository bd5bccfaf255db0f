//! Trying a candidate on a share of an agent's flows.

use super::read::Contracts;
use super::{Act, ActKind};
use crate::canary::Share;
use crate::evaluator::Compiled;
use crate::stored::text_of;
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;

/// What is done with a candidate.
#[derive(Clone, Debug)]
pub enum Trial {
    /// It is put beside the contract in force.
    Start {
        /// The candidate.
        contract: Arc<Compiled>,
        /// The contract in force.
        beside: Arc<Compiled>,
        /// How many of the flows are under it.
        share: Share,
        /// Why.
        because: String,
    },
    /// It takes the place of the contract in force.
    Promote {
        /// The agent.
        agent: String,
        /// The candidate that somebody has looked at.
        contract: Digest,
        /// Why.
        because: String,
    },
    /// Nothing is under it any more.
    RollBack {
        /// The agent.
        agent: String,
        /// Why.
        because: String,
    },
}

impl Trial {
    /// Whose contract.
    pub fn agent(&self) -> &str {
        match self {
            Trial::Start { contract, .. } => &contract.contract.agent,
            Trial::Promote { agent, .. } | Trial::RollBack { agent, .. } => agent,
        }
    }

    /// Why.
    pub fn because(&self) -> &str {
        match self {
            Trial::Start { because, .. } | Trial::Promote { because, .. } | Trial::RollBack { because, .. } => because,
        }
    }

    pub(super) fn kind(&self) -> ActKind {
        match self {
            Trial::Start { .. } => ActKind::StartCanary,
            Trial::Promote { .. } => ActKind::PromoteCanary,
            Trial::RollBack { .. } => ActKind::RollBackCanary,
        }
    }

    /// The candidate in full: nobody may have registered it, and then its words stand nowhere else.
    pub(super) fn to_json(&self) -> Json {
        let (agent, because) = (("agent", Json::text(self.agent())), ("because", Json::text(self.because())));
        match self {
            Trial::Start { contract, beside, share, .. } => Json::object([
                agent,
                ("contract", Json::text(contract.digest.to_string())),
                ("text", contract.contract.to_json()),
                ("beside", Json::text(beside.digest.to_string())),
                ("share", Json::text(share.to_string())),
                because,
            ]),
            Trial::Promote { contract, .. } => {
                Json::object([agent, ("contract", Json::text(contract.to_string())), because])
            }
            Trial::RollBack { .. } => Json::object([agent, because]),
        }
    }

    pub(super) fn read_start(command: &Json, contracts: &mut dyn Contracts) -> Option<Act> {
        let contract = contracts.compile(command.get("text")?)?;
        let is_whole = digest(command, "contract") == Some(contract.digest)
            && contract.contract.agent == text_of(command, "agent")?;
        let beside = contracts.known(digest(command, "beside")?).filter(|_| is_whole)?;
        let share = Share::parse(command.get("share")?.as_text()?)?;
        Some(Act::Try(Box::new(Trial::Start { contract, beside, share, because: text_of(command, "because")? })))
    }

    pub(super) fn read_promotion(command: &Json) -> Option<Act> {
        let (agent, because) = (text_of(command, "agent")?, text_of(command, "because")?);
        Some(Act::Try(Box::new(Trial::Promote { agent, contract: digest(command, "contract")?, because })))
    }

    pub(super) fn read_roll_back(command: &Json) -> Option<Act> {
        let (agent, because) = (text_of(command, "agent")?, text_of(command, "because")?);
        Some(Act::Try(Box::new(Trial::RollBack { agent, because })))
    }
}

fn digest(command: &Json, key: &str) -> Option<Digest> {
    Digest::parse(command.get(key)?.as_text()?)
}

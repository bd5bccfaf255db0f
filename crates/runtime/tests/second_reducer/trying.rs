//! Candidates on a share of the flows, once more by hand.

use crate::commands::Who;
use crate::contracts::rules;
use crate::reducer::{Canary, Reducer, Said};
use values::ids::Digest;

impl Canary {
    fn takes(&self, flow: &str) -> bool {
        let digest = Digest::of_parts(&[self.word.as_bytes(), flow.as_bytes()]).to_string();
        let number = u64::from_str_radix(&digest[..16], 16).unwrap();
        number % 10_000 < self.share
    }
}

impl Reducer {
    /// The contract in force for a flow.
    pub fn in_force(&self, agent: &str, flow: &str) -> Option<String> {
        let agent = self.agents.get(agent)?;
        match &agent.canary {
            Some(canary) if canary.takes(flow) => Some(canary.contract.clone()),
            _ => agent.contract.clone(),
        }
    }

    pub fn start_canary(&mut self, number: usize, who: &Who, contract: &str, share: u64) -> Said {
        let new = rules(contract);
        if let Some(said) = self.may_not_try(who, new.agent) {
            return said;
        }
        let known = self.agents[new.agent].clone();
        let Some(in_force) = known.contract else { return Said::reject("CONTRACT_INACTIVE") };
        if in_force == contract {
            return Said::reject("STEP_REFUSED");
        }
        let differs = |(name, stock, capacity): &(&str, bool, i64)| {
            self.declared.get(*name).is_some_and(|known| *known != (*stock, *capacity))
        };
        if new.group != rules(&in_force).group || new.resources.iter().any(differs) {
            return Said::reject("CONTRACT_INVALID");
        }
        for (name, stock, capacity) in &new.resources {
            self.declared.insert((*name).to_owned(), (*stock, *capacity));
        }
        let same = known.canary.filter(|canary| canary.contract == contract);
        let word = same.map_or_else(|| format!("c-{number}"), |canary| canary.word);
        let canary = Canary { contract: contract.to_owned(), share, word };
        self.agents.entry(new.agent.to_owned()).and_modify(|agent| agent.canary = Some(canary));
        Said::accept()
    }

    /// Promoted by somebody who looked at the right candidate or at another, or rolled back.
    pub fn end_canary(&mut self, who: &Who, name: &str, promoted: Option<bool>) -> Said {
        if let Some(said) = self.may_not_try(who, name) {
            return said;
        }
        let Some(canary) = self.agents[name].canary.clone() else { return Said::reject("STEP_REFUSED") };
        if promoted == Some(false) {
            return Said::reject("STATE_CONFLICT");
        }
        if let Some(agent) = self.agents.get_mut(name) {
            agent.canary = None;
            agent.contract = if promoted.is_some() { Some(canary.contract) } else { agent.contract.take() };
        }
        Said::accept()
    }

    fn may_not_try(&self, who: &Who, agent: &str) -> Option<Said> {
        let Some(agent) = self.agents.get(agent) else { return Some(Said::reject("AGENT_NOT_REGISTERED")) };
        if agent.base == "RETIRED" {
            return Some(Said::reject("AGENT_RETIRED"));
        }
        (!matches!(who, Who::Operator(_))).then(|| Said::reject("NOT_AUTHORIZED"))
    }
}

//! What agents do in their flows besides proposing, once more by hand: questions of their own, and holds.

use crate::commands::{Proposal, Who};
use crate::contracts::{HOUR, QUESTIONS_MAX, rules};
use crate::reducer::{Question, Reducer, Said};
use std::collections::{BTreeMap, BTreeSet};

/// Something that a flow took; it may take some of the same again.
#[derive(Clone, Debug)]
pub struct FlowHold {
    pub flow: String,
    pub resource: String,
    pub amount: i64,
    pub until: Option<i64>,
}

impl Reducer {
    pub fn inquire(&mut self, number: usize, (who, agent, flow): (&Who, &str, &str), reason: &str, at: i64) -> Said {
        let own = self.flows.get(flow).is_some_and(|flow| flow.agent == agent);
        if !own || !self.speaks_for(who, flow) {
            return Said::reject("FLOW_UNKNOWN");
        }
        if self.flows[flow].state != "OPEN" || self.is_aborted(flow) {
            return Said::reject("FLOW_CLOSED");
        }
        if reason.is_empty() {
            return Said::reject("PARAM_INVALID");
        }
        if let Some(code) = self.stopped(&[agent]) {
            return Said::reject(code);
        }
        let Some(known) = self.agents.get(agent) else { return Said::reject("AGENT_NOT_REGISTERED") };
        match known.status() {
            "RETIRED" => return Said::reject("AGENT_RETIRED"),
            "SUSPENDED" => return Said::reject("AGENT_SUSPENDED"),
            _ if known.base == "REGISTERED" => return Said::reject("CONTRACT_INACTIVE"),
            _ => {}
        }
        let recent = |asked: &&Question| asked.proposal.agent == agent && asked.asked_at > at - HOUR;
        if self.questions.iter().filter(recent).count() >= QUESTIONS_MAX {
            if let Some(agent) = self.agents.get_mut(agent) {
                agent.hold_against("PASSIVE", "Kernel", &[]);
            }
            return Said::reject("ESCALATION_BUDGET_EXHAUSTED");
        }
        let contract = self.contract_of(agent, flow);
        let rules = rules(&contract);
        self.questions.push(Question {
            name: format!("e-{number}"),
            proposal: nothing(agent),
            flow: flow.to_owned(),
            quorum: rules.quorum,
            signed: rules.signed,
            contract,
            asked_at: at,
            intent: String::new(),
            state: "OPEN",
            subject: None,
            own: true,
            asked_by: if let Who::Operator(person) = who { Some(person.clone()) } else { None },
            denied: false,
            votes: BTreeMap::new(),
        });
        Said::accept()
    }

    /// What flows other than one hold of a resource.
    pub fn held_by_flows(&self, resource: &str, except: &str, at: i64) -> i64 {
        let counts = |hold: &&FlowHold| hold.until.is_none_or(|until| at < until);
        let others = self.holds.iter().filter(|hold| hold.resource == resource && hold.flow != except);
        others.filter(counts).map(|hold| hold.amount).sum()
    }

    /// Everything that is wanted or nothing.
    pub fn reserve(
        &mut self,
        (who, flow): (&Who, &str),
        wanted: &[(String, i64)],
        available: i64,
        until: Option<i64>,
        at: i64,
    ) -> Said {
        if !self.speaks_for(who, flow) {
            return Said::reject("FLOW_UNKNOWN");
        }
        if self.flows[flow].state != "OPEN" {
            return Said::reject("FLOW_CLOSED");
        }
        // The last word about a resource is what is wanted of it.
        let wanted: BTreeMap<&String, i64> = wanted.iter().map(|(name, amount)| (name, *amount)).collect();
        if wanted.values().any(|amount| *amount < 0) || until.is_some_and(|until| until <= at) {
            return Said::reject("PARAM_INVALID");
        }
        for (resource, amount) in &wanted {
            let total = self.held_by(flow, resource, at) + amount;
            if total > available {
                return Said::reject("RESOURCE_INSUFFICIENT");
            }
            if total > available - self.held(resource) - self.held_by_flows(resource, flow, at) {
                return Said::reject("RESOURCE_CONTENTION");
            }
        }
        for (resource, amount) in wanted {
            // What the flow had is renewed together with what it takes.
            let amount = self.held_by(flow, resource, at) + amount;
            self.holds.retain(|hold| hold.flow != flow || hold.resource != *resource);
            let (flow, resource) = (flow.to_owned(), resource.clone());
            self.ever_held.insert(resource.clone());
            self.holds.push(FlowHold { flow, resource, amount, until });
        }
        Said::accept()
    }

    fn held_by(&self, flow: &str, resource: &str, at: i64) -> i64 {
        let own = self.holds.iter().filter(|hold| hold.flow == flow && hold.resource == resource);
        own.filter(|hold| hold.until.is_none_or(|until| at < until)).map(|hold| hold.amount).sum()
    }

    pub fn release(&mut self, who: &Who, flow: &str, resources: &[String]) -> Said {
        if !self.speaks_for(who, flow) {
            return Said::reject("FLOW_UNKNOWN");
        }
        let named = |resource: &String| resources.is_empty() || resources.contains(resource);
        self.holds.retain(|hold| hold.flow != flow || !named(&hold.resource));
        Said::accept()
    }

    /// Every resource that anything is known of, and who holds how much of it.
    pub fn resources_held(&self, at: i64) -> BTreeMap<String, BTreeMap<String, i64>> {
        let names: BTreeSet<&String> = self.declared.keys().chain(&self.ever_held).collect();
        let flows = |resource: &String| {
            let live = self.holds.iter().filter(|hold| hold.resource == *resource);
            let live = live.filter(|hold| hold.until.is_none_or(|until| at < until));
            live.map(|hold| (hold.flow.clone(), hold.amount)).collect()
        };
        names.into_iter().map(|name| (name.clone(), flows(name))).collect()
    }
}

fn nothing(agent: &str) -> Proposal {
    Proposal {
        id: None,
        agent: agent.to_owned(),
        action: String::new(),
        order: String::new(),
        amount: 0,
        flow: None,
        snapshot: None,
        key: None,
        tokens: 0,
        valid_until: None,
        created_at: None,
        opens: false,
        by_runtime: false,
        under: None,
    }
}

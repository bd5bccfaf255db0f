//! Canaries as values: candidates that a share of an agent's flows is under, and what was decided under each of the two
//! contracts.

use crate::error::Error;
use crate::evaluation::interval::{Estimate, Share as Part};
use crate::history::History;
use crate::keeper::carried_out;
use crate::report::VerdictCounts;
use kernel::agent::Actor;
use kernel::canary::{Canary, Share};
use kernel::change::{Act, Trial};
use kernel::evaluator::Compiled;
use kernel::outcome::{Answer, Verdict};
use kernel::record::RecordKind;
use kernel::stored::Kind;
use kernel::world::Row;
use runtime::Runtime;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::ids::Digest;
use values::json::Json;

/// Agents that are read at once.
const PAGE: usize = 512;

/// What was decided about an agent under one contract.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// The contract.
    pub contract: Option<Digest>,
    /// How often each verdict was given.
    pub verdicts: VerdictCounts,
    /// Why something was refused or asked about, and how often.
    pub reasons: BTreeMap<String, u64>,
}

/// Both sides of a canary since it started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    pub canary: Canary,
    pub in_force: Side,
    pub candidate: Side,
}

/// Puts a share of the flows of the candidate's agent under it, or changes the share.
pub fn start(
    runtime: &Runtime,
    by: &Actor,
    candidate: Arc<Compiled>,
    share: Share,
    because: &str,
) -> Result<(), Error> {
    carried_out(runtime.start_canary(by.clone(), candidate, share, because.to_owned())).map(|_| ())
}

/// Puts the candidate in force for every flow, if it is this one.
pub fn promote(runtime: &Runtime, by: &Actor, agent: &str, contract: Digest, because: &str) -> Result<(), Error> {
    let trial = Trial::Promote { agent: agent.to_owned(), contract, because: because.to_owned() };
    carried_out(runtime.change(by.clone(), Act::Try(Box::new(trial)))).map(|_| ())
}

/// Puts every flow under the contract in force again.
pub fn roll_back(runtime: &Runtime, by: &Actor, agent: &str, because: &str) -> Result<(), Error> {
    let trial = Trial::RollBack { agent: agent.to_owned(), because: because.to_owned() };
    carried_out(runtime.change(by.clone(), Act::Try(Box::new(trial)))).map(|_| ())
}

/// The canaries that run, by agent.
pub fn running(runtime: &Runtime) -> Result<Vec<(String, Canary)>, Error> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = runtime.scan(Kind::Agent, after.as_deref(), PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        after = Some(last.entity.parts().0.to_owned());
        for (key, row) in page {
            if let Row::Agent(row) = row {
                found.extend(row.canary.map(|canary| (key.entity.parts().0.to_owned(), canary)));
            }
        }
    }
}

/// What was decided under each of the two contracts since each canary started.
pub fn comparisons(runtime: &Runtime) -> Result<Vec<(String, Comparison)>, Error> {
    let running = running(runtime)?;
    running.into_iter().map(|(agent, canary)| Ok((agent.clone(), compare(runtime, &agent, canary)?))).collect()
}

/// What was decided about an agent under each of the two contracts since its canary started.
pub fn compare(runtime: &Runtime, agent: &str, canary: Canary) -> Result<Comparison, Error> {
    let candidate = Side { contract: Some(canary.contract), ..Side::default() };
    let mut compared = Comparison { candidate, in_force: Side::default(), canary };
    let mut history = History::since(runtime, Some(compared.canary.since))?;
    while let Some(body) = history.next_body()? {
        if RecordKind::of(&body) == Some(RecordKind::Decision) {
            compared.take(&body, agent);
        }
    }
    Ok(compared)
}

impl Comparison {
    fn take(&mut self, body: &Json, agent: &str) {
        let text = |part: &str, key: &str| body.get(part)?.get(key)?.as_text();
        let contract = text("contract", "digest").and_then(Digest::parse);
        let Some((answer, contract)) = Answer::from_record(body).zip(contract) else { return };
        if text("proposal", "agent") != Some(agent) {
            return;
        }
        let side = if contract == self.canary.contract { &mut self.candidate } else { &mut self.in_force };
        side.contract = Some(contract);
        let verdicts = &mut side.verdicts;
        let count = match answer.verdict {
            Verdict::Accept => &mut verdicts.accepted,
            Verdict::Reject => &mut verdicts.rejected,
            Verdict::Escalate => &mut verdicts.escalated,
        };
        *count += 1;
        if answer.verdict != Verdict::Accept {
            for code in answer.reasons() {
                *side.reasons.entry(code.to_owned()).or_default() += 1;
            }
        }
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("share", Json::text(self.canary.share.to_string())),
            ("since", Json::text(self.canary.since.to_string())),
            ("by", Json::text(self.canary.by.as_str())),
            ("because", Json::text(self.canary.because.as_str())),
            ("in_force", self.in_force.to_json()),
            ("candidate", self.candidate.to_json()),
        ])
    }
}

impl Side {
    /// Decisions.
    pub fn decisions(&self) -> u64 {
        self.verdicts.accepted + self.verdicts.rejected + self.verdicts.escalated
    }

    /// Of the decisions, the part that was accepted, with its interval.
    pub fn accepted(&self) -> Option<Estimate> {
        Part { of: self.verdicts.accepted, all: self.decisions() }.estimate()
    }

    fn to_json(&self) -> Json {
        let reasons = self.reasons.iter().map(|(code, count)| (code.clone(), Json::from(*count)));
        Json::object([
            ("contract", Json::from(self.contract.map(|digest| digest.to_string()))),
            ("decisions", Json::from(self.decisions())),
            ("accepted", Json::from(self.verdicts.accepted)),
            ("rejected", Json::from(self.verdicts.rejected)),
            ("escalated", Json::from(self.verdicts.escalated)),
            ("reasons", Json::Object(reasons.collect())),
        ])
    }
}

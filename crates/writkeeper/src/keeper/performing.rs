//! Performing one intent in the embedding program: taken up by one caller, and reported.
//!
//! An intent that a function performs is claimed and marked, which only one caller can. An intent that the agent's host
//! performs is the caller's whose proposal it answers; where a person approved it later, the first caller that notes so
//! in the agent's own state has it.

use super::{Keeper, carried_out};
use crate::error::Error;
use crate::lookup;
use kernel::agent::Actor;
use kernel::change::{Act, AttachedResult, Write};
use kernel::contract::Executor;
use kernel::event::Event;
use kernel::finding::{Finding, Gate};
use kernel::intent::{IntentEvent, IntentRow, IntentState, Observed, Order, Running, provider_key};
use kernel::reasons::Reason;
use kernel::result::{EffectResult, Response, ResponseStatus, Secrets};
use kernel::world::{Entity, Row};
use runtime::execute::timing;
use values::json::{Json, Object};

/// Who answers for an intent that is taken up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taker {
    /// The caller that the acceptance was just given to.
    Asker,
    /// Anyone else: somebody may have it already.
    Later,
}

/// An intent that this caller, and no other, performs.
#[derive(Clone, PartialEq, Debug)]
pub struct TakenIntent {
    pub intent: String,
    pub agent: String,
    pub action: String,
    /// What to perform, with the params that the ledger withholds.
    pub params: Object,
    /// The key under which the other side recognises the effect.
    pub key: String,
    /// The claim; nothing where the agent's host performs it.
    pub epoch: Option<u64>,
}

impl TakenIntent {
    /// For programs.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("intent", Json::text(self.intent.as_str())),
            ("agent", Json::text(self.agent.as_str())),
            ("action", Json::text(self.action.as_str())),
            ("params", Json::Object(self.params.clone())),
            ("key", Json::text(self.key.as_str())),
            ("epoch", self.epoch.map_or(Json::Null, Json::from)),
        ])
    }
}

/// What became of an intent, as its performer says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PerformerReport {
    /// What was observed.
    pub observed: Observed,
    /// In a few words, for the record.
    pub detail: String,
    /// The claim it was performed under; without one the latest.
    pub epoch: Option<u64>,
    /// What the other side answered, and its content type.
    pub result: Option<(Vec<u8>, String)>,
}

impl Keeper {
    /// Takes up an intent for performing it in this process, or says why that may not be.
    pub fn take_up(&self, intent: &str, worker: &str, taker: Taker) -> Result<TakenIntent, Error> {
        let (name, row) = lookup::intent(self.runtime(), intent)?;
        let Some(running) = &row.running else { return Err(in_progress(&name, &row)) };
        match (row.state, running.order.executor()) {
            (IntentState::HandedOut, _) if taker == Taker::Asker => {}
            (IntentState::HandedOut, _) if running.approved => self.note_taken(&name, &row, worker)?,
            (IntentState::Ready, Some(Executor::Function(_))) => return self.claimed(&name, &row, worker),
            (IntentState::Ready, Some(other)) => {
                let summary = other.summary();
                let problem = format!("a worker performs intent `{name}` ({summary}), not the program that asks");
                return Err(Error::Usage(problem));
            }
            (
                IntentState::Ready
                | IntentState::Claimed
                | IntentState::InFlight
                | IntentState::HandedOut
                | IntentState::Unreported
                | IntentState::Succeeded
                | IntentState::Failed
                | IntentState::Cancelled
                | IntentState::InDoubt
                | IntentState::Abandoned,
                _,
            ) => return Err(in_progress(&name, &row)),
        }
        Ok(self.taken(&name, &row, running, None))
    }

    /// Says what became of an intent that was taken up. The same report again changes nothing.
    pub fn report_outcome(&self, intent: &str, report: &PerformerReport) -> Result<IntentState, Error> {
        let (name, row) = lookup::intent(self.runtime(), intent)?;
        let running = row.running.as_deref();
        let result = report.result.clone().map(|(body, content_type)| {
            let (status, content_type) = (ResponseStatus::Reported, Some(content_type));
            let response = Response { status, content_type, body, complete: true, secrets: Vec::new() };
            let secrets = running.map_or_else(|| Secrets::Known(Vec::new()), Secrets::of);
            AttachedResult::Given(Box::new(EffectResult::of(response, secrets)))
        });
        let (event, reached) = match report.observed {
            Observed::Positive => (IntentEvent::Succeed, IntentState::Succeeded),
            Observed::Negative => (IntentEvent::Fail, IntentState::Failed),
            Observed::Unknown => (IntentEvent::Doubt, IntentState::InDoubt),
        };
        if row.state == reached {
            return Ok(reached);
        }
        let (actor, act) = match running.filter(|running| !running.by_host) {
            Some(running) => {
                let (epoch, detail) = (report.epoch.unwrap_or(running.epoch), report.detail.clone());
                let detail = Secrets::of(running).removed_from(&detail);
                (Actor::Kernel, Act::Outcome { intent: name.clone(), epoch, observed: report.observed, detail, result })
            }
            None => (Actor::Agent(row.facts.agent().to_owned()), Act::Settle { intent: name.clone(), event, result }),
        };
        let answered = carried_out(self.runtime().change(actor, act))?;
        let left = answered.event.as_deref().and_then(Event::intent_left).map(|(state, _)| state);
        match left {
            Some(state) => Ok(state),
            None => self.intent_state(&name).map(|state| state.unwrap_or(reached)),
        }
    }

    /// Calls off an intent that nobody started.
    pub fn call_off(&self, intent: &str) -> Result<(), Error> {
        let (name, row) = lookup::intent(self.runtime(), intent)?;
        let agent = Actor::Agent(row.facts.agent().to_owned());
        let act = Act::Settle { intent: name, event: IntentEvent::Cancel, result: None };
        carried_out(self.runtime().change(agent, act)).map(|_| ())
    }

    /// Where an intent stands, if there is one of exactly this id.
    pub fn intent_state(&self, intent: &str) -> Result<Option<IntentState>, Error> {
        match self.runtime().read(Entity::Intent(intent.to_owned()))? {
            Some(Row::Intent(row)) => Ok(Some(row.state)),
            Some(_) | None => Ok(None),
        }
    }

    fn claimed(&self, name: &str, row: &IntentRow, worker: &str) -> Result<TakenIntent, Error> {
        let Some(running) = &row.running else { return Err(in_progress(name, row)) };
        let lease = timing::lease(None, running.timeout());
        let claim = Act::Claim { intent: name.to_owned(), worker: worker.to_owned(), lease };
        let claimed = carried_out(self.runtime().change(Actor::Kernel, claim))?;
        let Some(Event::IntentClaimed { step, .. }) = claimed.event.as_deref() else {
            return Err(in_progress(name, row));
        };
        let start = Act::Start { intent: name.to_owned(), epoch: step.epoch, attempt: running.digest() };
        carried_out(self.runtime().change(Actor::Kernel, start))?;
        Ok(self.taken(name, row, running, Some(step.epoch)))
    }

    /// Only one caller can write a key that is not there yet.
    fn note_taken(&self, name: &str, row: &IntentRow, worker: &str) -> Result<(), Error> {
        let agent = row.facts.agent();
        let write = Write { key: format!("agents/{agent}/taken/{name}"), value: Json::text(worker), expect: Some(0) };
        match self.merge(&Actor::Agent(agent.to_owned()), vec![write]) {
            Ok(_) => Ok(()),
            Err(Error::Refused(_)) => Err(in_progress(name, row)),
            Err(error) => Err(error),
        }
    }

    fn taken(&self, name: &str, row: &IntentRow, running: &Running, epoch: Option<u64>) -> TakenIntent {
        let Order { agent, action, .. } = &running.order;
        TakenIntent {
            intent: name.to_owned(),
            agent: agent.clone(),
            action: action.clone(),
            params: running.params(),
            key: provider_key(self.runtime().tenant(), row.facts.effect_key()),
            epoch,
        }
    }
}

/// Somebody has it, or had it.
fn in_progress(name: &str, row: &IntentRow) -> Error {
    let reason = if row.state == IntentState::Succeeded { Reason::AlreadyDone } else { Reason::InProgress };
    let finding = Finding::reject(Gate::EffectKey, reason);
    Error::Refused(vec![finding.with("effect_key", row.facts.effect_key()).with("intent", name)])
}

//! Which entities a submission touches, named before anything is loaded.

use crate::command::Submission;
use crate::contract::EffectClass;
use crate::gates::reservations;
use crate::ids::Digest;
use crate::json::Json;
use crate::world::{Entity, Key, KeySet};
use std::collections::BTreeMap;

/// The name under which the budget of questions is kept.
pub(super) const ESCALATIONS: &str = "escalations";

/// Everything a submission touches, by name.
pub(super) struct Touched {
    /// The stored answer, where the proposal has an idempotency key.
    pub idempotency: Option<Key>,
    /// The agent.
    pub agent: Key,
    /// The flow.
    pub flow: Key,
    /// The business key, and where it is kept.
    pub effect: Option<(String, Key)>,
    /// Resources by name.
    pub resources: BTreeMap<String, Key>,
    /// Budgets by name.
    pub budgets: BTreeMap<String, Key>,
    /// The budget of questions.
    pub escalations: Key,
    /// State: template text, key of state, key of the entity.
    pub state: Vec<(String, String, Key)>,
    /// The named snapshot.
    pub snapshot: Option<Key>,
}

impl Touched {
    pub(super) fn by(submission: &Submission) -> Touched {
        let key = |entity| Key { tenant: submission.tenant.clone(), entity };
        let proposal = &submission.proposal;
        let agent = &proposal.agent;
        let request = submission.request();
        let budget_key = |name: &str| key(Entity::Budget(agent.clone(), name.to_owned()));
        let planned = request.action().map(|action| action.compiled.plan.budgets.as_slice()).unwrap_or_default();
        let resources = reservations::wanted(&request).into_keys();
        let idempotency = proposal.idempotency_key.as_ref();
        Touched {
            idempotency: idempotency.map(|name| key(Entity::Idempotency(agent.clone(), name.clone()))),
            agent: key(Entity::Agent(agent.clone())),
            flow: key(Entity::Flow(submission.flow_id().to_owned())),
            effect: effect_key(submission).map(|name| (name.clone(), key(Entity::Effect(name)))),
            resources: resources.map(|name| (name.to_owned(), key(Entity::Resource(name.to_owned())))).collect(),
            budgets: planned.iter().map(|budget| (budget.name.clone(), budget_key(&budget.name))).collect(),
            escalations: budget_key(ESCALATIONS),
            state: state_keys(submission, &key),
            snapshot: proposal.snapshot.as_ref().map(|name| key(Entity::Snapshot(name.clone()))),
        }
    }

    pub(super) fn keys(&self) -> KeySet {
        let single = [&self.agent, &self.flow, &self.escalations].into_iter();
        let optional = [self.idempotency.as_ref(), self.effect.as_ref().map(|(_, key)| key), self.snapshot.as_ref()];
        let many = self.resources.values().chain(self.budgets.values());
        single
            .chain(optional.into_iter().flatten())
            .chain(many)
            .chain(self.state.iter().map(|(_, _, key)| key))
            .cloned()
            .collect()
    }
}

/// The business key of the effect: as the contract says, else flow, step and params.
fn effect_key(submission: &Submission) -> Option<String> {
    let request = submission.request();
    let action = request.action()?;
    let class = action.rules.run.as_ref().map_or(EffectClass::Opaque, |run| run.class);
    if action.rules.reads || class == EffectClass::None {
        return None;
    }
    match &action.rules.once {
        // A key that cannot be rendered has been refused by shape.
        Some(once) => once.render(&submission.proposal.params).ok(),
        None => {
            let params = Json::Object(submission.proposal.params.clone()).to_canonical();
            let step = submission.proposal.step.as_deref().unwrap_or_default();
            let parts = [
                submission.flow_id().as_bytes(),
                step.as_bytes(),
                submission.proposal.action.as_bytes(),
                params.as_bytes(),
            ];
            Some(format!("step:{}", Digest::of_parts(&parts)))
        }
    }
}

fn state_keys(submission: &Submission, key: &impl Fn(Entity) -> Key) -> Vec<(String, String, Key)> {
    let Some(action) = submission.request().action() else { return Vec::new() };
    let rendered = action.compiled.state_keys.iter().filter_map(|template| {
        let name = template.render(&submission.proposal.params).ok()?;
        Some((template.as_str().to_owned(), name.clone(), key(Entity::State(name))))
    });
    rendered.collect()
}

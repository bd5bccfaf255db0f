//! Which entities a submission touches, named before anything is loaded.

use super::{attending, watching};
use crate::command::Submission;
use crate::contract::EffectClass;
use crate::evaluator::Compiled;
use crate::flow_name::name_key;
use crate::gates::reservations;
use crate::lease::kept::BOOK;
use crate::plan::PlannedBudget;
use crate::template::Template;
use crate::world::{Entity, Key, KeySet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use values::ids::Digest;
use values::json::{Json, Object};

/// The name under which the budget of questions is kept.
pub(super) const ESCALATIONS: &str = "escalations";

/// Where state holds effects in our own store, each under its business key.
pub(super) const LOCAL_EFFECTS: &str = "effects/";

/// Everything a submission touches, by name.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    /// The tenant, with its kill switch.
    pub tenant: Key,
    /// The stored answer, where the proposal has an idempotency key.
    pub idempotency: Option<Key>,
    /// Where it is kept what the caller's id was used for.
    pub named: Option<Key>,
    /// Where it is kept that a proof was used.
    pub proof: Option<Key>,
    /// The agent.
    pub agent: Key,
    /// The flow.
    pub flow: Key,
    /// Whether the proposal named it. One that was minted for it cannot exist yet, so nobody has to look.
    pub flow_named: bool,
    /// The business key, and where it is kept.
    pub effect: Option<(String, Key)>,
    /// Where an effect in our own store is written.
    pub local: Option<Key>,
    /// Resources by name.
    pub resources: BTreeMap<String, Key>,
    /// Budgets by name.
    pub budgets: BTreeMap<String, Key>,
    /// Monitors that look at the action, by name.
    pub monitors: BTreeMap<String, Key>,
    /// The agents above, with their budgets by name.
    pub ancestors: Vec<(Key, BTreeMap<String, Key>)>,
    /// The budget of questions.
    pub escalations: Key,
    /// See [`Touched::asked`].
    asked: OnceLock<Option<Key>>,
    /// Whether the contract's own lines may ask a person. Then the last question is looked at with everything else, and
    /// only when someone is to be asked otherwise.
    pub asks: bool,
    /// Where state says how many questions the people take who may be asked by such a line.
    pub attention: Vec<Key>,
    /// State: template text, key of state, key of the entity.
    pub state: Vec<(String, String, Key)>,
    /// The named snapshot.
    pub snapshot: Option<Key>,
    /// The leases, where the action says what it writes.
    pub leases: Option<Key>,
    /// What the flow is called, where leases are looked at.
    pub flow_name: Option<Key>,
}

impl Touched {
    /// Of a submission; [`Submission::touched`] remembers it.
    pub(crate) fn by(submission: &Submission) -> Touched {
        let key = |entity| Key { tenant: submission.tenant.clone(), entity };
        let proposal = &submission.proposal;
        let agent = &proposal.agent;
        let request = submission.request();
        let budgets = |whose: &str, contract: &Compiled| -> BTreeMap<String, Key> {
            let planned = planned_budgets(contract, &proposal.action);
            let named = |name: &String| (name.clone(), key(Entity::Budget(whose.to_owned(), name.clone())));
            planned.iter().map(|budget| named(&budget.name)).collect()
        };
        let above = |contract: &Compiled| {
            let name = &contract.contract.agent;
            (key(Entity::Agent(name.clone())), budgets(name, contract))
        };
        let resources = reservations::wanted(&request).into_keys();
        let idempotency = proposal.idempotency_key.as_ref();
        let effect = effect_key(submission);
        let local = effect.as_ref().filter(|_| is_local(submission));
        let asks = asks(submission);
        let escalation = &submission.contract.contract.escalation;
        let touched = Touched {
            tenant: key(Entity::Tenant),
            idempotency: idempotency.map(|name| key(Entity::Idempotency(agent.clone(), name.clone()))),
            // No caller can choose a key that starts with a blank.
            named: proposal.id.as_ref().map(|id| key(Entity::proposal_id(agent, id))),
            proof: submission.proof.as_ref().map(|proof| {
                let name = format!(" proof:{}", proof.envelope().digest());
                key(Entity::Idempotency(agent.clone(), name))
            }),
            agent: key(Entity::Agent(agent.clone())),
            flow: key(Entity::Flow(submission.flow_id().to_owned())),
            flow_named: proposal.flow.is_some(),
            local: local.map(|name| key(Entity::State(format!("{LOCAL_EFFECTS}{name}")))),
            effect: effect.map(|name| (name.clone(), key(Entity::Effect(name)))),
            resources: resources.map(|name| (name.to_owned(), key(Entity::Resource(name.to_owned())))).collect(),
            budgets: budgets(agent, &submission.contract),
            monitors: monitors(submission, &key),
            ancestors: submission.ancestors.iter().map(|contract| above(contract)).collect(),
            asked: OnceLock::new(),
            asks,
            attention: if asks { attending::rules(&submission.tenant, escalation).collect() } else { Vec::new() },
            escalations: key(Entity::Budget(agent.clone(), ESCALATIONS.to_owned())),
            state: state_keys(submission, &key),
            snapshot: proposal.snapshot.as_ref().map(|name| key(Entity::Snapshot(name.clone()))),
            leases: request
                .action()
                .filter(|action| action.rules.leases.is_some())
                .map(|_| key(Entity::State(BOOK.to_owned()))),
            flow_name: request
                .action()
                .filter(|action| action.rules.leases.is_some() && proposal.flow.is_some())
                .map(|_| key(Entity::State(name_key(agent, submission.flow_id())))),
        };
        if touched.asks {
            touched.asked(submission);
        }
        touched
    }

    /// Where the last question about the same effect is named; nothing where no other proposal can be about it. Few
    /// proposals lead to a question, so the name is worked out when it is needed.
    pub(super) fn asked(&self, submission: &Submission) -> Option<&Key> {
        let named = || {
            let effect = self.effect.as_ref().map(|(name, _)| name.as_str());
            let entity = Entity::Asked(submission.proposal.agent.clone(), subject(submission, effect)?);
            Some(Key { tenant: submission.tenant.clone(), entity })
        };
        self.asked.get_or_init(named).as_ref()
    }

    /// The same, where it was worked out already.
    pub(super) fn asked_if_known(&self) -> Option<&Key> {
        self.asked.get().and_then(Option::as_ref)
    }

    /// The keys to load first.
    pub(super) fn keys(&self) -> KeySet {
        self.named().cloned().collect()
    }

    /// The keys that must be loaded, in no order; some may come twice.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Key> {
        let single = [&self.tenant, &self.agent, &self.escalations].into_iter();
        let flow = Some(&self.flow).filter(|_| self.flow_named);
        let effect = self.effect.as_ref().map(|(_, key)| key);
        let answered = [self.idempotency.as_ref(), self.named.as_ref(), self.proof.as_ref()];
        let asked = self.asked_if_known().filter(|_| self.asks);
        let optional = [flow, effect, asked, self.snapshot.as_ref()];
        let many = self
            .resources
            .values()
            .chain(self.budgets.values())
            .chain(self.monitors.values())
            .chain(&self.attention)
            .chain(&self.local)
            .chain(&self.leases)
            .chain(&self.flow_name);
        let above = self.ancestors.iter().flat_map(|(agent, budgets)| std::iter::once(agent).chain(budgets.values()));
        single
            .chain(answered.into_iter().chain(optional).flatten())
            .chain(many)
            .chain(above)
            .chain(self.state.iter().map(|(_, _, key)| key))
    }
}

/// The monitors that look at the action.
fn monitors(submission: &Submission, key: &impl Fn(Entity) -> Key) -> BTreeMap<String, Key> {
    let (contract, name) = (&submission.contract.contract, submission.proposal.action.as_str());
    let watched = watching::of_action(contract, name, contract.actions.get(name));
    let named = |name: &String| (name.clone(), key(Entity::Monitor(contract.agent.clone(), name.clone())));
    watched.map(|(name, _)| named(name)).collect()
}

/// Whether a line of the contract, or of one above, may ask a person about the action.
fn asks(submission: &Submission) -> bool {
    let contracts = std::iter::once(&submission.contract).chain(&submission.ancestors);
    let mut actions = contracts.filter_map(|contract| contract.actions.get(&submission.proposal.action));
    actions.any(|action| !action.ask.is_empty())
}

/// What a question is about: the effect, with exactly these params. A flow that was minted for the proposal names nothing that another proposal
/// could be about; then its id does, if it has one.
fn subject(submission: &Submission, effect: Option<&str>) -> Option<String> {
    let proposal = &submission.proposal;
    let request = submission.request();
    let has_key = effect.is_some() && request.action().is_some_and(|action| action.rules.once.is_some());
    if has_key || proposal.flow.is_some() {
        return match effect {
            Some(effect) if has_key => Some(format!("effect:{effect}:{}", said(submission))),
            Some(effect) => Some(format!("effect:{effect}")),
            None => Some(format!("read:{}", within_flow(submission))),
        };
    }
    proposal.id.as_ref().map(|id| format!("id:{id}"))
}

/// The budgets an action has under a contract.
pub(super) fn planned_budgets<'a>(contract: &'a Compiled, action: &str) -> &'a [PlannedBudget] {
    contract.actions.get(action).map(|action| action.plan.budgets.as_slice()).unwrap_or_default()
}

/// Whether the effect is in our own store, and so happens with the decision.
pub(super) fn is_local(submission: &Submission) -> bool {
    let request = submission.request();
    let run = request.action().and_then(|action| action.rules.run.as_ref());
    run.is_some_and(|run| run.class == EffectClass::Local)
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
        None => Some(within_flow(submission)),
    }
}

/// Flow, step, action and params as one name.
fn within_flow(submission: &Submission) -> String {
    // The flow comes first: its id is ordered by time, and stores stay fast when keys arrive in order.
    format!("flow:{}:{}", submission.flow_id(), said(submission))
}

/// Step, action and params as a digest.
fn said(submission: &Submission) -> Digest {
    // Secrets do not name effects: a digest of a short one would give it away.
    let action = submission.request().action();
    let is_secret = |name: &str| action.is_some_and(|action| action.is_secret(name));
    let named = submission.proposal.params.iter().filter(|(name, _)| !is_secret(name));
    let named: Object = named.map(|(name, value)| (name.clone(), value.clone())).collect();
    let params = Json::Object(named).to_canonical();
    let step = submission.proposal.step.as_deref().unwrap_or_default();
    Digest::of_parts(&[step.as_bytes(), submission.proposal.action.as_bytes(), params.as_bytes()])
}

fn state_keys(submission: &Submission, key: &impl Fn(Entity) -> Key) -> Vec<(String, String, Key)> {
    let Some(action) = submission.request().action() else { return Vec::new() };
    let state = |template: &Template| {
        let name = template.render(&submission.proposal.params).ok()?;
        Some((template.as_str().to_owned(), name.clone(), key(Entity::State(name))))
    };
    let own = &action.compiled.state_keys;
    let mut keys: Vec<_> = own.iter().filter_map(state).collect();
    // What contracts above look at is looked at too.
    let above = submission.ancestors.iter().filter_map(|contract| contract.actions.get(&submission.proposal.action));
    let above: BTreeSet<&Template> = above.flat_map(|action| &action.state_keys).collect();
    keys.extend(above.into_iter().filter(|template| !own.contains(*template)).filter_map(state));
    keys
}

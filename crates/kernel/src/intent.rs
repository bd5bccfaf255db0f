//! Intents: what an accepted proposal becomes. Only an intent may cause an effect.

use crate::command::Submission;
use crate::contract::{Action, EffectClass, Impact, ResourceKind};
use crate::flow::ProposalState;
use std::sync::Arc;
use values::decimal::Decimal;
use values::json::Json;
use values::time::Instant;

mod contradiction;
mod machine;
mod order;
mod running;
mod signed;

pub use contradiction::Contradiction;
pub use machine::{DoubtDecision, IntentEvent, IntentState, Observed, Step, transition};
pub use order::Order;
pub(crate) use order::read_hold;
pub use running::{Evidence, HORIZON, LEASE_MAX, Running, provider_key};
pub use signed::SignedIntent;

use order::{Parts, Repeated};

/// Permission to cause one effect.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Its id.
    pub id: String,
    /// The proposal it came from, with its contract.
    pub submission: Arc<Submission>,
    /// The business key of the effect.
    pub effect_key: String,
    /// Not after this.
    pub valid_until: Instant,
    /// What it holds of resources.
    pub holds: Vec<Hold>,
    /// What it took of budgets.
    pub taken: Vec<BudgetDraw>,
}

/// What an intent holds of a resource.
#[derive(Clone, PartialEq, Debug)]
pub struct Hold {
    /// The resource.
    pub resource: String,
    /// How much.
    pub amount: Decimal,
    /// What success does to it.
    pub kind: ResourceKind,
    /// Its unit.
    pub unit: Option<String>,
}

impl Intent {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// As it is answered and recorded; secret params are commitments.
    pub fn to_json(&self) -> Json {
        let mut text = String::with_capacity(512);
        self.write(&mut text);
        Json::parse_own(&text)
    }

    /// Appends the canonical text of what is answered.
    pub(crate) fn write(&self, text: &mut String) {
        self.write_with(text, true);
    }

    /// Appends what the record of its decision holds: all but what stands in that record already.
    pub(crate) fn write_in_record(&self, text: &mut String) {
        self.write_with(text, false);
    }

    fn write_with(&self, text: &mut String, repeats: bool) {
        let submission = &self.submission;
        let action = submission.contract.contract.actions.get(&submission.proposal.action);
        let compiled = submission.contract.actions.get(&submission.proposal.action);
        let run = action.and_then(|action| action.run.as_ref());
        // What a contract says is rendered once for all its intents.
        let write_run = |text: &mut String| match run.zip(compiled) {
            Some((run, compiled)) => text.push_str(compiled.performed.text(|text| order::write_run(run, text))),
            None => text.push_str("null"),
        };
        let write_undo = |text: &mut String| match action.zip(compiled) {
            Some((action, compiled)) => {
                text.push_str(compiled.undone.text(|text| order::write_undo(&action.undo, text)));
            }
            None => text.push_str("null"),
        };
        let repeated = Repeated {
            action: &submission.proposal.action,
            agent: &submission.proposal.agent,
            contract: &submission.contract.digest,
            flow: submission.flow_id(),
            params: &|text| submission.write_shown_params(text),
            proposal: submission.proposal_id(),
        };
        let parts = Parts {
            repeated: repeats.then_some(repeated),
            class: run.map_or(EffectClass::Opaque, |run| run.class),
            effect_key: &self.effect_key,
            holds: &self.holds,
            id: self.id(),
            impact: action.map_or(Impact::High, |action: &Action| action.impact),
            run: &write_run,
            undo: &write_undo,
            undoes: None,
            valid_until: self.valid_until,
        };
        parts.write(text);
    }

    /// The intent of a decision as it was answered, from the body of that decision's record.
    pub fn from_record(body: &Json) -> Option<Json> {
        let mut members = body.get("intent")?.as_object()?.clone();
        let proposal = body.get("proposal")?;
        let said = [
            ("action", proposal.get("action")),
            ("agent", body.get("agent")),
            ("contract", body.get("contract").and_then(|contract| contract.get("digest"))),
            ("flow", body.get("flow")),
            ("params", proposal.get("params")),
            ("proposal", body.get("proposal_id")),
        ];
        for (key, value) in said {
            members.insert(key.to_owned(), value?.clone());
        }
        Some(Json::Object(members))
    }
}

/// Two intents are the same if they say the same.
impl PartialEq for Intent {
    fn eq(&self, other: &Intent) -> bool {
        let text = |intent: &Intent| {
            let mut text = String::new();
            intent.write(&mut text);
            text
        };
        text(self) == text(other)
    }
}

pub(crate) fn hold_json(hold: &Hold) -> Json {
    Json::object([
        ("resource", Json::text(hold.resource.as_str())),
        ("amount", Json::from_decimal(hold.amount)),
        ("kind", Json::text(hold.kind.word())),
        ("unit", Json::from(hold.unit.clone())),
    ])
}

/// An intent as it is kept: where it stands, and what it took.
#[derive(Clone, PartialEq, Debug)]
pub struct IntentRow {
    /// Where it stands.
    pub state: IntentState,
    /// When it was accepted; budgets were taken at this instant.
    pub accepted_at: Instant,
    /// What it is; the answered text stands in the record of its decision.
    pub facts: IntentFacts,
    /// How it is performed; nothing where whoever asked performs it and owes no report.
    pub running: Option<Box<Running>>,
}

impl IntentRow {
    /// Whether it may have happened in an attempt nobody knows the end of. Doubt never leaves an intent by itself.
    pub fn is_doubted(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.doubts > 0)
    }

    /// When something must happen to it of its own accord.
    pub fn due(&self) -> Option<Instant> {
        let running = self.running.as_deref();
        match self.state {
            IntentState::Ready if self.is_doubted() => running.and_then(|running| running.retry_until),
            IntentState::Ready => Some(self.facts.valid_until()),
            IntentState::Claimed | IntentState::InFlight => running.and_then(|running| running.lease_until),
            IntentState::InDoubt => running.and_then(|running| running.retry_at),
            IntentState::HandedOut => self.report_by(),
            IntentState::Unreported
            | IntentState::Succeeded
            | IntentState::Failed
            | IntentState::Cancelled
            | IntentState::Abandoned => None,
        }
    }

    /// Until when a host must have said what became of it.
    pub fn report_by(&self) -> Option<Instant> {
        self.running.as_ref().map(|running| self.facts.valid_until().plus(running.timeout()))
    }
}

/// Where the proposal stands that an intent came from, given how far undoing it is.
pub fn proposal_state(intent: IntentState, undo: Option<IntentState>) -> ProposalState {
    match (intent, undo) {
        (IntentState::Ready | IntentState::Claimed, _) => ProposalState::Accepted,
        (IntentState::InFlight | IntentState::HandedOut | IntentState::Unreported | IntentState::InDoubt, _) => {
            ProposalState::Executing
        }
        (IntentState::Cancelled, _) => ProposalState::Cancelled,
        (IntentState::Failed | IntentState::Abandoned, _) => ProposalState::Failed,
        (IntentState::Succeeded, None) => ProposalState::Done,
        (IntentState::Succeeded, Some(IntentState::Ready | IntentState::Claimed | IntentState::Cancelled)) => {
            ProposalState::Dirty
        }
        (
            IntentState::Succeeded,
            Some(IntentState::InFlight | IntentState::HandedOut | IntentState::Unreported | IntentState::InDoubt),
        ) => ProposalState::Compensating,
        (IntentState::Succeeded, Some(IntentState::Succeeded)) => ProposalState::Compensated,
        (IntentState::Succeeded, Some(IntentState::Failed | IntentState::Abandoned)) => ProposalState::Aborted,
    }
}

/// What is kept of an intent besides its record.
#[derive(Clone, Debug)]
pub enum IntentFacts {
    /// Just made; shares what was judged.
    Made(Arc<Intent>),
    /// Read back from a store.
    Kept(Box<KeptIntent>),
}

/// What a store keeps of an intent.
#[derive(Clone, PartialEq, Debug)]
pub struct KeptIntent {
    /// Who proposed it.
    pub agent: String,
    /// In which flow.
    pub flow: String,
    /// The proposal it came from.
    pub proposal: String,
    /// The business key of the effect.
    pub effect_key: String,
    /// Not after this.
    pub valid_until: Instant,
    /// What it holds of resources.
    pub holds: Vec<Hold>,
    /// What it took of budgets.
    pub taken: Vec<BudgetDraw>,
}

/// What an acceptance took of a budget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BudgetDraw {
    /// Whose budget.
    pub agent: String,
    /// Its name.
    pub budget: String,
    /// How much.
    pub amount: Decimal,
}

impl IntentFacts {
    /// Who proposed it.
    pub fn agent(&self) -> &str {
        match self {
            IntentFacts::Made(intent) => &intent.submission.proposal.agent,
            IntentFacts::Kept(kept) => &kept.agent,
        }
    }

    /// In which flow.
    pub fn flow(&self) -> &str {
        match self {
            IntentFacts::Made(intent) => intent.submission.flow_id(),
            IntentFacts::Kept(kept) => &kept.flow,
        }
    }

    /// The proposal it came from.
    pub fn proposal(&self) -> &str {
        match self {
            IntentFacts::Made(intent) => intent.submission.proposal_id(),
            IntentFacts::Kept(kept) => &kept.proposal,
        }
    }

    /// The business key of the effect.
    pub fn effect_key(&self) -> &str {
        match self {
            IntentFacts::Made(intent) => &intent.effect_key,
            IntentFacts::Kept(kept) => &kept.effect_key,
        }
    }

    /// Not after this.
    pub fn valid_until(&self) -> Instant {
        match self {
            IntentFacts::Made(intent) => intent.valid_until,
            IntentFacts::Kept(kept) => kept.valid_until,
        }
    }

    /// What it holds of resources.
    pub fn holds(&self) -> &[Hold] {
        match self {
            IntentFacts::Made(intent) => &intent.holds,
            IntentFacts::Kept(kept) => &kept.holds,
        }
    }

    /// What it took of budgets.
    pub fn taken(&self) -> &[BudgetDraw] {
        match self {
            IntentFacts::Made(intent) => &intent.taken,
            IntentFacts::Kept(kept) => &kept.taken,
        }
    }

    /// As a store keeps it.
    pub fn to_kept(&self) -> KeptIntent {
        match self {
            IntentFacts::Kept(kept) => kept.as_ref().clone(),
            IntentFacts::Made(intent) => KeptIntent {
                agent: self.agent().to_owned(),
                flow: self.flow().to_owned(),
                proposal: self.proposal().to_owned(),
                effect_key: intent.effect_key.clone(),
                valid_until: intent.valid_until,
                holds: intent.holds.clone(),
                taken: intent.taken.clone(),
            },
        }
    }
}

/// Equal if a store would keep the same.
impl PartialEq for IntentFacts {
    fn eq(&self, other: &IntentFacts) -> bool {
        self.to_kept() == other.to_kept()
    }
}

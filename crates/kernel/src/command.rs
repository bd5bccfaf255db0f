//! Commands: every change of the world. Each carries everything it needs; what is not in it cannot matter.

use crate::advice::Advice;
use crate::apply::touched::Touched;
use crate::change::Change;
use crate::contract::words;
use crate::evaluator::Compiled;
use crate::finding::Findings;
use crate::proposal::{Malformed, Proposal};
use crate::request::{Provenance, Request};
use crate::statement::Proof;
use crate::world::Key;
use std::sync::{Arc, OnceLock};
use values::ids::Digest;
use values::json::{Json, Object};

/// A change of the world.
#[derive(Clone, Debug)]
pub enum Command {
    /// Judge a proposal.
    Submit(Arc<Submission>),
    /// Refuse what could not be read as a proposal.
    Refuse(Box<RefusedInput>),
    /// Everything else that changes the world.
    Change(Arc<Change>),
}

impl Command {
    /// Whose.
    pub fn tenant(&self) -> &Arc<str> {
        match self {
            Command::Submit(submission) => &submission.tenant,
            Command::Refuse(refused) => &refused.tenant,
            Command::Change(change) => &change.tenant,
        }
    }
}

/// What a door says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Door {
    /// What becomes of a flow nobody opened.
    pub flows: UnseenFlow,
    /// Who performs what is accepted.
    pub performer: Performer,
    /// Hash of the session token the caller showed; `None` where the door vouches for the caller.
    pub session: Option<Digest>,
    /// Who proposes in the name of the agent, where a door lets somebody else do so; absent where it is the agent.
    pub by: Option<String>,
}

impl Door {
    /// The door of pure runs: whoever asks also performs, and naming a flow opens it.
    pub const PURE: Door = Door { flows: UnseenFlow::Opens, performer: Performer::Caller, session: None, by: None };

    /// The door of a store's own commands: the runtime performs, and naming a flow opens it.
    pub const STORED: Door = Door { flows: UnseenFlow::Opens, performer: Performer::Runtime, session: None, by: None };

    /// As records hold it.
    pub fn to_json(&self) -> Json {
        let mut members = Object::from_iter([
            ("flows".to_owned(), Json::text(self.flows.word())),
            ("performer".to_owned(), Json::text(self.performer.word())),
            ("session".to_owned(), Json::from(self.session.map(|session| session.to_string()))),
        ]);
        members.extend(self.by.as_deref().map(|by| ("by".to_owned(), Json::text(by))));
        Json::Object(members)
    }

    /// Reads back what [`Door::to_json`] wrote.
    pub fn from_json(json: &Json) -> Option<Door> {
        let session = match json.get("session")?.as_text() {
            Some(text) => Some(Digest::parse(text)?),
            None => None,
        };
        Some(Door {
            flows: UnseenFlow::from_word(json.get("flows")?.as_text()?)?,
            performer: Performer::from_word(json.get("performer")?.as_text()?)?,
            session,
            by: json.get("by").and_then(Json::as_text).map(str::to_owned),
        })
    }
}

words! {
    /// What becomes of a flow nobody opened.
    UnseenFlow {
        /// Naming it opens it.
        Opens = "opens",
        /// It is refused.
        Refused = "refused",
    }
}

words! {
    /// Who performs what is accepted.
    Performer {
        /// Whoever asked; the answer hands the intent out, and only a report says what became of it.
        Caller = "caller",
        /// The host of a coding agent, which asks before each call of a tool. It enforces by the contract's ladder, so
        /// that judges advise it and ask nobody.
        Host = "host",
        /// The runtime; what it has not started can be called off.
        Runtime = "runtime",
    }
}

impl Performer {
    /// Whether the answer hands the intent out.
    pub fn is_outside(self) -> bool {
        match self {
            Performer::Caller | Performer::Host => true,
            Performer::Runtime => false,
        }
    }
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
    /// The contracts above this one, nearest first: their limits apply and their budgets are taken too.
    pub ancestors: Vec<Arc<Compiled>>,
    /// What validators and judges outside said.
    pub advice: Vec<Advice>,
    /// The door it came through.
    pub door: Door,
    /// What the agent signed; its signature was checked when this was formed.
    pub proof: Option<Arc<Proof>>,
    /// What it touches, once someone has asked: the caller asks before it queues, and the fold asks again.
    touched: OnceLock<Box<Touched>>,
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
    /// For the question it may become.
    pub escalation: String,
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
        let request = Request::new(&proposal, &contract, &provenance);
        let prepared = crate::decide::prepare(&request);
        let (ancestors, advice, door, proof) = (Vec::new(), Vec::new(), Door::PURE, None);
        let touched = OnceLock::new();
        Submission { tenant, proposal, contract, provenance, prepared, ids, ancestors, advice, door, proof, touched }
    }

    /// What it touches.
    pub(crate) fn touched(&self) -> &Touched {
        self.touched.get_or_init(|| Box::new(Touched::by(self)))
    }

    /// The keys to load first, in no order; some may come twice. They are worked out once.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.touched().named()
    }

    /// Under the contracts above its own, nearest first.
    pub fn under(mut self, ancestors: Vec<Arc<Compiled>>) -> Submission {
        self.ancestors = ancestors;
        self.touched = OnceLock::new();
        self
    }

    /// Through a door.
    pub fn through(mut self, door: Door) -> Submission {
        self.door = door;
        self
    }

    /// With what validators and judges outside said.
    pub fn advised(mut self, advice: Vec<Advice>) -> Submission {
        self.advice = advice;
        self
    }

    /// With what the agent signed.
    pub fn proved(mut self, proof: Option<Arc<Proof>>) -> Submission {
        self.proof = proof;
        self.touched = OnceLock::new();
        self
    }

    /// The stateless part of the judgement.
    pub fn request(&self) -> Request<'_> {
        Request::new(&self.proposal, &self.contract, &self.provenance)
    }

    /// The proposal's id.
    pub fn proposal_id(&self) -> &str {
        self.proposal.id.as_deref().unwrap_or(&self.ids.proposal)
    }

    /// The params as answers and records hold them. Secret ones only say that they are secret: without a salt that is
    /// kept apart, a digest of a short secret is as good as the secret.
    pub fn shown_params(&self) -> Object {
        let request = self.request();
        let withheld = |name: &str| match request.action() {
            // Nobody can tell what an unknown action's params are.
            None => Some("withheld"),
            Some(action) if action.is_secret(name) => Some("secret"),
            // A mistyped name may carry a secret.
            Some(action) if action.has_secrets() && !action.declares(name) => Some("withheld"),
            Some(_) => None,
        };
        let show = |(name, value): (&String, &Json)| match withheld(name) {
            Some(word) => (name.clone(), Json::object([(word, Json::Bool(true))])),
            None => (name.clone(), value.clone()),
        };
        self.proposal.params.iter().map(show).collect()
    }

    /// Appends the canonical text of [`Submission::shown_params`]. Mostly nothing is secret, and nothing is copied.
    pub(crate) fn write_shown_params(&self, text: &mut String) {
        let request = self.request();
        if request.action().is_some_and(|action| !action.has_secrets()) {
            values::json::write_members(&self.proposal.params, text);
        } else {
            Json::Object(self.shown_params()).write_canonical(text);
        }
    }

    /// Digest of the proposal, where it gives no secret away.
    pub fn shown_fingerprint(&self) -> Option<&Digest> {
        let request = self.request();
        let open = request.action().is_some_and(|action| !action.has_secrets());
        open.then_some(&self.proposal.fingerprint)
    }

    /// Whether a param of it is never shown.
    pub fn holds_secrets(&self) -> bool {
        let Some(action) = self.request().action() else { return false };
        self.proposal.params.keys().any(|name| action.is_secret(name))
    }

    /// The business key of the effect it would cause; `None` where it causes none.
    pub fn effect_key(&self) -> Option<&str> {
        self.touched().effect.as_ref().map(|(name, _)| name.as_str())
    }

    /// The flow's id.
    pub fn flow_id(&self) -> &str {
        self.proposal.flow.as_deref().unwrap_or(&self.ids.flow)
    }
}

//! The contract: what an agent is responsible for. These types are the full form; the digest counts over it.
//!
//! Each part stands in a file of its own: its keys, its type and how it is written.

mod action;
pub mod amend;
pub mod attenuate;
mod budget;
pub mod comparison;
pub mod diff;
mod escalation;
pub mod keys;
mod limit;
mod members;
pub mod params;
mod plugin;
mod proposal_rules;
mod resource;
mod run;
mod shape;
mod tolerance;
mod watch;
pub mod ways_out;
mod witness;

pub use action::{Action, AmendBounds, Amendable, Ask, Impact, Origin, Rule, Undo, UndoKind};
pub use budget::Budget;
pub use escalation::{Escalation, EscalationTimeout, OnExhausted, TimeoutAnswer};
pub use limit::{Limit, Matching, Script, StateMatch};
pub use plugin::{Plugin, PluginSource};
pub use proposal_rules::{Confidence, ProposalRules};
pub use resource::{Amount, Reserve, Resource, ResourceKind};
pub use run::{EffectClass, Executor, ExecutorKind, Run};
pub use tolerance::{DriftKey, Tolerance};
pub use watch::{Series, Then, WATCHES_MAX, Watch};
pub use witness::{Witness, WitnessSource};

use members::{Members, list, map};
use shape::{Direction, Holds, shape};
use std::collections::BTreeMap;
use values::ids::Digest;
use values::json::Json;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            /// Every word, in the order of the documentation.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word a contract uses.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// The value of a word.
            pub fn from_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// What kind of responsibility an agent holds.
    Role {
        /// Plans; its effects need a person or an executor's child flow.
        Strategist = "STRATEGIST",
        /// Acts.
        Executor = "EXECUTOR",
        /// Reads, observes and suspends its subjects.
        Monitor = "MONITOR",
        /// Opens flows and relays.
        Interface = "INTERFACE",
    }
}

words! {
    /// Whether verdicts bind.
    Mode {
        /// Verdicts bind.
        Enforce = "enforce",
        /// Everything is decided and recorded, nothing is stopped.
        Observe = "observe",
    }
}

shape! {
    /// The document.
    CONTRACT = "contract" {
        "writkeeper": Direction::Neutral;
        "id": Direction::Neutral;
        "version": Direction::Neutral;
        "agent": Direction::Unclear;
        "role": Direction::Words(&["INTERFACE", "MONITOR", "STRATEGIST", "EXECUTOR"]);
        "mission": Direction::Neutral;
        "mode": Direction::Words(&["enforce", "observe"]);
        "parent": Direction::Presence;
        // A group is one more switch that stops the agent.
        "group": Direction::Presence;
        "priority": Direction::Neutral;
        "proposal": Direction::Unclear, Holds::Map(&proposal_rules::PROPOSAL);
        "budgets": Direction::Unclear, Holds::Each(Direction::Presence, Some(&budget::BUDGET));
        "drift": Direction::Unclear, Holds::Each(Direction::Tolerance, Some(&tolerance::TOLERANCE));
        "wake_when": Direction::Neutral;
        "resources": Direction::Unclear, Holds::Each(Direction::Neutral, Some(&resource::RESOURCE));
        // A plug-in that no action asks does nothing; whom actions ask is compared with them.
        "validators": Direction::Neutral, Holds::Each(Direction::Neutral, Some(&plugin::PLUGIN));
        "judges": Direction::Neutral, Holds::Each(Direction::Neutral, Some(&plugin::PLUGIN));
        "handlers": Direction::Neutral, Holds::Each(Direction::Neutral, Some(&plugin::PLUGIN));
        // Detectors advise, and handlers never go beyond what was decided; what rules make of it stands in the actions.
        "detectors": Direction::Neutral, Holds::Settings(Direction::Neutral);
        "enforcement": Direction::Unclear, Holds::Settings(Direction::Unclear);
        "witnesses": Direction::Presence, Holds::Each(Direction::Presence, None);
        "actions": Direction::Unclear, Holds::Each(Direction::PresenceWidens, Some(&action::ACTION));
        "escalation": Direction::Unclear, Holds::Map(&escalation::ESCALATION);
        "monitors": Direction::Presence;
        // An alarm only takes away. Attenuation skips them: those of the agents above watch their own.
        "watch": Direction::Presence, Holds::Each(Direction::Presence, Some(&watch::WATCH));
        "policies": Direction::Extension;
        "tests": Direction::Unclear;
    } short ["approvers", "budget"]
}

/// A contract in its full form.
#[derive(Clone, PartialEq, Debug)]
pub struct Contract {
    /// Names the contract through its versions.
    pub id: String,
    /// SemVer.
    pub version: semver::Version,
    /// Who acts under it.
    pub agent: String,
    /// What kind of responsibility.
    pub role: Role,
    /// Why the agent exists, in words.
    pub mission: String,
    /// Whether verdicts bind.
    pub mode: Mode,
    /// The agent whose contract this one must stay inside.
    pub parent: Option<String>,
    /// The group of agents whose kill switch stops this one too.
    pub group: Option<String>,
    /// Lower wins in arbitration.
    pub priority: Option<u32>,
    /// What every proposal must satisfy.
    pub proposal: ProposalRules,
    /// Windowed budgets across all actions.
    pub budgets: Vec<Budget>,
    /// Live state that must not have moved since the snapshot.
    pub drift: Vec<DriftKey>,
    /// When the agent is woken.
    pub wake_when: Option<String>,
    /// What actions reserve.
    pub resources: BTreeMap<String, Resource>,
    /// Programs and addresses whose answer actions need.
    pub validators: BTreeMap<String, Plugin>,
    /// Programs and addresses that may ask for a person.
    pub judges: BTreeMap<String, Plugin>,
    /// Programs and addresses that may say how a verdict is enforced.
    pub handlers: BTreeMap<String, Plugin>,
    /// Settings of detectors, as written.
    pub detectors: Option<Json>,
    /// Rungs, binding, confidence and the handler, as written.
    pub enforcement: Option<Json>,
    /// Who else is asked whether the work is done.
    pub witnesses: BTreeMap<String, Witness>,
    /// The only actions there are.
    pub actions: BTreeMap<String, Action>,
    /// How people are asked.
    pub escalation: Escalation,
    /// What watches the decisions; kept as written until monitors act.
    pub monitors: Vec<Json>,
    /// Monitors by name.
    pub watch: BTreeMap<String, Watch>,
    /// Cedar policies; an implicit permit stands before them.
    pub policies: Option<String>,
}

impl Contract {
    /// What a contract means that names nothing but its agent: a draft that allows no action.
    pub fn of_agent(agent: &str) -> Contract {
        Contract {
            id: agent.to_owned(),
            version: draft_version(),
            agent: agent.to_owned(),
            role: Role::Executor,
            mission: String::new(),
            mode: Mode::Enforce,
            parent: None,
            group: None,
            priority: None,
            proposal: ProposalRules::default(),
            budgets: Vec::new(),
            drift: Vec::new(),
            wake_when: None,
            resources: BTreeMap::new(),
            validators: BTreeMap::new(),
            judges: BTreeMap::new(),
            handlers: BTreeMap::new(),
            detectors: None,
            enforcement: None,
            witnesses: BTreeMap::new(),
            actions: BTreeMap::new(),
            escalation: Escalation::default(),
            monitors: Vec::new(),
            watch: BTreeMap::new(),
            policies: None,
        }
    }

    /// The full form. Reading it again yields the same contract; `tests` are not part of it.
    pub fn to_json(&self) -> Json {
        let mut object = Members::default();
        object.put("writkeeper", Json::text("contract/v1"));
        object.put("id", Json::text(&self.id));
        object.put("version", Json::text(self.version.to_string()));
        object.put("agent", Json::text(&self.agent));
        object.put("role", Json::text(self.role.word()));
        object.put("mission", Json::text(&self.mission));
        object.put("mode", Json::text(self.mode.word()));
        object.put_some("parent", self.parent.as_deref());
        object.put_some("group", self.group.as_deref());
        object.put_some("priority", self.priority.map(u64::from));
        object.put("proposal", self.proposal.to_json());
        object.put("budgets", list(&self.budgets, Budget::to_json));
        object.put("drift", self.drift_json());
        object.put_some("wake_when", self.wake_when.as_deref());
        object.put("resources", map(&self.resources, Resource::to_json));
        let plugins = [("validators", &self.validators), ("judges", &self.judges), ("handlers", &self.handlers)];
        for (key, plugins) in plugins {
            // Absent where there are none: contracts from before there were any keep their digest.
            if !plugins.is_empty() {
                object.put(key, map(plugins, Plugin::to_json));
            }
        }
        object.put_some("detectors", self.detectors.clone());
        object.put_some("enforcement", self.enforcement.clone());
        if !self.witnesses.is_empty() {
            object.put("witnesses", map(&self.witnesses, Witness::to_json));
        }
        object.put("actions", map(&self.actions, Action::to_json));
        object.put("escalation", self.escalation.to_json());
        object.put("monitors", Json::List(self.monitors.clone()));
        if !self.watch.is_empty() {
            object.put("watch", map(&self.watch, Watch::to_json));
        }
        object.put_some("policies", self.policies.as_deref());
        object.drop_empty(&["monitors"]);
        object.done()
    }

    /// SHA-256 over the canonical bytes of the full form: what names this contract everywhere.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_json().to_canonical())
    }

    fn drift_json(&self) -> Json {
        let keys = self.drift.iter().map(|drift| (drift.key.as_str().to_owned(), drift.tolerance.to_json()));
        Json::Object(keys.collect())
    }
}

/// The version of a contract that nobody has released.
fn draft_version() -> semver::Version {
    let draft = semver::Prerelease::new("draft").unwrap_or(semver::Prerelease::EMPTY);
    semver::Version { pre: draft, ..semver::Version::new(0, 0, 0) }
}

//! The contract: what an agent is responsible for. These types are the full form; the digest counts over it.

pub mod amend;
pub mod attenuate;
pub mod comparison;
pub mod diff;
pub mod full_form;
pub mod params;
mod plugin;
mod witness;

pub use plugin::{Plugin, PluginSource};
pub use witness::{Witness, WitnessSource};

use crate::template::Template;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::decimal::Decimal;
use values::json::Json;
use values::time::Duration;

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

words! {
    /// Where the value of a param came from, as the door states it.
    Origin {
        /// The user said it.
        User = "user",
        /// Trusted state holds it.
        State = "state",
        /// It appeared in tool output.
        Tool = "tool",
        /// It appeared nowhere.
        Nowhere = "none",
    }
}

words! {
    /// How much an effect may hurt.
    Impact {
        /// Little.
        Low = "LOW",
        /// Some.
        Medium = "MEDIUM",
        /// Much.
        High = "HIGH",
        /// Beyond repair.
        Critical = "CRITICAL",
    }
}

words! {
    /// What the receiving side guarantees about repeated requests.
    EffectClass {
        /// No effect at all: a read.
        None = "none",
        /// The effect is in our own store.
        Local = "local",
        /// The provider de-duplicates by our key.
        Keyed = "keyed",
        /// The provider refuses older fence epochs.
        Fenced = "fenced",
        /// Neither: never repeated without a person.
        Opaque = "opaque",
    }
}

words! {
    /// How an effect is undone.
    UndoKind {
        /// Call the reverse.
        Revert = "REVERT",
        /// Close everything the flow opened.
        CloseAll = "CLOSE_ALL",
        /// A person looks at it.
        AlertHuman = "ALERT_HUMAN",
        /// Nothing to undo.
        Noop = "NOOP",
    }
}

words! {
    /// What happens to a resource when the effect succeeded.
    ResourceKind {
        /// The amount is gone.
        Stock = "stock",
        /// The amount comes back.
        Slots = "slots",
    }
}

words! {
    /// What an exhausted escalation budget does to the agent.
    OnExhausted {
        /// It may read, and nothing else, until an operator says otherwise.
        Passive = "PASSIVE",
        /// Only this proposal is refused.
        Abort = "ABORT",
    }
}

words! {
    /// What an unanswered escalation becomes.
    TimeoutAnswer {
        /// It is over.
        Abort = "ABORT",
    }
}

words! {
    /// How a denied text is looked for.
    Matching {
        /// The whole value, ignoring case.
        Exact = "exact",
        /// Anywhere inside, ignoring case.
        Substring = "substring",
    }
}

words! {
    /// Which letters an identifier may mix.
    Script {
        /// Those of one script.
        Single = "single",
    }
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
    /// Cedar policies; an implicit permit stands before them.
    pub policies: Option<String>,
}

/// What every proposal must satisfy.
#[derive(Clone, PartialEq, Debug)]
pub struct ProposalRules {
    /// Thresholds of the agent's own confidence.
    pub confidence: Option<Confidence>,
    /// Validity when the proposal names none.
    pub ttl_default: Duration,
    /// Longest validity.
    pub ttl_max: Duration,
    /// Oldest snapshot.
    pub context_max_age: Option<Duration>,
    /// Rejected proposals a flow may have before the next is refused.
    pub retries: u64,
    /// Tokens a flow may spend.
    pub spend_tokens: Option<u64>,
    /// Proposals a flow may hold.
    pub spend_steps: Option<u64>,
}

/// Thresholds of the agent's own confidence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Confidence {
    /// Below this it is refused.
    pub reject_below: Decimal,
    /// Below this a person is asked.
    pub escalate_below: Decimal,
}

/// At most so much in any window of this length.
#[derive(Clone, PartialEq, Debug)]
pub struct Budget {
    /// The param that is summed; without one, decisions are counted.
    pub sum: Option<String>,
    /// The most a window may hold.
    pub max: Decimal,
    /// Length of the rolling window.
    pub per: Duration,
}

/// A key of live state and how far it may have moved since the snapshot.
#[derive(Clone, PartialEq, Debug)]
pub struct DriftKey {
    /// The key, a template over params.
    pub key: Template,
    /// How far.
    pub tolerance: Tolerance,
}

/// How far two values may lie apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// Not at all.
    Exact,
    /// By so many percent of the older value.
    Percent(Decimal),
    /// By so much.
    Absolute(Decimal),
}

/// Something limited that actions share.
#[derive(Clone, PartialEq, Debug)]
pub struct Resource {
    /// What success does to it.
    pub kind: ResourceKind,
    /// How much there is.
    pub capacity: Decimal,
    /// Its unit.
    pub unit: Option<String>,
}

/// One action the agent may propose.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// The business key of the effect.
    pub once: Option<Template>,
    /// JSON Schema 2020-12 of the params.
    pub params: Arc<Json>,
    /// Bounds of single params.
    pub limits: BTreeMap<String, Limit>,
    /// Refused when true.
    pub refuse: Vec<Rule>,
    /// With it, what neither this nor `ask` names is refused.
    pub allow: Option<String>,
    /// When a person is asked.
    pub ask: Ask,
    /// Windowed budgets of this action.
    pub budgets: Vec<Budget>,
    /// What it takes from resources.
    pub reserves: Vec<Reserve>,
    /// Validators that are asked about it.
    pub validators: BTreeSet<String>,
    /// Judges that are asked about it.
    pub judges: BTreeSet<String>,
    /// The param with the paths it writes: none may lie in a region that somebody else holds.
    pub leases: Option<String>,
    /// Where values may come from.
    pub from: BTreeMap<String, BTreeSet<Origin>>,
    /// How much it may hurt.
    pub impact: Impact,
    /// Has no effect.
    pub reads: bool,
    /// Who performs it and how.
    pub run: Option<Run>,
    /// How it is undone.
    pub undo: Undo,
    /// Which bounds may be changed for a while.
    pub amendable: BTreeMap<String, Amendable>,
}

/// When a person is asked.
#[derive(Clone, PartialEq, Debug)]
pub enum Ask {
    /// Asks about whatever a rule matches, also inside `allow`; the rest goes on.
    Triggers(Vec<Rule>),
    /// Asks about what a rule matches outside `allow`; what neither matches is refused.
    Zone(Vec<Rule>),
}

impl Default for Ask {
    fn default() -> Ask {
        Ask::Triggers(Vec::new())
    }
}

impl Ask {
    /// The questions, in the order they are written.
    pub fn rules(&self) -> &[Rule] {
        match self {
            Ask::Triggers(rules) | Ask::Zone(rules) => rules,
        }
    }

    /// Whether nobody is ever asked.
    pub fn is_empty(&self) -> bool {
        self.rules().is_empty()
    }

    /// Where the rules stand in the full form, below the action.
    pub fn path(&self) -> &'static str {
        match self {
            Ask::Triggers(_) => "ask",
            Ask::Zone(_) => "ask.zone",
        }
    }
}

/// An expression and the reason code it gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// CEL over `params`, `state`, `agent`, `action` and `confidence`.
    pub when: String,
    /// The reason code.
    pub reason: String,
}

/// Bounds of one param.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Limit {
    /// Not below.
    pub min: Option<Decimal>,
    /// Not above.
    pub max: Option<Decimal>,
    /// The unit amounts are in.
    pub unit: Option<String>,
    /// Negative numbers are meant.
    pub signed: bool,
    /// Nothing else.
    pub allowed: Option<Vec<Json>>,
    /// None of these.
    pub denied: Vec<String>,
    /// How denied text is looked for.
    pub matching: Option<Matching>,
    /// Which letters it may mix; absent means any.
    pub script: Option<Script>,
    /// Must agree with this state.
    pub state: Option<StateMatch>,
}

impl Limit {
    /// Whether the limit bounds a number, which makes its param mandatory. `signed` alone bounds nothing.
    pub fn is_numeric(&self) -> bool {
        self.min.is_some() || self.max.is_some() || self.unit.is_some()
    }
}

/// A param must agree with live state.
#[derive(Clone, PartialEq, Debug)]
pub struct StateMatch {
    /// The key, a template over params.
    pub key: Template,
    /// How far they may lie apart.
    pub tolerance: Tolerance,
}

impl Limit {
    /// Whether it bounds a number; a sign alone says what may be, not that there must be something.
    pub fn has_bounds(&self) -> bool {
        self.min.is_some() || self.max.is_some() || self.unit.is_some()
    }
}

/// What an action takes from a resource.
#[derive(Clone, PartialEq, Debug)]
pub struct Reserve {
    /// The resource.
    pub resource: String,
    /// How much.
    pub amount: Amount,
}

/// A fixed amount, or the value of a param.
#[derive(Clone, PartialEq, Debug)]
pub enum Amount {
    /// Always so much.
    Fixed(Decimal),
    /// As much as this param says.
    Param(String),
}

/// Who performs an action and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Who.
    pub executor: Executor,
    /// What the receiving side guarantees.
    pub class: EffectClass,
    /// How long it may take.
    pub timeout: Duration,
    /// Headers of an HTTP request; secrets by reference only.
    pub headers: BTreeMap<String, String>,
}

/// Who performs an action.
#[derive(Clone, PartialEq, Debug)]
pub enum Executor {
    /// An HTTP request: method and address.
    Http(String),
    /// A program and its arguments; never a shell.
    Command(Vec<String>),
    /// A function registered in the process.
    Function(String),
    /// The agent host performs and reports it.
    Host,
}

/// How an effect is undone.
#[derive(Clone, PartialEq, Debug)]
pub struct Undo {
    /// Which way.
    pub kind: UndoKind,
    /// The request that undoes it.
    pub http: Option<String>,
    /// Until when.
    pub within: Option<Duration>,
}

/// Bounds inside which a limit may be changed for a while.
#[derive(Clone, PartialEq, Debug)]
pub struct Amendable {
    /// Bounds of the minimum.
    pub min: Option<AmendBounds>,
    /// Bounds of the maximum.
    pub max: Option<AmendBounds>,
    /// How long at most.
    pub ttl: Duration,
}

/// Bounds of a bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AmendBounds {
    /// Not below.
    pub floor: Decimal,
    /// Not above.
    pub ceiling: Decimal,
}

/// How people are asked.
#[derive(Clone, PartialEq, Debug)]
pub struct Escalation {
    /// How often in a window.
    pub budget_max: u64,
    /// The window.
    pub budget_per: Duration,
    /// Groups whose members may answer.
    pub approvers: Vec<String>,
    /// How many must agree.
    pub quorum: u64,
    /// What time does to a question.
    pub timeout: EscalationTimeout,
    /// What an empty budget does.
    pub on_exhausted: OnExhausted,
    /// For how long what a person approved may be started.
    pub valid_after: Duration,
    /// Whether an answer counts only with the signature of whoever gives it.
    pub signed: bool,
}

/// What time does to a question.
#[derive(Clone, PartialEq, Debug)]
pub struct EscalationTimeout {
    /// Say it again.
    pub remind: Option<Duration>,
    /// Ask someone else.
    pub reroute: Option<Duration>,
    /// Whom.
    pub reroute_to: Option<String>,
    /// Give up.
    pub after: Duration,
    /// And then.
    pub then: TimeoutAnswer,
}

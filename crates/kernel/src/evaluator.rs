//! What the kernel asks of compiled schemas, expressions and policies. The engines behind it are pure.

use crate::contract::{Contract, Role};
use crate::plan::Plan;
use crate::template::Template;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::OnceLock;
use values::decimal::Decimal;
use values::ids::Digest;
use values::json::{Json, Members, Object};

/// Values of live state by the key template as the contract writes it; absent where state has no value.
pub type StateView = BTreeMap<String, Json>;

/// Judges params against a JSON Schema.
pub trait SchemaEvaluator: Send + Sync + fmt::Debug {
    /// Everything wrong with the params, in the order of fields; empty if nothing is.
    fn faults(&self, params: &Object) -> Vec<SchemaFault>;
}

/// One thing wrong with the params.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaFault {
    /// The top-level param, or a path below it: `items.2.price`. Empty for the params as a whole.
    pub field: String,
    /// What kind of wrong.
    pub kind: SchemaFaultKind,
    /// Completes the sentence "`field` …": "is not one of …".
    pub problem: String,
}

/// What kind of wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchemaFaultKind {
    /// Required and missing, or null where null is not allowed.
    Missing,
    /// Anything else: wrong type, unknown field, pattern, length.
    Invalid,
}

/// Judges one boolean expression.
pub trait ExpressionEvaluator: Send + Sync + fmt::Debug {
    /// True or false, or why neither.
    fn holds(&self, scope: &Scope<'_>) -> Result<bool, ExpressionFault>;

    /// What it looks at.
    fn reads(&self) -> &Reads;
}

/// What an expression or a policy set looks at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reads {
    /// Top-level params.
    pub params: BTreeSet<String>,
    /// All params at once (`params` handed around as a whole).
    pub all_params: bool,
    /// Keys of state.
    pub state: BTreeSet<Template>,
    /// The agent's confidence.
    pub confidence: bool,
}

/// What an expression sees.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The params.
    pub params: &'a Object,
    /// Live state, by template text.
    pub state: &'a StateView,
    /// The proposing agent.
    pub agent: AgentView<'a>,
    /// The action.
    pub action: &'a str,
    /// The agent's own confidence, if it stated one.
    pub confidence: Option<Decimal>,
}

/// What expressions and policies may know of the agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentView<'a> {
    /// Its name.
    pub id: &'a str,
    /// Its role.
    pub role: Role,
}

/// Why an expression is neither true nor false.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionFault {
    /// In words: "`state.risk_score` is absent".
    pub problem: String,
}

/// Judges a request against the contract's Cedar policies.
pub trait PolicyEvaluator: Send + Sync + fmt::Debug {
    /// What the policies say.
    fn judge(&self, scope: &Scope<'_>) -> PolicyAnswer;

    /// What they look at.
    fn reads(&self) -> &Reads;
}

/// What policies say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PolicyAnswer {
    /// Nothing forbids it.
    Permit,
    /// These policies forbid it, by `@id` annotation or position.
    Forbid(Vec<String>),
    /// They could not be evaluated; why, naming the field where there is one.
    Error(String),
}

/// A contract with everything compiled. Immutable; its digest names it.
#[derive(Debug)]
pub struct Compiled {
    /// The full form.
    pub contract: Contract,
    /// SHA-256 over the canonical bytes of the full form.
    pub digest: Digest,
    /// Evaluators by action.
    pub actions: BTreeMap<String, CompiledAction>,
    /// The policies, if there are any.
    pub policies: Option<Box<dyn PolicyEvaluator>>,
    /// What its records say of it.
    pub recorded: Recorded,
}

/// Text that every record of one contract or action repeats, written once.
#[derive(Clone, Debug, Default)]
pub struct Recorded(OnceLock<Box<str>>);

impl Recorded {
    /// The text; written when it is first asked for.
    pub(crate) fn text(&self, write: impl FnOnce(&mut String)) -> &str {
        self.0.get_or_init(|| {
            let mut text = String::new();
            write(&mut text);
            text.into_boxed_str()
        })
    }
}

impl Compiled {
    /// How records name the contract.
    pub(crate) fn recorded(&self) -> &str {
        let contract = &self.contract;
        self.recorded.text(|text| {
            Members::object(text, |members| {
                members.digest("digest", &self.digest);
                members.text("id", &contract.id);
                members.text_if_any("mission", Some(contract.mission.as_str()).filter(|mission| !mission.is_empty()));
                members.text("version", &contract.version.to_string());
            });
        })
    }
}

/// The evaluators of one action, in the order of its rules.
#[derive(Debug)]
pub struct CompiledAction {
    /// Of `params`.
    pub schema: Box<dyn SchemaEvaluator>,
    /// Of `refuse`.
    pub refuse: Vec<Box<dyn ExpressionEvaluator>>,
    /// Of `allow`.
    pub allow: Option<Box<dyn ExpressionEvaluator>>,
    /// Of `ask`.
    pub ask: Vec<Box<dyn ExpressionEvaluator>>,
    /// Of `when` of the monitors that look at it, by name.
    pub watch: BTreeMap<String, Box<dyn ExpressionEvaluator>>,
    /// Every key of state the action's judgement may look at.
    pub state_keys: BTreeSet<Template>,
    /// What its rules come down to.
    pub plan: Plan,
    /// What its intents say of how it is performed.
    pub performed: Recorded,
    /// What its intents say of how it is undone.
    pub undone: Recorded,
}

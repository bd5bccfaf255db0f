//! One action of a contract: what it may be proposed with, and what happens to it.

use super::members::{Members, list, map};
use super::shape::{Direction, Holds, shape};
use super::{Budget, Limit, Reserve, Run, words};
use crate::template::Template;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::decimal::Decimal;
use values::json::{Json, Object};
use values::time::Duration;

shape! {
    /// One action.
    ACTION = "action" {
        "once": Direction::Presence;
        "params": Direction::Unclear, Holds::Schema;
        "limits": Direction::Unclear, Holds::Each(Direction::Presence, Some(&super::limit::LIMIT));
        "refuse": Direction::Unclear, Holds::Each(Direction::Presence, Some(&RULE));
        "allow": Direction::Condition;
        "ask": Direction::Unclear, Holds::Each(Direction::Presence, None);
        "budgets": Direction::Unclear, Holds::Each(Direction::Presence, Some(&super::budget::BUDGET));
        "reserves": Direction::Unclear, Holds::Each(Direction::Presence, Some(&super::resource::RESERVE));
        "validators": Direction::SetNarrows;
        "judges": Direction::SetNarrows;
        "leases": Direction::Presence;
        "from": Direction::Unclear, Holds::Each(Direction::SetWidens, None);
        "impact": Direction::Words(&["CRITICAL", "HIGH", "MEDIUM", "LOW"]);
        "reads": Direction::Unclear;
        "run": Direction::Unclear, Holds::Map(&super::run::RUN);
        "undo": Direction::Unclear, Holds::Map(&UNDO);
        "amendable": Direction::Unclear, Holds::Each(Direction::PresenceWidens, Some(&AMENDABLE));
    } short ["budget"]
}

shape! {
    /// Questions about what `allow` does not name.
    ASK_ZONE = "ask_zone" { "zone": Direction::Unclear; }
}

shape! {
    /// An expression with its reason.
    RULE = "rule" { "when": Direction::Unclear; "reason": Direction::Unclear; }
}

shape! {
    /// How an effect is undone.
    UNDO = "undo" { "kind": Direction::Unclear; "http": Direction::Unclear; "within": Direction::Unclear; }
}

shape! {
    /// Which bounds may be changed for a while.
    AMENDABLE = "amendable" {
        "min": Direction::PresenceWidens, Holds::Map(&LOWER_BOUNDS);
        "max": Direction::PresenceWidens, Holds::Map(&UPPER_BOUNDS);
        "ttl": Direction::MoreWidens;
    }
}

shape! {
    /// Bounds of a minimum.
    LOWER_BOUNDS = "amend_bounds" { "floor": Direction::MoreNarrows; "ceiling": Direction::Neutral; }
}

shape! {
    /// Bounds of a maximum.
    UPPER_BOUNDS = "amend_bounds" { "floor": Direction::Neutral; "ceiling": Direction::MoreWidens; }
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

impl Default for Action {
    /// An action about which a contract says nothing: closed, without params, and a person undoes it.
    fn default() -> Action {
        Action {
            once: None,
            params: Arc::new(closed_and_empty()),
            limits: BTreeMap::new(),
            refuse: Vec::new(),
            allow: None,
            ask: Ask::default(),
            budgets: Vec::new(),
            reserves: Vec::new(),
            validators: BTreeSet::new(),
            judges: BTreeSet::new(),
            leases: None,
            from: BTreeMap::new(),
            impact: Impact::High,
            reads: false,
            run: None,
            undo: Undo { kind: UndoKind::AlertHuman, http: None, within: None },
            amendable: BTreeMap::new(),
        }
    }
}

/// The schema that admits no param at all.
fn closed_and_empty() -> Json {
    Json::object([
        ("type", Json::text("object")),
        ("required", Json::List(Vec::new())),
        ("additionalProperties", Json::Bool(false)),
        ("properties", Json::Object(Object::new())),
    ])
}

impl Action {
    /// Whether its params name this one.
    pub fn declares(&self, param: &str) -> bool {
        self.params.get("properties").and_then(Json::as_object).is_some_and(|params| params.contains_key(param))
    }

    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        object.put_some("once", self.once.as_ref().map(|once| once.as_str()));
        object.put("params", Json::clone(&self.params));
        object.put("limits", map(&self.limits, Limit::to_json));
        object.put("refuse", list(&self.refuse, Rule::to_json));
        object.put_some("allow", self.allow.as_deref());
        object.put("ask", self.ask.to_json());
        object.put("budgets", list(&self.budgets, Budget::to_json));
        object.put("reserves", list(&self.reserves, Reserve::to_json));
        for (key, asked) in [("validators", &self.validators), ("judges", &self.judges)] {
            if !asked.is_empty() {
                object.put(key, Json::texts(asked.iter().map(String::as_str)));
            }
        }
        object.put_some("leases", self.leases.as_deref());
        let origins = |(param, origins): (&String, &BTreeSet<Origin>)| {
            (param.clone(), Json::texts(origins.iter().map(|origin| origin.word())))
        };
        object.put("from", Json::Object(self.from.iter().map(origins).collect()));
        object.put("impact", Json::text(self.impact.word()));
        object.put("reads", Json::Bool(self.reads));
        object.put_some("run", self.run.as_ref().map(Run::to_json));
        object.put("undo", self.undo.to_json());
        object.put("amendable", map(&self.amendable, Amendable::to_json));
        object.done()
    }
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

impl Ask {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        match self {
            Ask::Triggers(rules) => list(rules, Rule::to_json),
            Ask::Zone(rules) => Json::object([("zone", list(rules, Rule::to_json))]),
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

impl Rule {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        Json::object([("when", Json::text(&self.when)), ("reason", Json::text(&self.reason))])
    }
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

impl Undo {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        object.put("kind", Json::text(self.kind.word()));
        object.put_some("http", self.http.as_deref());
        object.put_some("within", self.within.map(|within| within.to_string()));
        object.done()
    }
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

impl Amendable {
    /// The full form.
    pub(super) fn to_json(&self) -> Json {
        let mut object = Members::default();
        for (key, bounds) in [("min", self.min), ("max", self.max)] {
            let bounds =
                bounds.map(|bounds| Json::object([("floor", bounds.floor.into()), ("ceiling", bounds.ceiling.into())]));
            object.put_some(key, bounds);
        }
        object.put("ttl", Json::text(self.ttl.to_string()));
        object.done()
    }
}

/// Bounds of a bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AmendBounds {
    /// Not below.
    pub floor: Decimal,
    /// Not above.
    pub ceiling: Decimal,
}

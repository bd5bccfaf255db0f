//! The full form as JSON with every default written out: what the digest counts and what `expand` prints.
//!
//! Keys of release 0.2.0 are written with their defaults. A key that came later is written only where the contract has
//! it (`put_some`, or a test for emptiness): a contract that does not use it keeps its digest through every release.

use super::{
    Action, Amendable, Amount, Ask, Budget, Contract, Escalation, Executor, Limit, Plugin, ProposalRules, Reserve,
    Resource, Rule, Run, Tolerance, Undo, Witness,
};
use std::collections::BTreeMap;
use values::ids::Digest;
use values::json::{Json, Object};

impl Contract {
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
        object.put_some("priority", self.priority.map(u64::from));
        object.put("proposal", proposal(&self.proposal));
        object.put("budgets", list(&self.budgets, budget));
        object.put("drift", drift(self));
        object.put_some("wake_when", self.wake_when.as_deref());
        object.put("resources", map(&self.resources, resource));
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
        object.put("actions", map(&self.actions, action));
        object.put("escalation", escalation(&self.escalation));
        object.put("monitors", Json::List(self.monitors.clone()));
        object.put_some("policies", self.policies.as_deref());
        object.drop_empty(&["monitors"]);
        object.done()
    }

    /// SHA-256 over the canonical bytes of the full form: what names this contract everywhere.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_json().to_canonical())
    }
}

#[derive(Default)]
struct Members(Object);

impl Members {
    fn put(&mut self, key: &str, value: Json) {
        self.0.insert(key.to_owned(), value);
    }

    fn put_some<T: Into<Json>>(&mut self, key: &str, value: Option<T>) {
        if let Some(value) = value {
            self.put(key, value.into());
        }
    }

    /// Inert keys would report themselves on reading back if they stood there empty.
    fn drop_empty(&mut self, keys: &[&str]) {
        for key in keys {
            if self.0.get(*key) == Some(&Json::List(Vec::new())) {
                self.0.remove(*key);
            }
        }
    }

    fn done(self) -> Json {
        Json::Object(self.0)
    }
}

fn list<T>(items: &[T], each: fn(&T) -> Json) -> Json {
    Json::List(items.iter().map(each).collect())
}

fn map<T>(items: &BTreeMap<String, T>, each: fn(&T) -> Json) -> Json {
    Json::Object(items.iter().map(|(key, value)| (key.clone(), each(value))).collect())
}

fn proposal(rules: &ProposalRules) -> Json {
    let mut object = Members::default();
    object.put_some(
        "confidence",
        rules.confidence.map(|confidence| {
            Json::object([
                ("reject_below", confidence.reject_below.into()),
                ("escalate_below", confidence.escalate_below.into()),
            ])
        }),
    );
    let ttl = [("default", rules.ttl_default), ("max", rules.ttl_max)];
    object.put("ttl", Json::object(ttl.map(|(key, length)| (key, Json::text(length.to_string())))));
    object.put_some("context_max_age", rules.context_max_age.map(|age| age.to_string()));
    object.put("retries", rules.retries.into());
    let mut spend = Members::default();
    spend.put_some("tokens", rules.spend_tokens);
    spend.put_some("steps", rules.spend_steps);
    object.put("spend", spend.done());
    object.done()
}

fn budget(budget: &Budget) -> Json {
    let mut object = Members::default();
    match &budget.sum {
        Some(param) => object.put("sum", Json::text(param)),
        None => object.put("count", Json::Bool(true)),
    }
    object.put("max", budget.max.into());
    object.put("per", Json::text(budget.per.to_string()));
    object.done()
}

fn drift(contract: &Contract) -> Json {
    let keys = contract.drift.iter().map(|drift| (drift.key.as_str().to_owned(), tolerance(&drift.tolerance)));
    Json::Object(keys.collect())
}

fn tolerance(tolerance: &Tolerance) -> Json {
    match tolerance {
        Tolerance::Exact => Json::text("exact"),
        Tolerance::Percent(percent) => Json::object([("percent", (*percent).into())]),
        Tolerance::Absolute(absolute) => Json::object([("absolute", (*absolute).into())]),
    }
}

fn resource(resource: &Resource) -> Json {
    let mut object = Members::default();
    object.put("kind", Json::text(resource.kind.word()));
    object.put("capacity", resource.capacity.into());
    object.put_some("unit", resource.unit.as_deref());
    object.done()
}

fn action(action: &Action) -> Json {
    let mut object = Members::default();
    object.put_some("once", action.once.as_ref().map(|once| once.as_str()));
    object.put("params", Json::clone(&action.params));
    object.put("limits", map(&action.limits, limit));
    object.put("refuse", list(&action.refuse, rule));
    object.put_some("allow", action.allow.as_deref());
    object.put("ask", ask(&action.ask));
    object.put("budgets", list(&action.budgets, budget));
    object.put("reserves", list(&action.reserves, reserve));
    for (key, asked) in [("validators", &action.validators), ("judges", &action.judges)] {
        if !asked.is_empty() {
            object.put(key, Json::texts(asked.iter().map(String::as_str)));
        }
    }
    object.put_some("leases", action.leases.as_deref());
    let origins = |(param, origins): (&String, &std::collections::BTreeSet<super::Origin>)| {
        (param.clone(), Json::texts(origins.iter().map(|origin| origin.word())))
    };
    object.put("from", Json::Object(action.from.iter().map(origins).collect()));
    object.put("impact", Json::text(action.impact.word()));
    object.put("reads", Json::Bool(action.reads));
    object.put_some("run", action.run.as_ref().map(run));
    object.put("undo", undo(&action.undo));
    object.put("amendable", map(&action.amendable, amendable));
    object.done()
}

fn limit(limit: &Limit) -> Json {
    let mut object = Members::default();
    object.put_some("min", limit.min);
    object.put_some("max", limit.max);
    object.put_some("unit", limit.unit.as_deref());
    object.put("signed", Json::Bool(limit.signed));
    object.put_some("allowed", limit.allowed.clone().map(Json::List));
    if !limit.denied.is_empty() {
        object.put("denied", Json::texts(limit.denied.iter().map(String::as_str)));
    }
    object.put_some("match", limit.matching.map(|matching| matching.word()));
    object.put_some("script", limit.script.map(|script| script.word()));
    object.put_some(
        "state",
        limit.state.as_ref().map(|state| {
            Json::object([("key", Json::text(state.key.as_str())), ("tolerance", tolerance(&state.tolerance))])
        }),
    );
    object.done()
}

fn ask(ask: &Ask) -> Json {
    match ask {
        Ask::Triggers(rules) => list(rules, rule),
        Ask::Zone(rules) => Json::object([("zone", list(rules, rule))]),
    }
}

fn rule(rule: &Rule) -> Json {
    Json::object([("when", Json::text(&rule.when)), ("reason", Json::text(&rule.reason))])
}

fn reserve(reserve: &Reserve) -> Json {
    let amount = match &reserve.amount {
        Amount::Fixed(amount) => (*amount).into(),
        Amount::Param(param) => Json::text(param),
    };
    Json::object([("resource", Json::text(&reserve.resource)), ("amount", amount)])
}

fn run(run: &Run) -> Json {
    let mut object = Members::default();
    match &run.executor {
        Executor::Http(request) => object.put("http", Json::text(request)),
        Executor::Command(words) => object.put("command", Json::texts(words.iter().map(String::as_str))),
        Executor::Function(name) => object.put("function", Json::text(name)),
        Executor::Host => object.put("host", Json::Bool(true)),
    }
    object.put("class", Json::text(run.class.word()));
    object.put("timeout", Json::text(run.timeout.to_string()));
    if !run.headers.is_empty() {
        object.put("headers", map(&run.headers, |value| Json::text(value)));
    }
    object.done()
}

fn undo(undo: &Undo) -> Json {
    let mut object = Members::default();
    object.put("kind", Json::text(undo.kind.word()));
    object.put_some("http", undo.http.as_deref());
    object.put_some("within", undo.within.map(|within| within.to_string()));
    object.done()
}

fn amendable(amendable: &Amendable) -> Json {
    let mut object = Members::default();
    for (key, bounds) in [("min", amendable.min), ("max", amendable.max)] {
        let bounds =
            bounds.map(|bounds| Json::object([("floor", bounds.floor.into()), ("ceiling", bounds.ceiling.into())]));
        object.put_some(key, bounds);
    }
    object.put("ttl", Json::text(amendable.ttl.to_string()));
    object.done()
}

fn escalation(escalation: &Escalation) -> Json {
    let timeout = &escalation.timeout;
    let mut ladder = Members::default();
    ladder.put_some("remind", timeout.remind.map(|length| length.to_string()));
    ladder.put_some("reroute", timeout.reroute.map(|length| length.to_string()));
    ladder.put_some("to", timeout.reroute_to.as_deref());
    ladder.put("after", Json::text(timeout.after.to_string()));
    ladder.put("then", Json::text(timeout.then.word()));
    let budget = [("max", escalation.budget_max.into()), ("per", Json::text(escalation.budget_per.to_string()))];
    let mut object = Members::default();
    object.put("budget", Json::object(budget));
    object.put("approvers", Json::texts(escalation.approvers.iter().map(String::as_str)));
    object.put("quorum", escalation.quorum.into());
    object.put("timeout", ladder.done());
    object.put("on_exhausted", Json::text(escalation.on_exhausted.word()));
    object.put("valid_after", Json::text(escalation.valid_after.to_string()));
    object.put_some("signed", escalation.signed.then_some(true));
    object.done()
}

//! A witness: two contracts that differ in one property, and what shows that the property acts.

use crate::watching;
use engines::load::{Loaded, load};
use kernel::agent::Actor;
use kernel::apply::apply;
use kernel::change::{Act, Change, Registration};
use kernel::command::Command;
use kernel::context::Context;
use kernel::contract::amend::{self, Amendment};
use kernel::outcome::Outcome;
use kernel::pure::PureRun;
use kernel::record::Record;
use kernel::world::World;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::TENANT_DEFAULT;
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// What must come out differently.
pub enum Shows {
    /// The answers to these proposals, or their records.
    Run { lines: Vec<String>, context: &'static str },
    /// What the contract's own tests say.
    Rehearsal,
    /// What an amendment of `pay.amount` is told: minimum, maximum and hours.
    Amendment(Option<i64>, Option<i64>, Option<i64>),
    /// The second contract is refused, because the property has one legal value or others rely on it.
    Refusal,
    /// What the registry says to an agent that comes with the contract.
    Registration,
    /// What detectors, handlers and witnesses make of a run, as the hooks of a host ask them.
    Watching,
    /// Nothing at all, and the reader says so.
    Inert,
}

/// One property and its proof.
pub struct Witness {
    /// `definition.key`, as the schema calls it.
    pub property: &'static str,
    /// One text for both contracts: where they differ it says `«this¦that»`.
    pub contract: String,
    /// What shows the difference.
    pub shows: Shows,
}

impl Witness {
    /// Uses live state, snapshots and agents.
    pub fn context(mut self, text: &'static str) -> Witness {
        if let Shows::Run { context, .. } = &mut self.shows {
            *context = text;
        }
        self
    }

    /// The two contracts.
    pub fn texts(&self) -> (String, String) {
        let (before, behind) = self.contract.split_once('«').expect("the contracts differ somewhere");
        let (choice, after) = behind.split_once('»').expect("a difference ends");
        let (left, right) = choice.split_once('¦').expect("a difference has two sides");
        assert!(!after.contains('«'), "{}: one difference is enough", self.property);
        (format!("{before}{left}{after}"), format!("{before}{right}{after}"))
    }

    /// Everything a contract makes of the case, without the contract's own digest.
    pub fn outcome(&self, contract: &str) -> String {
        let loaded = loaded(self.property, contract);
        match &self.shows {
            Shows::Run { lines, context } => run(loaded, lines, context),
            Shows::Rehearsal => rehearse(loaded),
            Shows::Amendment(min, max, hours) => amend(&loaded, *min, *max, *hours),
            Shows::Registration => register(loaded),
            Shows::Watching => watching::outcome(&loaded.compiled.contract),
            Shows::Inert => run(loaded, &[line(r#""params":{"amount":50}"#)], "{}"),
            Shows::Refusal => String::new(),
        }
    }
}

/// Loads a contract that must load.
pub fn loaded(property: &str, contract: &str) -> Loaded {
    load(contract).unwrap_or_else(|errors| panic!("{property}: {errors:#?}\n{contract}"))
}

/// A proposal from the members that matter.
pub fn line(members: &str) -> String {
    let defaults = [("agent", "bot"), ("action", "pay")];
    let missing = defaults.iter().filter(|(key, _)| !members.contains(&format!("\"{key}\"")));
    let added: String = missing.map(|(key, value)| format!("\"{key}\":\"{value}\",")).collect();
    format!("{{{added}{members}}}")
}

fn run(loaded: Loaded, lines: &[String], context: &str) -> String {
    let context = Json::parse(context.as_bytes()).expect("the context is JSON");
    let context = Context::from_json(&context).expect("the context reads");
    let mut run = PureRun::new(Arc::new(loaded.compiled), context, None, true);
    let mut outcome = String::new();
    for (number, line) in (1..).zip(lines) {
        let done = run.judge(number, line.as_bytes());
        let answer = Json::parse(done.answer.to_line().as_bytes()).expect("answers are JSON");
        for said in std::iter::once(answer).chain(done.records.iter().map(Record::body)) {
            outcome.push_str(&without_digest(&said).to_canonical());
            outcome.push('\n');
        }
    }
    outcome
}

fn register(loaded: Loaded) -> String {
    let registration = Registration { contract: Arc::new(loaded.compiled), parent: None, version: None, session: None };
    let change = Change {
        tenant: Arc::from(TENANT_DEFAULT),
        id: "c".to_owned(),
        actor: Actor::Operator("ann".to_owned()),
        act: Act::Register(Box::new(registration)),
    };
    let outcome = apply(&mut World::complete(), &Command::Change(Arc::new(change)), Instant::PURE_DEFAULT);
    let Outcome::Done(done) = outcome else { panic!("a complete world needs nothing") };
    done.answer.to_line()
}

/// A contract's digest differs whenever anything does, so it proves nothing.
fn without_digest(json: &Json) -> Json {
    let Json::Object(members) = json else { return json.clone() };
    let kept = members.iter().filter_map(|(key, value)| match (key.as_str(), value) {
        ("contract", Json::Text(_)) => None,
        ("contract", Json::Object(named)) => {
            let named: Object = named.clone().into_iter().filter(|(key, _)| key != "digest").collect();
            Some((key.clone(), Json::Object(named)))
        }
        _ => Some((key.clone(), without_digest(value))),
    });
    Json::Object(kept.collect())
}

fn rehearse(loaded: Loaded) -> String {
    let contract = Arc::new(loaded.compiled);
    let rows = loaded
        .tests
        .map(|tests| contract::rehearse::rehearse(&contract, &tests, &mut |asked| asked))
        .unwrap_or_default();
    let said = rows.iter().map(|row| {
        let result = row.result.as_ref().map(|answer| {
            let answer = Json::parse(answer.to_line().as_bytes()).expect("answers are JSON");
            without_digest(&answer).to_canonical()
        });
        format!("{}: {} {result:?}\n", row.name, row.passed())
    });
    said.collect()
}

fn amend(loaded: &Loaded, min: Option<i64>, max: Option<i64>, hours: Option<i64>) -> String {
    let at = Instant::PURE_DEFAULT;
    let amendment = Amendment {
        action: "pay".to_owned(),
        param: "amount".to_owned(),
        min: min.map(Decimal::from),
        max: max.map(Decimal::from),
        actor: "ann".to_owned(),
        at,
        expires: hours.map(|hours| at.plus(Duration::from_secs(hours * 3600))),
    };
    let contract = &loaded.compiled.contract;
    let limits = amend::effective_limits(contract, std::slice::from_ref(&amendment), at);
    format!("{:?} {limits:?}", amend::check(contract, &amendment))
}

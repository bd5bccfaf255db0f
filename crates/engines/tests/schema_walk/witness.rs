//! A witness: two contracts that differ in one property, and what shows that the property acts.

use crate::watching;
use engines::load::{Loaded, load};
use kernel::agent::Actor;
use kernel::apply::apply;
use kernel::change::{Act, Change, Registration};
use kernel::command::{Command, MintedIds, Submission};
use kernel::context::Context;
use kernel::contract::amend::Amendment;
use kernel::evaluator::Compiled;
use kernel::outcome::{Done, Outcome};
use kernel::proposal::Proposal;
use kernel::pure::PureRun;
use kernel::record::Record;
use kernel::request::Provenance;
use kernel::world::World;
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::{Digest, TENANT_DEFAULT};
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
    /// What a proposal is told while a group is stopped.
    Group,
    /// What detectors, handlers and witnesses make of a run, as the hooks of a host ask them.
    Watching,
    /// What a real host is told; the hooks' own tests hold the rows, and a list says which.
    Hosts,
    /// Nothing at all where it would be seen, and the reader says so at this key.
    Inert { key: &'static str, seen: Box<Shows> },
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
        self.shows.outcome(loaded(self.property, contract))
    }
}

impl Shows {
    fn outcome(&self, loaded: Loaded) -> String {
        match self {
            Shows::Run { lines, context } => run(loaded, lines, context),
            Shows::Rehearsal => rehearse(loaded),
            Shows::Amendment(min, max, hours) => amend(loaded, *min, *max, *hours),
            Shows::Registration => register(loaded),
            Shows::Group => stopped_group(loaded),
            Shows::Watching => watching::outcome(&loaded.compiled.contract),
            Shows::Inert { seen, .. } => seen.outcome(loaded),
            Shows::Refusal | Shows::Hosts => String::new(),
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
    changed(&mut World::complete(), "c", Act::Register(Box::new(registration))).answer.to_line()
}

/// A change of the operator's, as the registry answers it.
fn changed(world: &mut World, id: &str, act: Act) -> Done {
    let actor = Actor::Operator("ann".to_owned());
    let change = Change { tenant: Arc::from(TENANT_DEFAULT), id: id.to_owned(), actor, act };
    let outcome = apply(world, &Command::Change(Arc::new(change)), Instant::PURE_DEFAULT);
    let Outcome::Done(done) = outcome else { panic!("a complete world needs nothing") };
    *done
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
        let answer = match &row.result {
            Ok(answer) => {
                let answer = Json::parse(answer.to_line().as_bytes()).expect("answers are JSON");
                without_digest(&answer).to_canonical()
            }
            Err(problem) => problem.clone(),
        };
        format!("{}: {} {answer}\n", row.name, row.passed())
    });
    said.collect()
}

/// Amounts that tell bounds apart.
const AMOUNTS: [u64; 9] = [1, 5, 6, 7, 15, 50, 51, 70, 81];

/// What the registry says to an amendment, and what becomes of proposals after it.
fn amend(loaded: Loaded, min: Option<i64>, max: Option<i64>, hours: Option<i64>) -> String {
    let (at, contract) = (Instant::PURE_DEFAULT, Arc::new(loaded.compiled));
    let amendment = Amendment {
        action: "pay".to_owned(),
        param: "amount".to_owned(),
        min: min.map(Decimal::from),
        max: max.map(Decimal::from),
        actor: String::new(),
        because: "a rush".to_owned(),
        at,
        expires: hours.map(|hours| at.plus(Duration::from_secs(hours * 3600))),
    };
    let mut world = World::complete();
    let registration = Registration { contract: contract.clone(), parent: None, version: None, session: None };
    changed(&mut world, "register", Act::Register(Box::new(registration)));
    changed(&mut world, "activate", Act::Activate { contract: contract.clone(), expected: None });
    let mut said = changed(&mut world, "amend", Act::Amend { contract: contract.clone(), amendment }).answer.to_line();
    for amount in AMOUNTS {
        let proposal = line(&format!(r#""params":{{"amount":{amount}}},"flow":"f{amount}""#));
        let proposal = Json::parse(proposal.as_bytes()).expect("it is JSON");
        let answer = submitted(&mut world, &contract, proposal, amount).answer;
        said.push_str(&format!("\n{amount}: {}", answer.verdict.word()));
    }
    said
}

/// What becomes of a proposal while the switch of `desk` is pulled.
fn stopped_group(loaded: Loaded) -> String {
    let contract = Arc::new(loaded.compiled);
    let mut world = World::complete();
    let registration = Registration { contract: contract.clone(), parent: None, version: None, session: None };
    changed(&mut world, "register", Act::Register(Box::new(registration)));
    changed(&mut world, "activate", Act::Activate { contract: contract.clone(), expected: None });
    let halt = Act::Halt { group: Some("desk".to_owned()), because: "a drill".to_owned() };
    changed(&mut world, "halt", halt);
    let proposal = Json::parse(line(r#""params":{"amount":5}"#).as_bytes()).expect("it is JSON");
    submitted(&mut world, &contract, proposal, 5).answer.verdict.word().to_owned()
}

fn submitted(world: &mut World, contract: &Arc<Compiled>, proposal: Json, number: u64) -> Done {
    let proposal = Proposal::from_json(proposal).expect("it is a proposal");
    let provenance = Provenance::of(&proposal, true);
    let minted = |kind: &str| Digest::of(format!("{kind} {number}")).to_uuid_text();
    let ids = MintedIds {
        proposal: minted("proposal"),
        flow: minted("flow"),
        intent: minted("intent"),
        escalation: minted("escalation"),
    };
    let submission = Submission::new(Arc::from(TENANT_DEFAULT), proposal, contract.clone(), provenance, ids);
    match apply(world, &Command::Submit(Arc::new(submission)), Instant::PURE_DEFAULT) {
        Outcome::Done(done) => *done,
        Outcome::Prepare | Outcome::Need(_) => panic!("a complete world needs nothing"),
    }
}

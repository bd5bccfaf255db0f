//! One fixture for rows of gates: a small contract, a proposal, a world. A row sets only what it is about.
//!
//! Expressions are stubs (`amount<=25`, `broken`): the real engines are tested where they live.

use crate::advice::{Advice, Needed, needed};
use crate::agent::{Actor, AgentRow, AgentStatus, Restriction, Session};
use crate::apply::apply;
use crate::canary::wordings;
use crate::change::{Act, Change};
use crate::command::{Command, Door, MintedIds, Performer, Submission};
use crate::contract::{
    Action, Amount, Ask, Contract, DriftKey, EffectClass, Escalation, Executor, Impact, Limit, OnExhausted, Origin,
    Reserve, Resource, ResourceKind, Role, Rule, Run, Series, Tolerance,
};
use crate::evaluator::{
    Compiled, CompiledAction, ExpressionEvaluator, ExpressionFault, PolicyAnswer, PolicyEvaluator, Reads,
    SchemaEvaluator, SchemaFault, Scope,
};
use crate::event::Event;
use crate::finding::Finding;
use crate::intent::Order;
use crate::outcome::{Done, Outcome};
use crate::plan::Plan;
use crate::proposal::Proposal;
use crate::request::Provenance;
use crate::snapshot::Snapshot;
use crate::statement::{self, Proof};
use crate::template::Template;
use crate::world::{Entity, Halt, Key, Loaded, Row, StateRow, TenantRow, World};
use ledger::ed25519::SecretKey;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::decimal::Decimal;
use values::ids::{Digest, TENANT_DEFAULT};
use values::json::{Json, Object};
use values::time::{Duration, Instant};

/// A contract for agent `bot` with `pay` (amount from 0.01 to 100) and the read `look`.
pub fn case() -> Case {
    Case {
        contract: contract(),
        above: None,
        policies: None,
        proposal: Json::parse(br#"{"agent":"bot","action":"pay","params":{"amount":5}}"#).unwrap(),
        world: World::complete(),
        agent: AgentRow::active(),
        at: Instant::PURE_DEFAULT,
        trusted: true,
        performer: Performer::Caller,
        token: None,
        signer: None,
        judged: 0,
        answers: None,
        heard: Vec::new(),
        last: None,
    }
}

/// An order that says as little as it can.
pub fn order() -> Order {
    Order {
        id: "i".to_owned(),
        agent: "bot".to_owned(),
        action: "pay".to_owned(),
        flow: "f".to_owned(),
        proposal: "p".to_owned(),
        contract: Digest::of("contract"),
        effect_key: "pay:1".to_owned(),
        class: EffectClass::Opaque,
        impact: Impact::High,
        params: Object::new(),
        holds: Vec::new(),
        run: None,
        undo: None,
        valid_until: Instant::PURE_DEFAULT,
        undoes: None,
    }
}

/// What plug-ins answer.
type Answers = dyn Fn(&Needed<'_>) -> Result<Vec<u8>, String>;

/// A row being set up; [`Case::check`] judges it and returns it, so that rows can go on in one world.
pub struct Case {
    contract: Contract,
    above: Option<(Contract, Option<AgentStatus>)>,
    policies: Option<PolicyAnswer>,
    proposal: Json,
    world: World,
    agent: AgentRow,
    at: Instant,
    trusted: bool,
    performer: Performer,
    token: Option<Digest>,
    signer: Option<u8>,
    judged: usize,
    answers: Option<Box<Answers>>,
    /// What validators and judges said last.
    pub heard: Vec<Advice>,
    /// What the last check left behind.
    pub last: Option<Done>,
}

impl Case {
    pub fn contract(mut self, change: impl Fn(&mut Contract)) -> Case {
        change(&mut self.contract);
        self
    }

    /// The agent `boss` stands above, with the same contract but for a change; without a status nobody knows it.
    pub fn above(mut self, status: Option<&str>, change: impl Fn(&mut Contract)) -> Case {
        let mut above = Contract { id: "boss".to_owned(), agent: "boss".to_owned(), ..contract() };
        change(&mut above);
        self.above = Some((above, status.map(|word| AgentStatus::from_word(word).unwrap())));
        self.contract(|contract| contract.parent = Some("boss".to_owned()))
    }

    fn pay(self, change: impl Fn(&mut Action)) -> Case {
        self.contract(|contract| change(contract.actions.get_mut("pay").unwrap()))
    }

    fn set(mut self, field: &str, value: Json) -> Case {
        let Json::Object(members) = &mut self.proposal else { return self };
        members.insert(field.to_owned(), value);
        self
    }

    fn key(&self, entity: Entity) -> Key {
        Key { tenant: Arc::from(TENANT_DEFAULT), entity }
    }

    pub fn agent(self, name: &str) -> Case {
        self.set("agent", Json::text(name))
    }

    pub fn action(self, name: &str) -> Case {
        self.set("action", Json::text(name))
    }

    pub fn params(self, text: &str) -> Case {
        let params = Json::parse(text.as_bytes()).unwrap();
        self.set("params", params)
    }

    pub fn amount(self, amount: u64) -> Case {
        self.params(&format!(r#"{{"amount":{amount}}}"#))
    }

    pub fn confidence(self, text: &str) -> Case {
        let number = Decimal::parse(text).unwrap();
        self.set("confidence", Json::Number(number))
    }

    pub fn flow(self, name: &str) -> Case {
        self.set("flow", Json::text(name))
    }

    pub fn step(self, name: &str) -> Case {
        self.set("step", Json::text(name))
    }

    pub fn tokens(self, tokens: u64) -> Case {
        self.set("tokens", Json::from(tokens))
    }

    pub fn created_at(self, text: &str) -> Case {
        self.set("created_at", Json::text(text))
    }

    pub fn valid_until(self, text: &str) -> Case {
        self.set("valid_until", Json::text(text))
    }

    pub fn snapshot(self, name: &str) -> Case {
        self.set("snapshot", Json::text(name))
    }

    pub fn id(self, id: &str) -> Case {
        self.set("id", Json::text(id))
    }

    pub fn idempotency_key(self, key: &str) -> Case {
        self.set("idempotency_key", Json::text(key))
    }

    pub fn provenance(self, param: &str, origin: &str) -> Case {
        self.set("provenance", Json::object([(param, Json::text(origin))]))
    }

    pub fn untrusted(mut self) -> Case {
        self.trusted = false;
        self
    }

    pub fn at(mut self, text: &str) -> Case {
        self.at = Instant::parse(text).unwrap();
        self
    }

    pub fn later(&mut self, seconds: i64) {
        self.at = self.at.plus(Duration::from_secs(seconds));
    }

    /// What is accepted is performed by the runtime, or by the host if the executor is one.
    pub fn run(mut self, executor: Executor, class: EffectClass) -> Case {
        self.performer = Performer::Runtime;
        let timeout = Duration::from_secs(5);
        self.pay(|pay| {
            pay.run = Some(Run { executor: executor.clone(), class, timeout, headers: BTreeMap::new() });
        })
    }

    /// A host that enforces by a ladder asks.
    pub fn of_host(mut self) -> Case {
        self.performer = Performer::Host;
        self
    }

    /// Carries out a change in the world of this case.
    pub fn change(&mut self, actor: Actor, act: Act) -> Done {
        let change = Change { tenant: Arc::from(TENANT_DEFAULT), id: "c".to_owned(), actor, act };
        match apply(&mut self.world, &Command::Change(Arc::new(change)), self.at) {
            Outcome::Done(done) => {
                let recorded = done.records.iter().find_map(|record| Event::from_record(&record.body()));
                assert_eq!(recorded.as_ref(), done.event.as_deref(), "the record tells what the answer tells");
                *done
            }
            Outcome::Prepare | Outcome::Need(_) => panic!("a complete world needs nothing"),
        }
    }

    /// What the world of this case holds of an entity.
    pub fn row(&self, entity: Entity) -> Option<&Row> {
        match self.world.get(&self.key(entity)) {
            Loaded::Present(row) => Some(row),
            Loaded::Absent | Loaded::NotLoaded => None,
        }
    }

    pub fn now(&self) -> Instant {
        self.at
    }

    pub fn agent_status(mut self, word: &str) -> Case {
        let status = AgentStatus::from_word(word).unwrap();
        if matches!(status, AgentStatus::Registered | AgentStatus::Active | AgentStatus::Retired) {
            self.agent.base = status;
            return self;
        }
        let at = Instant::PURE_DEFAULT;
        let actions = BTreeSet::new();
        self.agent.restrictions.push(Restriction {
            status,
            by: "test".to_owned(),
            because: String::new(),
            at,
            actions,
        });
        self
    }

    pub fn revoked(mut self, actions: &[&str]) -> Case {
        if let Some(restriction) = self.agent.restrictions.last_mut() {
            restriction.actions = actions.iter().map(|action| (*action).to_owned()).collect();
        }
        self
    }

    pub fn halted(mut self, by: &str, because: &str) -> Case {
        let halt = Halt { by: by.to_owned(), because: because.to_owned(), at: self.at };
        let key = self.key(Entity::Tenant);
        self.world.put(key, Row::Tenant(TenantRow { halted: Some(halt), ..TenantRow::default() }));
        self
    }

    /// The group that the agent's contract in force named.
    pub fn group(mut self, name: &str) -> Case {
        self.agent.group = Some(name.to_owned());
        self
    }

    /// The switch of a group is pulled.
    pub fn halted_group(mut self, group: &str) -> Case {
        let act = Act::Halt { group: Some(group.to_owned()), because: "fire".to_owned() };
        self.change(Actor::Operator("ann".to_owned()), act);
        self
    }

    pub fn approvers(self, groups: &[&str]) -> Case {
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        self.contract(|contract| contract.escalation.approvers = groups.clone())
    }

    pub fn resumed(mut self) -> Case {
        let key = self.key(Entity::Tenant);
        self.world.put(key, Row::Tenant(TenantRow::default()));
        self
    }

    pub fn session(mut self, token: &str, expires: &str) -> Case {
        self.agent.session = Some(Session { token_hash: Digest::of(token), expires: Instant::parse(expires).unwrap() });
        self
    }

    pub fn token(mut self, token: &str) -> Case {
        self.token = Some(Digest::of(token));
        self
    }

    /// The agent's registered key.
    pub fn agent_key(mut self, seed: u8) -> Case {
        self.agent.key = Some(SecretKey::from_seed(&[seed; 32]).public());
        self
    }

    /// What is proposed is signed with this key.
    pub fn signed_by(mut self, seed: u8) -> Case {
        self.signer = Some(seed);
        self
    }

    /// Whoever is asked answers so.
    pub fn answering(mut self, answers: impl Fn(&Needed<'_>) -> Result<Vec<u8>, String> + 'static) -> Case {
        self.answers = Some(Box::new(answers));
        self
    }

    /// The command carries this advice, whatever it is about.
    pub fn saying(mut self, advice: Vec<Advice>) -> Case {
        self.answers = None;
        self.heard = advice;
        self
    }

    pub fn role(self, word: &str) -> Case {
        let role = Role::from_word(word).unwrap();
        self.contract(|contract| contract.role = role)
    }

    pub fn policies(mut self, answer: PolicyAnswer) -> Case {
        self.policies = Some(answer);
        self
    }

    pub fn allow(self, when: &str) -> Case {
        self.pay(|pay| pay.allow = Some(when.to_owned()))
    }

    pub fn ask(self, when: &str, reason: &str) -> Case {
        let rule = Rule { when: when.to_owned(), reason: reason.to_owned() };
        self.pay(|pay| pay.ask = Ask::Triggers([pay.ask.rules(), std::slice::from_ref(&rule)].concat()))
    }

    /// Asks about what `allow` does not name.
    pub fn zone(self, when: &str, reason: &str) -> Case {
        let rule = Rule { when: when.to_owned(), reason: reason.to_owned() };
        self.pay(|pay| pay.ask = Ask::Zone(vec![rule.clone()]))
    }

    pub fn refuse(self, when: &str, reason: &str) -> Case {
        self.pay(|pay| pay.refuse.push(Rule { when: when.to_owned(), reason: reason.to_owned() }))
    }

    pub fn once(self, template: &str) -> Case {
        self.pay(|pay| pay.once = Some(Template::parse(template).unwrap()))
    }

    pub fn from(self, param: &str, origins: &[&str]) -> Case {
        let origins: BTreeSet<Origin> = origins.iter().filter_map(|word| Origin::from_word(word)).collect();
        self.pay(|pay| {
            pay.from.insert(param.to_owned(), origins.clone());
        })
    }

    pub fn reserve(self, resource: &str, capacity: i64, param: &str) -> Case {
        let declared = Resource { kind: ResourceKind::Stock, capacity: Decimal::from(capacity), unit: None };
        let reserve = Reserve { resource: resource.to_owned(), amount: Amount::Param(param.to_owned()) };
        self.pay(|pay| pay.reserves.push(reserve.clone())).contract(|contract| {
            contract.resources.insert(resource.to_owned(), declared.clone());
        })
    }

    pub fn drift(self, key: &str, tolerance: &str) -> Case {
        let tolerance = Decimal::parse(tolerance).map_or(Tolerance::Exact, Tolerance::Percent);
        self.contract(|contract| contract.drift.push(DriftKey { key: Template::parse(key).unwrap(), tolerance }))
    }

    pub fn state(mut self, text: &str) -> Case {
        let Json::Object(state) = Json::parse(text.as_bytes()).unwrap() else { return self };
        for (name, value) in state {
            let key = self.key(Entity::State(name));
            self.world.put(key, Row::State(StateRow { value, version: 1 }));
        }
        self
    }

    pub fn snapshot_data(mut self, name: &str, at: &str, text: &str) -> Case {
        let Json::Object(state) = Json::parse(text.as_bytes()).unwrap() else { return self };
        let snapshot = Snapshot {
            at: Instant::parse(at).unwrap(),
            source: "test".to_owned(),
            flow: None,
            state,
            session: Object::new(),
        };
        let key = self.key(Entity::Snapshot(name.to_owned()));
        self.world.put(key, Row::Snapshot(snapshot));
        self
    }

    /// Judges the proposal and compares the verdict and its reasons.
    #[track_caller]
    pub fn check(mut self, expected: &str) -> Case {
        let done = self.judge();
        let verdict = done.answer.verdict.word();
        let said = match verdict {
            "ACCEPT" => verdict.to_owned(),
            _ => format!("{verdict} {}", done.answer.reasons().join(", ")),
        };
        assert_eq!(said, expected, "{}", done.answer.to_line());
        self.last = Some(done);
        self
    }

    /// What the findings about the next proposal say.
    pub fn messages(mut self) -> Vec<String> {
        self.judge().answer.findings.iter().map(Finding::message).collect()
    }

    /// The contract, as it would be put in force.
    pub fn compiled(&self) -> Arc<Compiled> {
        Arc::new(compile(self.contract.clone(), self.policies.clone()))
    }

    /// The next proposal, as a command.
    pub fn command(&mut self) -> Command {
        let agent_key = self.key(Entity::Agent("bot".to_owned()));
        if self.judged == 0 {
            self.agent.watched = wordings(&self.contract);
            self.world.put(agent_key, Row::Agent(Box::new(self.agent.clone())));
        }
        if let Some((_, Some(status))) = &self.above {
            let above = self.key(Entity::Agent("boss".to_owned()));
            let row = AgentRow { base: *status, ..AgentRow::active() };
            self.world.put(above, Row::Agent(Box::new(row)));
        }
        self.judged += 1;
        let proposal = Proposal::from_json(self.proposal.clone()).unwrap();
        let provenance = Provenance::of(&proposal, self.trusted);
        let contract = Arc::new(compile(self.contract.clone(), self.policies.clone()));
        let id = |kind: &str| format!("{kind}-{}", self.judged);
        let ids = MintedIds { proposal: id("p"), flow: id("f"), intent: id("i"), escalation: id("e") };
        let proof = self.signer.map(|seed| {
            let key = SecretKey::from_seed(&[seed; 32]);
            let envelope = statement::sign(&self.proposal, &contract.contract, contract.digest, None, &key);
            Arc::new(Proof::open(envelope).0)
        });
        let submission = Submission::new(Arc::from(TENANT_DEFAULT), proposal, contract, provenance, ids)
            .through(Door { session: self.token, performer: self.performer, ..Door::PURE })
            .proved(proof)
            .under(self.above.iter().map(|(above, _)| Arc::new(compile(above.clone(), None))).collect());
        if let Some(answers) = &self.answers {
            self.heard = needed(&submission).iter().map(|needed| needed.heard(answers(needed))).collect();
        }
        Command::Submit(Arc::new(submission.advised(self.heard.clone())))
    }

    pub fn judge(&mut self) -> Done {
        let command = self.command();
        match apply(&mut self.world, &command, self.at) {
            Outcome::Done(done) => *done,
            Outcome::Prepare => panic!("the registry names no contract"),
            Outcome::Need(keys) => panic!("a complete world needs nothing: {keys:?}"),
        }
    }
}

fn contract() -> Contract {
    let limit = Limit { min: Decimal::parse("0.01"), max: Some(Decimal::from(100)), ..Limit::default() };
    let schema = |names: &[&str]| {
        let properties: Object = names.iter().map(|name| ((*name).to_owned(), Json::Object(Object::new()))).collect();
        Json::object([("type", Json::text("object")), ("properties", Json::Object(properties))])
    };
    let pay = Action {
        params: schema(&["amount", "account", "payee", "fee", "kind", "note", "latitude"]).into(),
        limits: BTreeMap::from([("amount".to_owned(), limit)]),
        ..Action::default()
    };
    let look =
        Action { params: schema(&[]).into(), limits: BTreeMap::new(), reads: true, impact: Impact::Low, ..pay.clone() };
    Contract {
        version: semver::Version::new(1, 0, 0),
        actions: BTreeMap::from([("pay".to_owned(), pay), ("look".to_owned(), look)]),
        escalation: Escalation {
            budget_max: 3,
            approvers: vec!["desk".to_owned()],
            on_exhausted: OnExhausted::Passive,
            ..Escalation::default()
        },
        ..Contract::of_agent("bot")
    }
}

fn compile(contract: Contract, policies: Option<PolicyAnswer>) -> Compiled {
    let stub = |when: &str| -> Box<dyn ExpressionEvaluator> { Box::new(StubExpression::new(when)) };
    let drift: BTreeSet<Template> = contract.drift.iter().map(|drift| drift.key.clone()).collect();
    let compile_action = |(name, action): (&String, &Action)| {
        let compiled = CompiledAction {
            schema: Box::new(AnySchema),
            refuse: action.refuse.iter().map(|rule| stub(&rule.when)).collect(),
            allow: action.allow.as_deref().map(stub),
            ask: action.ask.rules().iter().map(|rule| stub(&rule.when)).collect(),
            watch: contract
                .watch
                .iter()
                .filter_map(|(name, watch)| match &watch.series {
                    Series::When(when) => Some((name.clone(), stub(when))),
                    Series::Param(_)
                    | Series::Margin { .. }
                    | Series::Rejected
                    | Series::Escalated
                    | Series::Failed => None,
                })
                .collect(),
            state_keys: drift.clone(),
            plan: Plan::of(&contract, name, action),
            performed: Default::default(),
            undone: Default::default(),
        };
        (name.clone(), compiled)
    };
    let actions = contract.actions.iter().map(compile_action).collect();
    let policies =
        policies.map(|answer| -> Box<dyn PolicyEvaluator> { Box::new(StubPolicies(answer, Reads::default())) });
    let digest = Digest::of(format!("{contract:?}"));
    Compiled { digest, contract, actions, policies, recorded: Default::default() }
}

/// Accepts everything: gates must hold without a schema's help.
#[derive(Debug)]
struct AnySchema;

impl SchemaEvaluator for AnySchema {
    fn faults(&self, _params: &Object) -> Vec<SchemaFault> {
        Vec::new()
    }
}

/// `amount<=N`, or `broken`.
#[derive(Debug)]
struct StubExpression {
    most: Option<Decimal>,
    reads: Reads,
}

impl StubExpression {
    fn new(when: &str) -> StubExpression {
        let reads = Reads { params: BTreeSet::from(["amount".to_owned()]), ..Reads::default() };
        StubExpression { most: when.strip_prefix("amount<=").and_then(Decimal::parse), reads }
    }
}

impl ExpressionEvaluator for StubExpression {
    fn holds(&self, scope: &Scope<'_>) -> Result<bool, ExpressionFault> {
        let amount = scope.params.get("amount").and_then(Json::as_number);
        match (self.most, amount) {
            (Some(most), Some(amount)) => Ok(amount <= most),
            _ => Err(ExpressionFault { problem: "broken".to_owned() }),
        }
    }

    fn reads(&self) -> &Reads {
        &self.reads
    }
}

#[derive(Debug)]
struct StubPolicies(PolicyAnswer, Reads);

impl PolicyEvaluator for StubPolicies {
    fn judge(&self, _scope: &Scope<'_>) -> PolicyAnswer {
        self.0.clone()
    }

    fn reads(&self) -> &Reads {
        &self.1
    }
}

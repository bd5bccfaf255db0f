//! Decisions through the runtime on the store in memory: what the registry, flows, people and switches do to them.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use kernel::agent::{Actor, AgentStatus};
use kernel::change::{Act, Write};
use kernel::command::{Door, Performer, UnseenFlow};
use kernel::evaluator::Compiled;
use kernel::flow::FlowEvent;
use kernel::intent::IntentEvent;
use kernel::person::Identity;
use kernel::proposal::Proposal;
use kernel::world::{Entity, Row};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{Reader, Store};
use runtime::{Answered, Arrival, Options, PersonAnswer, Runtime, Ticked, Ticker};
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

const CONTRACT: &str = r#"
agent: refunds
actions:
  refund:
    once: "refund:{order}"
    params: { order: text, amount: number }
    allow: amount <= 50
    ask: amount <= 100
    budget: { sum: amount, max: 300, per: 24h }
    run: POST http://127.0.0.1:9911/refunds
  look: { reads: true }
approvers: [leads]
"#;

struct Bench {
    runtime: Runtime,
    clock: Arc<ManualClock>,
    store: MemoryStore,
}

fn compiled(text: &str) -> Arc<Compiled> {
    Arc::new(engines::load::load(text).unwrap_or_else(|problems| panic!("{problems:?}")).compiled)
}

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

fn bench() -> Bench {
    let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
    let store = MemoryStore::new(clock.clone());
    let runtime = Runtime::start(Box::new(store.clone()), Options::default()).unwrap();
    let bench = Bench { runtime, clock, store };
    bench.enroll(CONTRACT);
    let people = ["ann", "bob", "carol", "refunds"].map(|person| Write::groups(person, ["leads"]));
    said_yes(&bench.change(operator(), Act::Merge(people.into())));
    bench
}

impl Bench {
    fn enroll(&self, text: &str) {
        let contract = compiled(text);
        let said = self.runtime.register(operator(), contract.clone(), Some("1.0.0".to_owned()), None).wait();
        said_yes(&said);
        said_yes(&self.runtime.activate(operator(), contract).wait());
    }

    fn propose(&self, text: &str) -> Answered {
        let door = Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None };
        self.runtime.judge(text.as_bytes(), Arrival::through(door)).wait()
    }

    fn change(&self, actor: Actor, act: Act) -> Answered {
        self.runtime.change(actor, act).wait()
    }

    fn restrict(&self, status: AgentStatus) -> Answered {
        let (agent, because, actions) = ("refunds".to_owned(), String::new(), Vec::new());
        self.change(operator(), Act::Restrict { agent, status, because, actions })
    }

    fn refund(&self, order: &str, amount: u32) -> Answered {
        self.propose(&format!(
            r#"{{"agent":"refunds","action":"refund","params":{{"order":"{order}","amount":{amount}}}}}"#
        ))
    }

    /// The one open question.
    fn question(&self) -> (String, kernel::escalation::EscalationRow) {
        let mut reader = self.store.reader().unwrap();
        let rows = reader.scan(kernel::stored::Kind::Escalation, None, 100).unwrap();
        let open = rows.into_iter().filter_map(|(key, row)| {
            let Row::Escalation(row) = row else { return None };
            row.due().is_some().then(|| (key.entity.parts().0.to_owned(), *row))
        });
        open.last().expect("an open question")
    }

    fn answer(&self, person: &str, decision: &str) -> Answered {
        let (question, row) = self.question();
        self.answer_to(&question, row.digest, person, decision)
    }

    fn answer_to(&self, question: &str, digest: values::ids::Digest, person: &str, decision: &str) -> Answered {
        self.runtime
            .answer(PersonAnswer {
                person: person.to_owned(),
                question: question.to_owned(),
                decision: decision.to_owned(),
                digest,
                reason: "because".to_owned(),
                instead: None,
                door: Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None },
                identity: Identity::default(),
            })
            .wait()
    }
}

/// Whatever a test did, a replay of its records must say the same.
impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let replayed = runtime::replay::replay(&mut self.store).unwrap();
        assert_eq!(replayed.differs, None);
        assert!(replayed.same >= 2, "{replayed:?}");
    }
}

fn said(answered: &Answered) -> String {
    match answered.answer.verdict.word() {
        "ACCEPT" => "ACCEPT".to_owned(),
        verdict => format!("{verdict} {}", answered.answer.reasons().join(", ")),
    }
}

#[track_caller]
fn said_yes(answered: &Answered) {
    assert_eq!(said(answered), "ACCEPT", "{}", answered.answer.to_line());
}

#[track_caller]
fn check(answered: &Answered, expected: &str) {
    assert_eq!(said(answered), expected, "{}", answered.answer.to_line());
}

#[test]
fn the_same_effect_is_done_once_whoever_asks() {
    let bench = bench();
    check(&bench.refund("A", 10), "ACCEPT");
    check(&bench.refund("A", 10), "REJECT IN_PROGRESS");
    let intent = bench.refund("B", 10).answer.intent.unwrap().id().to_owned();
    let settle = |event| Act::Settle { intent: intent.clone(), event, result: None };
    check(&bench.change(operator(), settle(IntentEvent::Succeed)), "ACCEPT");
    check(&bench.refund("B", 10), "REJECT ALREADY_DONE");
    check(&bench.change(operator(), settle(IntentEvent::Fail)), "REJECT STEP_REFUSED");
}

/// Commands that callers carry themselves and commands that wait for the writer meet in one budget: 300 for 12 of 25.
#[test]
fn whoever_carries_a_command_it_is_judged_after_all_before_it() {
    let bench = bench();
    let door = || Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None };
    let refund = |order: String| {
        let text = format!(r#"{{"agent":"refunds","action":"refund","params":{{"order":"{order}","amount":25}}}}"#);
        kernel::proposal::Proposal::parse(text.as_bytes()).unwrap()
    };
    let ask = |caller: usize, order: u32| {
        let proposal = refund(format!("{caller}-{order}"));
        match caller % 2 {
            0 => bench.runtime.submit_here(proposal, Arrival::through(door())),
            _ => bench.runtime.submit(proposal, Arrival::through(door())).wait(),
        }
    };
    let answered: Vec<Answered> = std::thread::scope(|scope| {
        let ask = &ask;
        let callers: Vec<_> = (0..8)
            .map(|caller| scope.spawn(move || (0..12).map(|order| ask(caller, order)).collect::<Vec<_>>()))
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let accepted = answered.iter().filter(|answered| said(answered).starts_with("ACCEPT")).count();
    assert_eq!((answered.len(), accepted), (96, 12));
    let all = bench.runtime.records(0, 1_000).unwrap().len();
    said_yes(&bench.runtime.change_here(operator(), Act::Merge([Write::groups("dora", ["leads"])].into())));
    assert_eq!(bench.runtime.records(0, 1_000).unwrap().len(), all + 1);
}

#[test]
fn what_did_not_happen_is_given_back() {
    let bench = bench();
    for order in ["A", "B", "C", "D", "E", "F"] {
        check(&bench.refund(order, 50), "ACCEPT");
    }
    check(&bench.refund("G", 50), "REJECT BUDGET_EXCEEDED");
    // After its time an intent nobody started is called off, and what it took is free again.
    bench.clock.set(Instant::PURE_DEFAULT.plus(values::time::Duration::from_secs(3_600)));
    check(&bench.refund("G", 50), "ACCEPT");
    check(&bench.refund("A", 50), "ACCEPT");
}

#[test]
fn a_suspended_agent_stays_suspended_however_often_it_comes_back() {
    let bench = bench();
    let suspend = Act::Restrict {
        agent: "refunds".to_owned(),
        status: AgentStatus::Suspended,
        because: "too many refunds".to_owned(),
        actions: Vec::new(),
    };
    check(&bench.change(operator(), suspend), "ACCEPT");
    check(&bench.refund("A", 10), "REJECT AGENT_SUSPENDED");
    let itself = Actor::Agent("refunds".to_owned());
    let wider = compiled(&CONTRACT.replace("<= 50", "<= 1000000"));
    check(&bench.runtime.register(itself.clone(), wider, None, None).wait(), "REJECT AGENT_SUSPENDED");
    check(&bench.refund("A", 10), "REJECT AGENT_SUSPENDED");
    let lift = || Act::Lift { agent: "refunds".to_owned(), status: AgentStatus::Suspended, because: String::new() };
    check(&bench.change(itself, lift()), "REJECT NOT_AUTHORIZED");
    check(&bench.change(operator(), lift()), "ACCEPT");
    check(&bench.refund("A", 10), "ACCEPT");
    check(&bench.refund("B", 500), "REJECT NOT_ALLOWED, BUDGET_EXCEEDED");
}

/// The bench replays its records at the end: the record of an activation must say what was activated.
#[test]
fn an_operator_may_activate_a_contract_that_nobody_registered() {
    let bench = bench();
    let other = compiled(&CONTRACT.replace("<= 50", "<= 5").replace("<= 100", "<= 6"));
    check(&bench.change(operator(), Act::Activate { contract: other, expected: None }), "ACCEPT");
    check(&bench.refund("A", 10), "REJECT NOT_ALLOWED");
}

#[test]
fn a_new_contract_counts_from_its_activation_on() {
    let bench = bench();
    check(&bench.refund("A", 10), "ACCEPT");
    let tighter = compiled(&CONTRACT.replace("<= 50", "<= 5").replace("<= 100", "<= 6"));
    let itself = Actor::Agent("refunds".to_owned());
    check(&bench.runtime.register(itself.clone(), tighter.clone(), None, None).wait(), "ACCEPT");
    check(&bench.refund("B", 10), "ACCEPT");
    check(
        &bench.runtime.change(itself, Act::Activate { contract: tighter.clone(), expected: None }).wait(),
        "REJECT NOT_AUTHORIZED",
    );
    check(&bench.change(operator(), Act::Activate { contract: tighter, expected: None }), "ACCEPT");
    check(&bench.refund("C", 10), "REJECT NOT_ALLOWED");
}

#[test]
fn a_person_answers_once_and_for_these_bytes() {
    let bench = bench();
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    let (question, row) = bench.question();
    check(&bench.answer("refunds", "OVERRIDE"), "REJECT APPROVER_NOT_ENTITLED");
    check(&bench.answer("bob", "approve"), "REJECT PARAM_INVALID");
    let other = values::ids::Digest::of("other bytes");
    check(&bench.answer_to(&question, other, "bob", "OVERRIDE"), "REJECT APPROVAL_MISMATCH");
    let yes = bench.answer("bob", "OVERRIDE");
    check(&yes, "ACCEPT");
    let intent = yes.answer.intent.expect("an accepted answer is an intent");
    assert_eq!(intent.to_json().get("params").and_then(|params| params.get("order")), Some(&Json::text("A")));
    let second = bench.answer_to(&question, row.digest, "carol", "ABORT");
    check(&second, "REJECT ALREADY_ANSWERED");
    assert!(second.answer.to_line().contains("OVERRIDE by bob"), "{}", second.answer.to_line());
    check(&bench.refund("A", 10), "REJECT IN_PROGRESS");
}

/// What a person saw under one contract is no answer under another.
#[test]
fn an_approval_counts_under_the_contract_it_was_shown_with() {
    let bench = bench();
    bench.enroll(&CONTRACT.replace("approvers: [leads]", "escalation: { approvers: [leads], quorum: 2 }"));
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.refund("B", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.answer("bob", "OVERRIDE"), "ACCEPT");
    let (question, row) = bench.question();
    let wider = CONTRACT.replace("max: 300", "max: 5000");
    bench.enroll(&wider);
    let refused = bench.answer_to(&question, row.digest, "carol", "OVERRIDE");
    check(&refused, "REJECT APPROVAL_MISMATCH");
    assert!(refused.answer.to_line().contains("another contract is in force"), "{}", refused.answer.to_line());
    let now = kernel::escalation::EscalationRow::digest_of(&row.proposal, compiled(&wider).digest);
    let carol = bench.answer_to(&question, now, "carol", "OVERRIDE");
    check(&carol, "ACCEPT");
    assert!(carol.answer.intent.is_none(), "bob agreed under another contract");
    assert!(bench.answer_to(&question, now, "bob", "OVERRIDE").answer.intent.is_some());
    // No is no under every contract.
    check(&bench.answer("bob", "ABORT"), "ACCEPT");
}

#[test]
fn an_override_overrides_nothing_else() {
    let bench = bench();
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    let (question, row) = bench.question();
    let suspend = Act::Restrict {
        agent: "refunds".to_owned(),
        status: AgentStatus::Suspended,
        because: String::new(),
        actions: Vec::new(),
    };
    check(&bench.change(operator(), suspend), "ACCEPT");
    let refused = bench.answer_to(&question, row.digest, "bob", "OVERRIDE");
    check(&refused, "REJECT AGENT_SUSPENDED");
    let lift = Act::Lift { agent: "refunds".to_owned(), status: AgentStatus::Suspended, because: String::new() };
    check(&bench.change(operator(), lift), "ACCEPT");
    // The request stayed open.
    check(&bench.answer_to(&question, row.digest, "bob", "OVERRIDE"), "ACCEPT");
}

#[test]
fn a_modified_proposal_is_judged_by_every_gate() {
    let bench = bench();
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    let (question, row) = bench.question();
    let instead = |text: Option<&str>| {
        let door = Door { flows: UnseenFlow::Refused, performer: Performer::Runtime, session: None, by: None };
        let answer = PersonAnswer {
            person: "bob".to_owned(),
            question: question.clone(),
            decision: "MODIFY".to_owned(),
            digest: row.digest,
            reason: "less".to_owned(),
            instead: text.map(|text| Proposal::parse(text.as_bytes()).unwrap()),
            door,
            identity: Identity::default(),
        };
        bench.runtime.answer(answer).wait()
    };
    check(&instead(None), "REJECT PARAM_INVALID");
    check(
        &instead(Some(r#"{"agent":"thief","action":"refund","params":{"order":"A","amount":1}}"#)),
        "REJECT PARAM_INVALID",
    );
    let too_much = r#"{"agent":"refunds","action":"refund","params":{"order":"A","amount":5000}}"#;
    check(&instead(Some(too_much)), "REJECT NOT_ALLOWED, BUDGET_EXCEEDED");
    let less = r#"{"agent":"refunds","action":"refund","params":{"order":"A","amount":55}}"#;
    let yes = instead(Some(less));
    check(&yes, "ACCEPT");
    let params = yes.answer.intent.unwrap().to_json();
    assert_eq!(params.get("params").and_then(|params| params.get("amount")), Some(&Json::from(55_u64)));
}

#[test]
fn two_people_agree_only_to_the_same_thing() {
    let bench = bench();
    bench.enroll(&CONTRACT.replace("approvers: [leads]", "escalation: { approvers: [leads], quorum: 2 }"));
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    let (question, row) = bench.question();
    let first = bench.answer_to(&question, row.digest, "bob", "OVERRIDE");
    check(&first, "ACCEPT");
    assert!(first.answer.intent.is_none(), "one of two");
    assert!(bench.answer_to(&question, row.digest, "bob", "OVERRIDE").answer.intent.is_none(), "still one person");
    let second = bench.answer_to(&question, row.digest, "carol", "OVERRIDE");
    assert!(second.answer.intent.is_some(), "{}", second.answer.to_line());
}

/// However a name is spelled, it is one person; and what is no name is nobody.
#[test]
fn one_person_is_one_person_however_the_name_is_spelled() {
    let bench = bench();
    bench.enroll(&CONTRACT.replace("approvers: [leads]", "escalation: { approvers: [leads], quorum: 2 }"));
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    for proposer in ["refunds", "Refunds", "REFUNDS"] {
        check(&bench.answer(proposer, "OVERRIDE"), "REJECT APPROVER_NOT_ENTITLED");
    }
    for nobody in ["", " ", "refunds ", " ann", "ann\u{200B}", "a\u{1b}[2Jnn", "a\nb", &"x".repeat(129)] {
        check(&bench.answer(nobody, "OVERRIDE"), "REJECT PARAM_INVALID");
        let halt = Act::Halt { group: None, because: "fire".to_owned() };
        check(&bench.change(Actor::Operator(nobody.to_owned()), halt), "REJECT PARAM_INVALID");
    }
    for spelling in ["ann", "ANN", "Ann"] {
        assert!(bench.answer(spelling, "OVERRIDE").answer.intent.is_none(), "{spelling} is the same person");
    }
    assert!(bench.answer("bob", "OVERRIDE").answer.intent.is_some());
}

#[test]
fn time_answers_with_no() {
    let bench = bench();
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    let (question, row) = bench.question();
    bench.clock.set(row.deadline.unwrap().plus(values::time::Duration::from_secs(1)));
    let late = bench.answer_to(&question, row.digest, "bob", "OVERRIDE");
    assert!(late.answer.intent.is_none());
    check(&late, "REJECT ALREADY_ANSWERED");
    check(&bench.answer_to(&question, row.digest, "bob", "OVERRIDE"), "REJECT ALREADY_ANSWERED");
}

#[test]
fn twenty_questions_an_hour_and_then_everything_else_goes_on() {
    let bench = bench();
    for number in 0..20 {
        check(&bench.refund(&format!("A{number}"), 60), "ESCALATE NEEDS_APPROVAL");
    }
    check(&bench.refund("B", 60), "REJECT ESCALATION_BUDGET_EXHAUSTED");
    check(&bench.refund("C", 10), "ACCEPT");
    check(&bench.answer("bob", "OVERRIDE"), "ACCEPT");
    check(&bench.refund("D", 60), "REJECT ESCALATION_BUDGET_EXHAUSTED");
}

/// Where the contract says so, an agent without questions is passive; people still answer what it asked before, and
/// what they approve is started.
#[test]
fn a_passive_agent_keeps_nobody_from_answering() {
    let bench = bench();
    let exhausting = "escalation: { approvers: [leads], budget: { max: 2, per: 1h }, on_exhausted: PASSIVE }\n";
    bench.enroll(&retail(exhausting));
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.refund("B", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.refund("C", 60), "REJECT ESCALATION_BUDGET_EXHAUSTED");
    check(&bench.refund("D", 10), "REJECT AGENT_PASSIVE");
    let approved = bench.answer("bob", "OVERRIDE");
    check(&approved, "ACCEPT");
    let intent = approved.answer.intent.unwrap().id().to_owned();
    let Some(Row::Intent(row)) = bench.runtime.read(Entity::Intent(intent.clone())).unwrap() else { panic!("no row") };
    let attempt = row.running.unwrap().digest();
    let lease = values::time::Duration::from_secs(30);
    check(&bench.change(Actor::Kernel, Act::Claim { intent: intent.clone(), worker: "w".to_owned(), lease }), "ACCEPT");
    check(&bench.change(Actor::Kernel, Act::Start { intent, epoch: 1, attempt }), "ACCEPT");
    // What is worse than passive still stands.
    check(&bench.restrict(AgentStatus::Degraded), "ACCEPT");
    check(&bench.answer("bob", "OVERRIDE"), "REJECT AGENT_DEGRADED");
    check(&bench.restrict(AgentStatus::Suspended), "ACCEPT");
    check(&bench.answer("bob", "OVERRIDE"), "REJECT AGENT_SUSPENDED");
    check(&bench.change(operator(), Act::Halt { group: None, because: "fire".to_owned() }), "ACCEPT");
    check(&bench.answer("bob", "OVERRIDE"), "REJECT HALTED, AGENT_SUSPENDED");
}

#[test]
fn what_a_person_approved_is_valid_as_long_as_the_contract_says() {
    for (written, seconds) in [("", 900), (", valid_after: 2h", 7_200)] {
        let bench = bench();
        bench.enroll(&retail(&format!("escalation: {{ approvers: [leads]{written} }}\n")));
        check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
        bench.clock.set(later(600));
        let intent = bench.answer("bob", "OVERRIDE").answer.intent.unwrap().id().to_owned();
        let state = || match bench.runtime.read(Entity::Intent(intent.clone())).unwrap() {
            Some(Row::Intent(row)) => row.state.word(),
            other => panic!("no intent: {other:?}"),
        };
        for (after, expected) in [(seconds, "READY"), (seconds + 1, "CANCELLED")] {
            bench.clock.set(later(600 + after));
            bench.runtime.tick(later(600 + after)).unwrap();
            assert_eq!(state(), expected, "{written} after {after} s");
        }
    }
}

#[test]
fn flows_are_opened_by_the_kernel_and_end_once() {
    let bench = bench();
    let itself = Actor::Agent("refunds".to_owned());
    let propose = |flow: &str, order: &str| {
        let text = r#"{"agent":"refunds","action":"refund","flow":"FLOW","params":{"order":"ORDER","amount":1}}"#;
        bench.propose(&text.replace("FLOW", flow).replace("ORDER", order))
    };
    check(&propose("made-up", "A"), "REJECT FLOW_UNKNOWN");
    let open = |flow: &str, parent: Option<&str>| Act::OpenFlow {
        flow: flow.to_owned(),
        agent: "refunds".to_owned(),
        parent: parent.map(str::to_owned),
    };
    check(&bench.change(itself.clone(), open("f", None)), "ACCEPT");
    check(&propose("f", "A"), "ACCEPT");
    check(&bench.change(itself.clone(), open("g", Some("f"))), "ACCEPT");
    check(&bench.change(Actor::Agent("thief".to_owned()), open("h", Some("f"))), "REJECT FLOW_UNKNOWN");
    let close = || Act::EndFlow { flow: "f".to_owned(), event: FlowEvent::Close };
    check(&bench.change(itself.clone(), close()), "ACCEPT");
    check(&bench.change(itself, close()), "REJECT STEP_REFUSED");
    check(&propose("f", "B"), "REJECT FLOW_CLOSED");
}

#[test]
fn state_is_compared_and_set() {
    let bench = bench();
    let write = |expect| Act::Merge(vec![Write { key: "risk".to_owned(), value: Json::from(1_u64), expect }]);
    check(&bench.change(operator(), write(Some(0))), "ACCEPT");
    check(&bench.change(operator(), write(Some(0))), "REJECT STATE_CONFLICT");
    check(&bench.change(operator(), write(Some(1))), "ACCEPT");
    check(&bench.change(Actor::Agent("refunds".to_owned()), write(None)), "REJECT NOT_AUTHORIZED");
    let Ok(Some(Row::State(row))) = bench.runtime.read(Entity::State("risk".to_owned())) else { panic!("state") };
    assert_eq!(row.version, 2);
}

#[test]
fn nothing_passes_the_kill_switch() {
    let bench = bench();
    check(
        &bench.change(Actor::Agent("refunds".to_owned()), Act::Resume { group: None, because: String::new() }),
        "REJECT NOT_AUTHORIZED",
    );
    check(&bench.change(operator(), Act::Halt { group: None, because: "fire".to_owned() }), "ACCEPT");
    check(&bench.refund("A", 10), "REJECT HALTED");
    check(&bench.change(operator(), Act::Resume { group: None, because: "out".to_owned() }), "ACCEPT");
    check(&bench.refund("A", 10), "ACCEPT");
}

#[test]
fn a_stranger_gets_nothing() {
    let bench = bench();
    check(
        &bench.propose(r#"{"agent":"stranger","action":"refund","params":{}}"#),
        "REJECT AGENT_UNKNOWN, ACTION_NOT_ALLOWED",
    );
    check(&bench.propose(r#"{"agent":"stranger""#), "REJECT JSON_MALFORMED");
}

#[test]
fn a_repeated_key_gets_the_same_bytes() {
    let bench = bench();
    let text = r#"{"agent":"refunds","action":"refund","idempotency_key":"k","params":{"order":"A","amount":10}}"#;
    let first = bench.propose(text);
    let size = bench.store.clone().size().unwrap();
    let second = bench.propose(text);
    assert_eq!(first.answer.to_line(), second.answer.to_line());
    assert_eq!(bench.store.clone().size().unwrap(), size, "an answer given again is not a new decision");
    check(&bench.propose(&text.replace("10}", "11}")), "REJECT IDEMPOTENCY_KEY_REUSED");
}

#[test]
fn every_contract_above_bounds_and_pays() {
    let bench = bench();
    let child = CONTRACT.replace("agent: refunds", "agent: junior\nparent: refunds").replace("max: 300", "max: 200");
    let widening = child.replace("max: 200", "max: 1000");
    let refused = bench.runtime.register(operator(), compiled(&widening), None, None).wait();
    check(&refused, "REJECT CONTRACT_WIDENS_PARENT");
    bench.enroll(&child);
    let junior = |order: &str, amount: u32| {
        bench.propose(&format!(
            r#"{{"agent":"junior","action":"refund","params":{{"order":"{order}","amount":{amount}}}}}"#
        ))
    };
    for order in ["1", "2", "3", "4"] {
        check(&junior(order, 50), "ACCEPT");
    }
    check(&junior("5", 50), "REJECT BUDGET_EXCEEDED");
    // The parent's budget was taken too: 200 of 300.
    for order in ["A", "B"] {
        check(&bench.refund(order, 50), "ACCEPT");
    }
    check(&bench.refund("C", 50), "REJECT BUDGET_EXCEEDED");
    let suspend = Act::Restrict {
        agent: "refunds".to_owned(),
        status: AgentStatus::Suspended,
        because: String::new(),
        actions: Vec::new(),
    };
    check(&bench.change(operator(), suspend), "ACCEPT");
    check(&junior("6", 30), "REJECT BUDGET_EXCEEDED, AGENT_SUSPENDED");
}

/// A child does not go on under what its parent's contract no longer says.
#[test]
fn a_narrowed_parent_binds_its_children() {
    let bench = bench();
    let child = CONTRACT.replace("agent: refunds", "agent: junior\nparent: refunds");
    bench.enroll(&child);
    let junior = |order: &str, amount: u32| {
        bench.propose(&format!(
            r#"{{"agent":"junior","action":"refund","params":{{"order":"{order}","amount":{amount}}}}}"#
        ))
    };
    check(&junior("1", 50), "ACCEPT");
    let narrower = CONTRACT.replace("<= 50", "<= 5").replace("<= 100", "<= 40").replace(
        "    budget:",
        "    refuse: [{ when: 'order == \"X\"', reason: BAD_ORDER }, { when: 'state.frozen', reason: FROZEN }]\n    budget:",
    );
    bench.enroll(&narrower);
    let frozen =
        |value: bool| Act::Merge(vec![Write { key: "frozen".to_owned(), value: Json::Bool(value), expect: None }]);
    check(&junior("2", 5), "REJECT POLICY_ERROR");
    check(&bench.change(operator(), frozen(false)), "ACCEPT");
    check(&junior("2", 5), "ACCEPT");
    check(&junior("3", 30), "ESCALATE NEEDS_APPROVAL");
    let refused = junior("4", 50);
    check(&refused, "REJECT NOT_ALLOWED");
    assert!(refused.answer.to_line().contains("contract of `refunds`"), "{}", refused.answer.to_line());
    check(&junior("X", 5), "REJECT BAD_ORDER");
    check(&bench.change(operator(), frozen(true)), "ACCEPT");
    let refused = junior("5", 5);
    check(&refused, "REJECT FROZEN");
    assert!(refused.answer.to_line().contains("contract of `refunds`"), "{}", refused.answer.to_line());
    check(&bench.change(operator(), frozen(false)), "ACCEPT");
    // Policies are lines too.
    bench.enroll(&format!(
        "{CONTRACT}policies: |\n  @id(\"no-y\")\n  forbid(principal, action, resource) when {{ context.params has order && context.params.order == \"Y\" }};\n"
    ));
    check(&junior("Y", 5), "REJECT POLICY_FORBIDS");
    check(&junior("6", 50), "ACCEPT");
}

/// Whoever forms the command again is not believed: the kernel compares it with what was asked.
#[test]
fn an_approval_does_not_carry_another_proposal() {
    use kernel::apply::apply;
    use kernel::change::{Change, HumanAnswer, Registration};
    use kernel::command::{Command, MintedIds, Submission};
    let contract = compiled(CONTRACT);
    let tenant: Arc<str> = Arc::from("default");
    let mut world = kernel::world::World::complete();
    let mut done = |command: Command| {
        let outcome = apply(&mut world, &command, Instant::PURE_DEFAULT);
        let kernel::outcome::Outcome::Done(done) = outcome else { panic!("{outcome:?}") };
        *done
    };
    let change = |act: Act| {
        Command::Change(Arc::new(Change { tenant: tenant.clone(), id: "c".to_owned(), actor: operator(), act }))
    };
    let registration = Registration { contract: contract.clone(), parent: None, version: None, session: None };
    done(change(Act::Register(Box::new(registration))));
    done(change(Act::Activate { contract: contract.clone(), expected: None }));
    done(change(Act::Merge(vec![Write::groups("ann", ["leads"])])));
    let formed = |amount: u32| {
        let text = format!(r#"{{"agent":"refunds","action":"refund","params":{{"order":"A","amount":{amount}}}}}"#);
        let proposal = kernel::proposal::Proposal::parse(text.as_bytes()).unwrap();
        let [p, f, i, e] = ["p", "f", "i", "e"].map(str::to_owned);
        let ids = MintedIds { proposal: p, flow: f, intent: i, escalation: e };
        let provenance = kernel::request::Provenance::Unknown;
        Arc::new(Submission::new(tenant.clone(), proposal, contract.clone(), provenance, ids))
    };
    let asked = formed(60);
    done(Command::Submit(asked.clone()));
    let shown = asked.proposal.to_json(asked.proposal.params.clone());
    let digest = kernel::escalation::EscalationRow::digest_of(&shown, contract.digest);
    let mut answer = |original: Arc<Submission>| {
        let answer = HumanAnswer {
            escalation: "e".to_owned(),
            decision: "OVERRIDE".to_owned(),
            digest,
            reason: String::new(),
            original: Some(original),
            modified: None,
            identity: Identity::default(),
        };
        done(change(Act::Answer(Box::new(answer)))).answer
    };
    assert_eq!(answer(formed(61)).reasons(), ["APPROVAL_MISMATCH"]);
    assert!(answer(asked).intent.is_some());
}

fn retail(extra: &str) -> String {
    format!("{}{extra}", CONTRACT.replace("approvers: [leads]\n", ""))
}

#[test]
fn a_vote_is_kept_when_judging_again_refuses() {
    let bench = bench();
    bench.enroll(&retail("escalation: { approvers: [leads], quorum: 2 }\n"));
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.answer("bob", "OVERRIDE"), "ACCEPT");
    let suspend =
        |status| Act::Restrict { agent: "refunds".to_owned(), status, because: String::new(), actions: Vec::new() };
    check(&bench.change(operator(), suspend(AgentStatus::Suspended)), "ACCEPT");
    check(&bench.answer("carol", "OVERRIDE"), "REJECT AGENT_SUSPENDED");
    let (_, row) = bench.question();
    let voters: Vec<&str> = row.votes.iter().map(|vote| vote.person.as_str()).collect();
    assert_eq!(voters, ["bob", "carol"]);
    let lift = Act::Lift { agent: "refunds".to_owned(), status: AgentStatus::Suspended, because: String::new() };
    check(&bench.change(operator(), lift), "ACCEPT");
    check(&bench.answer("bob", "OVERRIDE"), "ACCEPT");
}

#[test]
fn what_is_not_there_is_not_lifted_or_replaced() {
    let bench = bench();
    let lift = |status| Act::Lift { agent: "refunds".to_owned(), status, because: String::new() };
    check(&bench.change(operator(), lift(AgentStatus::Suspended)), "REJECT STATE_CONFLICT");
    let tighter = compiled(&CONTRACT.replace("<= 50", "<= 40"));
    said_yes(&bench.runtime.register(operator(), tighter.clone(), None, None).wait());
    let (current, other) = (compiled(CONTRACT).digest, tighter.digest);
    let activate = |expected| bench.runtime.activate_over(operator(), tighter.clone(), Some(expected)).wait();
    check(&activate(other), "REJECT STATE_CONFLICT");
    check(&activate(current), "ACCEPT");
    check(&activate(current), "REJECT STATE_CONFLICT");
}

#[test]
fn agents_and_monitors_neither_expire_nor_freeze_for_everyone() {
    let bench = bench();
    let freeze = || Act::Freeze { flow: None, keys: vec!["balance".to_owned()] };
    for actor in [Actor::Agent("refunds".to_owned()), Actor::Monitor("m".to_owned())] {
        check(&bench.change(actor.clone(), Act::ExpireIntents), "REJECT NOT_AUTHORIZED");
        check(&bench.change(actor, freeze()), "REJECT NOT_AUTHORIZED");
    }
    for actor in [operator(), Actor::Kernel] {
        check(&bench.change(actor.clone(), Act::ExpireIntents), "ACCEPT");
        check(&bench.change(actor, freeze()), "ACCEPT");
    }
}

#[test]
fn a_stranger_is_not_told_of_nobodys_contract() {
    let bench = bench();
    let answered = bench.propose(r#"{"agent":"stranger","action":"refund","params":{}}"#);
    let said = answered.answer.to_line();
    assert!(said.contains("agent `stranger` is unknown here") && !said.contains("nobody"), "{said}");
}

#[test]
fn only_members_answer_and_no_door_makes_one() {
    let bench = bench();
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.answer("eve", "OVERRIDE"), "REJECT APPROVER_NOT_ENTITLED");
    let enlist = |person: &str, groups: &[&str]| Act::Merge(vec![Write::groups(person, groups.iter().copied())]);
    // Nobody makes themselves a member.
    check(&bench.change(Actor::Agent("refunds".to_owned()), enlist("eve", &["leads"])), "REJECT NOT_AUTHORIZED");
    let nonsense = Write { key: "people/eve".to_owned(), value: Json::text("leads"), expect: None };
    check(&bench.change(operator(), Act::Merge(vec![nonsense])), "REJECT PARAM_INVALID");
    check(&bench.change(operator(), enlist("eve", &["mail", "leads"])), "ACCEPT");
    check(&bench.change(operator(), enlist("bob", &[])), "ACCEPT");
    check(&bench.answer("bob", "OVERRIDE"), "REJECT APPROVER_NOT_ENTITLED");
    check(&bench.answer("eve", "OVERRIDE"), "ACCEPT");
}

#[test]
fn without_approvers_only_operators_answer() {
    let bench = bench();
    bench.enroll(&retail(""));
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.answer("bob", "OVERRIDE"), "REJECT APPROVER_NOT_ENTITLED");
    check(&bench.change(operator(), Act::Merge(vec![Write::groups("dora", ["operators"])])), "ACCEPT");
    check(&bench.answer("dora", "OVERRIDE"), "ACCEPT");
}

fn later(seconds: i64) -> Instant {
    Instant::PURE_DEFAULT.plus(values::time::Duration::from_secs(seconds))
}

#[test]
fn time_reminds_passes_on_and_ends() {
    let bench = bench();
    let ladder =
        "escalation: { approvers: [leads], timeout: { remind: 5m, reroute: 10m, to: \"group:bosses\", after: 15m } }\n";
    bench.enroll(&retail(ladder));
    check(&bench.change(operator(), Act::Merge(vec![Write::groups("zoe", ["bosses"])])), "ACCEPT");
    check(&bench.refund("A", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.refund("B", 60), "ESCALATE NEEDS_APPROVAL");
    check(&bench.refund("C", 10), "ACCEPT");
    let tick = |seconds: i64| {
        bench.clock.set(later(seconds));
        let Ticked { expired, reminded, rerouted, called_off, .. } = bench.runtime.tick(later(seconds)).unwrap();
        (expired, reminded, rerouted, called_off)
    };
    assert_eq!(tick(20), (0, 0, 0, 0));
    // The intent was valid for 30 seconds.
    assert_eq!(tick(31), (0, 0, 0, 1));
    check(&bench.answer("zoe", "OVERRIDE"), "REJECT APPROVER_NOT_ENTITLED");
    assert_eq!(tick(300), (0, 2, 0, 0));
    assert_eq!(tick(301), (0, 0, 0, 0), "people are reminded once");
    // The contract says from when on others may answer; nobody has to tick for it.
    bench.clock.set(later(600));
    check(&bench.answer("zoe", "OVERRIDE"), "ACCEPT");
    assert_eq!(tick(601), (0, 0, 1, 0));
    // The last moment is in time.
    assert_eq!(tick(900), (0, 0, 0, 0));
    assert_eq!(tick(901), (1, 0, 0, 0));
    // What zoe allowed was not started within a quarter of an hour.
    assert_eq!(tick(1_500), (0, 0, 0, 0));
    assert_eq!(tick(1_501), (0, 0, 0, 1));
    assert_eq!(tick(9_000), (0, 0, 0, 0));
}

#[test]
fn the_ticker_follows_its_clock() {
    let clock = Arc::new(ManualClock::at(Instant::PURE_DEFAULT));
    let store = MemoryStore::new(clock.clone());
    let runtime = Arc::new(Runtime::start(Box::new(store.clone()), Options::default()).unwrap());
    let contract = compiled(CONTRACT);
    said_yes(&runtime.register(operator(), contract.clone(), None, None).wait());
    said_yes(&runtime.activate(operator(), contract).wait());
    let proposal = r#"{"agent":"refunds","action":"refund","params":{"order":"A","amount":60}}"#;
    let answered = runtime.judge(proposal.as_bytes(), Arrival::through(Door::PURE)).wait();
    check(&answered, "ESCALATE NEEDS_APPROVAL");
    // It would not wake up by itself during this test.
    let ticker = Ticker::start(runtime.clone(), clock.clone(), std::time::Duration::from_secs(3_600)).unwrap();
    assert_eq!(ticker.now().unwrap(), Ticked::default());
    clock.set(later(901));
    assert_eq!(ticker.now().unwrap(), Ticked { expired: 1, ..Ticked::default() });
    assert_eq!(ticker.now().unwrap(), Ticked::default());
    drop(ticker);
    let replayed = runtime::replay::replay(store.reader().unwrap().as_mut()).unwrap();
    assert_eq!(replayed.differs, None);
}

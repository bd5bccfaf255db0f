//! The client against a server: the same answers, rows and entries as from the store itself, and the same faults.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop loudly")]

mod door;

use client::{Address, Client, Settings};
use door::{KEYS, Served};
use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::escalation::HumanDecision;
use kernel::outcome::Verdict;
use kernel::person::Identity;
use kernel::stored::Kind;
use kernel::world::{Entity, Row};
use runtime::memory::{ManualClock, MemoryStore};
use runtime::ports::store::{Store, StoreFault};
use runtime::{Answered, Arrival, Options, PersonAnswer, Runtime};
use std::sync::Arc;
use values::json::Json;
use values::time::Instant;

const CONTRACT: &str = r"
agent: bot
actions:
  pay:
    once: 'pay:{order}'
    params: { order: text, amount: money EUR }
    allow: amount <= 25
    ask: amount <= 50
    budget: { sum: amount, max: 500, per: 24h }
  look: { params: {}, reads: true }
approvers: [desk]
";

/// A store, looked at directly and through a server.
struct Desk {
    here: Runtime,
    served: Served,
}

impl Desk {
    fn new() -> Desk {
        let store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
        let (here, there) = (store.tenant_named("default"), store.tenant_named("default"));
        let start = |store: Box<dyn Store>| Runtime::start(store, Options::default()).unwrap();
        let seal = Box::new(|| Ok("header\ndigest\n".to_owned()));
        Desk { here: start(Box::new(here)), served: Served::start(start(Box::new(there)), seal) }
    }

    fn client(&self, key: &str) -> Result<Client, StoreFault> {
        let address: Address = self.served.address.parse().unwrap();
        Client::connect(&address, &Settings { key: Some(key.to_owned()), ..Settings::default() })
    }

    fn of(&self, role: &str) -> Runtime {
        let (key, ..) = KEYS.iter().find(|(_, known, _)| *known == role).unwrap();
        Runtime::remote(Arc::new(self.client(key).unwrap()), Options::default()).unwrap()
    }

    /// With the agent in force and a person who may answer.
    fn ready(self) -> Desk {
        let operator = self.of("operator");
        let contract = Arc::new(engines::load::load(CONTRACT).unwrap().compiled);
        yes(&operator.register(nobody(), contract.clone(), None, None).wait());
        yes(&operator.activate(nobody(), contract).wait());
        yes(&operator.change(nobody(), Act::Merge(vec![Write::groups("ann", ["desk"])])).wait());
        self
    }
}

/// Whom the client names does not count.
fn nobody() -> Actor {
    Actor::Operator("nobody".to_owned())
}

#[track_caller]
fn yes(answered: &Answered) {
    assert_eq!(answered.answer.verdict, Verdict::Accept, "{}", answered.answer.to_line());
}

fn pay(order: &str, amount: u32) -> String {
    format!(r#"{{"agent":"bot","action":"pay","params":{{"order":"{order}","amount":{amount}}},"id":"{order}"}}"#)
}

fn proposed(runtime: &Runtime, text: &str) -> Answered {
    runtime.judge(text.as_bytes(), Arrival::through(Door::STORED)).wait()
}

#[test]
fn a_decision_has_the_bytes_of_its_record_and_is_read_back_whole() {
    let desk = Desk::new().ready();
    let agent = desk.of("agent");
    for (text, verdict) in [
        (pay("a", 5), Verdict::Accept),
        (pay("b", 40), Verdict::Escalate),
        (pay("c", 60), Verdict::Reject),
        ("{".to_owned(), Verdict::Reject),
    ] {
        let answered = proposed(&agent, &text);
        assert_eq!(answered.answer.verdict, verdict, "{text}");
        let last = desk.here.records(desk.here.size().unwrap() - 1, 1).unwrap().pop().unwrap();
        let body = last.body.unwrap().0;
        assert_eq!(answered.bodies().pop().unwrap().to_canonical(), body);
        if verdict != Verdict::Reject || text != "{" {
            let recorded = kernel::outcome::Answer::from_record(&Json::parse_own(&body)).unwrap();
            assert_eq!(answered.answer.to_line(), recorded.to_line());
        }
    }
    let line = agent.judge_line(b"{", 7, Arrival::through(Door::STORED)).wait();
    assert!(line.answer.id == "line-7" && line.answer.to_line().contains("line 7"), "{}", line.answer.to_line());
}

#[test]
fn a_change_is_recorded_in_the_name_that_the_server_knows() {
    let desk = Desk::new().ready();
    let last = desk.here.records(desk.here.size().unwrap() - 1, 1).unwrap().pop().unwrap();
    assert!(last.body.unwrap().0.contains(r#""actor":"operator:root""#));
}

#[test]
fn a_person_answers_under_the_name_of_the_key() {
    let desk = Desk::new().ready();
    let asked = proposed(&desk.of("agent"), &pay("b", 40));
    let question = asked.answer.question.unwrap().id;
    let Some(Row::Escalation(row)) = desk.of("approver").read(Entity::Escalation(question.clone())).unwrap() else {
        panic!("the question is there");
    };
    let answer = |person: &str| PersonAnswer {
        person: person.to_owned(),
        question: question.clone(),
        decision: HumanDecision::Override.word().to_owned(),
        digest: row.digest,
        reason: "fine".to_owned(),
        instead: None,
        door: Door::STORED,
        identity: Identity { os_user: Some("root".to_owned()), ..Identity::default() },
    };
    for (role, person, said) in
        [("operator", "ann", "belongs to nobody who answers"), ("approver", "bob", "belongs to `ann`, not to `bob`")]
    {
        let refused = desk.of(role).answer(answer(person)).wait();
        let line = refused.answer.to_line();
        assert!(refused.at.is_none() && line.contains("SERVICE_REFUSED") && line.contains(said), "{line}");
    }
    let answered = desk.of("approver").answer(answer("ann")).wait();
    yes(&answered);
    let record = answered.bodies().pop().unwrap().to_canonical();
    assert!(record.contains(r#""actor":"operator:ann""#) && !record.contains("os_user"), "{record}");
    let followed = desk.of("agent").follow(&asked_again(&desk, &question), std::time::Instant::now()).unwrap();
    assert_eq!(followed.answer.unwrap().person.as_deref(), Some("ann"));
    assert!(followed.outcome.is_some());
}

/// The answer that asked, as whoever waits for it has it.
fn asked_again(desk: &Desk, question: &str) -> kernel::outcome::Answer {
    let records = desk.here.records(0, 100).unwrap();
    let bodies = records.iter().filter_map(|record| record.body.as_ref());
    let answers = bodies.filter_map(|(body, _)| kernel::outcome::Answer::from_record(&Json::parse_own(body)));
    answers.into_iter().find(|answer| answer.question.as_ref().is_some_and(|asked| asked.id == question)).unwrap()
}

#[test]
fn rows_and_entries_are_those_of_the_store() {
    let desk = Desk::new().ready();
    let agent = desk.of("agent");
    for order in 0..7 {
        proposed(&agent, &pay(&format!("o/{order} ä%"), 5 + 8 * order));
    }
    let there = desk.of("operator");
    assert_eq!(there.size().unwrap(), desk.here.size().unwrap());
    assert_eq!(there.records(0, 1_000).unwrap(), desk.here.records(0, 1_000).unwrap());
    assert_eq!(there.records(3, 2).unwrap(), desk.here.records(3, 2).unwrap());
    let mut kinds = 0;
    for kind in Kind::ALL.iter().copied() {
        let rows = desk.here.scan(kind, None, 1_000).unwrap();
        assert_eq!(there.scan(kind, None, 1_000).unwrap(), rows, "{}", kind.word());
        kinds += usize::from(!rows.is_empty());
        for (key, row) in &rows {
            assert_eq!(there.read(key.entity.clone()).unwrap().as_ref(), Some(row), "{key:?}");
        }
        if let Some((first, _)) = rows.first().filter(|(key, _)| key.entity.parts().1.is_none()) {
            let after = Some(first.entity.parts().0);
            assert_eq!(there.scan(kind, after, 2).unwrap(), desk.here.scan(kind, after, 2).unwrap());
        }
    }
    assert!(kinds > 5, "rows of {kinds} kinds were compared");
    assert_eq!(there.read(Entity::State("nothing".to_owned())).unwrap(), None);
    let ever = Instant::from_micros(i64::MAX);
    assert_eq!(there.due(Kind::Intent, ever, 3).unwrap(), desk.here.due(Kind::Intent, ever, 3).unwrap());
    assert!(!there.due(Kind::Intent, ever, 3).unwrap().is_empty());
}

#[test]
fn connections_are_kept() {
    let desk = Desk::new().ready();
    let there = desk.of("operator");
    let before = desk.served.connections();
    for _ in 0..20 {
        there.size().unwrap();
    }
    assert!(desk.served.connections() <= before + 1);
}

#[test]
fn a_socket_serves_as_a_port_does() {
    let desk = Desk::new().ready();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keeper.sock");
    let connect = || {
        let address: Address = format!("unix:{}", path.display()).parse().unwrap();
        Client::connect(&address, &Settings { key: Some(KEYS[0].0.to_owned()), ..Settings::default() })
    };
    let missing = connect().err();
    assert!(
        matches!(&missing, Some(StoreFault::Unavailable(problem)) if problem.contains("nobody listens")),
        "{missing:?}"
    );
    desk.served.at_socket(&path);
    let there = Runtime::remote(Arc::new(connect().unwrap()), Options::default()).unwrap();
    assert_eq!(there.records(0, 1_000).unwrap(), desk.here.records(0, 1_000).unwrap());
    yes(&there.change(nobody(), Act::Halt { group: None, because: "x".to_owned() }).wait());
    assert_eq!(there.size().unwrap(), desk.here.size().unwrap());
}

#[test]
fn what_the_server_does_not_do_is_a_fault_of_its_kind() {
    let desk = Desk::new().ready();
    let wrong = desk.client("wk_default.9.wrong").err();
    assert_eq!(wrong, Some(StoreFault::Refused("the server does not accept this key: nobody has this key".to_owned())));
    let seen = desk.of("agent").scan(Kind::Agent, None, 1);
    assert!(matches!(&seen, Err(StoreFault::Refused(problem)) if problem.contains("only their own")), "{seen:?}");
    let halted = desk.of("agent").change(nobody(), Act::Halt { group: None, because: "x".to_owned() }).wait();
    assert!(halted.at.is_none() && halted.answer.to_line().contains("SERVICE_REFUSED"));
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody_there: Address = format!("http://{gone}").parse().unwrap();
    let key = Some("k".to_owned());
    let missing = Client::connect(&nobody_there, &Settings { key, ..Settings::default() }).err();
    assert!(
        matches!(&missing, Some(StoreFault::Unavailable(problem)) if problem.contains("nobody listens")),
        "{missing:?}"
    );
}

//! Answers under signatures: whose key, over what, and that a replay checks them again.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use kernel::agent::Actor;
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::escalation::EscalationRow;
use kernel::person::{Identity, Person};
use kernel::proposal::Proposal;
use kernel::signed_answer::AnswerStatement;
use kernel::stored::Kind;
use kernel::world::Row;
use ledger::ed25519::SecretKey;
use ledger::envelope::Envelope;
use runtime::memory::{ManualClock, MemoryStore};
use runtime::{Answered, Arrival, Options, PersonAnswer, Runtime};
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
escalation: { approvers: [leads], signed: true, quorum: QUORUM }
"#;

struct Bench {
    runtime: Runtime,
    store: MemoryStore,
}

fn operator() -> Actor {
    Actor::Operator("ann".to_owned())
}

/// The key of a person is made of their first letter.
fn key(person: &str) -> SecretKey {
    SecretKey::from_seed(&[person.bytes().next().unwrap(); 32])
}

/// People with keys, but for `dora`, who has none.
fn bench(quorum: u64) -> Bench {
    let store = MemoryStore::new(Arc::new(ManualClock::at(Instant::PURE_DEFAULT)));
    let runtime = Runtime::start(Box::new(store.clone()), Options::default()).unwrap();
    let text = CONTRACT.replace("QUORUM", &quorum.to_string());
    let contract = Arc::new(engines::load::load(&text).unwrap().compiled);
    check(&runtime.register(operator(), contract.clone(), None, None).wait(), "ACCEPT");
    check(&runtime.activate(operator(), contract).wait(), "ACCEPT");
    let person = |name: &str, key| Write::person(name, &Person { groups: [String::from("leads")].into(), key });
    let people = vec![
        person("bob", Some(key("bob").public())),
        person("carol", Some(key("carol").public())),
        person("dora", None),
    ];
    check(&runtime.change(operator(), Act::Merge(people)).wait(), "ACCEPT");
    Bench { runtime, store }
}

impl Bench {
    /// Asks, and gives the question back.
    fn ask(&self, order: &str) -> (String, EscalationRow) {
        let text = format!(r#"{{"agent":"refunds","action":"refund","params":{{"order":"{order}","amount":60}}}}"#);
        check(&self.runtime.judge(text.as_bytes(), Arrival::through(Door::STORED)).wait(), "ESCALATE");
        let rows = self.runtime.scan(Kind::Escalation, None, 100).unwrap();
        let of_order = |row: &EscalationRow| row.proposal.to_canonical().contains(&format!("\"{order}\""));
        let found = rows.into_iter().find_map(|(key, row)| {
            let Row::Escalation(row) = row else { return None };
            of_order(&row).then(|| (key.entity.parts().0.to_owned(), *row))
        });
        found.unwrap()
    }

    fn statement(&self, answer: &PersonAnswer) -> AnswerStatement {
        self.runtime.statement(answer).unwrap()
    }

    fn give(&self, answer: PersonAnswer, signature: Option<Envelope>) -> Answered {
        self.runtime.answer(PersonAnswer { identity: Identity { signature, ..Identity::default() }, ..answer }).wait()
    }
}

/// Whatever a test did, a replay of its records must say the same.
impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let replayed = runtime::replay::replay(&mut self.store).unwrap();
            assert_eq!(replayed.differs, None);
        }
    }
}

fn yes(person: &str, (question, row): &(String, EscalationRow)) -> PersonAnswer {
    PersonAnswer {
        person: person.to_owned(),
        question: question.clone(),
        decision: "OVERRIDE".to_owned(),
        digest: row.digest,
        reason: "a good customer".to_owned(),
        instead: None,
        door: Door::STORED,
        identity: Identity::default(),
    }
}

#[track_caller]
fn check(answered: &Answered, expected: &str) {
    let answer = &answered.answer;
    let found = format!("{} {}", answer.verdict.word(), answer.reasons().join(", "));
    assert!(found.starts_with(expected), "{found} instead of {expected}");
}

#[test]
fn only_a_signature_of_the_person_over_this_answer_counts() {
    let bench = bench(1);
    let asked = bench.ask("A");
    let (bob, carol) = (yes("bob", &asked), yes("carol", &asked));
    let signed = bench.statement(&bob).sign(&key("bob"));
    check(&bench.give(bob.clone(), None), "REJECT ANSWER_UNSIGNED");
    check(&bench.give(yes("dora", &asked), Some(signed.clone())), "REJECT ANSWER_KEY_WRONG");
    check(&bench.give(bob.clone(), Some(bench.statement(&bob).sign(&key("carol")))), "REJECT ANSWER_KEY_WRONG");
    check(&bench.give(carol.clone(), Some(signed.clone())), "REJECT ANSWER_KEY_WRONG");
    let altered = PersonAnswer { reason: "a bad customer".to_owned(), ..bob.clone() };
    check(&bench.give(altered, Some(signed.clone())), "REJECT ANSWER_SIGNATURE_WRONG");
    let aborted = PersonAnswer { decision: "ABORT".to_owned(), ..bob.clone() };
    check(&bench.give(aborted, Some(signed.clone())), "REJECT ANSWER_SIGNATURE_WRONG");
    let other = bench.ask("B");
    check(&bench.give(yes("bob", &other), Some(signed.clone())), "REJECT ANSWER_SIGNATURE_WRONG");
    let elsewhere = AnswerStatement { origin: Some("log.example".to_owned()), ..bench.statement(&bob) };
    check(&bench.give(bob.clone(), Some(elsewhere.sign(&key("bob")))), "REJECT ANSWER_SIGNATURE_WRONG");
    let given = bench.give(bob, Some(signed));
    check(&given, "ACCEPT");
    assert!(given.answer.intent.is_some());
}

#[test]
fn what_is_to_happen_instead_is_signed_too() {
    let bench = bench(1);
    let asked = bench.ask("A");
    let with = |amount: u32| PersonAnswer {
        decision: "MODIFY".to_owned(),
        instead: Proposal::parse(
            format!(r#"{{"agent":"refunds","action":"refund","params":{{"order":"A","amount":{amount}}}}}"#).as_bytes(),
        )
        .ok(),
        ..yes("bob", &asked)
    };
    let signed = bench.statement(&with(55)).sign(&key("bob"));
    check(&bench.give(with(56), Some(signed.clone())), "REJECT ANSWER_SIGNATURE_WRONG");
    check(&bench.give(with(55), Some(signed)), "ACCEPT");
}

#[test]
fn everyone_of_a_quorum_signs_for_themselves() {
    let bench = bench(2);
    let asked = bench.ask("A");
    let (bob, carol) = (yes("bob", &asked), yes("carol", &asked));
    let first = bench.give(bob.clone(), Some(bench.statement(&bob).sign(&key("bob"))));
    check(&first, "ACCEPT");
    assert!(first.answer.intent.is_none());
    check(&bench.give(carol.clone(), None), "REJECT ANSWER_UNSIGNED");
    let second = bench.give(carol.clone(), Some(bench.statement(&carol).sign(&key("carol"))));
    check(&second, "ACCEPT");
    assert!(second.answer.intent.is_some());
}

/// One byte of a recorded signature: what was accepted is refused when it is judged again.
#[test]
fn a_replay_checks_signatures_again() {
    let bench = bench(1);
    let asked = bench.ask("A");
    let bob = yes("bob", &asked);
    let given = bench.give(bob.clone(), Some(bench.statement(&bob).sign(&key("bob"))));
    let record = given.records.last().unwrap().to_canonical();
    let json = Json::parse(record.as_bytes()).unwrap();
    let signature = json.get("command").and_then(|command| command.get("signature")).cloned().unwrap();
    let envelope = Envelope::from_json(&signature).unwrap();
    let statement = bench.statement(&bob);
    assert_eq!(statement.check(&envelope, &key("bob").public()), Ok(()));
    let mut fold = runtime::replay::Replay::new(Box::new(runtime::replay::rows::MemoryRows::default())).unwrap();
    let mut store = bench.store.clone();
    let records = runtime::ports::store::Reader::records(&mut store, 0, 100).unwrap();
    let sig = signature.get("signatures").and_then(Json::as_list).unwrap()[0].get("sig").unwrap().as_text().unwrap();
    let broken = format!("{}{}", if sig.starts_with('A') { 'B' } else { 'A' }, sig.get(1..).unwrap());
    for stored in &records {
        let body = stored.body.as_ref().unwrap().0.replace(sig, &broken);
        fold.record(stored.index, &stored.leaf, Some(&body)).unwrap();
    }
    let differs = fold.found().differs.clone().map(|(index, _)| index);
    assert_eq!(differs, records.last().map(|record| record.index));
}

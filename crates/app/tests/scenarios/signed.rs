//! Proposals that an agent with a registered key signs, or should.

use crate::file::Case;
use crate::stored::operator;
use kernel::change::upkeep::Upkeep;
use kernel::change::{Act, Write};
use kernel::command::Door;
use kernel::evaluator::Compiled;
use kernel::outcome::Verdict;
use kernel::statement;
use kernel::world::{Entity, Row};
use ledger::ed25519::SecretKey;
use ledger::envelope::Envelope;
use runtime::{Arrival, Runtime};
use values::json::Json;

/// Registers a key, then sends every case as the agent, or as someone who is not.
pub(crate) fn check(runtime: &Runtime, contract: &Compiled, cases: &[Case]) {
    let own = SecretKey::from_seed(&[1; 32]);
    let enrol = Upkeep::EnrolKey { agent: contract.contract.agent.clone(), key: own.public() };
    assert_eq!(runtime.change(operator(), Act::Upkeep(enrol)).wait().answer.verdict, Verdict::Accept);
    let mut last = String::new();
    for case in cases {
        let json = Json::parse(case.proposal.as_bytes()).unwrap();
        if let Some(key) = json.get("set").and_then(Json::as_text) {
            let write = Write { key: key.to_owned(), value: json.get("to").unwrap().clone(), expect: None };
            assert!(runtime.change(operator(), Act::Merge(vec![write])).wait().at.is_some());
        }
        if json.get("again").is_none() {
            last = sent(runtime, contract, &json, &own);
        }
        let answer = runtime.judge(last.as_bytes(), Arrival::through(Door::PURE)).wait().answer;
        let said = match answer.verdict {
            Verdict::Accept => "ACCEPT".to_owned(),
            Verdict::Reject | Verdict::Escalate => format!("{} {}", answer.verdict.word(), answer.reasons().join(", ")),
        };
        assert_eq!(said, case.expected, "{}\n{}", case.name, answer.to_line());
    }
}

fn sent(runtime: &Runtime, contract: &Compiled, json: &Json, own: &SecretKey) -> String {
    let proposal = json.get("sign").unwrap();
    let snapshot = json.get("saw").and_then(Json::as_text).map(|name| {
        let Some(Row::Snapshot(row)) = runtime.read(Entity::Snapshot(name.to_owned())).unwrap() else {
            panic!("no snapshot is called `{name}`")
        };
        row.id()
    });
    let key = match json.get("by").and_then(Json::as_text) {
        None => own,
        Some("other") => &SecretKey::from_seed(&[2; 32]),
        Some(_) => return proposal.to_canonical(),
    };
    let envelope = statement::sign(proposal, &contract.contract, contract.digest, snapshot.as_deref(), key);
    match json.get("altered") {
        Some(params) => altered(&envelope, proposal, params),
        None => envelope.to_json().to_canonical(),
    }
}

/// The envelope with other params in it and the signature it had.
fn altered(envelope: &Envelope, proposal: &Json, params: &Json) -> String {
    let mut forged = proposal.as_object().unwrap().clone();
    forged.insert("params".to_owned(), params.clone());
    let payload = String::from_utf8(envelope.payload().to_vec()).unwrap();
    let payload = payload.replace(&proposal.to_canonical(), &Json::Object(forged).to_canonical());
    assert_ne!(payload.as_bytes(), envelope.payload());
    // Signing with any key gives the form; the signature is the first envelope's.
    let form = Envelope::sign(envelope.payload_type(), payload.into_bytes(), &[&SecretKey::from_seed(&[1; 32])]);
    let signature = |envelope: &Envelope| {
        let json = envelope.to_json();
        json.get("signatures").unwrap().to_canonical()
    };
    form.to_json().to_canonical().replace(&signature(&form), &signature(envelope))
}
